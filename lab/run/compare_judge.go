package run

import (
	"math"
	"slices"

	"github.com/stele-go/stele/lab/stats"
)

// row compares one figure of a variant.
func (c *comparer) row(place, name string, olds, news []resultOf, m Metric) CompareRow {
	row := CompareRow{
		Experiment: news[0].ID, Place: place, Variant: name,
		Metric: m.Name, Unit: m.Unit, Better: m.Better, Tolerance: c.metrics[m.Name],
	}
	was, wasNot := sources(olds, name, "", m)
	is, isNot := sources(news, name, "", m)
	row.Old, row.New, row.Ratio = medianOfAll(was), medianOfAll(is), Ratio(noEstimate())
	if row.missing(wasNot, isNot) {
		return row
	}
	relative := !c.absolute && relativeTo(m)
	if relative {
		base, alone := c.baseline(name, olds, news)
		if base == "" {
			row.Outcome, row.Why = NotJudged, WhyBaseline
			if !alone {
				row.Outcome, row.Why = Inconclusive, WhyNoBaseline
			}
		} else {
			was, wasNot = sources(olds, name, base, m)
			is, isNot = sources(news, name, base, m)
			row.Baseline = base
			if row.missing(wasNot, isNot) {
				return row
			}
		}
	}
	e := stats.RatioOfRuns(statistics(is), statistics(was), confidence, news[0].random(news[0].run.Seed, name, m.Name), resamplesFor(m))
	if m.Name == MetricSyscalls {
		e.Lo, e.Hi, e.Warning = e.Value, e.Value, nil // counted, not sampled
	}
	same := sameRuns(olds, news) && e.Value == 1
	if same {
		e.Lo, e.Hi, e.Warning = 1, 1, nil
	}
	row.Ratio = Ratio(estimate(e))
	if relative && row.Baseline == "" {
		return row // the ratio is shown, and decides nothing
	}
	c.judge(&row, e, dataOf(was), dataOf(is))
	if same {
		row.Why = WhySame
	}
	return row
}

// judge gives a row its outcome from the estimate of its ratio, and says how far the
// data reach. samples are those that the estimate was made from, of each run; nil where
// it was not made from samples of single rounds.
func (c *comparer) judge(row *CompareRow, e stats.Estimate, samples ...[]float64) {
	row.Outcome, row.Why = gate(e, row.Better, row.Tolerance)
	if e.Warning != nil {
		row.Reason = Reason{Code: ReasonFewBlocks, N: int64(e.N), Of: int64(stats.MinSamples(0.5, confidence))}
	}
	least, most := bounds(row.Better, row.Tolerance)
	several := c.report.OldRuns+c.report.NewRuns > 2
	if !several && e.Warning == nil && e.Value > 0 && e.Hi > e.Lo {
		e = steadier(e, samples)
		unchanged := e
		unchanged.Value, unchanged.Lo, unchanged.Hi = 1, e.Lo/e.Value, e.Hi/e.Value
		c.report.PassRounds = max(c.report.PassRounds, planned(unchanged, least, most))
	}
	if row.Outcome != Inconclusive {
		return
	}
	row.Visible = visible(Estimate(row.Ratio), row.Tolerance)
	if e.Warning == nil && (e.Lo == 0 || math.IsInf(e.Hi, 1)) {
		return // an interval that reaches to 0 does not shrink by the root of the rounds
	}
	if several {
		row.Runs = nameable(stats.RoundsNeeded(e, least, most))
	} else {
		row.Rounds = planned(e, least, most)
	}
}

// steadier returns an estimate with the interval of a median of normally distributed
// logarithms, whose spread is told by their median deviation. It is for a number of
// rounds: the bootstrap's interval of a dozen rounds varies twofold by chance, and
// fourfold the number, which goes by its square.
func steadier(e stats.Estimate, samples [][]float64) stats.Estimate {
	variance := 0.0
	for _, x := range samples {
		var logs, off []float64
		for _, v := range x {
			logs = append(logs, math.Log(v))
		}
		m := median(logs)
		for _, l := range logs {
			off = append(off, math.Abs(l-m))
		}
		const sigma, ofMedian = 1.4826, 1.2533 // by the median deviation; of a median, by the root of n
		d := ofMedian * sigma * median(off)
		variance += d * d / float64(len(x))
	}
	if half := 1.96 * math.Sqrt(variance); half > 0 && !math.IsInf(half, 1) {
		e.Lo, e.Hi = e.Value*math.Exp(-half), e.Value*math.Exp(half)
	}
	return e
}

