package logstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stele-go/stele/internal/semaphore"
)

func randomAggregation(rnd *rand.Rand) Aggregation {
	a := Aggregation{
		Without: rnd.IntN(2) == 0,
		Step:    []time.Duration{0, 1, time.Second, time.Minute, time.Hour}[rnd.IntN(5)],
	}
	if a.Step > 0 && rnd.IntN(2) == 0 {
		a.Offset = time.Duration(rnd.Int64N(int64(a.Step)))
	}
	for range rnd.IntN(4) {
		a.By = append(a.By, []string{"app", "host", "zone", "none"}[rnd.IntN(4)])
	}
	return a
}

// aggregated is a slow Aggregate: it adds up the counts of streams.
func aggregated(counts []Group, a Aggregation) []Group {
	sums := map[Labels]map[int64]Bucket{}
	for _, c := range counts {
		var shared []Label
		for name, value := range c.Labels.All() {
			if slices.Contains(a.By, name) != a.Without {
				shared = append(shared, Label{name, value})
			}
		}
		l, err := NewLabels(shared...)
		if err != nil {
			panic(err)
		}
		if sums[l] == nil {
			sums[l] = map[int64]Bucket{}
		}
		for _, b := range c.Buckets {
			was := sums[l][b.Start]
			sums[l][b.Start] = Bucket{b.Start, was.Entries + b.Entries, was.Bytes + b.Bytes}
		}
	}
	var list []Group
	for l, buckets := range sums {
		g := Group{Labels: l}
		for _, b := range buckets {
			g.Buckets = append(g.Buckets, b)
		}
		slices.SortFunc(g.Buckets, func(a, b Bucket) int { return cmp.Compare(a.Start, b.Start) })
		list = append(list, g)
	}
	slices.SortFunc(list, func(a, b Group) int { return compareLabels(a.Labels, b.Labels) })
	return list
}

// The groups with the most bytes come first, and of equal ones those with lower
// labels.
func TestAggregateTop(t *testing.T) {
	s := openTest(t, t.TempDir(), anyTime())
	for i, n := range []int{3, 7, 5, 7, 1} {
		for at := range n {
			mustAppend(t, s, one(MustLabels("app", fmt.Sprint("a", i), "host", fmt.Sprint(at)), int64(at), "line"))
		}
	}
	for n, want := range map[int]string{0: "a0 a1 a2 a3 a4 ", 1: "a1 ", 3: "a1 a3 a2 ", 10: "a1 a3 a2 a0 a4 "} {
		groups, err := s.Aggregate(context.Background(), Query{}, Aggregation{By: []string{"app"}, Top: n})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, g := range groups {
			got += g.Labels.Get("app") + " "
		}
		if got != want {
			t.Errorf("top %d: %s; want %s", n, got, want)
		}
	}
}

