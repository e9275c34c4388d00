package run

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/stele-go/stele/lab/stats"
)

// MetricTime is the name of the time of one operation among the metrics that
// Compare takes.
const MetricTime = "time"

// CompareOptions are the metrics that Compare compares, and how strictly. The zero value
// compares the time of an operation with a tolerance of 5 %.
type CompareOptions struct {
	// Tolerance by metric: 0.05 lets a figure get worse by 5 %, 0 not at all.
	// The names are MetricTime, a percentile such as "p99" or "p99.9", those of
	// Metrics, and those that variants report. Time is always compared, with 0.05
	// where it is not named.
	Tolerance map[string]float64
	// Force compares runs although experiments, promises or the environment
	// differ, and lists the differences. Variants of both runs are compared; one of
	// them without data is Broken all the same.
	Force bool
}

// An Outcome is the result of a comparison of two runs, or of a row of it.
type Outcome string

// Outcomes, from best to worst. Inconclusive is not a pass: the data show
// neither that a figure got worse nor that it did not.
const (
	Pass         Outcome = "pass"
	Inconclusive Outcome = "inconclusive"
	Regression   Outcome = "regression"
	Broken       Outcome = "broken"
)

// ExitCode is the exit code of a gate: 0 pass, 1 regression, 2 inconclusive, 3
// broken, and 3 for any other outcome.
func (o Outcome) ExitCode() int {
	switch o {
	case Pass:
		return 0
	case Regression:
		return 1
	case Inconclusive:
		return 2
	}
	return 3
}

func (o Outcome) worse(than Outcome) bool {
	order := []Outcome{Pass, Inconclusive, Regression, Broken}
	return slices.Index(order, o) > slices.Index(order, than)
}

// A CompareReport is the result of Compare.
type CompareReport struct {
	// Outcome is the worst of the rows', and Broken where the runs cannot be
	// compared.
	Outcome Outcome `json:"outcome"`
	// Problems say why the runs cannot be compared.
	Problems []Mismatch `json:"problems,omitempty"`
	// Differences were overlooked, because Force was set or because they do not
	// affect the figures.
	Differences []Mismatch   `json:"differences,omitempty"`
	Rows        []CompareRow `json:"rows"`
}

// A CompareRow is one metric of one variant.
type CompareRow struct {
	Experiment string   `json:"experiment"` // ID
	Place      string   `json:"place"`      // as the new run names it
	Variant    string   `json:"variant"`
	Metric     string   `json:"metric"`
	Unit       string   `json:"unit,omitempty"`
	Better     int      `json:"better"` // as in Metric
	Old        Estimate `json:"old"`
	New        Estimate `json:"new"`
	Ratio      Ratio    `json:"ratio"` // new to old
	Tolerance  float64  `json:"tolerance"`
	Outcome    Outcome  `json:"outcome"`
	Why        string   `json:"why"`             // one of the Why constants
	Reason     Reason   `json:"reason,omitzero"` // for WhyFew and WhyMissing
	Run        string   `json:"run,omitempty"`   // "old" or "new", the run that Reason is about; else both
}

// Why a row has its outcome.
const (
	WhyWithin  = "within"  // the interval is within the tolerance, or better
	WhyBeyond  = "beyond"  // it is worse by more than the tolerance
	WhyAcross  = "across"  // it reaches over the tolerance: more rounds would narrow it
	WhyFew     = "few"     // there are too few samples; see Reason
	WhyMissing = "missing" // a figure is missing; see Reason
)

// A Ratio is an Estimate that may be infinite, where a figure was 0; JSON has
// it as the string "inf" then.
type Ratio Estimate

// MarshalJSON writes NaN as null and infinity as "inf".
func (r Ratio) MarshalJSON() ([]byte, error) {
	value := func(f float64) any {
		switch {
		case math.IsNaN(f):
			return nil
		case math.IsInf(f, 1):
			return "inf"
		}
		return f
	}
	return json.Marshal(struct {
		Value      any     `json:"value"`
		Lo         any     `json:"lo"`
		Hi         any     `json:"hi"`
		Confidence float64 `json:"confidence"`
		N          int     `json:"n"`
	}{value(r.Median), value(r.Lo), value(r.Hi), r.Confidence, r.N})
}

