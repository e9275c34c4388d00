package catalog

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stele-go/stele/atomicfile"
)

// publishSmall publishes segments that are compacted into one.
func publishSmall(t *testing.T, s *Catalog) (want []string) {
	t.Helper()
	var all []map[string][]row
	for i := range 8 {
		rows := rowsOf(1e18+int64(i)*1e9, 4, "a", fmt.Sprint("s", i%3))
		publish(t, s, 2, rows)
		all = append(all, rows)
	}
	return sortedLines(all...)
}

func TestMaintainMerges(t *testing.T) {
	dir := t.TempDir()
	o, _ := testOptions()
	s := open(t, dir, o)
	want := publishSmall(t, s)
	n := s.Snapshot()
	maintain(t, s)
	st := s.Stats()
	if st.Segments != 1 || st.Compactions != 1 || st.CompactedSegments != 8 || st.Obsolete != 8 || st.Rows != int64(len(want)) {
		t.Errorf("stats: %+v", st)
	}
	equalLines(t, "merged", served(t, s), want)
	if lines, errs := linesOf(n); len(errs) > 0 {
		t.Error(errs)
	} else {
		equalLines(t, "a snapshot of before", flat(lines), want)
	}
	// Equal times are in the order of publication, before and after compaction.
	last := int64(-1)
	for seg := range n.Segments() {
		if rank := int64(seg.Rank()); rank <= last {
			t.Errorf("rank %d after %d", rank, last)
		} else {
			last = rank
		}
	}
	n.Release()
	maintain(t, s)
	if got := namesIn(t, dir, SegmentDir); len(got) != 1 || s.Stats().Obsolete != 0 {
		t.Errorf("files: %v", got)
	}
	maintain(t, s) // nothing is left to do
	if st := s.Stats(); st.Compactions != 1 {
		t.Errorf("stats: %+v", st)
	}
}

// A compaction of segments of both versions writes version 2, which later ones
// take as a source. Versions that a snapshot has stay readable.
func TestVersionsAreMixed(t *testing.T) {
	dir := t.TempDir()
	o, _ := testOptions()
	o.Log = [16]byte{7}
	s := open(t, dir, o)
	var all []map[string][]row
	for round := range 3 {
		for i := range 4 {
			rows := rowsOf(1e18+int64(4*round+i)*1e9, 40, "a", fmt.Sprint("s", i))
			publishers[(round+i)%2].publish(t, s, 1, rows)
			all = append(all, rows)
		}
		n := s.Snapshot()
		if err := s.CompactAll(t.Context()); err != nil {
			t.Fatal(err)
		}
		lines, errs := linesOf(n)
		n.Release()
		equalLines(t, "a snapshot of before", flat(lines), sortedLines(all...))
		equalLines(t, "compacted", served(t, s), sortedLines(all...))
		if f := s.current.Load().order; len(errs) > 0 || len(f) != 1 || f[0].card == nil || f[0].info.Log != o.Log {
			t.Fatalf("%d segments, the first is %+v; errors %v", len(f), f[0].info, errs)
		}
	}
}

