package logstore

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stele-go/stele/durability"
)

// manyStreams returns a store with lines of many streams in one memtable, and
// the lines in the order of a query. Many lines have equal times.
func manyStreams(t testing.TB, streams int) (*Store, []Result) {
	t.Helper()
	s := openTest(t, t.TempDir(), Options{Level: durability.Kill, LateWindow: -1, MinFree: 1})
	now := s.o.now().UnixNano()
	rnd := rand.New(rand.NewPCG(uint64(streams), 3))
	type line struct {
		Result
		sortKey string
		number  int // as appended
	}
	var all []line
	for first := 0; first < streams; first += 1000 {
		var b Batch
		for i := first; i < min(streams, first+1000); i++ {
			l := MustLabels("app", fmt.Sprint("app-", i%7), "pod", fmt.Sprintf("pod-%x", uint32(i)*2654435761))
			st := Stream{Labels: l}
			for range 1 + i%3 {
				e := Entry{Time: now - rnd.Int64N(int64(streams)), Line: fmt.Appendf(nil, "line %d of %s", len(all), l)}
				st.Entries = append(st.Entries, e)
				all = append(all, line{Result{Labels: l, Entry: e}, l.sortKey(), len(all)})
			}
			b = append(b, st)
		}
		mustAppend(t, s, b)
	}
	if st := s.Stats(); st.Sealed > 0 {
		t.Fatal("the memtable was sealed")
	}
	slices.SortFunc(all, func(a, b line) int {
		return cmp.Or(cmp.Compare(a.Time, b.Time), strings.Compare(a.sortKey, b.sortKey), cmp.Compare(a.number, b.number))
	})
	results := make([]Result, len(all))
	for i, l := range all {
		results[i] = l.Result
	}
	return s, results
}

// Queries of many streams in one memtable find what a scan of all lines finds.
func TestManyStreamsInMemory(t *testing.T) {
	streams := 20_000
	if raceEnabled {
		streams = 3_000
	}
	s, all := manyStreams(t, streams)
	pod := all[len(all)/2].Labels.Get("pod")
	middle := all[len(all)/2].Time
	for _, q := range []Query{
		{}, {Limit: 1}, {Limit: 100}, {Limit: 5000}, {Limit: maxTopKeys + 1},
		{Limit: 100, To: middle}, {Limit: 100, From: middle}, {Limit: 100, From: middle, To: middle + 20},
		{Selector: Selector{{Name: "pod", Value: pod}}}, {Selector: Selector{{Name: "pod", Value: pod}}, Limit: 1},
		{Selector: Selector{{Name: "app", Value: "app-3"}}, Limit: 100},
		{Filter: Contains("7 of"), Limit: 100}, {Filter: Contains("77 of "), From: middle},
		{Filter: Contains("nothing has this"), Limit: 1},
	} {
		for _, q.Order = range []Order{Forward, Backward} {
			want := chosen(all, q)
			n := 0
			for got, err := range s.Query(t.Context(), q) {
				if err != nil {
					t.Fatal(err)
				}
				if n == len(want) || got.Time != want[n].Time || got.Labels != want[n].Labels || string(got.Line) != string(want[n].Line) {
					t.Fatalf("%+v: result %d of %d is %d %s %q", q, n, len(want), got.Time, got.Labels, got.Line)
				}
				n++
			}
			if n != len(want) {
				t.Fatalf("%+v: %d results, want %d", q, n, len(want))
			}
		}
	}
}

// chosen returns the results of a query of all lines, which are in order.
func chosen(all []Result, q Query) (found []Result) {
	for _, r := range all {
		if r.Time < q.From || q.To > 0 && r.Time >= q.To || !q.Selector.matches(r.Labels) || q.Filter != nil && !q.Filter.Match(r.Line, r.Metadata) {
			continue
		}
		found = append(found, r)
	}
	if q.Order == Backward {
		slices.Reverse(found)
	}
	if q.Limit > 0 && len(found) > q.Limit {
		found = found[:q.Limit]
	}
	return found
}

// A query with a limit makes nothing for the streams that it returns nothing of.
func TestLastOfManyStreamsAllocates(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	allocs := map[int]float64{}
	for _, streams := range []int{1_000, 50_000} {
		s, _ := manyStreams(t, streams)
		allocs[streams] = testing.AllocsPerRun(5, func() {
			n := 0
			for _, err := range s.Query(t.Context(), Query{Order: Backward, Limit: 100}) {
				if err != nil {
					t.Fatal(err)
				}
				n++
			}
			if n != 100 {
				t.Fatalf("%d results", n)
			}
		})
	}
	if few, many := allocs[1_000], allocs[50_000]; many > 1.5*few+50 {
		t.Errorf("%.0f allocations with 1,000 streams and %.0f with 50,000", few, many)
	}
}
