package catalog

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stele-go/stele/logstore/internal/segment2"
)

// What of a segment has expired decides what becomes of it.
func TestExpiredPart(t *testing.T) {
	const h = int64(time.Hour)
	keep := map[string]time.Duration{"a": time.Hour, "b": 10 * time.Hour}
	e := expiry{now: 100 * h, limits: func(tenant string) (TenantLimits, error) {
		if tenant == "bad" {
			return TenantLimits{}, errors.New("of the test")
		}
		return TenantLimits{keep[tenant]}, nil
	}}
	tenant := func(name string, bytes, min, max int64) segment2.TenantTotals {
		return segment2.TenantTotals{Tenant: name, Streams: 1, Rows: 10, Bytes: bytes, MinTime: min, MaxTime: max}
	}
	for _, k := range []struct {
		name string
		of   []segment2.TenantTotals
		want expiredPart
	}{
		{"nothing", []segment2.TenantTotals{tenant("a", 50, 99*h, 99*h), tenant("c", 50, 0, h)}, expiredPart{}},
		{"some rows", []segment2.TenantTotals{tenant("a", 50, 99*h-1, 99*h), tenant("c", 50, 0, h)}, expiredPart{some: true}},
		{"a small tenant", []segment2.TenantTotals{tenant("a", 10, 98*h, 99*h-1), tenant("c", 90, 0, h)}, expiredPart{some: true}},
		{"a small tenant, for long", []segment2.TenantTotals{tenant("a", 10, 90*h, 98*h-1), tenant("c", 90, 0, h)}, expiredPart{some: true, due: true}},
		{"a large tenant", []segment2.TenantTotals{tenant("a", 50, 98*h, 99*h-1), tenant("c", 50, 0, h)}, expiredPart{some: true, due: true}},
		{"several small ones", []segment2.TenantTotals{tenant("a", 15, 98*h, 99*h-1), tenant("b", 15, 80*h, 89*h), tenant("c", 70, 0, h)}, expiredPart{some: true, due: true}},
		{"all", []segment2.TenantTotals{tenant("a", 50, 98*h, 99*h-1), tenant("b", 50, 80*h, 90*h-1)}, expiredPart{some: true, all: true, due: true}},
		{"one without a limit that can be told", []segment2.TenantTotals{tenant("a", 10, 98*h, 99*h-1), tenant("bad", 90, 0, h)}, expiredPart{some: true}},
	} {
		info := segment2.Info{Size: 110, Rows: int64(10 * len(k.of)), Streams: len(k.of)}
		if got := e.of(&info, k.of); got != k.want {
			t.Errorf("%s: %+v, want %+v", k.name, got, k.want)
		}
	}
	if e.err == nil {
		t.Error("the error of the limits is not known")
	}
}

// expiryTest opens a catalog in which rows expire after keep.
func expiryTest(t *testing.T, dir string, keep *time.Duration) (*Catalog, Options, *clock) {
	o, c := testOptions()
	o.Truncated = 0
	o.Limits = func(string) (TenantLimits, error) { return TenantLimits{*keep}, nil }
	return open(t, dir, o), o, c
}

// A segment loses its expired rows by a rewrite of its own, which a crash may leave
// beside its source: that is removed, not taken for damaged. A snapshot keeps its rows.
func TestRewriteWithoutWhatHasExpired(t *testing.T) {
	dir := t.TempDir()
	keep := time.Hour
	s, o, c := expiryTest(t, dir, &keep)
	now := c.Now().UnixNano()
	publish(t, s, 10, map[string][]row{
		"old":   rowsOf(now-int64(3*time.Hour), 30, "old")["old"],
		"young": rowsOf(now-int64(time.Minute), 10, "young")["young"],
	})
	if err := s.CompactAll(t.Context()); err != nil || s.Stats().ExpiredRows != 0 {
		t.Fatalf("%d rows went while the log would replay them; %v", s.Stats().ExpiredRows, err)
	}
	s.SetTruncated(10)
	maintain(t, s)
	if st := s.Stats(); st.ExpiredRows != 0 {
		t.Fatalf("a young segment was rewritten: %+v", st)
	}
	held := s.Snapshot()
	before := copyDir(t, dir)
	if err := s.CompactAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	st := s.Stats()
	if st.Rows != 10 || st.ExpiredRows != 30 || st.RemovedRows != 30 || st.Compactions != 1 || st.RemovedRaw == 0 {
		t.Fatalf("%+v", st)
	}
	if left, errs := linesOf(held); len(errs) > 0 || len(flat(left)) != 40 {
		t.Errorf("the snapshot has %d lines, %v", len(flat(left)), errs)
	}
	want := served(t, s)
	crashed := copyDir(t, dir)
	if names := namesIn(t, crashed, SegmentDir); len(names) != 2 {
		t.Fatalf("%q beside a snapshot", names)
	}
	held.Release()
	maintain(t, s)
	if names := namesIn(t, dir, SegmentDir); len(names) != 1 {
		t.Errorf("%q remain", names)
	}
	closeCatalog(t, s)
	o.Truncated = 10
	for _, left := range []string{crashed, before} {
		s = open(t, left, o)
		if err := s.CompactAll(t.Context()); err != nil {
			t.Fatal(err)
		}
		equalLines(t, "after a crash", served(t, s), want)
		if names := namesIn(t, left, QuarantineDir); len(names) > 0 || len(namesIn(t, left, SegmentDir)) != 1 {
			t.Errorf("after a crash: %q, quarantine %q", namesIn(t, left, SegmentDir), names)
		}
		closeCatalog(t, s)
	}
}

