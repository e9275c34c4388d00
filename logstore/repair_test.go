package logstore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stele-go/stele/logstore/internal/catalog"
)

// A ledger has what was appended, by position of its record.
type ledger map[uint64]string

// repairable makes a store in dir with two segments and a log of several files, and
// returns what was appended. It is killed rather than closed if killed.
func repairable(t *testing.T, dir string, killed bool) ledger {
	t.Helper()
	live := dir
	if killed {
		live = t.TempDir()
	}
	o := small()
	o.logSegmentSize = 64 << 10
	s := openTest(t, live, o)
	l := ledger{}
	add := func(n int) {
		t.Helper()
		for range n {
			line := fmt.Sprintf("line %d %s", len(l), strings.Repeat("x", 2000+300*(len(l)%7)))
			a, err := s.AppendWith(t.Context(), one(MustLabels("app", fmt.Sprint("a", len(l)%3)), int64(len(l)), line), AppendOptions{})
			if err != nil {
				t.Fatal(err)
			}
			l[a.Last] = line
		}
	}
	for range 2 {
		add(5)
		if err := s.Seal(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	add(80)
	if !killed {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		return l
	}
	// In the background the log may still prepare a file, and rename it.
	err := os.CopyFS(dir, os.DirFS(live))
	for errors.Is(err, fs.ErrNotExist) {
		remove(t, dir)
		err = os.CopyFS(dir, os.DirFS(live))
	}
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// logFiles returns the paths of the files of the log that have records.
func logFiles(t *testing.T, dir string) (files []string) {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(dir, logDir, "*.wal"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range all {
		p, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if slices.ContainsFunc(p[4096:4196], func(b byte) bool { return b != 0 }) {
			files = append(files, file)
		}
	}
	if len(files) < 3 {
		t.Fatalf("%d log files with records; want 3 or more", len(files))
	}
	return files
}

// flipAt flips a bit of the byte at off; from the end if off is negative.
func flipAt(t *testing.T, file string, off int) {
	t.Helper()
	p, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if off < 0 {
		off += len(p)
	}
	p[off] ^= 4
	if err := os.WriteFile(file, p, 0o666); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
}

// A logWound damages a store.
type logWound struct {
	name  string
	wound func(t *testing.T, dir string, files []string)
	// lost is how many positions the plan must tell, -1 for any number; open that
	// more are lost behind the end.
	lost     int
	open     bool
	sound    bool // Open does not refuse
	segments int  // damaged ones
}

var logWounds = []logWound{
	{name: "nothing", wound: func(*testing.T, string, []string) {}, sound: true},
	{name: "header of the first file", wound: func(t *testing.T, _ string, f []string) { flipAt(t, f[0], 9) }},
	{name: "salt of the middle file", wound: func(t *testing.T, _ string, f []string) { flipAt(t, f[1], 50) }},
	{name: "header of the last file", wound: func(t *testing.T, _ string, f []string) { flipAt(t, f[len(f)-1], 33) }},
	{name: "truncated record in the first file", wound: func(t *testing.T, _ string, f []string) { flipAt(t, f[0], 30000) }},
	{name: "record in the first file", wound: func(t *testing.T, _ string, f []string) { flipAt(t, f[0], 60000) }, lost: 1},
	{name: "record in the middle file", wound: func(t *testing.T, _ string, f []string) { flipAt(t, f[1], 30000) }, lost: 1},
	{name: "record in the last file", wound: func(t *testing.T, _ string, f []string) { flipAt(t, f[len(f)-1], 4196) }, lost: 1},
	{name: "records in two files", wound: func(t *testing.T, _ string, f []string) {
		flipAt(t, f[0], 50000)
		flipAt(t, f[0], 60000)
		flipAt(t, f[1], 20000)
	}, lost: 3},
	{name: "head of the first record of the middle file", wound: func(t *testing.T, _ string, f []string) { flipAt(t, f[1], 4096+20) }, lost: 1},
	{name: "truncated middle file", wound: func(t *testing.T, _ string, f []string) {
		if err := os.Truncate(f[1], 20000); err != nil {
			t.Fatal(err)
		}
	}, lost: -1},
	{name: "truncated last file", wound: func(t *testing.T, _ string, f []string) {
		if err := os.Truncate(f[len(f)-1], 6000); err != nil {
			t.Fatal(err)
		}
	}, lost: -1, open: true},
	{name: "middle file gone", wound: func(t *testing.T, _ string, f []string) { remove(t, f[1]) }, lost: -1},
	{name: "first file gone", wound: func(t *testing.T, _ string, f []string) { remove(t, f[0]) }, lost: -1},
	{name: "last file gone, and the prepared", wound: func(t *testing.T, dir string, f []string) {
		all, _ := filepath.Glob(filepath.Join(dir, logDir, "*.wal"))
		for _, file := range all {
			if file >= f[len(f)-1] {
				remove(t, file)
			}
		}
	}, lost: -1, open: true},
	{name: "META flipped twice", wound: func(t *testing.T, dir string, _ []string) {
		flipAt(t, filepath.Join(dir, logDir, "META"), 40)
		flipAt(t, filepath.Join(dir, logDir, "META"), 4096+40)
	}},
	{name: "META gone", wound: func(t *testing.T, dir string, _ []string) { remove(t, filepath.Join(dir, logDir, "META")) }},
	{name: "META gone, and a record", wound: func(t *testing.T, dir string, f []string) {
		remove(t, filepath.Join(dir, logDir, "META"))
		flipAt(t, f[1], 30000)
	}, lost: 1},
	{name: "all files gone", wound: func(t *testing.T, dir string, _ []string) {
		all, _ := filepath.Glob(filepath.Join(dir, logDir, "*.wal"))
		for _, file := range all {
			remove(t, file)
		}
	}, lost: -1, open: true},
	{name: "log gone", wound: func(t *testing.T, dir string, _ []string) { remove(t, filepath.Join(dir, logDir)) }, open: true},
	{name: "log gone, then opened", wound: func(t *testing.T, dir string, _ []string) {
		remove(t, filepath.Join(dir, logDir))
		if _, err := Open(dir, small()); err == nil {
			t.Fatal("opened")
		}
	}, open: true},
	{name: "a segment", wound: func(t *testing.T, dir string, _ []string) { flipAt(t, segmentOf(t, dir, 0), 200) }, sound: true, segments: 1},
	{name: "a segment and a record", wound: func(t *testing.T, dir string, f []string) {
		flipAt(t, segmentOf(t, dir, 0), 200)
		flipAt(t, f[1], 30000)
	}, lost: 1, segments: 1},
	{name: "index of the last segment and a record", wound: func(t *testing.T, dir string, f []string) {
		flipAt(t, segmentOf(t, dir, 1), -1)
		flipAt(t, f[1], 30000)
	}, lost: 1, segments: 1},
	{name: "segments gone, and a record", wound: func(t *testing.T, dir string, f []string) {
		remove(t, filepath.Join(dir, catalog.SegmentDir))
		flipAt(t, f[1], 30000)
	}, lost: 1},
}

func segmentOf(t *testing.T, dir string, i int) string {
	t.Helper()
	files, err := segmentFiles(dir)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(files)
	return files[i]
}

// Each line is in a segment, is kept, or is told as lost.
func TestRepairPlanTellsEachLoss(t *testing.T) {
	for _, killed := range []bool{false, true} {
		whole := t.TempDir()
		l := repairable(t, whole, killed)
		for _, w := range logWounds {
			t.Run(fmt.Sprintf("killed=%v/%s", killed, w.name), func(t *testing.T) {
				dir := filepath.Join(t.TempDir(), "store")
				if err := os.CopyFS(dir, os.DirFS(whole)); err != nil {
					t.Fatal(err)
				}
				w.wound(t, dir, logFiles(t, dir))
				before := filesOf(t, dir)
				p, err := PlanRepair(t.Context(), dir, RepairOptions{})
				if err != nil {
					t.Fatal(err)
				}
				if after := filesOf(t, dir); !slices.Equal(before, after) {
					t.Errorf("the plan changed files: %v; want %v", after, before)
				}
				w.check(t, p)
				checkLedger(t, p, l)
				repairAndOpen(t, dir, p, l)
			})
		}
	}
}

func (w *logWound) check(t *testing.T, p *RepairPlan) {
	t.Helper()
	if (p.Refused == nil) != w.sound {
		t.Errorf("refused: %v; want it: %v", p.Refused, !w.sound)
	}
	if n := int(p.LostPositions()); w.lost >= 0 && n != w.lost || w.lost < 0 && n == 0 && !p.OpenEnd {
		t.Errorf("%d positions are lost: %v; want %d", n, p.Lost, w.lost)
	}
	if p.OpenEnd != w.open {
		t.Errorf("open end: %v; want %v; damage: %v", p.OpenEnd, w.open, p.LogDamage)
	}
	if len(p.Segments) != w.segments {
		t.Errorf("damaged segments: %+v; want %d", p.Segments, w.segments)
	}
	for _, s := range p.Segments {
		if s.Lost == 0 && s.IndexErr == nil || len(s.Damage) == 0 {
			t.Errorf("segment: %+v", s)
		}
	}
}

// checkLedger checks that each appended record is somewhere.
func checkLedger(t *testing.T, p *RepairPlan, l ledger) {
	t.Helper()
	if p.Refused == nil {
		return
	}
	for pos := range l {
		at := PositionRange{pos, pos}
		lost := positionSet(p.Lost).has(at) || p.OpenEnd && pos >= p.Next
		kept := positionSet(p.Kept).has(at)
		sealed := pos <= p.SegmentUpto
		if p.SegmentCount == 0 && pos < p.First {
			continue // the segments are gone, which is not the log's loss
		}
		n := 0
		for _, is := range []bool{lost, kept, sealed} {
			if is {
				n++
			}
		}
		if n != 1 {
			t.Fatalf("position %d: lost %v, kept %v, sealed %v; plan %+v", pos, lost, kept, sealed, p)
		}
		if kept && (pos < p.First || pos >= p.Next) {
			t.Errorf("position %d is kept, and not in the new log, %d to before %d", pos, p.First, p.Next)
		}
	}
}

// filesOf returns the names, sizes and times of all files below dir.
func filesOf(t *testing.T, dir string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fi, err := d.Info()
		files = append(files, fmt.Sprint(path, fi.Size(), fi.ModTime()))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestRepairPlanRefuses(t *testing.T) {
	dir := t.TempDir()
	if _, err := PlanRepair(t.Context(), dir, RepairOptions{}); !errors.Is(err, errNoStore) {
		t.Errorf("no store: %v", err)
	}
	if _, err := PlanRepair(t.Context(), filepath.Join(dir, "none"), RepairOptions{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no directory: %v", err)
	}
	s := openTest(t, dir, small())
	if runtime.GOOS == "linux" {
		if _, err := PlanRepair(t.Context(), dir, RepairOptions{}); !errors.Is(err, ErrLocked) {
			t.Errorf("an open store: %v", err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	p, err := PlanRepair(t.Context(), dir, RepairOptions{Quick: true})
	if err != nil || p.Refused != nil {
		t.Errorf("an empty store: %v, refused %v", err, p.Refused)
	}
}
