package window

import (
	"math"

	"github.com/stele-go/stele/logql/internal/matrix"
)

// increase is what is known of a run of a counter's samples. A value below the one
// before it means that the counter began again at 0.
type increase struct {
	n           int64
	first, last float64
	begin, end  int64   // times of first and last
	resets      float64 // the sum of the values from which it fell
}

func (c *increase) add(time int64, v float64, _ int64) {
	c.merge(&increase{n: 1, first: v, last: v, begin: time, end: time})
}

func (c *increase) merge(o *increase) {
	switch {
	case o.n == 0:
		return
	case c.n == 0:
		*c = *o
		return
	}
	c.resets += o.resets
	if o.first < c.last {
		c.resets += c.last
	}
	c.n += o.n
	c.last, c.end = o.last, o.end
}

// value returns the increase a second, extrapolated to the whole window where samples
// reach close to its edges, as Prometheus does it for rate().
func (c *increase) value(f *Function, end int64) (float64, bool) {
	switch {
	case c.n == 0:
		return 0, false
	case c.n < 2:
		return 0, true
	}
	const second = 1e9
	delta := c.last - c.first + c.resets
	sampled := float64(c.end-c.begin) / second
	toStart := float64(c.begin-(end-f.interval)) / second
	toEnd := float64(end-c.end) / second
	between := sampled / float64(c.n-1)
	if delta > 0 && c.first >= 0 {
		// A counter is not below 0: it is not extrapolated to before it was 0.
		toStart = math.Min(toStart, sampled*(c.first/delta))
	}
	reach := sampled
	for _, gap := range []float64{toStart, toEnd} {
		if gap < between*1.1 {
			reach += gap
		} else {
			reach += between / 2
		}
	}
	return delta * (reach / sampled) / f.seconds, true
}

// counter computes rate_counter of samples in the order of time.
func (s *samples) counter(f *Function, out *matrix.Series) {
	g := newGrid[increase](f)
	for _, e := range s.all {
		_ = g.add(int(e.cell), e.time, e.value, 1, nil) // only charge fails
	}
	g.result(f, out)
}
