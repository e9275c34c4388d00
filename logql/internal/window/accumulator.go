package window

import (
	"context"
	"unsafe"

	"github.com/stele-go/stele/logql/internal/matrix"
	"github.com/stele-go/stele/logql/syntax"
	"github.com/stele-go/stele/logstore"
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
	// result sets the steps of s; its error is that of ctx.
	result(ctx context.Context, f *Function, s *matrix.Series) error
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
		return newEndsGrid[earliest](f)
	case syntax.LastOverTime:
		return newEndsGrid[latest](f)
	default: // RateCounter, QuantileOverTime
		return &samples{}
	}
}

// Add adds an entry. The value is that of the unwrapped label, the length of the
// line for bytes_over_time and bytes_rate, and unused where lines are counted. Entries
// may come in any order; for first_over_time and last_over_time AddAt also orders those of
// equal time. Memory that is kept is told to charge,
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

// AddAt is Add of the entry that a cursor names. Of entries of equal time the first and the
// last are those of the order of queries, in whatever order they are added.
func (a *Accumulator) AddAt(at *logstore.Cursor, value float64, charge func(bytes int64) error) error {
	s, ok := a.s.(ordered)
	if !ok {
		return a.Add(at.Time, value, charge)
	}
	cell, _, _ := a.f.locate(at.Time)
	if cell < 0 {
		return nil
	}
	a.entries++
	return s.addAt(cell, at, value, charge)
}

// An ordered store tells entries of equal time apart.
type ordered interface {
	addAt(cell int, at *logstore.Cursor, value float64, charge func(int64) error) error
}

// Ordered reports whether the result depends on the order of entries of equal time, so that
// AddAt is to be called.
func (f *Function) Ordered() bool {
	return f.op == syntax.FirstOverTime || f.op == syntax.LastOverTime
}

// AccumulatorBytes returns the memory of an accumulator without entries.
func (f *Function) AccumulatorBytes() int64 {
	const fixed = int64(unsafe.Sizeof(Accumulator{})) + 64
	switch f.op {
	case syntax.QuantileOverTime, syntax.RateCounter:
		return fixed
	}
	return fixed + int64(f.pages())*int64(unsafe.Sizeof(uintptr(0)))
}

// AddMany adds n entries of which sum is the sum of all values: for the functions that
// only count and sum up. All are in the same windows as one of the given time (see Buckets).
func (a *Accumulator) AddMany(time, n int64, sum float64, charge func(bytes int64) error) error {
	if time < a.from || time >= a.to {
		a.cell, a.from, a.to = a.f.locate(time)
	}
	if a.cell < 0 || n == 0 {
		return nil
	}
	a.entries += n
	return a.s.add(a.cell, time, sum, n, charge)
}

// Merge adds the entries of other, an accumulator of the same function, which is not
// used any more. For first_over_time and last_over_time those of other that were not added by
// AddAt count as added later.
func (a *Accumulator) Merge(other *Accumulator, charge func(bytes int64) error) error {
	a.entries += other.entries
	return a.s.merge(other.s, charge)
}

// Entries returns how many entries were added that are in some window.
func (a *Accumulator) Entries() int64 { return a.entries }

// Result returns the value of each step, as a series with the given labels. Steps
// without an entry have none; for absent_over_time it is these that have one. The error is
// that of ctx.
func (a *Accumulator) Result(ctx context.Context, labels []matrix.Label) (matrix.Series, error) {
	s := matrix.NewSeries(labels, a.f.steps)
	if err := a.s.result(ctx, a.f, &s); err != nil {
		return matrix.Series{}, err
	}
	if a.f.op == syntax.AbsentOverTime {
		invert(&s)
	}
	return s, nil
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
