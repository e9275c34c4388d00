package window

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stele-go/stele/internal/testseed"
	"github.com/stele-go/stele/logql/internal/matrix"
	"github.com/stele-go/stele/logql/syntax"
)

type entry struct {
	time  int64
	value float64
}

var functions = []struct {
	op     syntax.RangeOp
	unwrap bool
	of     func(r *syntax.RangeAggregation, in []entry) float64 // in is not empty, ordered by time
}{
	{syntax.CountOverTime, false, func(_ *syntax.RangeAggregation, in []entry) float64 { return float64(len(in)) }},
	{syntax.Rate, false, func(r *syntax.RangeAggregation, in []entry) float64 {
		return float64(len(in)) / r.Interval.Seconds()
	}},
	{syntax.Rate, true, func(r *syntax.RangeAggregation, in []entry) float64 { return sum(in) / r.Interval.Seconds() }},
	{syntax.BytesOverTime, false, func(_ *syntax.RangeAggregation, in []entry) float64 { return sum(in) }},
	{syntax.BytesRate, false, func(r *syntax.RangeAggregation, in []entry) float64 { return sum(in) / r.Interval.Seconds() }},
	{syntax.SumOverTime, true, func(_ *syntax.RangeAggregation, in []entry) float64 { return sum(in) }},
	{syntax.AvgOverTime, true, func(_ *syntax.RangeAggregation, in []entry) float64 { return sum(in) / float64(len(in)) }},
	{syntax.MinOverTime, true, func(_ *syntax.RangeAggregation, in []entry) float64 { return slices.Min(values(in)) }},
	{syntax.MaxOverTime, true, func(_ *syntax.RangeAggregation, in []entry) float64 { return slices.Max(values(in)) }},
	{syntax.StdvarOverTime, true, func(_ *syntax.RangeAggregation, in []entry) float64 { return variance(in) }},
	{syntax.StddevOverTime, true, func(_ *syntax.RangeAggregation, in []entry) float64 { return math.Sqrt(variance(in)) }},
	{syntax.FirstOverTime, true, func(_ *syntax.RangeAggregation, in []entry) float64 { return in[0].value }},
	{syntax.LastOverTime, true, func(_ *syntax.RangeAggregation, in []entry) float64 { return in[len(in)-1].value }},
	{syntax.QuantileOverTime, true, func(r *syntax.RangeAggregation, in []entry) float64 {
		v := values(in)
		slices.Sort(v)
		return quantile(r.Quantile, len(v), func(k int) float64 { return v[k] })
	}},
	{syntax.RateCounter, true, plainCounter},
}

func values(in []entry) (v []float64) {
	for _, e := range in {
		v = append(v, e.value)
	}
	return v
}

func sum(in []entry) (s float64) {
	for _, e := range in {
		s += e.value
	}
	return s
}

func variance(in []entry) (v float64) {
	mean := sum(in) / float64(len(in))
	for _, e := range in {
		v += (e.value - mean) * (e.value - mean)
	}
	return v / float64(len(in))
}

func plainCounter(r *syntax.RangeAggregation, in []entry) float64 {
	grown := 0.0
	for i := 1; i < len(in); i++ {
		grown += in[i].value - in[i-1].value
		if in[i].value < in[i-1].value {
			grown += in[i-1].value
		}
	}
	return grown / r.Interval.Seconds()
}

// TestFunctions compares each function with one that looks at each window by itself.
func TestFunctions(t *testing.T) {
	seed := testseed.Of(t)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 400 {
		c := functions[r.IntN(len(functions))]
		step := 1 + r.Int64N(20)
		agg := &syntax.RangeAggregation{
			Op: c.op, Quantile: r.Float64(), Interval: time.Duration(1 + r.Int64N(100)), Offset: time.Duration(r.Int64N(50) - 25),
		}
		switch r.IntN(3) {
		case 0:
			agg.Interval = time.Duration(step * (1 + r.Int64N(9)))
		case 1:
			agg.Interval = time.Duration(1 + r.Int64N(step))
		}
		if c.unwrap {
			agg.Unwrap = &syntax.Unwrap{}
		}
		steps := matrix.Steps{Start: 200 + r.Int64N(20), Step: time.Duration(step)}
		steps.End = steps.Start + r.Int64N(400)
		if r.IntN(5) == 0 {
			steps.End, steps.Step = steps.Start, 0
		}
		var in []entry
		for time := r.Int64N(400); time < 700; time += 1 + r.Int64N(1+r.Int64N(40)) {
			in = append(in, entry{time, float64(r.IntN(1000)) / 8})
		}
		name := fmt.Sprintf("op %d interval %d step %d offset %d steps %+v", c.op, agg.Interval, step, agg.Offset, steps)
		f, err := New(agg, steps)
		if err != nil {
			t.Fatal(name, err)
		}
		check(t, name, f, steps, addShuffled(t, r, f, in), func(i int) (float64, bool) {
			end := steps.At(i) - int64(agg.Offset)
			var window []entry
			for _, e := range in {
				if e.time > end-int64(agg.Interval) && e.time <= end {
					window = append(window, e)
					if e.time < f.From() || e.time >= f.To() {
						t.Fatalf("%s: an entry at %d counts, from %d to %d", name, e.time, f.From(), f.To())
					}
				}
			}
			if len(window) == 0 {
				return 0, false
			}
			return c.of(agg, window), true
		})
	}
}

