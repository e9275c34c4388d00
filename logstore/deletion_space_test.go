package logstore

import (
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stele-go/stele/internal/sys"
)

// flipIn changes a bit of the only segment of a store that is closed, at an offset that
// depends on its size.
func flipIn(t *testing.T, dir string, at func(size int64) int64) {
	t.Helper()
	paths := segmentPaths(t, dir)
	if len(paths) != 1 {
		t.Fatalf("%d segments; want one", len(paths))
	}
	fi, err := os.Stat(paths[0])
	mustDo(t, err)
	flip(t, paths[0], at(fi.Size()))
}

// A deletion that was pending when its segment was damaged is applied to the salvage,
// without a restart.
func TestDeletionOfASalvage(t *testing.T) {
	dir := t.TempDir()
	s := openTest(t, dir, anyTime())
	random := rand.New(rand.NewPCG(1, 2))
	for i := range int64(200) {
		line := make([]byte, 3000)
		for j := range line {
			line[j] = byte(random.IntN(256))
		}
		mustAppend(t, s, one(MustLabels("app", "a"), i, "a"+string(line)))
		mustAppend(t, s, one(MustLabels("app", "b"), i, "b"+string(line)))
	}
	mustSeal(t, s)
	mustDelete(t, s, Deletion{Selector: app("a"), From: 50, To: 190})
	mustDo(t, s.Close())
	flipIn(t, dir, func(size int64) int64 { return size / 3 })
	s = openTest(t, dir, anyTime())
	if _, err := drain(s); err == nil {
		t.Fatal("the damage was not found")
	}
	mustDo(t, s.Compact(t.Context()))
	if list, st := s.Deletions(), s.Stats(); len(list) != 0 || st.Quarantined != 1 {
		t.Errorf("pending after Compact: %+v; %d files in quarantine", list, st.Quarantined)
	}
	for _, k := range contents(t, s) {
		if k.line[0] == 'a' && k.time >= 50 && k.time < 190 {
			t.Fatalf("the deleted entry at %d is still in a segment", k.time)
		}
	}
	mustDelete(t, s, Deletion{To: math.MaxInt64})
	mustDo(t, s.Compact(t.Context()))
	if st := s.Stats(); st.Segments != 0 || st.Deletions != 0 {
		t.Errorf("%d segments and %d pending deletions after all was deleted", st.Segments, st.Deletions)
	}
}

// What has expired of a tenant leaves a salvage, and the salvage itself goes once all of
// it has, without a restart.
func TestTenantExpiryOfASalvage(t *testing.T) {
	o, limits, clock := limitedTest(t)
	o.LateWindow = -1
	dir := t.TempDir()
	s := openTest(t, dir, o)
	for i := range 1000 {
		mustDo(t, appendFor(t, s, "a", i%10, clock.at(0)))
		mustDo(t, appendFor(t, s, "b", i%10, clock.at(0)))
	}
	mustSeal(t, s)
	mustDo(t, s.Close())
	flipIn(t, dir, func(size int64) int64 { return size - 20 })
	s = openTest(t, dir, o)
	mustDo(t, s.Compact(t.Context()))
	if st := s.Stats(); st.Quarantined != 1 || heldOf(t, s, "a") != 1000 || heldOf(t, s, "b") != 1000 {
		t.Fatalf("salvaged: %d and %d entries, %d files in quarantine", heldOf(t, s, "a"), heldOf(t, s, "b"), st.Quarantined)
	}
	limits.set("a", TenantOptions{Retention: time.Hour})
	clock.ns.Add(int64(20 * time.Hour))
	mustDo(t, s.Compact(t.Context()))
	if a, b := heldOf(t, s, "a"), heldOf(t, s, "b"); a != 0 || b != 1000 {
		t.Errorf("after 20 hours of a retention of one: %d entries of a and %d of b; want 0 and 1000", a, b)
	}
	limits.set("b", TenantOptions{Retention: time.Hour})
	clock.ns.Add(int64(20 * time.Hour))
	mustDo(t, s.Compact(t.Context()))
	if st := s.Stats(); st.Segments != 0 {
		t.Errorf("%d segments when all has expired", st.Segments)
	}
}

// A deletion frees space on a disk that has none. Where entries stay that need some,
// Compact says so, and the deletion waits.
func TestDeletionOnALowDisk(t *testing.T) {
	o := anyTime()
	var low atomic.Bool
	o.statfs = func(dir string) (sys.FSInfo, error) {
		i, err := sys.StatFS(dir)
		if low.Load() {
			i.Free = 0
		}
		return i, err
	}
	s := openTest(t, t.TempDir(), o)
	fill := func() {
		for i := range int64(10) {
			mustAppend(t, s, one(MustLabels("app", "a"), i, "a"))
			mustAppend(t, s, one(MustLabels("app", "b"), i, "b"))
		}
		mustSeal(t, s)
	}
	refresh := func(to bool) {
		low.Store(to)
		s.space.refresh()
	}
	fill()
	refresh(true)
	if err := s.Append(t.Context(), one(MustLabels("app", "a"), 3, "a")); !errors.Is(err, ErrLowSpace) {
		t.Fatal(err)
	}
	mustDelete(t, s, Deletion{To: math.MaxInt64})
	mustDo(t, s.Compact(t.Context()))
	if st := s.Stats(); st.Segments != 0 || st.Deletions != 0 {
		t.Errorf("%d segments, %d pending deletions when all was deleted", st.Segments, st.Deletions)
	}
	refresh(false)
	fill()
	refresh(true)
	mustDelete(t, s, Deletion{Selector: app("a")})
	if err := s.Compact(t.Context()); !errors.Is(err, ErrLowSpace) || s.Stats().Deletions != 1 || !errors.Is(s.Stats().BackgroundError, ErrLowSpace) {
		t.Errorf("Compact: %v; %d pending deletions, background error %v", err, s.Stats().Deletions, s.Stats().BackgroundError)
	}
	refresh(false)
	mustDo(t, s.Compact(t.Context()))
	if st := s.Stats(); st.Deletions != 0 || st.SealedEntries != 10 || st.BackgroundError != nil {
		t.Errorf("with space: %d pending deletions, %d entries, %v", st.Deletions, st.SealedEntries, st.BackgroundError)
	}
}