// Two rewrites in a row, of which a crash brings both sources back.
func TestRecoverRewrites(t *testing.T) {
	mk := func(generation uint32) *foundFile {
		p := positions{0, 10, generation}
		return &foundFile{name: p.String(), positions: p, file: &file{positions: p}}
	}
	for _, k := range []struct {
		generations          []uint32
		leftovers, rejecteds int
	}{
		{[]uint32{0, rewriteStep}, 1, 0},
		{[]uint32{0, rewriteStep, 2 * rewriteStep}, 2, 0},
		{[]uint32{3, 4}, 0, 1},                                // a salvage
		{[]uint32{3, 3 + rewriteStep, 4 + rewriteStep}, 1, 1}, // the rewrite was salvaged
	} {
		var all []*foundFile
		for _, g := range k.generations {
			all = append(all, mk(g))
		}
		plan := planRecovery(all, 10)
		if len(plan.leftovers) != k.leftovers || len(plan.rejected) != k.rejecteds || len(plan.served) != 1 || plan.served[0].positions.generation != slices.Max(k.generations) {
			t.Errorf("%d: %d leftovers, %d rejected, %d served", k.generations, len(plan.leftovers), len(plan.rejected), len(plan.served))
		}
	}
}

// Segments go as a whole, and rows with their compactions, by the trusted time only: a
// clock that is far ahead for a moment deletes nothing.
func TestExpiryByTrustedTime(t *testing.T) {
	dir := t.TempDir()
	keep := time.Hour
	s, _, c := expiryTest(t, dir, &keep)
	var events []Event
	s.o.Events = func(e Event) { events = append(events, e) }
	now := c.Now().UnixNano()
	for range 2 {
		publish(t, s, 5, rowsOf(now-int64(30*time.Minute), 10, "a", "b"))
	}
	s.SetTruncated(10)
	const jump = 60 * 24 * time.Hour
	c.jump(jump)
	if err := s.CompactAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	if st := s.Stats(); st.Rows != 40 || st.RemovedRows != 0 || st.Retired != 0 || st.Compactions != 1 {
		t.Fatalf("with the clock ahead for a moment: %+v", st)
	}
	c.jump(-jump)
	c.forward(31 * time.Minute)
	maintain(t, s)
	if st := s.Stats(); st.Segments != 0 || st.Retired != 1 || st.Compactions != 1 {
		t.Errorf("once all has expired: %+v", st)
	}
	if len(events) != 1 || events[0].Kind != Retired || events[0].Rows != 40 {
		t.Errorf("%+v", events)
	}
	closeCatalog(t, s)
}

// An error of the limits keeps what a tenant has, and is an error of Maintain until it
// is mended.
func TestExpiryWithoutLimits(t *testing.T) {
	o, c := testOptions()
	wrong := errors.New("of the test")
	o.Limits = func(string) (TenantLimits, error) { return TenantLimits{time.Hour}, wrong }
	s := open(t, t.TempDir(), o)
	publish(t, s, 5, rowsOf(c.Now().UnixNano()-int64(5*time.Hour), 10, "a"))
	s.SetTruncated(5)
	for range 3 {
		if err := s.Maintain(t.Context()); !errors.Is(err, wrong) || s.Stats().Segments != 1 {
			t.Fatalf("%v, %d segments", err, s.Stats().Segments)
		}
		c.forward(time.Millisecond)
	}
	wrong = nil
	c.forward(time.Minute)
	maintain(t, s)
	if st := s.Stats(); st.Segments != 0 {
		t.Errorf("%d segments", st.Segments)
	}
	closeCatalog(t, s)
}