// A lone segment of version 1 is left to later compactions, but CompactAll converts it. A
// crash beside its source serves its rows once.
func TestLoneVersion1(t *testing.T) {
	dir := t.TempDir()
	o, _ := testOptions()
	o.Truncated, o.Log = 0, [16]byte{7}
	s := open(t, dir, o)
	rows := rowsOf(1e18, 40, "a", "b")
	publish1(t, s, 5, rows)
	version := func() uint32 { return s.current.Load().order[0].info.Version }
	compactAll := func() {
		t.Helper()
		if err := s.CompactAll(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if compactAll(); version() != 1 {
		t.Error("it was converted while the log would replay it")
	}
	s.SetTruncated(5)
	if maintain(t, s); version() != 1 {
		t.Error("Maintain converted it")
	}
	held := s.Snapshot()
	if compactAll(); version() == 1 || s.current.Load().order[0].info.Log != o.Log || s.Stats().Compactions != 1 {
		t.Errorf("after CompactAll: version %d of log %x, %d compactions", version(), s.current.Load().order[0].info.Log, s.Stats().Compactions)
	}
	crashed := copyDir(t, dir)
	held.Release()
	if compactAll(); s.Stats().Compactions != 1 {
		t.Errorf("%d compactions; want one", s.Stats().Compactions)
	}
	equalLines(t, "converted", served(t, s), sortedLines(rows))
	closeCatalog(t, s)
	o.Truncated = 5
	s = open(t, crashed, o)
	equalLines(t, "after a crash", served(t, s), sortedLines(rows))
	if st := s.Stats(); st.Leftovers != 1 || st.Quarantined != 0 || version() == 1 {
		t.Errorf("after a crash: version %d, %d leftovers, %d in quarantine", version(), st.Leftovers, st.Quarantined)
	}
	closeCatalog(t, s)
}

func TestMergeIsCancelled(t *testing.T) {
	dir := t.TempDir()
	o, _ := testOptions()
	ctx, cancel := context.WithCancel(t.Context())
	o.CheckSpace = func(bytes int64) error {
		cancel() // the merge is about to begin
		return nil
	}
	s := open(t, dir, o)
	want := publishSmall(t, s)
	if err := s.Maintain(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if got := namesIn(t, dir, SegmentDir); len(got) != 8 {
		t.Errorf("files: %v", got)
	}
	equalLines(t, "as before", served(t, s), want)
	maintain(t, s) // nothing keeps it from being done now
	if st := s.Stats(); st.Compactions != 1 || st.FailedCompactions != 0 {
		t.Errorf("stats: %+v", st)
	}
}

func TestNoRoomForMerges(t *testing.T) {
	o, _ := testOptions()
	var asked int64
	full := errors.New("of the test")
	o.CheckSpace = func(bytes int64) error { asked = bytes; return full }
	s := open(t, t.TempDir(), o)
	publishSmall(t, s)
	maintain(t, s) // it waits
	if st := s.Stats(); st.Compactions != 0 || asked != st.Bytes {
		t.Errorf("asked for %d bytes, stats: %+v", asked, st)
	}
	if err := s.CompactAll(t.Context()); !errors.Is(err, full) || !strings.Contains(err.Error(), "compact 8 segments") || s.Stats().FailedCompactions != 0 {
		t.Errorf("CompactAll: %v, %d failed", err, s.Stats().FailedCompactions)
	}
	s.o.CheckSpace = nil
	if err := s.CompactAll(t.Context()); err != nil || s.Stats().Compactions != 1 {
		t.Errorf("with space: %v, %d compactions", err, s.Stats().Compactions)
	}
}

// After a failed compaction the next is tried a while later.
func TestMergeFails(t *testing.T) {
	dir := t.TempDir()
	o, c := testOptions()
	s := open(t, dir, o)
	want := publishSmall(t, s)
	at := s.place.(*dirPlace)
	if err := at.segments.Close(); err != nil { // now nothing can be written
		t.Fatal(err)
	}
	if err := s.Maintain(t.Context()); !errors.Is(err, errWrite) || !strings.Contains(err.Error(), "compact 8 segments") {
		t.Errorf("error %v", err)
	}
	for range 2 {
		if err := s.Maintain(t.Context()); !errors.Is(err, errWrite) {
			t.Errorf("error %v, want the one of before", err)
		}
	}
	if st := s.Stats(); st.FailedCompactions != 1 {
		t.Errorf("stats: %+v", st)
	}
	var err error
	if at.segments, err = atomicfile.OpenDir(filepath.Join(dir, SegmentDir), atomicfile.Options{Temp: "*" + tempSuffix}); err != nil {
		t.Fatal(err)
	}
	c.forward(retryAfter + time.Second)
	maintain(t, s)
	if st := s.Stats(); st.FailedCompactions != 1 || st.Compactions != 1 {
		t.Errorf("stats: %+v", st)
	}
	equalLines(t, "merged", served(t, s), want)
}

func TestPacer(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	p := newThrottle(1 << 20)
	begin := time.Now()
	// 256 KiB pass at once; 512 KiB more take half a second of the rate for
	// reading and writing.
	if err := p.wait(ctx, stepBytes+512<<10); err != nil {
		t.Fatal(err)
	}
	if d := time.Since(begin); d < 240*time.Millisecond {
		t.Errorf("768 KiB at 1 MiB a second each way took %v", d)
	}
	go cancel()
	if err := newThrottle(1).wait(ctx, 100<<20); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if err := newThrottle(0).wait(t.Context(), 1<<30); err != nil {
		t.Errorf("without a limit: %v", err)
	}
	if err := newThrottle(0).wait(ctx, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("without a limit, cancelled: %v", err)
	}
}
