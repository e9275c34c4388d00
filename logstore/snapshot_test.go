package logstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stele-go/stele/durability"
)

// snapshotStore makes a store with segments, one of them compacted, and a memtable.
// Line i has the time i.
func snapshotStore(t *testing.T, o Options, lines int) *Store {
	t.Helper()
	s := openTest(t, filepath.Join(t.TempDir(), "store"), o)
	for i := range lines {
		mustAppend(t, s, one(MustLabels("app", fmt.Sprint(i%3)), int64(i), fmt.Sprint("line ", i)))
		if i%4 == 3 {
			mustSeal(t, s)
		}
		if i == lines/2 {
			if err := s.Compact(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	return s
}

func mustSeal(t testing.TB, s *Store) {
	t.Helper()
	if err := s.Seal(context.Background()); err != nil {
		t.Fatal(err)
	}
}

func late(o Options) Options {
	o.LateWindow = -1
	return o
}

// openSnapshot opens a snapshot, which reports nothing.
func openSnapshot(t *testing.T, dir string) *Store {
	t.Helper()
	s := openTest(t, dir, late(small()))
	if r := s.Report(); len(r.Events) > 0 {
		t.Errorf("the report of the snapshot: %v", r.Events)
	}
	if v, err := Verify(t.Context(), dir, nil); err != nil || len(v.Missing) > 0 || v.LogErr != nil {
		t.Errorf("the snapshot is verified: %+v, %v", v, err)
	}
	return s
}

func TestSnapshot(t *testing.T) {
	s := snapshotStore(t, late(small()), 23)
	dir := filepath.Join(t.TempDir(), "snap")
	info, err := s.Snapshot(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	want := counted(contents(t, s))
	if info.Segments == 0 || info.Linked != info.Segments || info.Bytes == 0 || info.CopiedBytes != 0 || info.LogBytes == 0 || info.Missing != 0 {
		t.Errorf("%+v", info)
	}
	_, next := s.log.Bounds()
	if info.Position != next-1 {
		t.Errorf("position %d; want %d", info.Position, next-1)
	}
	mustAppend(t, s, one(MustLabels("app", "store"), 100, "only in the store"))
	c := openSnapshot(t, dir)
	sameCounts(t, "the snapshot", counted(contents(t, c)), want)
	if c.log.ID() != s.log.ID() {
		t.Error("the snapshot has another log")
	}

	// Both go on.
	mustAppend(t, c, one(MustLabels("app", "snapshot"), 100, "only in the snapshot"))
	for _, s := range []*Store{s, c} {
		if err := s.Compact(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	more := func(app string) map[kept]int {
		w := maps.Clone(want)
		w[kept{MustLabels("app", app).enc, 100, "only in the " + app, ""}]++
		return w
	}
	sameCounts(t, "the snapshot goes on", counted(contents(t, c)), more("snapshot"))
	w := maps.Clone(want)
	w[kept{MustLabels("app", "store").enc, 100, "only in the store", ""}]++
	sameCounts(t, "the store goes on", counted(contents(t, s)), w)
	if a, b := s.terms.at(info.Position+3), c.terms.at(info.Position+3); a == b {
		t.Errorf("both are in the term %x at position %d", a, info.Position+3)
	}
}

// An empty directory becomes the snapshot, and keeps its mode.
func TestSnapshotIntoEmpty(t *testing.T) {
	s := snapshotStore(t, late(small()), 9)
	dir := filepath.Join(t.TempDir(), "snap")
	if err := os.Mkdir(dir, 0o710); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Snapshot(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	if fi, err := os.Stat(dir); err != nil || fi.Mode().Perm() != 0o710 {
		t.Errorf("%v, %v", fi.Mode(), err)
	}
	sameCounts(t, "the snapshot", counted(contents(t, openSnapshot(t, dir))), counted(contents(t, s)))
}

// A store without segments, or without anything, has a snapshot too.
func TestSnapshotOfLittle(t *testing.T) {
	for _, lines := range []int{0, 1} {
		s := snapshotStore(t, late(small()), lines)
		dir := filepath.Join(t.TempDir(), "snap")
		if _, err := s.Snapshot(t.Context(), dir); err != nil {
			t.Fatal(err)
		}
		sameCounts(t, "the snapshot", counted(contents(t, openSnapshot(t, dir))), counted(contents(t, s)))
	}
}

func TestSnapshotRefused(t *testing.T) {
	s := snapshotStore(t, late(small()), 9)
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"full/x", "left.part/x"} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path(name)), 0o755), os.WriteFile(path(name), nil, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	before := tree(t, dir)
	for name, want := range map[string]struct {
		is   error
		text string
	}{
		"full":       {fs.ErrExist, "full is not empty"},
		"full/x":     {fs.ErrExist, "not a directory"},
		"left":       {fs.ErrExist, "left.part is there: it is a snapshot that is being made, or that was interrupted: remove the directory"},
		"nowhere/at": {fs.ErrNotExist, "nowhere"},
	} {
		if _, err := s.Snapshot(t.Context(), path(name)); !errors.Is(err, want.is) || want.is == fs.ErrExist && want.text != "not a directory" && !strings.Contains(err.Error(), want.text) {
			t.Errorf("%s: %v", name, err)
		}
	}
	ended, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("why")
	cancel(cause)
	if _, err := s.Snapshot(ended, path("ended")); !errors.Is(err, cause) {
		t.Errorf("with a context that is done: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Snapshot(t.Context(), path("closed")); !errors.Is(err, ErrClosed) {
		t.Errorf("of a closed store: %v", err)
	}
	segs, err := filepath.Glob(filepath.Join(s.dir, "segments", "*.seg"))
	if err != nil {
		t.Fatal(err)
	}
	lone, err := OpenSegments(small(), segs...)
	if err != nil {
		t.Fatal(err)
	}
	defer lone.Close()
	if _, err := lone.Snapshot(t.Context(), path("lone")); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("of segments alone: %v", err)
	}
	if !slices.Equal(before, tree(t, dir)) {
		t.Error("something is left")
	}
}

// What a crash leaves is no store.
func TestSnapshotLeftOver(t *testing.T) {
	s := snapshotStore(t, late(small()), 9)
	dir := filepath.Join(t.TempDir(), "snap")
	d, err := makeSnapshotDir(s.dir, dir)
	if err != nil {
		t.Fatal(err)
	}
	var info SnapshotInfo
	if err := s.copyTo(t.Context(), d, &info); err != nil {
		t.Fatal(err)
	}
	_, opened := Open(d.part, small())
	_, read := OpenReadOnly(d.part, small())
	_, planned := PlanRepair(t.Context(), d.part, RepairOptions{})
	for _, err := range []error{opened, read, planned} {
		if !errors.Is(err, errPart) {
			t.Errorf("%v; want %v", err, errPart)
		}
	}
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// A context that ends anywhere in the middle leaves nothing.
func TestSnapshotCancelled(t *testing.T) {
	o := late(small())
	step := func() {}
	o.snapshotStep = func() { step() }
	s := snapshotStore(t, o, 23)
	dir := t.TempDir()
	for n := 0; ; n++ {
		ctx, cancel := context.WithCancel(t.Context())
		steps := n
		step = func() {
			if steps--; steps < 0 {
				cancel()
			}
		}
		_, err := s.Snapshot(ctx, filepath.Join(dir, "snap"))
		cancel()
		if err == nil {
			if n < 8 {
				t.Errorf("there are %d steps", n)
			}
			break
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if left := tree(t, dir); len(left) > 1 {
			t.Fatalf("after %d steps there is %v", n, left)
		}
	}
}

// While batches are appended, sealed, compacted and deleted, each snapshot has all that
// was acknowledged before it, and the first ones of those that were appended meanwhile.
func TestSnapshotMeanwhile(t *testing.T) {
	for _, level := range []durability.Level{durability.Power, durability.Kill} {
		t.Run(level.String(), func(t *testing.T) {
			o := late(small())
			o.Level = level
			s := openTest(t, filepath.Join(t.TempDir(), "store"), o)
			const appenders, snapshots, lines = 3, 3, 3000
			var begun, acked [appenders]atomic.Int64
			var done atomic.Bool
			var wait sync.WaitGroup
			for g := range appenders {
				wait.Go(func() {
					l := MustLabels("g", fmt.Sprint(g))
					for i := int64(0); i < lines && !done.Load(); i++ {
						begun[g].Store(i + 1)
						if err := s.Append(t.Context(), one(l, i, fmt.Sprint(i))); err != nil {
							t.Error(err)
							return
						}
						acked[g].Store(i + 1)
					}
				})
			}
			wait.Go(func() {
				for i := 0; !done.Load(); i++ {
					err := s.Seal(t.Context())
					if i%5 == 4 {
						err = errors.Join(err, s.Compact(t.Context()))
					}
					if err != nil {
						t.Error(err)
						return
					}
				}
			})
			for n := range snapshots {
				dir := filepath.Join(t.TempDir(), "snap")
				var least, most [appenders]int64
				for g := range appenders {
					least[g] = acked[g].Load()
				}
				_, err := s.Snapshot(t.Context(), dir)
				for g := range appenders {
					most[g] = begun[g].Load()
				}
				if err != nil {
					t.Error(err)
					break
				}
				has := counted(contents(t, openSnapshot(t, dir)))
				for g := range appenders {
					l, there := MustLabels("g", fmt.Sprint(g)).enc, int64(0)
					for has[kept{l, there, fmt.Sprint(there), ""}] == 1 {
						delete(has, kept{l, there, fmt.Sprint(there), ""})
						there++
					}
					if there < least[g] || there > most[g] {
						t.Errorf("snapshot %d has %d lines of %d; want %d to %d", n, there, g, least[g], most[g])
					}
				}
				if len(has) > 0 {
					t.Errorf("snapshot %d has also %v", n, has)
				}
			}
			done.Store(true)
			wait.Wait()
		})
	}
}

// A seal that comes while a snapshot holds the log truncates it afterwards.
func TestSnapshotHoldsLog(t *testing.T) {
	s := snapshotStore(t, late(small()), 5)
	s.truncation.hold()
	first, _ := s.log.Bounds()
	mustSeal(t, s)
	if now, _ := s.log.Bounds(); now != first {
		t.Errorf("the log was truncated before %d", now)
	}
	s.releaseLog(t.Context())
	if now, next := s.log.Bounds(); now+1 != next {
		t.Errorf("the log has positions %d to before %d", now, next)
	}
}

// A store that is open for reading only is copied, with what it has in memory.
func TestSnapshotReadOnly(t *testing.T) {
	o := late(small())
	s := snapshotStore(t, o, 23)
	want := counted(contents(t, s))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := OpenReadOnly(s.dir, o)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	dir := filepath.Join(t.TempDir(), "snap")
	if _, err := r.Snapshot(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	sameCounts(t, "the snapshot", counted(contents(t, openSnapshot(t, dir))), want)
}

// The snapshot has a segment whose index is damaged as it is, and salvages it itself. A
// segment that the store misses, the snapshot misses too.
func TestSnapshotOfDamaged(t *testing.T) {
	o := late(small())
	s := snapshotStore(t, o, 9)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(s.dir, "segments", "*.seg"))
	if err != nil || len(files) < 2 {
		t.Fatalf("%v, %v", files, err)
	}
	fi, err := os.Stat(files[0])
	if err != nil {
		t.Fatal(err)
	}
	flipByte(t, files[0], fi.Size()-20)
	if err := os.Rename(files[1], filepath.Join(t.TempDir(), "moved")); err != nil {
		t.Fatal(err)
	}
	s = openTest(t, s.dir, o)
	dir := filepath.Join(t.TempDir(), "snap")
	info, err := s.Snapshot(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if info.Missing != 1 || info.Segments != len(files)-1 {
		t.Errorf("%+v", info)
	}
	c := openTest(t, dir, late(small()))
	missing := 0
	for _, e := range c.Report().Events {
		if e.Kind == EventMissing {
			missing++
		}
	}
	if missing != 1 {
		t.Errorf("the report: %v", c.Report().Events)
	}
	if err := c.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	if st := c.Stats(); st.Segments == 0 || len(contents(t, c)) < 5 {
		t.Errorf("%d entries in %+v", len(contents(t, c)), st)
	}
}
