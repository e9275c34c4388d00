package catalog

import (
	"fmt"
	"math"
	"testing"
	"time"
)

func TestNewest(t *testing.T) {
	o, _ := testOptions()
	dir := t.TempDir()
	s := open(t, dir, o)
	at := func(hours int64) int64 { return hours * int64(time.Hour) }
	// Streams with one block, and with several; each segment ends at "end".
	publish1(t, s, 1, rowsOf(at(1), 40, "old", "both"))
	publish(t, s, 1, rowsOf(at(10), 1, "single", "both"))
	publish(t, s, 1, rowsOf(at(20), 40, "many", "single"))
	publish1(t, s, 1, rowsOf(at(30), 1, "single1", "z"))
	last := func(hours, n int64) int64 { return at(hours) + (n-1)*1e9 }
	if got := s.MaxTime(); got != last(30, 1) {
		t.Errorf("MaxTime is %d, want %d", got, last(30, 1))
	}
	for _, c := range []struct {
		stream string
		above  int64
		want   int64 // 0: none
	}{
		{"old", 0, last(1, 40)}, {"old", last(1, 40) - 1, last(1, 40)}, {"old", last(1, 40), 0},
		{"both", 0, last(10, 1)}, {"both", last(10, 1), 0},
		{"single", 0, last(20, 40)}, {"many", at(15), last(20, 40)},
		{"single1", 0, last(30, 1)}, {"single1", math.MaxInt64, 0},
		{"none", 0, 0}, {"mans", 0, 0},
	} {
		n := s.Snapshot()
		for range 2 {
			got, ok, err := n.Newest(t.Context(), "", labelsOf(c.stream), c.above)
			if err != nil || ok != (c.want != 0) || got != c.want {
				t.Errorf("the newest of %q above %d: %d, %v, %v; want %d", c.stream, c.above, got, ok, err, c.want)
			}
			if got, ok, err := n.Newest(t.Context(), "other", labelsOf(c.stream), c.above); ok || err != nil {
				t.Errorf("the newest of %q of another tenant: %d, %v", c.stream, got, err)
			}
		}
		n.Release()
	}
}

// Without a later segment nothing is read, and segments older than one with the
// stream are not.
func TestNewestReadsLittle(t *testing.T) {
	o, _ := testOptions()
	dir := t.TempDir()
	s := open(t, dir, o)
	const segments = 10
	for i := range segments {
		publish(t, s, 1, rowsOf(int64(1+i)*int64(time.Hour), 40, "a", fmt.Sprint("s", i)))
	}
	closeCatalog(t, s)
	o.Files = 1
	s, p := openCounting(t, dir, o)
	n := s.Snapshot()
	defer n.Release()
	opened := func(stream string, above int64) int64 {
		before := p.opens.Load()
		if _, _, err := n.Newest(t.Context(), "", labelsOf(stream), above); err != nil {
			t.Error(err)
		}
		return p.opens.Load() - before
	}
	if got := opened("a", int64(segments+1)*int64(time.Hour)); got != 0 {
		t.Errorf("%d segments were opened, and none is later", got)
	}
	if got := opened("a", 0); got > 1 {
		t.Errorf("%d segments were opened for a stream that the newest has", got)
	}
	if got := opened("s3", 7*int64(time.Hour)+int64(time.Hour)/2); got > 3 {
		t.Errorf("%d segments were opened, and 3 are later", got)
	}
}
