package run

import (
	"cmp"

	"github.com/stele-go/stele/lab/stats"
)

// percentiles are those that reports show.
var percentiles = []float64{50, 90, 99, 99.9}

// describe fills in the figures of one variant, from its blocks. The seed is that of
// the run.
func (res *Result) describe(seed uint64, v *VariantResult) {
	d := variantData{metrics: map[string][]float64{}, reasons: map[string]map[Reason]int{}, latency: NewHistogram()}
	for i := range res.Blocks {
		if res.Blocks[i].Variant == v.Name {
			d.add(&res.Blocks[i])
		}
	}
	s := res.times(v.Name, RoleTimed)
	order := rounds(s)
	data := s.at(order)
	*v = VariantResult{
		Name: v.Name, Doc: v.Doc, Promise: v.Promise, Baseline: v.Baseline, Cell: v.Cell, Error: v.Error, Unsupported: v.Unsupported,
		Time: estimate(stats.Median(data, confidence)), Batch: max(d.batch, 1), Parallel: d.parallel, Open: d.open,
		Metrics: map[string]Estimate{}, Missing: map[string]Reason{},
	}
	v.OpsPerSecond = perSecond(v.Time)
	if d.open {
		v.OpsPerSecond = perSecond(estimate(stats.Median(d.walls, confidence)))
	}
	blocks := pool(d.histograms)
	for _, i := range stats.Outliers(data) {
		v.Outliers = append(v.Outliers, order[i])
	}
	v.Steady = steady(order, data)
	for _, p := range percentiles {
		v.Latency = append(v.Latency, percentile(p, d.latency, blocks, v.Batch == 1, res.random(seed, "latency", v.Name)))
	}
	d.fillMetrics(v)
	d.fillSyscalls(v)
	v.Waits = waitsOf(d.watched)
	v.Trace = traceOf(d.watched, d.traced)
	v.Warnings = d.warnings(v)
}

// perSecond turns a time of an operation in nanoseconds into operations a second. The
// reciprocal of a median is the median of the reciprocals.
func perSecond(t Estimate) Estimate {
	if !(t.Median > 0) {
		return Estimate{}
	}
	return Estimate{Median: 1e9 / t.Median, Lo: 1e9 / t.Hi, Hi: 1e9 / t.Lo, Confidence: t.Confidence, N: t.N}
}

// variantData gathers the blocks of one variant.
type variantData struct {
	timed, failed int
	firstError    string
	batch         int64
	parallel      int  // operations at a time
	open          bool // an open model, whose walls are not its times
	walls         []float64
	latency       *Histogram
	histograms    []*Histogram
	metrics       map[string][]float64
	reasons       map[string]map[Reason]int // metric, reason: timed blocks
	counted       []*Block
	watched       []*Block
	traced        []*Block
	notCounted    Reason
}

func (d *variantData) add(b *Block) {
	switch {
	case b.Role == RoleCounted:
		d.addCounted(b)
	case b.Role == RoleWaits:
		d.watched = append(d.watched, b)
	case b.Role == RoleTraced:
		d.traced = append(d.traced, b)
	case b.Role != RoleTimed:
	case !b.datum(RoleTimed):
		d.failed++
		d.firstError = cmp.Or(d.firstError, b.Error)
	default:
		d.timed++
		d.batch = max(d.batch, b.Batch)
		d.parallel = max(d.parallel, b.Parallel)
		d.open = d.open || b.Response > 0
		d.walls = append(d.walls, float64(b.Wall)/float64(b.Ops))
		d.latency.Merge(b.Latency)
		if b.Latency != nil {
			d.histograms = append(d.histograms, b.Latency)
		}
		for name, x := range b.Metrics {
			d.metrics[name] = append(d.metrics[name], x)
		}
		for name, why := range b.Missing {
			if d.reasons[name] == nil {
				d.reasons[name] = map[Reason]int{}
			}
			d.reasons[name][why]++
		}
	}
}

// addCounted keeps a block of counted system calls, or why it has none.
func (d *variantData) addCounted(b *Block) {
	if why := b.uncounted(); why != (Reason{}) {
		d.notCounted = cmp.Or(d.notCounted, why)
		return
	}
	d.counted = append(d.counted, b)
}

// uncounted says why a block has no counts of system calls. A block without counts
// and without a reason made no calls: its map is empty, and left out of the JSON.
func (b *Block) uncounted() Reason {
	if b.Error != "" || b.Ops == 0 {
		return Reason{Code: ReasonCountFailed, Text: b.Error}
	}
	return cmp.Or(b.Missing[syscalls], b.Missing[MetricSyscalls])
}

// calls is the number of counted system calls an operation, without those
// that the Go runtime makes by itself.
func (b *Block) calls() float64 {
	var n int64
	for name, calls := range b.Syscalls {
		if !RuntimeSyscall(name) {
			n += calls
		}
	}
	return float64(n) / float64(b.Ops)
}

// MetricSyscalls is the metric of system calls an operation, and syscalls the key
// of Missing where they were not counted.
const (
	MetricSyscalls = "syscalls_per_op"
	syscalls       = "syscalls"
)

func (d *variantData) fillMetrics(v *VariantResult) {
	for name, x := range d.metrics {
		v.Metrics[name] = estimate(stats.Median(x, confidence))
	}
	for name, why := range d.reasons {
		if _, ok := v.Metrics[name]; !ok {
			v.Missing[name] = commonest(why)
		}
	}
}

// fillSyscalls takes the calls from the counting blocks, whatever the timed
// ones say of them.
func (d *variantData) fillSyscalls(v *VariantResult) {
	delete(v.Metrics, MetricSyscalls)
	delete(v.Missing, MetricSyscalls)
	if len(d.counted) == 0 {
		why := cmp.Or(d.notCounted, Reason{Code: ReasonNotCounted})
		v.Missing[syscalls], v.Missing[MetricSyscalls] = why, why
		return
	}
	delete(v.Missing, syscalls)
	v.Syscalls = map[string]float64{}
	var ops int64
	var perOp []float64
	for _, b := range d.counted {
		for name, n := range b.Syscalls {
			v.Syscalls[name] += float64(n)
		}
		ops += b.Ops
		perOp = append(perOp, b.calls())
	}
	for name := range v.Syscalls {
		v.Syscalls[name] /= float64(ops)
	}
	v.Metrics[MetricSyscalls] = estimate(stats.Median(perOp, confidence))
}

// commonest returns the reason given most often; of equals the first in order.
func commonest(reasons map[Reason]int) Reason {
	var best Reason
	for why, n := range reasons {
		if m := reasons[best]; n > m || n == m && why.compare(best) < 0 {
			best = why
		}
	}
	return best
}
