package claims

import (
	"math"

	"github.com/stele-go/stele/lab/run"
)

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
// its interval. There is none if no round has all.
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
	return medianOf(data), true
}

func overOf(x []float64) float64 { return x[0] / x[1] }

// pairedMetric returns a metric of one variant as a multiple of another's, from the blocks of
// the same rounds.
func (ev *evidence) pairedMetric(id, above, below, metric string) run.Estimate {
	a, b := ev.metric(id, above, metric), ev.metric(id, below, metric)
	if e, ok := overRounds(overOf, ev.byRound(id, above, blockMetric(metric)), ev.byRound(id, below, blockMetric(metric))); ok {
		return e
	}
	return quotient(a, b)
}

// pairedTimes is times with the interval of pairs: how many times as fast as slow fast is,
// from the blocks of the same rounds.
func (ev *evidence) pairedTimes(id, slow, fast string) run.Estimate {
	a, b := ev.time(id, slow), ev.time(id, fast)
	if e, ok := overRounds(overOf, ev.byRound(id, slow, blockTime), ev.byRound(id, fast, blockTime)); ok {
		return e
	}
	return quotient(a, b)
}
