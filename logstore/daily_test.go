package logstore

import (
	"fmt"
	"testing"
	"time"
)

// Of a store with a segment a day, far beyond the 128 that may be open, compactions make
// a few, so that a query of all reads and opens no more than those.
func TestDailySegments(t *testing.T) {
	const days = 200
	o := anyTime()
	s := openTest(t, t.TempDir(), o)
	l := MustLabels("app", "a")
	for day := range int64(days) {
		mustAppend(t, s, one(l, day*int64(24*time.Hour), fmt.Sprint("line of day ", day)))
		if err := s.Seal(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	// The longest span of a small segment is 64 days: so some of each size are left.
	const most = days / 8
	until(t, "a few segments", func() bool { return s.Stats().Segments <= most })
	seen := map[string]bool{}
	var stats QueryStats
	for r, err := range s.Query(t.Context(), Query{To: 1 << 62, Stats: &stats}) {
		if err != nil {
			t.Fatal(err)
		}
		seen[string(r.Line)] = true
	}
	if len(seen) != days || stats.Segments.Considered > most {
		t.Errorf("%d of %d lines, of %d segments; want at most %d", len(seen), days, stats.Segments.Considered, most)
	}
	until(t, "a few open files", func() bool { return s.Stats().OpenFiles <= most })
}
