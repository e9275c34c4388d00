package catalog

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stele-go/stele/logstore/internal/segment2"
)

func TestExpired(t *testing.T) {
	const hour = int64(time.Hour)
	mk := func(upto uint64, hours, size int64) *file {
		return &file{positions: positions{upto - 1, upto, 0}, info: segment2.Info{MaxTime: hours * hour, Size: size}}
	}
	a, b, c, d := mk(1, 5, 10), mk(2, 3, 10), mk(3, 9, 10), mk(4, 8, 10)
	all := []*file{a, b, c, d}
	for _, k := range []struct {
		name   string
		now    int64
		age    time.Duration
		bytes  int64
		floor  uint64
		expect []*file
	}{
		{"for ever", 1000, 0, 0, 9, nil},
		{"none is old", 9, 6 * time.Hour, 0, 9, nil},
		{"by age, the oldest first", 12, 4 * time.Hour, 0, 9, []*file{b, a}},
		{"by bytes", 9, 0, 25, 9, []*file{b, a}},
		{"by bytes, exactly", 9, 0, 30, 9, []*file{b}},
		{"by both", 9, 5 * time.Hour, 15, 9, []*file{b, a, d}},
		{"the log still has it", 100, time.Hour, 0, 2, []*file{b, a}},
		{"the log still has the oldest", 9, 0, 25, 1, []*file{a}},
		{"none goes for one that the log still has", 9, 0, 30, 1, nil},
		{"the newest stays", 9, 0, 1, 9, []*file{b, a, d}},
		{"the newest goes by age", 100, time.Hour, 1, 9, []*file{b, a, d, c}},
	} {
		got := expired(all, k.now*hour, k.age, k.bytes, k.floor)
		if !slices.Equal(got, k.expect) {
			t.Errorf("%s: %d files, want %d", k.name, len(got), len(k.expect))
		}
	}
}

// A snapshot can read a deleted segment, even if it must be reopened, and the
// file is removed once no snapshot has it.
func TestRetentionBesideReaders(t *testing.T) {
	dir := t.TempDir()
	o, c := testOptions()
	o.Retention = time.Hour
	s := open(t, dir, o)
	now := c.Now().UnixNano()
	old, young := rowsOf(now-2*int64(time.Hour), 30, "old", "both"), rowsOf(now-int64(time.Minute), 30, "both")
	publish(t, s, 2, old)
	publish(t, s, 2, young)
	n := s.Snapshot()
	maintain(t, s)
	equalLines(t, "what is kept", served(t, s), sortedLines(young))
	if files := namesIn(t, dir, SegmentDir); len(files) != 2 {
		t.Errorf("files beside a reader: %v", files)
	}
	// It is reopened by its name.
	for _, f := range n.v.order {
		if !s.files.evict(f) {
			t.Fatalf("%s is in use", f.name)
		}
	}
	lines, errs := linesOf(n)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	equalLines(t, "the snapshot", flat(lines), sortedLines(old, young))
	if st := s.Stats(); st.Obsolete != 1 || st.Retired != 1 || st.Segments != 1 {
		t.Errorf("stats: %+v", st)
	}
	n.Release()
	maintain(t, s)
	if files := namesIn(t, dir, SegmentDir); len(files) != 1 {
		t.Errorf("files after the reader: %v", files)
	}
	if st := s.Stats(); st.Obsolete != 0 || st.Deleted != 1 {
		t.Errorf("stats: %+v", st)
	}
}

// A clockFunc is called for each reading of the clock that it returns.
type clockFunc func() *clock

func (f clockFunc) Now() time.Time         { return f().Now() }
func (f clockFunc) Elapsed() time.Duration { return f().Elapsed() }

// A compaction does not delay retention, and retention does not delete its
// sources.
func TestRetentionBesideMerge(t *testing.T) {
	o, c := testOptions()
	o.Retention = time.Hour
	merging, during := false, -1
	var s *Catalog
	o.CheckSpace = func(int64) error { merging = true; return nil }
	o.Clock = clockFunc(func() *clock {
		if merging { // time goes on
			c.forward(10 * time.Second)
			if st := s.Stats(); st.Retired > 0 && during < 0 {
				during = int(st.Compactions)
			}
		}
		return c
	})
	s = open(t, t.TempDir(), o)
	now := c.Now().UnixNano()
	// Soon expired, and too large to be compacted with the others.
	publish(t, s, 1, rowsOf(now-int64(time.Hour)-400e9+40e9, 400, "before"))
	for range 4 {
		publish(t, s, 1, rowsOf(now, 3, "merged"))
	}
	maintain(t, s)
	if st := s.Stats(); during != 0 || st.Compactions != 1 || st.Retired != 1 || st.Segments != 1 {
		t.Errorf("%d merges when the old one went; stats: %+v", during, st)
	}
	if got := len(served(t, s)); got != 12 {
		t.Errorf("%d lines, want 12", got)
	}
}

