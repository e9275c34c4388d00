package run

import (
	"math"
	"slices"

	"github.com/stele-go/stele/internal/setting"
	"github.com/stele-go/stele/lab/stats"
)

// The tests that Settings.Test names.
const (
	TestBootstrap   = "bootstrap"   // the interval alone decides
	TestWelch       = "welch"       // Welch's t must agree with it
	TestMannWhitney = "mannwhitney" // Mann-Whitney's U must agree with it
)

// testSignedRank is the test whose p-value stands beside the interval where
// no other was asked for.
const testSignedRank = "wilcoxon"

const (
	confidence = 0.95
	alpha      = 1 - confidence
	// resamples of a bootstrap: some 60 of them lie beyond either end of an
	// interval of 20 rounds, which then hardly moves from seed to seed.
	resamples = 5_000
	// trendAlpha is strict because every variant of a run is tested.
	trendAlpha = 0.01
)

// Validate returns an error that wraps fs.ErrInvalid for settings that a Run
// cannot be analysed with.
func (s Settings) Validate() error {
	switch s.Test {
	case TestBootstrap, TestWelch, TestMannWhitney:
	default:
		return setting.Wrong("run: Settings.Test", s.Test, "%s, %s or %s", TestBootstrap, TestWelch, TestMannWhitney)
	}
	if !(s.Tolerance >= 0 && s.Tolerance < 1) {
		return setting.Wrong("run: Settings.Tolerance", s.Tolerance, "0 or more and less than 1; 0.05 is 5 %%")
	}
	return nil
}

// Analyse derives everything in the results that is not raw: what was found
// about each variant, the comparisons, the noise and the verdicts. It takes
// nothing but the blocks, what the variants promise, the seed and the
// settings, which must be valid; so a Run read from a file and given other
// settings (Test, Tolerance, MixLevels) can be analysed again. What an earlier
// call derived is replaced.
//
// One datum is the time of one operation in one timed block that ended
// without an error. A variant is compared with its baseline over the rounds
// that both have, by stats.RatioPaired, with an interval of at least 95 %; see
// Look for those that ended early. It is faster or
// slower when the whole interval lies outside the tolerance, the same when it
// lies wholly inside; else the verdict is CannotTell. Tolerances are symmetric
// between the two: 5 % is from 1/1.05 to 1.05.
//
// The p-value beside it is that of Wilcoxon's signed-rank test over the
// logarithms of the ratios, and decides nothing. With Settings.Test welch or
// mannwhitney it is that test's, which ignores the pairing, and faster and
// slower need PHolm < 0.05 as well; without it the verdict is CannotTell.
//
// The tolerance is never less than the noise of the baseline: how far its
// calibration blocks, which are that baseline once more, came out from it (the
// first baseline's, where it has none of its own). The noise's random part is in every interval already and is not added again.
func (r *Run) Analyse() {
	var all []*Comparison
	for i := range r.Places {
		r.Places[i].Caps = CapsOf(&r.Places[i].Environment)
	}
	for _, res := range r.Results {
		res.analyse(r)
		for i := range res.Comparisons {
			all = append(all, &res.Comparisons[i])
		}
	}
	p, least := make([]float64, len(all)), make([]float64, len(all))
	for i, c := range all {
		p[i], least[i] = c.P, leastP(c.Test, c.Ratio.N)
	}
	leastHolm := stats.Holm(least)
	for i, holm := range stats.Holm(p) {
		all[i].PHolm = holm
		if least[i] > 0 {
			all[i].LeastPHolm = &leastHolm[i]
		}
	}
	for _, res := range r.Results {
		res.judge(r)
	}
	r.Gate = nil
	if r.Against != nil {
		r.Gate = r.CompareBuilds(CompareOptions{Tolerance: map[string]float64{MetricTime: r.Settings.Tolerance}})
	}
}

