// Package window computes range functions: what count_over_time, rate or
// quantile_over_time make of the lines of a range of time, at each step of a query.
//
// A step at moment t sees the entries of (t-Offset-Interval, t-Offset]. Where steps are
// closer than the interval is long, an entry counts for many steps. It is added once all
// the same: the edges of all windows cut time into cells, in each of which every entry
// is in the same windows. An entry is added to the partial result of its cell, in any
// order of entries; in the end each window merges a run of cells, by as many merges as
// there are cells, not as many as windows have cells.
//
//	time       ----------------------------------------->
//	windows    (---------0---------]
//	                   (---------1---------]
//	                           (---------2---------]
//	cells      |   0   |   1   | 2 |   3   | 4 |  ...
//
// Nothing is ever subtracted, so an infinite or a huge value harms no window but its own.
package window

import (
	"fmt"
	"math"
	"time"

	"github.com/stele-go/stele/logql/internal/matrix"
	"github.com/stele-go/stele/logql/syntax"
)

// A Function is a range function with the steps at which it is computed. Many
// goroutines may use one.
type Function struct {
	op       syntax.RangeOp
	values   bool // rate of an unwrapped label
	quantile float64
	seconds  float64 // of the interval

	steps            int
	start, step      int64
	interval, offset int64
	from, to         int64 // entries of from <= time < to are in some window

	geometry
}

// geometry says in which cell an entry is, and which cells a window has: window i has
// those from i*stride to before i*stride+width.
type geometry struct {
	kind          kind
	whole, rest   int64 // the interval is whole*step+rest
	stride, width int
	cells         int
	// Cells core to core+folded are in all windows: they are one cell.
	core, folded int64
}

type kind uint8

const (
	apart  kind = iota // windows do not overlap: a cell a window
	evenly             // the interval is a multiple of the step: cells as long as a step
	cut                // else each step has two cells
)

// New returns the function of a range aggregation at steps. Times of steps are from 0
// on; an interval is above 0 and, as an offset, at most 100 years.
func New(r *syntax.RangeAggregation, steps matrix.Steps) (*Function, error) {
	const most = 100 * 365 * 24 * time.Hour
	n := steps.Count()
	switch {
	case n == 0 || steps.Start < 0:
		return nil, fmt.Errorf("window: steps from %d to %d ns; want a start of 0 or more, and an end that is not before it", steps.Start, steps.End)
	case r.Interval <= 0 || r.Interval > most:
		return nil, fmt.Errorf("window: a range of %v; want more than 0, and at most %v", r.Interval, most)
	case r.Offset < -most || r.Offset > most:
		return nil, fmt.Errorf("window: an offset of %v; want from -%v to %v", r.Offset, most, most)
	}
	f := &Function{
		op: r.Op, values: r.Unwrap != nil, quantile: r.Quantile, seconds: r.Interval.Seconds(),
		steps: n, start: steps.Start, step: int64(steps.Step), interval: int64(r.Interval), offset: int64(r.Offset),
	}
	if n == 1 {
		f.step = f.interval
	}
	f.from = clip(f.start, -f.offset, -f.interval, 1)
	f.to = clip(f.start+int64(n-1)*f.step, -f.offset, 1)
	f.geometry = measure(n, f.step, f.interval)
	return f, nil
}

// clip returns the sum, or the time that a store may have which is nearest to it.
func clip(time int64, by ...int64) int64 {
	for _, d := range by {
		if d > 0 && time > math.MaxInt64-d {
			return math.MaxInt64
		}
		time += d
	}
	return max(time, 0)
}

func measure(n int, step, interval int64) geometry {
	g := geometry{whole: interval / step, rest: interval % step}
	var width int64
	switch {
	case n == 1 || interval <= step:
		g.kind, g.stride, width = apart, 1, 1
	case g.rest == 0:
		g.kind, g.stride, width = evenly, 1, g.whole
	default:
		g.kind, g.stride, width = cut, 2, 2*g.whole+1
	}
	// Of a window that is longer than all steps together, what lies between the last
	// window's begin and the first one's end is in every window.
	g.core = int64(n-1) * int64(g.stride)
	if width > g.core+1 {
		g.folded = width - g.core - 1
		width = g.core + 1
	}
	g.width = int(width)
	g.cells = int(g.core) + g.width
	return g
}

// From and To bound the times of the entries that count: From <= time < To.
func (f *Function) From() int64 { return f.from }

// To is the end of the times that From describes.
func (f *Function) To() int64 { return f.to }

// Steps returns the number of steps.
func (f *Function) Steps() int { return f.steps }

// Buckets returns how entries may be counted before they are added: those of which
// time-offset, divided by step, gives the same whole number are in the same windows,
// and may be one AddMany with any of their times. 0 <= offset < step. Entries before
// From and from To on are to be left out first.
func (f *Function) Buckets() (step, offset time.Duration) {
	s := f.interval
	if f.steps > 1 {
		s = gcd(f.step, f.interval)
	}
	o := (f.start%s - f.offset%s + 1) % s
	if o < 0 {
		o += s
	}
	return time.Duration(s), time.Duration(o)
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// Span returns the times around one whose entries are in the same windows as one of that time:
// those of from <= t < to. in is false if these are in no window.
func (f *Function) Span(time int64) (from, to int64, in bool) {
	cell, from, to := f.locate(time)
	if cell < 0 {
		return time, time + 1, false
	}
	return from, to, true
}

// locate returns the cell of an entry, -1 if it is in no window; so it is of all of
// from <= time < to.
func (f *Function) locate(time int64) (cell int, from, to int64) {
	if time < f.from || time >= f.to {
		return -1, time, time
	}
	u := time - f.start + f.offset // the windows of step i are (i*step-interval, i*step]
	b := u / f.step
	if u > b*f.step {
		b++ // rounded up; the quotient of a negative u is rounded up already
	}
	after, upto := (b-1)*f.step, b*f.step
	switch f.kind {
	case apart:
		after = upto - f.interval
		if u <= after {
			return -1, time, time
		}
	case evenly:
		b += f.whole - 1
	case cut:
		middle := upto - f.rest
		b = 2*(b+f.whole) - 1
		if u > middle {
			b++
			after = middle
		} else {
			upto = middle
		}
	}
	if b > f.core {
		b = max(f.core, b-f.folded)
	}
	begin := f.start - f.offset + 1
	return int(b), max(after+begin, f.from), min(upto+begin, f.to)
}
