package run

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/stele-go/stele/lab/stats"
)

// tailResamples of a bootstrap over pooled latencies, which costs more than one over
// the times of blocks: 25 of them lie beyond either end of an interval.
const tailResamples = 1_000

// pooled is the latencies of some blocks, of which resamples have quantiles without
// the histograms being merged each time.
type pooled struct {
	levels []level // by value
	counts []int64 // latencies of each block
}

// A level is the latencies of one value, in nanoseconds.
type level struct {
	ns float64
	of []blockCount
}

type blockCount struct {
	block int
	count int64
}

func pool(histograms []*Histogram) *pooled {
	p := &pooled{}
	at := map[float64]int{} // in levels
	for i, h := range histograms {
		p.counts = append(p.counts, h.Count())
		for _, bar := range h.h.Distribution() {
			if bar.Count == 0 {
				continue
			}
			ns := float64(bar.To)
			if _, ok := at[ns]; !ok {
				at[ns] = len(p.levels)
				p.levels = append(p.levels, level{ns: ns})
			}
			l := &p.levels[at[ns]]
			l.of = append(l.of, blockCount{i, bar.Count})
		}
	}
	slices.SortFunc(p.levels, func(a, b level) int { return cmp.Compare(a.ns, b.ns) })
	return p
}

// quantile returns the quantile q (0 to 1) of all latencies together where block i
// counts times[i] times, as Histogram.Quantile does. It begins at the end of the
// distribution that is nearer.
func (p *pooled) quantile(q float64, times []int) float64 {
	var total int64
	for i, n := range p.counts {
		total += n * int64(times[i])
	}
	below := max(int64(q*float64(total)+0.5), 1) // that must be at or below the quantile
	if q < 0.5 {
		var seen int64
		for i := range p.levels {
			if seen += p.levels[i].sum(times); seen >= below {
				return p.levels[i].ns
			}
		}
	}
	var above int64
	for i := len(p.levels) - 1; i >= 0; i-- {
		if above += p.levels[i].sum(times); above > total-below {
			return p.levels[i].ns
		}
	}
	return 0
}

func (l *level) sum(times []int) (n int64) {
	for _, c := range l.of {
		n += c.count * int64(times[c.block])
	}
	return n
}

// statistic is the quantile q of the blocks' latencies together.
func (p *pooled) statistic(q float64) stats.Statistic {
	return stats.Statistic{N: len(p.counts), Of: func(times []int) float64 { return p.quantile(q, times) }}
}

// latencies returns the histograms of a variant's blocks of one role, by round.
func (res *Result) latencies(variant, role string) map[int]*Histogram {
	m := map[int]*Histogram{}
	for i := range res.Blocks {
		if b := &res.Blocks[i]; b.Variant == variant && b.datum(role) && b.Latency != nil {
			m[b.Round] = b.Latency
		}
	}
	return m
}

// percentile returns a percentile of the latency of single operations of all blocks
// together. Its interval is from a bootstrap over the blocks, whose operations are
// not independent of each other: a block that is held up slows many of them.
func percentile(p float64, all *Histogram, blocks *pooled, singly bool, rng *rand.Rand) Percentile {
	if n := all.Count(); stats.CheckPercentile(p, n, confidence) != nil {
		return Percentile{P: p, Few: n, None: n == 0}
	}
	out := Percentile{P: p, NS: all.Quantile(p / 100)}
	if !singly {
		return out
	}
	if e := stats.Bootstrap(blocks.statistic(p/100), confidence, rng, tailResamples); e.Warning == nil {
		out.Lo, out.Hi = e.Lo, e.Hi
	}
	return out
}

// LatencyRatio returns how many times as long the percentile p (0 to 100) of the
// latency of single operations is with one variant as with another one of the same
// result: of all blocks of the rounds that both have together, with a 95 % interval
// from a bootstrap over these rounds. Where there is no such percentile it returns why,
// and where there are too few rounds Lo and Hi are NaN. The seed is that of the run.
func (res *Result) LatencyRatio(test, base string, p float64, seed uint64) (Estimate, Reason) {
	s, why := res.latencyRatio(res.latencies(test, RoleTimed), res.latencies(base, RoleTimed), p)
	if why == (Reason{}) && (res.grouped(test, RoleTimed) || res.grouped(base, RoleTimed)) {
		why = Reason{Code: ReasonGrouped}
	}
	if why != (Reason{}) {
		return noEstimate(), why
	}
	return estimate(stats.Bootstrap(s, confidence, res.random(seed, "latency", test, base, fmt.Sprint(p)), tailResamples)), Reason{}
}

// latencyRatio is the ratio of the percentile p in pairs of blocks.
func (res *Result) latencyRatio(test, base map[int]*Histogram, p float64) (stats.Statistic, Reason) {
	var tests, bases []*Histogram
	var nTest, nBase int64
	for _, round := range slices.Sorted(keysOfBoth(test, base)) {
		tests, bases = append(tests, test[round]), append(bases, base[round])
		nTest, nBase = nTest+test[round].Count(), nBase+base[round].Count()
	}
	if len(tests) == 0 {
		return stats.Statistic{}, Reason{Code: ReasonNoLatencies}
	}
	if n, need := min(nTest, nBase), stats.MinSamples(p/100, confidence); n < int64(need) {
		return stats.Statistic{}, Reason{Code: ReasonFewLatencies, N: n, Of: int64(need)}
	}
	a, b := pool(tests), pool(bases)
	return stats.Statistic{N: len(tests), Of: func(times []int) float64 {
		return a.quantile(p/100, times) / b.quantile(p/100, times)
	}}, Reason{}
}

func noEstimate() Estimate { return Estimate{Median: math.NaN(), Lo: math.NaN(), Hi: math.NaN()} }

// keysOfBoth yields the rounds that two sets of blocks share.
func keysOfBoth[T any](a, b map[int]T) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		for round := range a {
			if _, ok := b[round]; ok && !yield(round) {
				return
			}
		}
	}
}

// grouped reports whether some latencies of a variant are of several operations.
func (res *Result) grouped(variant, role string) bool {
	return slices.ContainsFunc(res.Blocks, func(b Block) bool { return b.Variant == variant && b.Role == role && b.Batch > 1 })
}

// random returns a random source that depends on a seed and on the names of what is
// estimated, and not on what was estimated before.
func (res *Result) random(seed uint64, names ...string) *rand.Rand {
	h := fnv.New64a()
	for _, s := range append([]string{res.ID, res.Place}, names...) {
		fmt.Fprintf(h, "%q", s)
	}
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}