// judge gives the comparisons their verdicts, and draws the findings from them.
func (res *Result) judge(r *Run) {
	for i := range res.Comparisons {
		c := &res.Comparisons[i]
		c.Verdict = c.judge()
		if res.Variant(c.Variant).Error != "" || res.Variant(c.Baseline).Error != "" {
			c.Verdict = CannotTell // what failed once is not recommended
		}
		if c.Verdict == CannotTell {
			c.Visible, c.RoundsNeeded = power(c.Ratio, res.times(c.Variant, RoleTimed), res.times(c.Baseline, RoleTimed), c.Tolerance)
		}
	}
	res.Findings = res.findings(r)
}

// leastP is the smallest p-value that a test can give over so many rounds:
// that of data which could not be clearer. Welch's has no such bound.
func leastP(test string, rounds int) float64 {
	low, high := make([]float64, rounds), make([]float64, rounds)
	for i := range rounds {
		low[i], high[i] = float64(i+1), float64(rounds+i+1)
	}
	switch test {
	case testSignedRank:
		return stats.SignedRank(high)
	case TestMannWhitney:
		return stats.MannWhitney(low, high)
	}
	return 0
}

// judge applies the rule to a comparison that has everything else.
func (c *Comparison) judge() string {
	verdict := within(c.Ratio, c.Tolerance)
	significant := c.Test == testSignedRank || c.PHolm < alpha
	if (verdict == Faster || verdict == Slower) && !significant {
		return CannotTell
	}
	return verdict
}

// within says where the interval of a ratio lies. An interval that is not
// there (NaN) shows nothing.
func within(ratio Estimate, tolerance float64) string {
	least, most := 1/(1+tolerance), 1+tolerance
	switch {
	case ratio.Hi < least:
		return Faster
	case ratio.Lo > most:
		return Slower
	case ratio.Lo >= least && ratio.Hi <= most:
		return Same
	}
	return CannotTell
}

// series are the data of one variant by round.
type series map[int]float64

// rounds returns the rounds that all of the series have, in order.
func rounds(first series, others ...series) []int {
	var common []int
	for round := range first {
		if !slices.ContainsFunc(others, func(s series) bool { _, ok := s[round]; return !ok }) {
			common = append(common, round)
		}
	}
	slices.Sort(common)
	return common
}

func (s series) at(rounds []int) []float64 {
	x := make([]float64, len(rounds))
	for i, round := range rounds {
		x[i] = s[round]
	}
	return x
}

// datum reports whether a block is one that figures are made from.
func (b *Block) datum(role string) bool {
	return b.Role == role && b.Error == "" && b.Ops > 0 && b.Wall > 0
}

// times returns the data of a variant in blocks of one role.
func (res *Result) times(variant, role string) series {
	s := series{}
	for i := range res.Blocks {
		if b := &res.Blocks[i]; b.Variant == variant && b.datum(role) {
			s[b.Round] = b.PerOp()
		}
	}
	return s
}

// Variant returns the variant of that name, or nil.
func (res *Result) Variant(name string) *VariantResult {
	for i := range res.Variants {
		if res.Variants[i].Name == name {
			return &res.Variants[i]
		}
	}
	return nil
}

// baselineFor is Experiment.BaselineFor over what was recorded.
func (res *Result) baselineFor(v *VariantResult) *VariantResult {
	var first *VariantResult
	for i := range res.Variants {
		o := &res.Variants[i]
		if o.Promise != v.Promise {
			continue
		}
		if o.Baseline {
			return o
		}
		if first == nil {
			first = o
		}
	}
	return first
}

func (res *Result) analyse(r *Run) {
	for i := range res.Variants {
		v := &res.Variants[i]
		res.describe(r.Seed, v)
		v.Here, v.Capped = r.here(res.Place, v.Promise)
	}
	res.Comparisons, res.Refused, res.Noise, res.MoreNoise, res.Rounds, res.Surfaces = []Comparison{}, nil, nil, nil, 0, nil
	if len(res.Variants) == 0 {
		return
	}
	main := res.baselineFor(&res.Variants[0])
	res.Noise = res.noise(r, main.Name)
	for i := range res.Variants {
		v := &res.Variants[i]
		res.Rounds = max(res.Rounds, len(res.times(v.Name, RoleTimed)))
		if v != main && res.baselineFor(v) == v {
			if n := res.noise(r, v.Name); n != nil {
				res.MoreNoise = append(res.MoreNoise, *n)
			}
		}
	}
	res.Surfaces = res.surfaces(r)
	for i := range res.Variants {
		v := &res.Variants[i]
		if base := res.baselineFor(v); base != v {
			res.Comparisons = append(res.Comparisons, res.compare(r, v, base))
		}
		switch {
		case v.Promise == main.Promise:
		case r.Settings.MixLevels:
			res.Comparisons = append(res.Comparisons, res.compare(r, v, main))
		default:
			res.refuse(v, main)
		}
	}
}