// dataOf returns the samples of a single run, or nil.
func dataOf(list []source) []float64 {
	if len(list) != 1 || len(list[0].data) != list[0].N {
		return nil
	}
	return list[0].data
}

// sturdyRounds is the fewest rounds to plan for. The interval of 6 or 7 reaches to the
// extremes of them and that of 8 halfway, so that one round that something else disturbed
// decides; that of 9 leaves one out at each end.
const sturdyRounds = 9

// planned is the number of rounds to ask for, 0 where none settles it.
func planned(e stats.Estimate, least, most float64) int {
	return nameable(max(sturdyRounds, stats.RoundsNeeded(e, least, most)))
}

// nameable is a number of rounds or runs that a user could ask for, else 0.
func nameable(n int) int {
	const most = 100_000
	if n > most {
		return 0
	}
	return n
}

// missing gives the row its outcome where a figure of it is missing, and reports
// whether one is.
func (row *CompareRow) missing(old, new Reason) bool {
	row.Run, row.Reason = firstMissing(old, new)
	if row.Reason == (Reason{}) {
		return false
	}
	row.Outcome, row.Why = Broken, WhyMissing
	if refused(row.Reason) {
		row.Outcome, row.Why = Inconclusive, WhyFew
	}
	return true
}

// refused reports whether a figure is there, and says too little.
func refused(why Reason) bool {
	return why.Code == ReasonFewLatencies || why.Code == ReasonGrouped
}

// firstMissing chooses the reason to report and names its run: a missing figure
// before one that is refused.
func firstMissing(old, new Reason) (string, Reason) {
	switch {
	case new != (Reason{}) && (old == (Reason{}) || !refused(new)):
		return "new", new
	case old != (Reason{}):
		return "old", old
	}
	return "", Reason{}
}

// baseline returns the variant that the times of a variant are divided by: its
// baseline in the first new run, if all runs have it with the same promise. alone is
// set where it has none because it is a baseline itself.
func (c *comparer) baseline(name string, olds, news []resultOf) (base string, alone bool) {
	v := news[0].Variant(name)
	b := news[0].baselineFor(v)
	if b == v {
		return "", true
	}
	for _, res := range slices.Concat(olds, news) {
		o := res.Variant(b.Name)
		if o == nil || o.Promise != res.Variant(name).Promise {
			return "", false
		}
	}
	return b.Name, false
}

// relativeTo reports whether a figure depends on the speed of the machine, so that its
// ratio to the baseline's is compared.
func relativeTo(m Metric) bool { return m.Unit == "ns" || m.Unit == "B/s" }

// sameRuns reports whether both sides are the same runs.
func sameRuns(olds, news []resultOf) bool {
	return slices.EqualFunc(olds, news, func(a, b resultOf) bool {
		return a.run == b.run || !a.run.Started.IsZero() && a.run.Started.Equal(b.run.Started) && a.run.Seed == b.run.Seed
	})
}

// gate judges the interval of a ratio, new to old.
func gate(ratio stats.Estimate, better int, tolerance float64) (Outcome, string) {
	if ratio.Warning != nil {
		return Inconclusive, WhyFew
	}
	least, most := bounds(better, tolerance)
	switch {
	case ratio.Lo > most || ratio.Hi < least:
		return Regression, WhyBeyond
	case ratio.Lo >= least && ratio.Hi <= most:
		return Pass, WhyWithin
	}
	return Inconclusive, WhyAcross
}

// bounds returns the least and the greatest ratio, new to old, that pass.
func bounds(better int, tolerance float64) (least, most float64) {
	least, most = 1/(1+tolerance), 1+tolerance
	if better < 0 {
		least = 0
	}
	if better > 0 {
		most = math.Inf(1)
	}
	return least, most
}
