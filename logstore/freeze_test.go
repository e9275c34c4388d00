package logstore

import (
	"context"
	"testing"
)

// An append that finds its memtable frozen uses the next one, which queries
// read from then on. Here the freeze stops between two of its steps.
func TestFreezeHidesNothing(t *testing.T) {
	s := openTest(t, t.TempDir(), small())
	m := s.active.Load()
	next := s.addMemtable()
	m.freeze(next, s.nextPosition)
	mustAppend(t, s, one(MustLabels("a", "b"), s.o.now().UnixNano(), "acknowledged"))
	if next.count.Load() != 1 {
		t.Fatal("it is not in the next memtable")
	}
	n := 0
	for _, err := range s.Query(context.Background(), Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 1 {
		t.Errorf("an acknowledged entry is found %d times", n)
	}
	s.active.Store(next)
	m.waitDrained()
	s.removeMemtable(m, func() {})
}
