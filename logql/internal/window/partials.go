package window

import (
	"math"

	"github.com/stele-go/stele/logql/syntax"
)

// counted counts entries.
type counted int64

func (c *counted) add(_ int64, _ float64, n int64) { *c += counted(n) }
func (c *counted) merge(o *counted)                { *c += *o }

func (c *counted) value(f *Function) (float64, bool) {
	v := float64(*c)
	if f.op == syntax.Rate {
		v /= f.seconds
	}
	return v, *c > 0
}

// summed sums up values, with what rounding lost of them (Neumaier).
type summed struct {
	n         int64
	sum, lost float64
}

func (s *summed) add(_ int64, v float64, n int64) {
	s.n += n
	s.plus(v)
}

func (s *summed) plus(v float64) {
	t := s.sum + v
	switch {
	case math.IsInf(t, 0):
		s.lost = 0
	case math.Abs(s.sum) >= math.Abs(v):
		s.lost += (s.sum - t) + v
	default:
		s.lost += (v - t) + s.sum
	}
	s.sum = t
}

func (s *summed) merge(o *summed) {
	if o.n == 0 {
		return
	}
	s.n += o.n
	s.plus(o.sum)
	s.lost += o.lost
}

func (s *summed) value(f *Function) (float64, bool) {
	v := s.sum + s.lost
	if f.op == syntax.Rate || f.op == syntax.BytesRate {
		v /= f.seconds
	}
	return v, s.n > 0
}

// lowest keeps the least value; NaN only if there is no other.
type lowest struct {
	set bool
	v   float64
}

func (l *lowest) add(_ int64, v float64, _ int64) {
	if !l.set || v < l.v || math.IsNaN(l.v) {
		l.set, l.v = true, v
	}
}

func (l *lowest) merge(o *lowest) {
	if o.set {
		l.add(0, o.v, 1)
	}
}

func (l *lowest) value(*Function) (float64, bool) { return l.v, l.set }

// highest keeps the greatest value; NaN only if there is no other.
type highest struct {
	set bool
	v   float64
}

func (h *highest) add(_ int64, v float64, _ int64) {
	if !h.set || v > h.v || math.IsNaN(h.v) {
		h.set, h.v = true, v
	}
}

func (h *highest) merge(o *highest) {
	if o.set {
		h.add(0, o.v, 1)
	}
}

func (h *highest) value(*Function) (float64, bool) { return h.v, h.set }

// moments keeps the mean and the sum of squared differences from it (Welford; merged
// as Chan, Golub and LeVeque do). Sums of squares would cancel each other out.
type moments struct {
	n        int64
	mean, m2 float64
}

func (m *moments) add(_ int64, v float64, _ int64) {
	m.n++
	d := v - m.mean
	if math.IsInf(v, 0) || math.IsInf(m.mean, 0) {
		m.mean += v // stays infinite, or becomes NaN for both infinities
	} else {
		m.mean += d / float64(m.n)
	}
	m.m2 += d * (v - m.mean)
}

func (m *moments) merge(o *moments) {
	if o.n == 0 {
		return
	}
	if m.n == 0 {
		*m = *o
		return
	}
	n := float64(m.n + o.n)
	d := o.mean - m.mean
	if math.IsInf(o.mean, 0) || math.IsInf(m.mean, 0) {
		m.mean += o.mean
	} else {
		m.mean += d * float64(o.n) / n
	}
	m.m2 += o.m2 + d*d*float64(m.n)*float64(o.n)/n
	m.n += o.n
}

func (m *moments) value(f *Function) (float64, bool) {
	if m.n == 0 {
		return 0, false
	}
	switch f.op {
	case syntax.StdvarOverTime:
		return m.m2 / float64(m.n), true
	case syntax.StddevOverTime:
		return math.Sqrt(m.m2 / float64(m.n)), true
	}
	return m.mean, true
}
