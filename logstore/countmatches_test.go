package logstore

import (
	"fmt"
	"testing"
	"time"
)

// Of a block with two templates, the figures tell what was read to count, and to find, its
// lines.
func TestColumnStats(t *testing.T) {
	s := openTest(t, t.TempDir(), Options{Memory: minMemory, MinFree: 1, Codec: CodecColumns})
	var entries []Entry
	for i := range 300 {
		line := fmt.Sprintf("user %d has left", i)
		if i%3 == 0 {
			line = "the session has ended"
		}
		entries = append(entries, Entry{Time: int64(i), Line: []byte(line)})
	}
	mustAppend(t, s, Batch{{MustLabels("app", "a"), entries}})
	if err := s.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	count := func(f Filter, step time.Duration, want int64) (st QueryStats) {
		t.Helper()
		groups, err := s.Aggregate(t.Context(), Query{Filter: f, Stats: &st}, Aggregation{NoBytes: true, Step: step})
		if err != nil {
			t.Fatal(err)
		}
		n := int64(0)
		for i := range groups {
			entries, bytes := groups[i].Total()
			if n += entries; bytes != 0 {
				t.Errorf("%d bytes", bytes)
			}
		}
		if n != want || st.Matched != want {
			t.Errorf("%d entries, %d matched; want %d", n, st.Matched, want)
		}
		return st
	}
	check := func(what string, st QueryStats, read int64, columns ColumnStats) {
		t.Helper()
		if st.Blocks.Read != read || st.Columns != columns {
			t.Errorf("%s: %d blocks read, columns %+v; want %d, %+v", what, st.Blocks.Read, st.Columns, read, columns)
		}
	}
	check("a word of one template, counted", count(Contains("session"), 0, 100), 0, ColumnStats{Templates: 2, Known: 2})
	check("in buckets", count(Contains("session"), 10, 100), 1, ColumnStats{Templates: 2, Known: 2, Skipped: 1})
	// 17, 170 to 179, 117 and 217, of which 117 and 171, 174, 177 are no users.
	check("a part of a number, counted", count(Contains("17"), 0, 9), 1, ColumnStats{Templates: 2, Known: 1, Opened: 1})
	var st QueryStats
	if n := len(query(t, s, Query{Filter: Contains("17"), Stats: &st})); n != 9 {
		t.Errorf("%d lines; want 9", n)
	}
	check("a part of a number", st, 1, ColumnStats{Templates: 2, Known: 1, Opened: 1, Rebuilt: 9})
	odd := All(Contains("17"), LineFunc(func(line []byte) bool { return len(line) == len("user 17 has left") }))
	check("a function of lines, counted", count(odd, 0, 1), 1, ColumnStats{Templates: 2, Known: 1, Opened: 1, Rebuilt: 9})
}

func TestCountBits(t *testing.T) {
	words := []uint64{0xf0f0, ^uint64(0), 1 << 63}
	bit := func(i int) bool { return words[i/64]>>(i%64)&1 != 0 }
	for first := range 193 {
		want := 0
		for end := first; end <= 192; end++ {
			if got := countBits(words, first, end); got != want {
				t.Fatalf("rows %d to %d: %d; want %d", first, end, got, want)
			}
			if end < 192 && bit(end) {
				want++
			}
		}
	}
}
