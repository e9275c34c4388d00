package window

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/stele-go/stele/internal/testseed"
	"github.com/stele-go/stele/logql/internal/matrix"
	"github.com/stele-go/stele/logql/syntax"
	"github.com/stele-go/stele/logstore"
)

// Of entries of equal time the first and the last are those of the order of queries, in
// whatever order and by however many accumulators they are added.
func TestOrderOfEqualTimes(t *testing.T) {
	a, b := logstore.MustLabels("s", "a"), logstore.MustLabels("s", "b")
	entries := []logstore.Cursor{
		{Time: 5, Labels: a, Position: 9, Place: 1}, {Time: 5, Labels: a, Position: 9, Place: 2}, {Time: 5, Labels: a, Position: 12},
		{Time: 5, Labels: b, Position: 3}, {Time: 5, Labels: b, Position: 8},
	}
	seed := testseed.Of(t)
	r := rand.New(rand.NewPCG(seed, 1))
	for op, want := range map[syntax.RangeOp]float64{syntax.FirstOverTime: 0, syntax.LastOverTime: 4} {
		f, err := New(&syntax.RangeAggregation{Op: op, Interval: 10}, matrix.Steps{Start: 10, End: 10})
		if err != nil || !f.Ordered() {
			t.Fatal(err, f.Ordered())
		}
		for range 100 {
			parts := []*Accumulator{f.NewAccumulator(), f.NewAccumulator()}
			for _, i := range r.Perm(len(entries)) {
				if err := parts[r.IntN(2)].AddAt(&entries[i], float64(i), nil); err != nil {
					t.Fatal(err)
				}
			}
			if err := parts[0].Merge(parts[1], nil); err != nil {
				t.Fatal(err)
			}
			if got := result(t, parts[0], nil).Values[0]; got != want || parts[0].Entries() != 5 {
				t.Fatalf("seed %d: op %d: %v of %d entries; want %v of 5", seed, op, got, parts[0].Entries(), want)
			}
		}
	}
}

// The functions that sort samples end when the context is done.
func TestResultEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, op := range []syntax.RangeOp{syntax.QuantileOverTime, syntax.RateCounter} {
		f, err := New(&syntax.RangeAggregation{Op: op, Interval: 100_000, Unwrap: &syntax.Unwrap{}}, matrix.Steps{Start: 100_000, End: 100_000})
		if err != nil {
			t.Fatal(err)
		}
		a := f.NewAccumulator()
		for i := range int64(20_000) {
			if err := a.Add(1+i*7919%99_991, float64(i), nil); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := a.Result(ctx, nil); !errors.Is(err, context.Canceled) {
			t.Errorf("op %d: %v; want context.Canceled", op, err)
		}
	}
}

// A grid's pages are known before there are entries.
func TestAccumulatorBytes(t *testing.T) {
	for op, least := range map[syntax.RangeOp]int64{syntax.CountOverTime: 10_000 / pageCells * 8, syntax.QuantileOverTime: 1} {
		f, err := New(&syntax.RangeAggregation{Op: op, Interval: 10}, matrix.Steps{Start: 10, End: 100_000, Step: 10})
		if err != nil {
			t.Fatal(err)
		}
		if got := f.AccumulatorBytes(); got < least || got > least+400 {
			t.Errorf("op %d: %d bytes; want about %d", op, got, least)
		}
	}
}