// What lies in one bucket is counted from the index of its segment: the labels
// and the blocks of a segment that is one group are not read.
func TestAggregateReadsNoMoreThanItMust(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	a, _ := randomArchive(t, rnd, 40, int64(time.Second), 10)
	if err := a.Seal(context.Background()); err != nil {
		t.Fatal(err)
	}
	var c unread
	partial, err := a.scanAll(context.Background(), Query{}, func(x *search) task {
		c = unread{newTotalsTask(x, Aggregation{}), t}
		return c
	})
	if partial != nil || err != nil {
		t.Fatal(partial, err)
	}
	groups, err := c.groups.result(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	sameCount(t, "all", groups, aggregated(a.count(Query{}, 0), Aggregation{}), true)
}

// unread is a totalsTask for segments in one bucket and one group.
type unread struct {
	*totalsTask
	t *testing.T
}

func (u unread) whole(*reading, streamRef, rowTotals) (bool, error) {
	u.t.Error("a stream is asked for")
	return true, nil
}

func (u unread) visit(*reading, leaf, int64, allotment, *outcome) { u.t.Error("a block is read") }

func TestAggregateRefuses(t *testing.T) {
	s := openTest(t, t.TempDir(), anyTime())
	for want, a := range map[string]Aggregation{
		"logstore: Aggregation.Step: -1ns; want 0s or more":                                          {Step: -1},
		"logstore: Aggregation.Top: -2; want 0 or more":                                              {Top: -2},
		"logstore: Aggregation.Offset: 2ns; want 0 or more, and less than Aggregation.Step, 2ns":     {Step: 2, Offset: 2},
		"logstore: Aggregation.Offset: -1ns; want 0 or more, and less than Aggregation.Step, 1h0m0s": {Step: time.Hour, Offset: -1},
		`logstore: Aggregation.By: [a ]; want names of labels, none of them empty`:                   {By: []string{"a", ""}},
		`logstore: Aggregation.By: [ x y]; want names of labels, none of them empty`:                 {By: []string{"", "x", "y"}, Without: true},
	} {
		if _, err := s.Aggregate(context.Background(), Query{}, a); err == nil || err.Error() != want {
			t.Errorf("%+v: the error is %q; want %q", a, err, want)
		}
	}
}

// A result that would take more memory than it may is an error, before it takes
// it, and so is one that takes more than other queries leave.
func TestAggregateMemory(t *testing.T) {
	ctx := context.Background()
	s := openTest(t, t.TempDir(), anyTime())
	for _, where := range []string{"memory", "segments"} {
		for i := range 1000 {
			mustAppend(t, s, one(MustLabels("where", where, "n", fmt.Sprint(i)), int64(i), "a line"))
		}
		free := s.reads.memory.Free()
		check := func(what string, sums, pool int64, a Aggregation, want error) {
			t.Helper()
			sumBytes, minBytes, memory := s.reads.sumBytes, s.reads.minBytes, s.reads.memory
			defer func() { s.reads.sumBytes, s.reads.minBytes, s.reads.memory = sumBytes, minBytes, memory }()
			s.reads.sumBytes, s.reads.minBytes, s.reads.memory = sums, 16<<10, semaphore.New(pool)
			groups, err := s.Aggregate(ctx, Query{}, a)
			if want == nil && (err != nil || len(groups) == 0) {
				t.Errorf("%s: %s: %d groups, %v", where, what, len(groups), err)
			}
			if want != nil && (groups != nil || !errors.Is(err, want) && !isLimit(err, sumsLimit)) {
				t.Errorf("%s: %s: %d groups, the error is %v; want %v", where, what, len(groups), err, want)
			}
			if n := s.reads.memory.Free(); n != pool {
				t.Errorf("%s: %s: %d bytes are free; want %d", where, what, n, pool)
			}
		}
		all := Aggregation{Without: true}
		check("room for all", 1<<20, 1<<20, all, nil)
		check("too many groups", 64<<10, 1<<20, all, &LimitError{})
		check("few groups", 16<<10, 1<<20, Aggregation{By: []string{"where"}}, nil)
		check("too many buckets", 16<<10, 1<<20, Aggregation{Step: 1}, &LimitError{})
		check("memory of other queries", 1<<20, 64<<10, all, ErrBusy)
		if got := s.reads.memory.Free(); got != free {
			t.Errorf("%d bytes of the budget are free, %d were", got, free)
		}
		if err := s.Seal(ctx); err != nil {
			t.Fatal(err)
		}
	}
}

const sumsLimit = "an eighth of Options.Memory"

func isLimit(err error, of string) bool {
	l, ok := errors.AsType[*LimitError](err)
	return ok && l.Limit == of && l.Value > 0
}

// Buckets that are added to in any order are as those of a map.
func TestGroupBuckets(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 7))
	pool := &readPool{minBytes: 1 << 30}
	for range 200 {
		var memory allowance
		memory.begin(pool)
		var g group
		want := map[int64]Bucket{}
		most, n, upwards := 1+rnd.Int64N(500), rnd.IntN(1000), rnd.IntN(2) == 0
		for i := range n {
			start := rnd.Int64N(most)
			if upwards {
				start += int64(i)
			}
			if err := g.add(&memory, start, 1, start); err != nil {
				t.Fatal(err)
			}
			want[start] = Bucket{start, want[start].Entries + 1, want[start].Bytes + start}
		}
		g.merge()
		if len(g.buckets) != len(want) || !slices.IsSortedFunc(g.buckets, func(a, b Bucket) int { return cmp.Compare(a.Start, b.Start) }) {
			t.Fatalf("%d buckets, not %d, or out of order: %v", len(g.buckets), len(want), g.buckets)
		}
		for _, b := range g.buckets {
			if b != want[b.Start] {
				t.Fatalf("%v, not %v", b, want[b.Start])
			}
		}
	}
}