// Compare compares a new run with an old one, for a gate. Results are paired
// by experiment and place, variants by name; where each run has one place, its
// name does not matter. The figures are taken from the blocks.
//
// A figure of a block is a datum. Its change is the ratio of the medians, new
// to old, with the 95 % interval of stats.RatioUnpaired: the runs are apart in
// time, so there are no pairs, and differences between the two times (load, the
// fill of the disk) are not in the interval. Metrics with Better 0 may move by the
// tolerance in either direction; the others may also improve without limit.
//
//   - Pass: the whole interval is within the tolerance, or better.
//   - Regression: the whole interval is beyond it.
//   - Inconclusive: the interval reaches over it, or there are too few data.
//   - Broken: a figure is missing, or the runs are not of the same
//     experiments, promises and environment.
func Compare(old, new *Run, o CompareOptions) *CompareReport {
	c := &comparer{old: old, new: new, force: o.Force, report: &CompareReport{Outcome: Pass, Rows: []CompareRow{}}}
	c.metrics = maps.Clone(o.Tolerance)
	if c.metrics == nil {
		c.metrics = map[string]float64{}
	}
	if _, ok := c.metrics[MetricTime]; !ok {
		c.metrics[MetricTime] = 0.05
	}
	for name, t := range c.metrics {
		if !(t >= 0) || math.IsInf(t, 1) {
			c.problem(Mismatch{Code: MismatchTolerance, Field: name, New: strconv.FormatFloat(t, 'g', -1, 64)})
		}
		if !known(name, old, new) {
			c.problem(Mismatch{Code: MismatchMetric, Field: name})
		}
	}
	if len(c.report.Problems) == 0 {
		c.run()
	}
	if len(c.report.Problems) > 0 {
		c.report.Outcome = Broken
	}
	for _, row := range c.report.Rows {
		if row.Outcome.worse(c.report.Outcome) {
			c.report.Outcome = row.Outcome
		}
	}
	return c.report
}

type comparer struct {
	old, new *Run
	metrics  map[string]float64
	force    bool
	report   *CompareReport
}

func (c *comparer) problem(m Mismatch) { c.report.Problems = append(c.report.Problems, m) }

func (c *comparer) difference(m Mismatch) { c.report.Differences = append(c.report.Differences, m) }

// mismatch is a problem unless CompareOptions.Force is set.
func (c *comparer) mismatch(m Mismatch) {
	if c.force {
		c.difference(m)
	} else {
		c.problem(m)
	}
}

func (c *comparer) run() {
	if c.old.Schema != c.new.Schema {
		c.problem(Mismatch{Code: MismatchSchema, Old: c.old.Schema, New: c.new.Schema})
		return
	}
	if c.old.Partial != nil {
		c.difference(Mismatch{Code: MismatchPartial, Field: "old", Old: c.old.Partial.Cause})
	}
	if c.new.Partial != nil {
		c.difference(Mismatch{Code: MismatchPartial, Field: "new", New: c.new.Partial.Cause})
	}
	c.settings()
	c.allResults(c.places())
	if len(c.report.Rows) == 0 {
		c.problem(Mismatch{Code: MismatchNothing})
	}
}

func (c *comparer) settings() {
	setting := func(field string, old, new any) {
		if old != new {
			c.mismatch(Mismatch{Code: MismatchSetting, Field: field, Old: fmt.Sprint(old), New: fmt.Sprint(new)})
		}
	}
	old, new := c.old.Settings, c.new.Settings
	setting("in_process", old.InProcess, new.InProcess)
	// A longer block leaves more files behind for its own operations to meet,
	// and so does a block that need not wait for variants the quick set lacks.
	setting("block_time_ns", time.Duration(old.BlockTime), time.Duration(new.BlockTime))
	setting("quick", old.Quick, new.Quick)
}

// places pairs the places of the two runs, and returns the new name of each by
// its old one.
func (c *comparer) places() map[string]string {
	names := map[string]string{}
	for i := range c.old.Places {
		p := &c.old.Places[i]
		q := c.newPlace(p.Name)
		if q == nil {
			c.mismatch(Mismatch{Code: MismatchPlace, Place: p.Name})
			continue
		}
		names[p.Name] = q.Name
		for _, d := range p.Environment.Diff(q.Environment) {
			if d.Matters {
				c.mismatch(Mismatch{Code: MismatchEnvironment, Place: q.Name, Field: d.Field, Old: d.Old, New: d.New})
			}
		}
	}
	return names
}