// refuse notes that v was not compared with base.
func (res *Result) refuse(v, base *VariantResult) {
	i := slices.IndexFunc(res.Refused, func(f Refusal) bool { return f.Promise == v.Promise })
	if i < 0 {
		i = len(res.Refused)
		res.Refused = append(res.Refused, Refusal{Promise: v.Promise, Baseline: base.Name})
	}
	res.Refused[i].Variants = append(res.Refused[i].Variants, v.Name)
}

// noise compares the calibration blocks with the baseline's own. The floor is
// the estimate itself. The far end of its interval would count chance twice,
// for every comparison has it in its own interval; the near end would let half
// of what is systematic through as a finding.
func (res *Result) noise(r *Run, baseline string) *Noise {
	again := res.times(baseline, RoleCalibration)
	if len(again) == 0 {
		return nil
	}
	n := &Noise{Variant: baseline, Ratio: res.ratio(r, "A/A", again, baseline, res.times(baseline, RoleTimed))}
	m := n.Ratio.Median
	if !(m > 0) {
		return nil // interrupted before a round had both
	}
	n.Floor = max(m, 1/m) - 1
	return n
}

// floor is the noise of a baseline: its own where it was measured, else that
// of the first one.
func (res *Result) floor(base *VariantResult) float64 {
	for i := range res.MoreNoise {
		if res.MoreNoise[i].Variant == base.Name {
			return res.MoreNoise[i].Floor
		}
	}
	if res.Noise != nil {
		return res.Noise.Floor
	}
	return 0
}

func (res *Result) compare(r *Run, v, base *VariantResult) Comparison {
	test, against := res.times(v.Name, RoleTimed), res.times(base.Name, RoleTimed)
	c := Comparison{
		Variant: v.Name, Baseline: base.Name, Mixed: v.Promise != base.Promise,
		Ratio:     res.ratio(r, v.Name, test, base.Name, against),
		Test:      r.Settings.Test,
		Tolerance: r.Settings.Tolerance,
	}
	c.Tolerance = max(c.Tolerance, res.floor(base))
	if c.Mixed {
		c.Tolerance = max(c.Tolerance, res.floor(res.baselineFor(v)))
	}
	switch r.Settings.Test {
	case TestWelch:
		c.P = stats.Welch(test.at(rounds(test)), against.at(rounds(against)))
	case TestMannWhitney:
		c.P = stats.MannWhitney(test.at(rounds(test)), against.at(rounds(against)))
	default:
		c.Test = testSignedRank
		var logs []float64
		for _, round := range rounds(test, against) {
			logs = append(logs, math.Log(test[round]/against[round]))
		}
		c.P = stats.SignedRank(logs)
	}
	return c
}

// ratio pairs two series by round, with the interval that belongs to the end of the
// result; see Run.Look. Its random source depends on the run's seed and on what is
// compared, and not on what was compared before.
func (res *Result) ratio(r *Run, testName string, test series, baseName string, base series) Estimate {
	both := rounds(test, base)
	looks := len(res.Looks)
	if res.Stopped == StoppedClear && looks > 0 {
		return estimate(stats.RatioLook(test.at(both), base.at(both), stats.LookConfidence(confidence, looks)))
	}
	return estimate(stats.RatioPaired(test.at(both), base.at(both), stats.LastConfidence(confidence, looks), res.random(r.Seed, testName, baseName), resamples))
}

func estimate(e stats.Estimate) Estimate {
	return Estimate{Median: e.Value, Lo: e.Lo, Hi: e.Hi, Confidence: e.Confidence, N: e.N}
}
