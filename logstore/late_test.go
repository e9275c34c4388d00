package logstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stele-go/stele/durability"
)

// An entry is refused by the newest entry of its stream, wherever that is: in
// memory, in a segment, in a compacted one, and after a restart.
func TestLateAnywhere(t *testing.T) {
	for seed := range uint64(3) {
		rnd := rand.New(rand.NewPCG(seed, 7))
		clock := newTestClock()
		o := small()
		o.Clock, o.LateWindow, o.FutureWindow, o.Level = clock, time.Minute, time.Hour, durability.Kill
		dir := t.TempDir()
		s := openTest(t, dir, o)
		newest := map[Labels]int64{}
		for step := range 300 {
			l := MustLabels("app", fmt.Sprint(rnd.IntN(12)))
			at := clock.at(time.Duration(rnd.Int64N(int64(6 * time.Minute))))
			last, any := newest[l]
			late := any && at < last-int64(time.Minute)
			switch err := s.Append(t.Context(), one(l, at, fmt.Sprint(step))); {
			case late != errors.Is(err, ErrTooOld) || !late && err != nil:
				t.Fatalf("seed %d, step %d: an entry of %v at %v, the newest at %v (any: %v): %v", seed, step, l,
					time.Unix(0, at).UTC(), time.Unix(0, last).UTC(), any, err)
			case err == nil:
				newest[l] = max(last, at)
			}
			switch rnd.IntN(25) {
			case 0:
				if err := s.Seal(t.Context()); err != nil {
					t.Fatal(err)
				}
			case 1:
				if err := s.Compact(t.Context()); err != nil {
					t.Fatal(err)
				}
			case 2:
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				s = openTest(t, dir, o)
			case 3:
				clock.ns.Add(int64(time.Minute))
			}
		}
	}
}

// Streams that are new in memory are looked up in segments only where one has
// entries that are later by LateWindow.
func TestLateReadsNothing(t *testing.T) {
	clock := newTestClock()
	o := small()
	o.Clock = clock
	dir := t.TempDir()
	s := openTest(t, dir, o)
	stream := func(i int) Labels { return MustLabels("app", fmt.Sprint(i)) }
	for i := range 100 {
		mustAppend(t, s, one(stream(i), clock.at(0), "x"))
	}
	if err := s.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.Close()
	s = openTest(t, dir, o)
	looks := func() int64 {
		st := s.catalog.Stats()
		return st.CacheHits + st.CacheMisses
	}
	before := looks()
	for i := range 100 {
		mustAppend(t, s, one(stream(i), clock.at(-time.Hour), "x"))
	}
	if n := looks() - before; n != 0 {
		t.Errorf("%d parts of segments were read for entries that are in time", n)
	}
	for i := range 100 {
		if err := s.Append(context.Background(), one(stream(i), clock.at(-time.Hour-1), "late")); !errors.Is(err, ErrTooOld) {
			t.Fatalf("stream %d: %v", i, err)
		}
	}
	if looks() == before {
		t.Error("nothing was read for entries that are late")
	}
}
