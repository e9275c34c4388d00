package logstore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// Blocks of which all streams are one group are counted from the index, and only
// where each of their entries is to be counted.
func TestWholeStreams(t *testing.T) {
	ctx := context.Background()
	s := openTest(t, t.TempDir(), anyTime())
	var all []archived
	rnd := rand.New(rand.NewPCG(1, 2))
	var b Batch
	for app := range 3 {
		for host := range 1000 {
			l := MustLabels("app", fmt.Sprint("app", app), "host", fmt.Sprintf("host%04d", host))
			e := Entry{Time: rnd.Int64N(1000), Line: fmt.Appendf(nil, "%0*d", 300, host)}
			b = append(b, Stream{l, []Entry{e}})
			all = append(all, archived{0, l, e})
		}
	}
	mustAppend(t, s, b)
	if err := s.Seal(ctx); err != nil {
		t.Fatal(err)
	}
	check := func(what string, q Query, a Aggregation, keep func(archived) bool) QueryStats {
		t.Helper()
		var stats QueryStats
		q.Stats = &stats
		got, err := s.Aggregate(ctx, q, a)
		if err != nil {
			t.Fatal(err)
		}
		to := q.To
		if to == 0 {
			to = 1 << 62
		}
		var counts []Group
		for _, e := range all {
			if e.Time >= q.From && e.Time < to && keep(e) {
				start := q.From
				if a.Step > 0 {
					start = e.Time - e.Time%int64(a.Step)
				}
				counts = append(counts, Group{e.labels, []Bucket{{start, 1, int64(len(e.Line))}}})
			}
		}
		if want := aggregated(counts, a); !slices.EqualFunc(got, want, func(a, b Group) bool { return a.Labels == b.Labels && slices.Equal(a.Buckets, b.Buckets) }) {
			t.Errorf("%s: %v; want %v", what, got, want)
		}
		return stats
	}
	every := func(archived) bool { return true }
	app := Aggregation{By: []string{"app"}}
	if n := check("by app", Query{}, app, every).Blocks; n.Read > 0 || n.Streams == 0 {
		t.Errorf("by app: %+v; want no block read, and some left out", n)
	}
	if n := check("in two steps", Query{}, Aggregation{Step: 2000}, every).Blocks; n.Considered > 0 {
		t.Errorf("in one step: %+v; want no group opened", n)
	}
	check("by app, in steps", Query{}, Aggregation{By: []string{"app"}, Step: 100 * time.Nanosecond}, every)
	check("each stream", Query{}, Aggregation{Without: true}, every)
	check("by app of a part", Query{From: 1, To: 999}, app, every)
	not := Selector{{Name: "host", Op: NotEqual, Value: "host0500"}}
	check("by app without a host", Query{Selector: not}, app, func(e archived) bool { return e.labels.Get("host") != "host0500" })
	if _, err := s.Delete(ctx, Deletion{Selector: Selector{{Name: "host", Op: Equal, Value: "host0600"}}}); err != nil {
		t.Fatal(err)
	}
	check("by app without what was deleted", Query{}, app, func(e archived) bool { return e.labels.Get("host") != "host0600" })
}
