package window

import (
	"context"

	"github.com/stele-go/stele/logql/internal/matrix"
)

// increase is what is known of a run of a counter's samples. A value below the one
// before it means that the counter began again at 0.
type increase struct {
	n           int64
	first, last float64
	resets      float64 // the sum of the values from which it fell
}

func (c *increase) add(_ int64, v float64, _ int64) {
	c.merge(&increase{n: 1, first: v, last: v})
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
	c.last = o.last
}

// value returns the increase from the first sample to the last, divided by the whole
// interval. It is not extrapolated to the edges of the window, as Prometheus does it:
// neither is Loki's, but for a millionth of the interval.
func (c *increase) value(f *Function) (float64, bool) {
	return (c.last - c.first + c.resets) / f.seconds, c.n > 0
}

// counter computes rate_counter of samples in the order of time.
func (s *samples) counter(ctx context.Context, f *Function, out *matrix.Series) error {
	g := newGrid[increase](f)
	for i, e := range s.all {
		if i%checkSamples == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		_ = g.add(int(e.cell), e.time, e.value, 1, nil) // only charge fails
	}
	return g.result(ctx, f, out)
}