// addShuffled adds entries in any order to two accumulators, and merges them.
func addShuffled(t *testing.T, r *rand.Rand, f *Function, in []entry) matrix.Series {
	t.Helper()
	a, b := f.NewAccumulator(), f.NewAccumulator()
	for _, i := range r.Perm(len(in)) {
		to := a
		if r.IntN(2) == 0 {
			to = b
		}
		if err := to.Add(in[i].time, in[i].value, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Merge(b, nil); err != nil {
		t.Fatal(err)
	}
	return result(t, a, nil)
}

func result(t *testing.T, a *Accumulator, labels []matrix.Label) matrix.Series {
	t.Helper()
	s, err := a.Result(context.Background(), labels)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func check(t *testing.T, name string, f *Function, steps matrix.Steps, got matrix.Series, want func(i int) (float64, bool)) {
	t.Helper()
	for i := range steps.Count() {
		v, ok := want(i)
		if ok != got.HasValue(i) || ok && math.Abs(v-got.Values[i]) > 1e-9*(1+math.Abs(v)) {
			t.Fatalf("%s: step %d: %v %v, want %v %v", name, i, got.Values[i], got.HasValue(i), v, ok)
		}
	}
}

func TestAbsent(t *testing.T) {
	agg := &syntax.RangeAggregation{Op: syntax.AbsentOverTime, Interval: 10}
	f, err := New(agg, matrix.Steps{Start: 100, End: 100 + 99*5, Step: 5})
	if err != nil {
		t.Fatal(err)
	}
	a := f.NewAccumulator()
	_ = a.Add(100, 0, nil)
	_ = a.Add(100+98*5, 0, nil)
	s := result(t, a, []matrix.Label{{Name: "app", Value: "x"}})
	for i := range 100 {
		if want := i > 1 && i < 98; s.HasValue(i) != want {
			t.Errorf("step %d: %v, want %v", i, s.HasValue(i), want)
		}
	}
	if s.Len() != 96 {
		t.Errorf("%d steps, want 96", s.Len())
	}
}

// TestBuckets counts by buckets first.
func TestBuckets(t *testing.T) {
	seed := testseed.Of(t)
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 200 {
		agg := &syntax.RangeAggregation{Op: syntax.CountOverTime, Interval: time.Duration(1 + r.Int64N(60)), Offset: time.Duration(r.Int64N(50) - 25)}
		steps := matrix.Steps{Start: 200 + r.Int64N(20), Step: time.Duration(1 + r.Int64N(20))}
		steps.End = steps.Start + r.Int64N(300)
		f, err := New(agg, steps)
		if err != nil {
			t.Fatal(err)
		}
		step, offset := f.Buckets()
		one, many := f.NewAccumulator(), f.NewAccumulator()
		for k := (f.From()-int64(offset))/int64(step) - 1; k*int64(step)+int64(offset) < f.To(); k++ {
			n, at := int64(0), int64(0)
			for time := k*int64(step) + int64(offset); time < (k+1)*int64(step)+int64(offset); time++ {
				if time >= f.From() && time < f.To() && r.IntN(3) == 0 {
					_ = one.Add(time, 0, nil)
					n, at = n+1, time
				}
			}
			_ = many.AddMany(at, n, 0, nil)
		}
		want := result(t, one, nil)
		check(t, fmt.Sprintf("%+v %+v", agg, steps), f, steps, result(t, many, nil), func(i int) (float64, bool) { return want.Values[i], want.HasValue(i) })
	}
}

// TestLongInterval bounds what a range takes that is much longer than the steps.
func TestLongInterval(t *testing.T) {
	for _, interval := range []time.Duration{30 * 24 * time.Hour, 30*24*time.Hour + 1} {
		f, err := New(&syntax.RangeAggregation{Op: syntax.CountOverTime, Interval: interval}, matrix.Steps{Start: 1e18, End: 1e18 + 60e9, Step: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		if f.cells > 4*61 {
			t.Errorf("%v: %d cells", interval, f.cells)
		}
		a := f.NewAccumulator()
		for at := f.From() - 1e9; at < f.To()+2e9; at += 1e9 {
			_ = a.Add(at, 0, nil)
		}
		s := result(t, a, nil)
		for i, v := range s.Values {
			if want := float64(interval / time.Second); math.Abs(v-want) > 1 {
				t.Errorf("%v: step %d: %v, want %v", interval, i, v, want)
			}
		}
	}
}

func TestExtremes(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		op   syntax.RangeOp
		in   []float64
		want float64
	}{
		{syntax.MinOverTime, []float64{nan, 3, nan, 2}, 2},
		{syntax.MaxOverTime, []float64{nan, 3, nan, 4}, 4},
		{syntax.MaxOverTime, []float64{nan}, nan},
		{syntax.SumOverTime, []float64{inf, 1}, inf},
		{syntax.SumOverTime, []float64{1e16, 1, -1e16}, 1},
		{syntax.AvgOverTime, []float64{inf, 1, inf}, inf},
		{syntax.AvgOverTime, []float64{inf, -inf}, nan},
		{syntax.StdvarOverTime, []float64{1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16}, 22.5},
		{syntax.QuantileOverTime, []float64{1, 2, 3, 4}, 3.4},
	} {
		f, err := New(&syntax.RangeAggregation{Op: c.op, Interval: 10, Quantile: 0.8, Unwrap: &syntax.Unwrap{}}, matrix.Steps{Start: 10, End: 10})
		if err != nil {
			t.Fatal(err)
		}
		a := f.NewAccumulator()
		for i, v := range c.in {
			_ = a.Add(int64(i+1), v, nil)
		}
		got := result(t, a, nil).Values[0]
		if got != c.want && !(math.IsNaN(got) && math.IsNaN(c.want)) && math.Abs(got-c.want) > 1e-12 {
			t.Errorf("op %d of %v: %v, want %v", c.op, c.in, got, c.want)
		}
	}
}

func TestCharge(t *testing.T) {
	full := errors.New("full")
	for _, c := range functions {
		agg := &syntax.RangeAggregation{Op: c.op, Interval: 10}
		f, err := New(agg, matrix.Steps{Start: 10, End: 1e6, Step: 10})
		if err != nil {
			t.Fatal(err)
		}
		a, left := f.NewAccumulator(), int64(20_000)
		charge := func(n int64) error {
			if left -= n; left < 0 {
				return full
			}
			return nil
		}
		err = nil
		for at := int64(1); at < 1e6 && err == nil; at += 10 {
			err = a.Add(at, 1, charge)
		}
		if err != full {
			t.Errorf("op %d: %v, want the error of charge", c.op, err)
		}
	}
}

func TestRefused(t *testing.T) {
	year := 365 * 24 * time.Hour
	for _, c := range []struct {
		interval, offset time.Duration
		steps            matrix.Steps
	}{
		{0, 0, matrix.Steps{}},
		{101 * year, 0, matrix.Steps{}},
		{1, 101 * year, matrix.Steps{}},
		{1, -101 * year, matrix.Steps{}},
		{1, 0, matrix.Steps{Start: -1, End: 5, Step: 1}},
		{1, 0, matrix.Steps{Start: 5, End: 4, Step: 1}},
	} {
		if _, err := New(&syntax.RangeAggregation{Interval: c.interval, Offset: c.offset}, c.steps); err == nil {
			t.Errorf("%+v: accepted", c)
		}
	}
}

// TestLocate checks that all times that locate says are in the same cell are.
func TestLocate(t *testing.T) {
	for _, interval := range []time.Duration{1, 3, 5, 7, 10, 13, 40, 100} {
		f, err := New(&syntax.RangeAggregation{Interval: interval, Offset: 2}, matrix.Steps{Start: 100, End: 140, Step: 5})
		if err != nil {
			t.Fatal(err)
		}
		for at := int64(0); at < 200; at++ {
			cell, from, to := f.locate(at)
			for other := from; other < to; other++ {
				if c, _, _ := f.locate(other); c != cell || at < from || at >= to {
					t.Fatalf("interval %d: %d is in cell %d, from %d to %d; %d is in cell %d", interval, at, cell, from, to, other, c)
				}
			}
		}
	}
}

func BenchmarkAdd(b *testing.B) {
	for _, c := range []struct {
		name string
		op   syntax.RangeOp
	}{{"count", syntax.CountOverTime}, {"sum", syntax.SumOverTime}, {"stddev", syntax.StddevOverTime}, {"quantile", syntax.QuantileOverTime}} {
		b.Run("op="+c.name, func(b *testing.B) {
			f, err := New(&syntax.RangeAggregation{Op: c.op, Interval: 5 * time.Minute, Unwrap: &syntax.Unwrap{}},
				matrix.Steps{Start: 1e18, End: 1e18 + 3600e9, Step: 15 * time.Second})
			if err != nil {
				b.Fatal(err)
			}
			a := f.NewAccumulator()
			at := int64(1e18)
			b.ReportAllocs()
			for b.Loop() {
				if at += 1e6; at > 1e18+3600e9 {
					at = 1e18
				}
				_ = a.Add(at, 1, nil)
			}
		})
	}
}
