package window

import (
	"github.com/stele-go/stele/logql/internal/matrix"
	"github.com/stele-go/stele/logql/syntax"
)

// An Accumulator has what a function has seen of one series so far. One goroutine uses it
// at a time.
type Accumulator struct {
	f       *Function
	s       store
	entries int64

	// cell is that of from <= time < to: the next entry is mostly in the same one, and to
	// find it takes a division.
	cell     int
	from, to int64
}

// A store holds entries, or partial results, by cell.
type store interface {
	add(cell int, time int64, value float64, n int64, charge func(int64) error) error
	merge(other store, charge func(int64) error) error
	result(f *Function, s *matrix.Series)
}

// NewAccumulator returns an accumulator of one series.
func (f *Function) NewAccumulator() *Accumulator {
	return &Accumulator{f: f, s: f.newStore()}
}

func (f *Function) newStore() store {
	switch f.op {
	case syntax.CountOverTime, syntax.AbsentOverTime:
		return newGrid[counted](f)
	case syntax.Rate:
		if !f.values {
			return newGrid[counted](f)
		}
		return newGrid[summed](f)
	case syntax.BytesOverTime, syntax.BytesRate, syntax.SumOverTime:
		return newGrid[summed](f)
	case syntax.MinOverTime:
		return newGrid[lowest](f)
	case syntax.MaxOverTime:
		return newGrid[highest](f)
	case syntax.AvgOverTime, syntax.StddevOverTime, syntax.StdvarOverTime:
		return newGrid[moments](f)
	case syntax.FirstOverTime:
		return newGrid[earliest](f)
	case syntax.LastOverTime:
		return newGrid[latest](f)
	default: // RateCounter, QuantileOverTime
		return &samples{}
	}
}

// Add adds an entry. The value is that of the unwrapped label, the length of the
// line for bytes_over_time and bytes_rate, and unused where lines are counted. Entries
// may come in any order; where those of equal time matter to first_over_time and
// last_over_time, their order is that of the calls. Memory that is kept is told to charge,
// in bytes; its error is that of Add, and the accumulator is of no use then. A nil
// charge is none.
func (a *Accumulator) Add(time int64, value float64, charge func(bytes int64) error) error {
	if time < a.from || time >= a.to {
		if a.cell, a.from, a.to = a.f.locate(time); a.cell < 0 {
			return nil
		}
	}
	a.entries++
	return a.s.add(a.cell, time, value, 1, charge)
}

// AddMany adds n entries of which sum is the sum of all values: for the functions that
// only count and sum up. All are in the same windows as one of the given time (see Buckets).
func (a *Accumulator) AddMany(time, n int64, sum float64, charge func(bytes int64) error) error {
	c, _, _ := a.f.locate(time)
	if c < 0 || n == 0 {
		return nil
	}
	a.entries += n
	return a.s.add(c, time, sum, n, charge)
}

// Merge adds the entries of other, an accumulator of the same function, which is not
// used any more. For first_over_time and last_over_time those of other count as added later.
func (a *Accumulator) Merge(other *Accumulator, charge func(bytes int64) error) error {
	a.entries += other.entries
	return a.s.merge(other.s, charge)
}

// Entries returns how many entries were added that are in some window.
func (a *Accumulator) Entries() int64 { return a.entries }

// Result returns the value of each step, as a series with the given labels. Steps
// without an entry have none; for absent_over_time it is these that have one.
func (a *Accumulator) Result(labels []matrix.Label) matrix.Series {
	s := matrix.NewSeries(labels, a.f.steps)
	a.s.result(a.f, &s)
	if a.f.op == syntax.AbsentOverTime {
		invert(&s)
	}
	return s
}

func invert(s *matrix.Series) {
	for i := range s.Values {
		s.Values[i] = 1
	}
	for w := range s.Has {
		s.Has[w] = ^s.Has[w]
	}
	if rest := len(s.Values) % 64; rest != 0 {
		s.Has[len(s.Has)-1] &= 1<<rest - 1
	}
}

// tell charges bytes, if somebody counts them.
func tell(charge func(int64) error, bytes int64) error {
	if charge == nil || bytes == 0 {
		return nil
	}
	return charge(bytes)
}
