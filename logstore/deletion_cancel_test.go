package logstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stele-go/stele/durability"
)

// A deletion that is cancelled is gone, for good, and its entries are back.
func TestCancelDeletion(t *testing.T) {
	dir := t.TempDir()
	s := openTest(t, dir, small())
	for i := range int64(9) { // in the log alone, where no compaction takes any
		mustAppend(t, s, one(MustLabels("app", "a"), 100+i, fmt.Sprint("a", i)))
	}
	all := linesOf(t, s, Query{})
	d := Deletion{Selector: app("a"), Lines: lines5}
	reopen := func() {
		t.Helper()
		dir = copyStore(t, dir)
		s.Close()
		s = openTest(t, dir, small())
	}
	mustDelete(t, s, d)
	reopen()
	last := mustDelete(t, s, d) // the same once more
	if got := linesOf(t, s, Query{}); len(got) != len(all)-1 {
		t.Errorf("%d entries; want one less than %d", len(got), len(all))
	}
	if err := s.CancelDeletion(t.Context(), "ten", last); !errors.Is(err, ErrNoDeletion) {
		t.Errorf("of another tenant: %v", err)
	}
	if err := s.CancelDeletion(t.Context(), "", last); err != nil {
		t.Fatal(err)
	}
	if err := s.CancelDeletion(t.Context(), "", last); !errors.Is(err, ErrNoDeletion) {
		t.Errorf("once more: %v", err)
	}
	for range 2 {
		if got, list := linesOf(t, s, Query{}), s.Deletions(); !slices.Equal(got, all) || len(list) != 0 {
			t.Errorf("%q, pending %v; want %q", got, list, all)
		}
		in, err := Inspect(copyStore(t, dir))
		if err != nil || len(in.Deletions) != 0 {
			t.Errorf("Inspect: %v, %v", in.Deletions, err)
		}
		reopen()
	}
	if err := s.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := linesOf(t, s, Query{}); !slices.Equal(got, all) {
		t.Errorf("after a compaction: %q; want %q", got, all)
	}
}

// A deletion of which something was applied cannot be cancelled, also after a crash, nor one
// that has taken the place of another.
func TestCancelAppliedDeletion(t *testing.T) {
	dir, o := t.TempDir(), anyTime()
	o.SegmentSpan = 1 // nothing is compacted
	s := openTest(t, dir, o)
	for i := range int64(3) {
		mustAppend(t, s, one(MustLabels("app", "a"), 1e12*i, fmt.Sprint("a", i)))
		if i < 2 {
			if err := s.Seal(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	applied := mustDelete(t, s, Deletion{Selector: app("a"), Lines: []LineMatch{{Equal, "a"}}})
	other := mustDelete(t, s, Deletion{Selector: app("b")})
	// One segment loses its entries.
	if ok, err := s.taking([]uint64{applied}); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if ok, err := s.taking([]uint64{1 << 40}); ok || err != nil {
		t.Errorf("of no deletion: %t, %v", ok, err)
	}
	for range 2 {
		list := s.Deletions()
		if len(list) != 2 || !list[0].Applied || list[1].Applied {
			t.Errorf("pending are %+v", list)
		}
		if err := s.CancelDeletion(t.Context(), "", applied); !errors.Is(err, ErrDeletionApplied) {
			t.Error(err)
		}
		dir = copyStore(t, dir)
		in, err := Inspect(dir)
		if list := in.Deletions; err != nil || len(list) != 2 || !list[0].Applied || list[1].Applied {
			t.Errorf("Inspect: pending are %+v, %v", list, err)
		}
		s.Close()
		s = openTest(t, dir, o)
	}
	wider := mustDelete(t, s, Deletion{Selector: app("b"), Tenant: ""})
	if err := s.CancelDeletion(t.Context(), "", other); !errors.Is(err, ErrNoDeletion) {
		t.Errorf("its place is taken: %v", err)
	}
	if err := s.CancelDeletion(t.Context(), "", wider); err != nil {
		t.Errorf("of the same entries: %v", err)
	}
	mustDelete(t, s, Deletion{Selector: app("b"), To: 9})
	wider = mustDelete(t, s, Deletion{Selector: app("b")})
	if err := s.CancelDeletion(t.Context(), "", wider); !errors.Is(err, ErrDeletionApplied) {
		t.Errorf("of more entries: %v", err)
	}
	if err := s.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := linesOf(t, s, Query{}); len(got) != 0 {
		t.Errorf("%q are there", got)
	}
}

// A compaction makes a deletion of which it takes entries final, and no other.
func TestCompactionTakes(t *testing.T) {
	dir := t.TempDir()
	s := deletionStore(t, dir)
	if err := s.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	next := s.deletions.due(s.o.Clock)
	takes := mustDelete(t, s, Deletion{Selector: app("a"), Lines: lines5})
	not := mustDelete(t, s, Deletion{Selector: app("b"), Lines: []LineMatch{{Equal, "nowhere"}}})
	_, applied := next()
	if applied != not+1 {
		t.Errorf("deletions are applied to before %d; want %d", applied, not+1)
	}
	pending := s.deletions.all()
	if err := s.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, p := range pending {
		if p.final.Load() != (p.Position == takes) {
			t.Errorf("the deletion at %d: final is %t", p.Position, p.final.Load())
		}
	}
}

// A deletion takes the place of earlier ones only, in whatever order the log has them.
func TestBeginDeletions(t *testing.T) {
	var found []*deletion
	for pos, d := range map[uint64]Deletion{5: {Selector: app("a")}, 9: {Selector: app("a"), To: 7}} {
		p, err := (&deletion{Deletion: d}).item().deletion(pos)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, p)
	}
	for range 2 {
		var ds deletions
		ds.begin(found)
		for _, p := range ds.all() {
			if p.final.Load() {
				t.Errorf("%v cannot be cancelled", p)
			}
		}
		if n := len(ds.all()); n != 2 {
			t.Errorf("%d are pending; want 2", n)
		}
		slices.Reverse(found)
	}
}

// A syncCounter counts the calls of Sync.
type syncCounter struct {
	log
	n atomic.Int64
}

func (l *syncCounter) Sync(ctx context.Context) error {
	l.n.Add(1)
	return l.log.Sync(ctx)
}

// At level Kill too, a power cut leaves no deletion that may be cancelled where the
// segments have lost some of its entries.
func TestTakingLasts(t *testing.T) {
	o := anyTime()
	o.Level = durability.Kill
	var counter *syncCounter
	o.wrapLog = func(l log) log {
		counter = &syncCounter{log: l}
		return counter
	}
	s := openTest(t, t.TempDir(), o)
	mustAppend(t, s, one(MustLabels("app", "a"), 1, "a"))
	taken := mustDelete(t, s, Deletion{Selector: app("a")})
	for _, want := range []int64{1, 0} { // the second time nothing is written
		before := counter.n.Load()
		if ok, err := s.taking([]uint64{taken}); !ok || err != nil {
			t.Fatal(ok, err)
		}
		if n := counter.n.Load() - before; n != want {
			t.Errorf("the log was synced %d times; want %d", n, want)
		}
	}
}