// Positions that the log would replay are not deleted.
func TestRetentionWaitsForTheLog(t *testing.T) {
	o, c := testOptions()
	o.Retention, o.Truncated = time.Hour, 0
	s := open(t, t.TempDir(), o)
	publish(t, s, 2, rowsOf(c.Now().UnixNano()-3*int64(time.Hour), 3, "a"))
	maintain(t, s)
	if got := len(served(t, s)); got != 3 {
		t.Errorf("%d lines, want 3: the log still has them", got)
	}
	s.SetTruncated(2)
	s.SetTruncated(1) // nothing is taken back
	maintain(t, s)
	if got := len(served(t, s)); got != 0 {
		t.Errorf("%d lines, want none", got)
	}
	if s.Upto() != 2 {
		t.Errorf("Upto is %d, want 2: positions are not used again", s.Upto())
	}
}

// A compacted segment is not deleted while one of its sources is still there:
// after a crash the source would be served, with deleted entries.
func TestSourcesGoFirst(t *testing.T) {
	dir := t.TempDir()
	o, c := testOptions()
	o.Retention = time.Hour
	s := open(t, dir, o)
	for range 4 {
		publish(t, s, 1, rowsOf(c.Now().UnixNano(), 3, "a"))
	}
	n := s.Snapshot() // uses the sources
	if err := s.CompactAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.forward(2 * time.Hour)
	maintain(t, s)
	if got := len(served(t, s)); got != 0 {
		t.Errorf("%d lines, want none", got)
	}
	// No snapshot has the compacted segment, but its sources are there, so it
	// stays.
	if files := namesIn(t, dir, SegmentDir); len(files) != 5 {
		t.Errorf("%d files, want the merge and its 4 sources: %v", len(files), files)
	}
	n.Release()
	maintain(t, s)
	if files := namesIn(t, dir, SegmentDir); len(files) != 0 {
		t.Errorf("left: %v", files)
	}
}

// Where a file cannot be removed, whatever depends on that waits, and the rest
// goes on.
func TestRemovalFails(t *testing.T) {
	dir := t.TempDir()
	o, c := testOptions()
	o.Retention = time.Hour
	s := open(t, dir, o)
	old := c.Now().UnixNano() - 2*int64(time.Hour)
	publish(t, s, 1, rowsOf(old, 3, "a"))
	publish(t, s, 1, rowsOf(old, 3, "a"))
	// A directory that is not empty, in the place of the first, cannot be
	// removed.
	first := filepath.Join(dir, SegmentDir, (positions{0, 1, 0}).String())
	if err := os.Remove(first); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(first, "x"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := s.Maintain(t.Context()); err == nil || !strings.Contains(err.Error(), first) {
		t.Errorf("error %v, want one that names %s", err, first)
	}
	if files := namesIn(t, dir, SegmentDir); len(files) != 1 {
		t.Errorf("left: %v", files)
	}
	if err := os.RemoveAll(first); err != nil {
		t.Fatal(err)
	}
	maintain(t, s)
	if st := s.Stats(); st.Obsolete != 0 {
		t.Errorf("stats: %+v", st)
	}
}

// RetainBytes deletes no segment more than it must, also beside compactions, and
// what is left is the newest.
func TestRetainBytesOverTime(t *testing.T) {
	o, c := testOptions()
	o.SegmentSize, o.RetainBytes = 8<<10, 128<<10
	s := open(t, t.TempDir(), o)
	var newest []map[string][]row
	filled := false
	for i := range 90 {
		c.forward(time.Minute)
		rows := rowsOf(c.Now().UnixNano(), 30+i%30, "a", "b", "c", "d")
		publish(t, s, 1, rows)
		newest = append(newest, rows)
		maintain(t, s)
		st := s.Stats()
		if st.Bytes > o.RetainBytes {
			t.Fatalf("%d bytes, want at most %d", st.Bytes, o.RetainBytes)
		}
		if filled = filled || st.Retired > 0; filled && st.Bytes < o.RetainBytes-2*o.SegmentSize {
			t.Fatalf("%d bytes are left of %d, with segments of at most %d", st.Bytes, o.RetainBytes, o.SegmentSize)
		}
	}
	if !filled {
		t.Fatal("nothing was deleted")
	}
	got, all := served(t, s), sortedLines(newest...)
	if len(got) >= len(all) {
		t.Errorf("%d of %d lines are left", len(got), len(all))
	}
	byTime := func(a, b string) int { // of all lines, "NAME at TIME: ..."
		return strings.Compare(strings.SplitN(a, " ", 2)[1], strings.SplitN(b, " ", 2)[1])
	}
	slices.SortStableFunc(got, byTime)
	slices.SortStableFunc(all, byTime)
	equalLines(t, "the newest", got, all[len(all)-len(got):])
}
