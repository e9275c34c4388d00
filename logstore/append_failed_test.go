package logstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/logstore/internal/arena"
)

// crowded uses up the memory of a store until release is called.
func crowded(s *Store) (leave func()) {
	n := s.throttle.limit
	s.throttle.reserved.Add(n)
	return func() { s.throttle.unreserve(n) }
}

// A cancelled append leaves nothing: no newest entry, which would make the same
// batch too old the next time, and no stream.
func TestGivenUp(t *testing.T) {
	clock := newTestClock()
	o := small()
	o.Clock = clock
	s := openTest(t, t.TempDir(), o)
	l := MustLabels("app", "api")
	b := Batch{
		{l, []Entry{{Time: clock.at(-3 * time.Hour), Line: []byte("first")}}},
		{MustLabels("app", "other"), []Entry{{Time: clock.at(0)}}},
		{l, []Entry{{Time: clock.at(-2 * time.Hour), Line: []byte("second")}, {Time: clock.at(0), Line: []byte("third")}}},
	}
	leave := crowded(s)
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	if err := s.Append(ctx, b); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrUnsure) {
		t.Fatal(err)
	}
	if n := s.labels.Len(); n != 0 {
		t.Errorf("%d streams of nothing", n)
	}
	leave()
	// The cancelled batch can be appended again.
	mustAppend(t, s, b)
	if n := len(contents(t, s)); n != 4 || s.labels.Len() != 2 {
		t.Errorf("%d entries of %d streams", n, s.labels.Len())
	}
	leave = crowded(s)
	ctx, cancel = context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	if err := s.Append(ctx, one(l, clock.at(5*time.Minute), "ahead")); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	leave()
	mustAppend(t, s, one(l, clock.at(-time.Hour), "not too late for what was kept"))
}

// Appends wait for each other's reservations, not only for a seal.
func TestClaimsGivenUp(t *testing.T) {
	o := small()
	o.Level, o.logSegmentSize = durability.Kill, 0 // records of up to 4 MiB
	s := openTest(t, t.TempDir(), o)
	// Each of these reserves all memory.
	line := bytes.Repeat([]byte("x"), 200<<10)
	var all sync.WaitGroup
	for g := range 3 {
		all.Go(func() {
			st := Stream{Labels: MustLabels("g", fmt.Sprint(g))}
			for range 18 {
				st.Entries = append(st.Entries, Entry{Time: 1, Line: line})
			}
			for range 2 {
				if err := s.Append(context.Background(), Batch{st}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if n := s.Stats().Entries; n != 3*2*18 {
		t.Errorf("%d entries", n)
	}
}

// The memory of appends that the log could not write is released, though there
// is nothing to seal.
func TestMemoryOfFailedAppends(t *testing.T) {
	s := openTest(t, t.TempDir(), small())
	for i := range uint64(3) {
		m := s.enter()
		for s.throttle.used.Load() <= s.throttle.usable {
			m.arena.Reserve(arena.ChunkSize)
		}
		m.leave()
		mustAppend(t, s, one(MustLabels("app", "api"), 1, "x"))
		if st := s.Stats(); st.MemoryUsed > 2*arena.ChunkSize || st.Sealed != i {
			t.Errorf("%+v", st)
		}
		if err := s.Seal(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// A Seal called while another one fails does not get the error of that one.
func TestSealAskedWhileFailing(t *testing.T) {
	dir := t.TempDir()
	s := openTest(t, dir, small())
	l := MustLabels("app", "api")
	segments := filepath.Join(dir, "segments")
	mustAppend(t, s, one(l, 1, "a"))
	if err := os.Rename(segments, segments+".away"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(segments, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := s.Seal(t.Context()); err == nil {
		t.Skip("a segment can be written")
	}
	mustAppend(t, s, one(l, 2, "b"))
	if err := errors.Join(os.Remove(segments), os.Rename(segments+".away", segments)); err != nil {
		t.Fatal(err)
	}
	// It may return one more error.
	until(t, "it is sealed", func() bool { return s.Seal(t.Context()) == nil })
	if n := s.Stats().MemoryEntries; n != 0 {
		t.Errorf("%d entries are in memory that were there before", n)
	}
}