// allResults pairs the results in the paired places and compares them.
func (c *comparer) allResults(places map[string]string) {
	paired := map[*Result]bool{}
	for _, a := range c.old.Results {
		place, ok := places[a.Place]
		if !ok {
			continue
		}
		i := slices.IndexFunc(c.new.Results, func(b *Result) bool { return b.ID == a.ID && b.Place == place })
		if i < 0 {
			c.mismatch(Mismatch{Code: MismatchMissing, Experiment: a.ID, Place: place})
			continue
		}
		paired[c.new.Results[i]] = true
		c.results(a, c.new.Results[i])
	}
	for _, b := range c.new.Results {
		if !paired[b] {
			c.difference(Mismatch{Code: MismatchAdded, Experiment: b.ID, Place: b.Place})
		}
	}
}

func (c *comparer) newPlace(name string) *Place {
	if len(c.old.Places) == 1 && len(c.new.Places) == 1 {
		return &c.new.Places[0]
	}
	for i := range c.new.Places {
		if c.new.Places[i].Name == name {
			return &c.new.Places[i]
		}
	}
	return nil
}

func (c *comparer) results(a, b *Result) {
	for i := range a.Variants {
		v := &a.Variants[i]
		w := b.Variant(v.Name)
		if w == nil {
			c.mismatch(Mismatch{Code: MismatchMissing, Experiment: a.ID, Variant: v.Name})
			continue
		}
		if v.Promise != w.Promise && !w.Promise.replaces(v.Promise) {
			c.mismatch(Mismatch{Code: MismatchPromise, Experiment: a.ID, Variant: v.Name, Old: v.Promise.String(), New: w.Promise.String()})
		}
		for _, name := range slices.Sorted(maps.Keys(c.metrics)) {
			c.report.Rows = append(c.report.Rows, c.row(a, b, v, w, metricNamed(name)))
		}
	}
	for i := range b.Variants {
		if a.Variant(b.Variants[i].Name) == nil {
			c.difference(Mismatch{Code: MismatchAdded, Experiment: b.ID, Variant: b.Variants[i].Name})
		}
	}
}

func (c *comparer) row(a, b *Result, v, w *VariantResult, m Metric) CompareRow {
	row := CompareRow{
		Experiment: b.ID, Place: b.Place, Variant: w.Name,
		Metric: m.Name, Unit: m.Unit, Better: m.Better, Tolerance: c.metrics[m.Name],
	}
	was, noOld := figures(a, v, m)
	is, noNew := figures(b, w, m)
	row.Old, row.New = estimate(stats.Median(was, confidence)), estimate(stats.Median(is, confidence))
	row.Ratio = Ratio{Median: math.NaN(), Lo: math.NaN(), Hi: math.NaN()}
	if row.Run, row.Reason = firstMissing(noOld, noNew); row.Reason != (Reason{}) {
		row.Outcome, row.Why = Broken, WhyMissing
		if row.Reason.Code == ReasonFewLatencies {
			row.Outcome, row.Why = Inconclusive, WhyFew
		}
		return row
	}
	h := fnv.New64a()
	fmt.Fprintf(h, "%q %q %q %q", b.ID, b.Place, w.Name, m.Name)
	e := stats.RatioUnpaired(is, was, confidence, rand.New(rand.NewPCG(c.new.Seed, h.Sum64())), resamples)
	if m.Name == MetricSyscalls {
		e.Lo, e.Hi, e.Warning = e.Value, e.Value, nil // counted, not sampled
	}
	row.Ratio = Ratio(estimate(e))
	row.Outcome, row.Why = gate(e, m.Better, row.Tolerance)
	if e.Warning != nil {
		row.Reason = Reason{Code: ReasonFewBlocks, N: int64(e.N), Of: int64(stats.MinSamples(0.5, confidence))}
	}
	return row
}

// firstMissing chooses the reason to report and names its run: a missing figure
// before one that is refused.
func firstMissing(old, new Reason) (string, Reason) {
	switch {
	case new != (Reason{}) && (old == (Reason{}) || new.Code != ReasonFewLatencies):
		return "new", new
	case old != (Reason{}):
		return "old", old
	}
	return "", Reason{}
}

// gate judges the interval of a ratio, new to old.
func gate(ratio stats.Estimate, better int, tolerance float64) (Outcome, string) {
	if ratio.Warning != nil {
		return Inconclusive, WhyFew
	}
	least, most := 1/(1+tolerance), 1+tolerance
	if better < 0 {
		least = 0
	}
	if better > 0 {
		most = math.Inf(1)
	}
	switch {
	case ratio.Lo > most || ratio.Hi < least:
		return Regression, WhyBeyond
	case ratio.Lo >= least && ratio.Hi <= most:
		return Pass, WhyWithin
	}
	return Inconclusive, WhyAcross
}
