package claims

import (
	"math"

	"github.com/stele-go/stele/lab/report"
	"github.com/stele-go/stele/lab/run"
)

// ratioOf returns the ratio of a metric of variant over to that of variant under, paired by
// round: the median of the rounds' ratios. Where the blocks do not tell it is the quotient
// of their medians, with the widest interval.
func (ev *evidence) ratioOf(id, metric, over, under string) run.Estimate {
	a, b := ev.metric(id, over, metric), ev.metric(id, under, metric)
	if r := ev.paired(id, over, under, blockMetric(metric)); r.N > 0 {
		return r
	}
	return quotient(a, b)
}

// ratio returns how many times as long as variant under variant over takes, paired by round:
// also where the two promise different things, so that the lab does not compare them, and
// where neither is the baseline.
func (ev *evidence) ratio(id, over, under string) run.Estimate {
	a, b := ev.time(id, over), ev.time(id, under)
	if r := ev.paired(id, over, under, blockTime); r.N > 0 {
		return r
	}
	return quotient(a, b)
}

// paired returns the median of the rounds' ratios of a figure of two variants.
func (ev *evidence) paired(id, over, under string, figure func(*run.Block) (float64, bool)) run.Estimate {
	e, _ := overRounds(overOf, ev.byRound(id, over, figure), ev.byRound(id, under, figure))
	return e
}

// tail returns the 99th percentile of the latency of single operations, all blocks together,
// or the reason why it is missing.
func (ev *evidence) tail(id, name string) (e run.Estimate, why string) {
	v := ev.variant(id, name)
	if v == nil {
		return noEstimate, "not measured"
	}
	for _, p := range v.Latency {
		if p.P != 99 {
			continue
		}
		if err := p.Err(); err != nil {
			return noEstimate, err.Error()
		}
		e = run.Estimate{Median: p.NS, Lo: p.Lo, Hi: p.Hi, Confidence: 0.95, N: v.Time.N}
		if p.Lo == 0 {
			e.Lo, e.Hi = math.NaN(), math.NaN()
		}
		return e, ""
	}
	return noEstimate, "not measured"
}

// fewLatencies says so if the rounds have too few latencies for the 99th percentile, or none.
// More rounds would mend that, so nothing is missing.
func (ev *evidence) fewLatencies(id, name string) string {
	if v := ev.variant(id, name); v != nil {
		for _, p := range v.Latency {
			if err := p.Err(); p.P == 99 && err != nil {
				return err.Error()
			}
		}
	}
	return ""
}

// tailRatio returns the ratio of the 99th percentiles of the latency of single operations of
// two variants, of the rounds that both have, or the reason why it is missing.
func (ev *evidence) tailRatio(id, over, under string) (e run.Estimate, why string) {
	a, b := ev.variant(id, over), ev.variant(id, under)
	switch {
	case a == nil || b == nil:
		return noEstimate, "not measured"
	case a.Time.N == 0 || b.Time.N == 0:
		return ev.notYet(), ""
	}
	e, missing := ev.results[id].LatencyRatio(over, under, 99, 1)
	return e, report.Reason(missing)
}

// ofRound is a figure of a block, by round.
type ofRound map[int]float64

// byRound returns a figure of each timed block of a variant that has it.
func (ev *evidence) byRound(id, name string, figure func(*run.Block) (float64, bool)) ofRound {
	of := ofRound{}
	if r := ev.results[id]; r != nil {
		for i := range r.Blocks {
			b := &r.Blocks[i]
			if b.Variant != name || b.Role != run.RoleTimed || b.Error != "" {
				continue
			}
			if x, ok := figure(b); ok {
				of[b.Round] = x
			}
		}
	}
	return of
}

// blockMetric returns a metric of a block.
func blockMetric(name string) func(*run.Block) (float64, bool) {
	return func(b *run.Block) (float64, bool) { x, ok := b.Metrics[name]; return x, ok }
}

// blockTime returns the time of an operation of a block.
func blockTime(b *run.Block) (float64, bool) {
	return float64(b.Wall) / float64(b.Ops), b.Ops > 0 && b.Wall > 0
}

// overRounds returns f of the figures of each round that has all of them, as the median with
// its interval; ok is false if no round has all. A round of which f is infinite or no
// number is left out.
func overRounds(f func(x []float64) float64, of ...ofRound) (e run.Estimate, ok bool) {
	var data []float64
	for round := range of[0] {
		x := make([]float64, 0, len(of))
		for _, o := range of {
			if v, ok := o[round]; ok {
				x = append(x, v)
			}
		}
		if len(x) < len(of) {
			continue
		}
		if y := f(x); !math.IsNaN(y) && !math.IsInf(y, 0) {
			data = append(data, y)
		}
	}
	if len(data) == 0 {
		return noEstimate, false
	}
	e = medianOf(data)
	for _, x := range []*float64{&e.Median, &e.Lo, &e.Hi} {
		if *x > infinite/1e10 { // or between it and a number
			*x = math.Inf(1)
		}
	}
	return e, true
}

// infinite stands for a ratio to nothing in a round: an interval can be had of it, and one
// that has no upper limit is told.
const infinite = 1e300

// overOf returns the ratio of two figures. Nothing to nothing is 1, anything else to nothing
// infinite: to leave such rounds out would favour the other side.
func overOf(x []float64) float64 {
	switch {
	case x[0] == x[1]:
		return 1
	case x[1] == 0:
		return infinite
	}
	return x[0] / x[1]
}
