package logstore

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stele-go/stele/internal/testseed"
)

// A query with a limit finds the first entries of the same query without one, whatever columns
// tell of lines.
func TestLimitOfColumns(t *testing.T) {
	r := rand.New(rand.NewPCG(testseed.Of(t), 71))
	s := openTest(t, t.TempDir(), columnOptions())
	lines := columnLines(r, 1500)
	var b Batch
	for i := range 3 {
		st := Stream{Labels: MustLabels("stream", fmt.Sprint(i))}
		for j := i; j < len(lines); j += 3 {
			st.Entries = append(st.Entries, Entry{Time: int64(j / 8), Line: []byte(lines[j])})
		}
		b = append(b, st)
	}
	mustAppend(t, s, b)
	mustDo(t, s.Seal(t.Context()))
	found := 0
	for range 60 {
		f := columnFilters(r, lines)
		m := keyMatcher{key: r.IntN(len(testKeys)), digit: byte('0' + r.IntN(10)), odd: true, judged: new(atomic.Int64)}
		switch r.IntN(4) {
		case 0:
			f = entryFilterOf(m)
		case 1:
			f = All(f, entryFilterOf(m))
		}
		q := Query{Filter: f, Order: Order(r.IntN(2))}
		if r.IntN(2) == 0 {
			q.Selector = Selector{{Name: "stream", Op: Equal, Value: "1"}}
		}
		list := func(limit int) (list []string) {
			q.Limit = limit
			for e, err := range s.Query(t.Context(), q) {
				mustDo(t, err)
				list = append(list, fmt.Sprintf("%d %s %q", e.Time, e.Labels, e.Line))
			}
			return list
		}
		all, limit := list(0), 1+r.IntN(60)
		if got, want := list(limit), all[:min(limit, len(all))]; !slices.Equal(got, want) {
			t.Fatalf("limit %d, order %v: %d entries\n%s; want %d\n%s", limit, q.Order, len(got), strings.Join(got, "\n"), len(want), strings.Join(want, "\n"))
		}
		found += len(all)
	}
	if found == 0 {
		t.Error("no filter matched a line")
	}
}

// Lines that may match are not counted for a limit: those behind as many that do match are left out.
func TestLimitCountsSureLines(t *testing.T) {
	s := openTest(t, t.TempDir(), columnOptions())
	st := Stream{Labels: MustLabels("a", "b")}
	for i := range 500 {
		st.Entries = append(st.Entries, Entry{Time: int64(i), Line: fmt.Appendf(nil, "%s request %d", []string{"some", "other"}[i%2], i)})
	}
	mustAppend(t, s, Batch{st})
	mustDo(t, s.Seal(t.Context()))
	f := Any(Contains("some"), Func(func(line []byte, _ Labels) bool { return bytes.HasSuffix(line, []byte("3")) }))
	for order, want := range map[Order][]int64{Forward: {0, 2, 3, 4, 6}, Backward: {498, 496, 494, 493, 492}} {
		var times []int64
		var stats QueryStats
		for e, err := range s.Query(t.Context(), Query{Filter: f, Order: order, Limit: len(want), Stats: &stats}) {
			mustDo(t, err)
			times = append(times, e.Time)
		}
		if !slices.Equal(times, want) || stats.Columns.Rebuilt > 10 {
			t.Errorf("order %v: entries at %v, %d lines made; want %v, at most 10", order, times, stats.Columns.Rebuilt, want)
		}
	}
}

// Of a block of which more lines match than a query wants, only those that it wants are made, and
// an EntryMatcher is asked until it has found them.
func TestLimitMakesFewLines(t *testing.T) {
	const lines, limit = 5000, 10
	s, _ := columnStore(t, lines)
	m := keyMatcher{key: 0, digit: '9', judged: new(atomic.Int64)}
	for _, order := range []Order{Forward, Backward} {
		for name, want := range map[string]struct {
			f               Filter
			rebuilt, looked int64
		}{
			"a text":  {Contains("user="), limit, limit},
			"fields":  {fieldFilter(t, m, nil), limit, lines - lines/50 + limit},
			"entries": {entryFilterOf(m), lines, (limit-1)*50 + 50},
		} {
			var stats QueryStats
			n := 0
			for _, err := range s.Query(t.Context(), Query{Filter: want.f, Order: order, Limit: limit, Stats: &stats}) {
				mustDo(t, err)
				n++
			}
			if n != limit || stats.Columns.Rebuilt > want.rebuilt || stats.Lines > want.looked {
				t.Errorf("%s, order %v: %d entries, %d lines made, %d looked at; want %d, at most %d and %d", name, order, n, stats.Columns.Rebuilt, stats.Lines, limit, want.rebuilt, want.looked)
			}
		}
	}
}

// The bytes of entries that a filter matches are added up from their lines: no others are made.
func TestBytesMakeMatchingLines(t *testing.T) {
	const lines = 5000
	s, _ := columnStore(t, lines)
	q := Query{Filter: Contains("odd9")}
	var bytes int64
	for e, err := range s.Query(t.Context(), q) {
		mustDo(t, err)
		bytes += int64(len(e.Line))
	}
	var stats QueryStats
	q.Stats = &stats
	groups, err := s.Aggregate(t.Context(), q, Aggregation{})
	mustDo(t, err)
	if len(groups) != 1 || groups[0].Buckets[0].Bytes != bytes || groups[0].Buckets[0].Entries != lines/50 {
		t.Errorf("%+v; want %d bytes of %d entries", groups, bytes, lines/50)
	}
	if stats.Columns.Rebuilt != lines/50 || stats.RawBytes != bytes {
		t.Errorf("%d lines of %d bytes were made; want %d of %d", stats.Columns.Rebuilt, stats.RawBytes, lines/50, bytes)
	}
}
