package claims

import (
	"slices"

	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/lab/stats"
)

// ratioOf returns the ratio of a metric of variant over to that of variant under, paired by
// round: the median of the rounds' ratios. Where the blocks do not tell it is the quotient
// of their medians, with the widest interval.
func (ev *evidence) ratioOf(id, metric, over, under string) run.Estimate {
	a, b := ev.metric(id, over, metric), ev.metric(id, under, metric)
	if r := ev.paired(id, over, under, func(b *run.Block) float64 { return b.Metrics[metric] }); r.N > 0 {
		return r
	}
	return quotient(a, b)
}

// ratio returns how many times as long as variant under variant over takes, paired by round:
// also where the two promise different things, so that the lab does not compare them, and
// where neither is the baseline.
func (ev *evidence) ratio(id, over, under string) run.Estimate {
	a, b := ev.time(id, over), ev.time(id, under)
	perOp := func(b *run.Block) float64 {
		if b.Ops == 0 {
			return 0
		}
		return float64(b.Wall) / float64(b.Ops)
	}
	if r := ev.paired(id, over, under, perOp); r.N > 0 {
		return r
	}
	return quotient(a, b)
}

// tailRatio returns the ratio of the p99 of operations of variant over to that of variant
// under, paired by round, or the reason why it is missing.
func (ev *evidence) tailRatio(id, over, under string) (e run.Estimate, why string) {
	for _, name := range []string{over, under} {
		if _, why := ev.tail(id, name); why != "" {
			return noEstimate, why
		}
	}
	return ev.paired(id, over, under, func(b *run.Block) float64 {
		if b.Latency == nil || stats.CheckPercentile(99, b.Latency.Count(), 0.95) != nil {
			return 0
		}
		return b.Latency.Quantile(0.99)
	}), ""
}

// paired returns the median of the rounds' ratios of a figure of two variants. Rounds in
// which a figure is not more than 0 do not count.
func (ev *evidence) paired(id, over, under string, figure func(*run.Block) float64) run.Estimate {
	r := ev.results[id]
	if r == nil {
		return noEstimate
	}
	timed := func(name string) (of []*run.Block) {
		for i := range r.Blocks {
			if b := &r.Blocks[i]; b.Role == run.RoleTimed && b.Variant == name {
				of = append(of, b)
			}
		}
		slices.SortStableFunc(of, func(a, b *run.Block) int { return a.Round - b.Round })
		return of
	}
	a, b := timed(over), timed(under)
	var ratios []float64
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0].Round < b[0].Round:
			a = a[1:]
		case b[0].Round < a[0].Round:
			b = b[1:]
		default:
			if x, y := figure(a[0]), figure(b[0]); x > 0 && y > 0 {
				ratios = append(ratios, x/y)
			}
			a, b = a[1:], b[1:]
		}
	}
	if len(ratios) == 0 {
		return noEstimate
	}
	return medianOf(ratios)
}
