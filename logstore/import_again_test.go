package logstore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stele-go/stele/logstore/internal/catalog"
)

const inPart = 150 // entries of a segment, and of the log, of a store of parts

// storeOfParts makes a store with three segments and a log, whose times are mixed, of two
// tenants. The lines are "line N".
func storeOfParts(t *testing.T, dir string) {
	t.Helper()
	s := openTest(t, dir, anyTime())
	for i := range 4 * inPart {
		o := AppendOptions{}
		if i%3 == 0 {
			o.Tenant = "blue"
		}
		b := Batch{{MustLabels("app", fmt.Sprint("a", i%4)), []Entry{{Time: int64(i*7919%(4*inPart)) / 2, Line: fmt.Appendf(nil, "line %d %s", i, strings.Repeat("x", 300))}}}}
		if _, err := s.AppendWith(t.Context(), b, o); err != nil {
			t.Fatal(err)
		}
		if i%inPart == inPart-1 && i < 3*inPart {
			if err := s.Seal(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// linesIn opens a store and returns how often it has each line, of both tenants.
func linesIn(t *testing.T, dir string) map[string]int {
	t.Helper()
	s := openTest(t, dir, anyTime())
	defer s.Close()
	got := map[string]int{}
	for _, tenant := range []string{"", "blue"} {
		for r, err := range s.Query(t.Context(), Query{Tenant: tenant}) {
			if err != nil {
				t.Fatal(err)
			}
			got[tenant+"/"+strings.TrimRight(string(r.Line), " x")]++
		}
	}
	return got
}

// once checks that a store has each line of a store of parts once.
func once(t *testing.T, dir string) {
	t.Helper()
	got := linesIn(t, dir)
	for line, n := range got {
		if n != 1 {
			t.Errorf("%q is there %d times", line, n)
		}
	}
	if len(got) != 4*inPart {
		t.Errorf("%d lines; want %d", len(got), 4*inPart)
	}
}

// A wound takes something from a store, and returns what mends it.
type sourceWound struct {
	name  string
	wound func(t *testing.T, src string) (mend func())
	lost  int // entries, -1: some
}

// hide moves a file or directory away.
func hide(t *testing.T, path string) (mend func()) {
	t.Helper()
	aside := filepath.Join(t.TempDir(), "aside")
	rename := func(from, to string) {
		t.Helper()
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	rename(path, aside)
	return func() { rename(aside, path) }
}

// flipped flips a bit until it is mended.
func flipped(t *testing.T, file string, off int) (mend func()) {
	t.Helper()
	flipAt(t, file, off)
	return func() { flipAt(t, file, off) }
}

var sourceWounds = []sourceWound{
	{"a segment gone", func(t *testing.T, src string) func() { return hide(t, segmentOf(t, src, 1)) }, inPart},
	{"all segments gone", func(t *testing.T, src string) func() { return hide(t, filepath.Join(src, catalog.SegmentDir)) }, 3 * inPart},
	{"the log gone", func(t *testing.T, src string) func() { return hide(t, filepath.Join(src, logDir)) }, inPart},
	{"a record of the log", func(t *testing.T, src string) func() {
		return flipped(t, walWith(t, src, "line 500 "), indexIn(t, walWith(t, src, "line 500 "), "line 500 "))
	}, 1},
	{"a block", func(t *testing.T, src string) func() {
		file := segmentOf(t, src, 1)
		return flipped(t, file, middleOfABlock(t, file))
	}, -1},
	{"an index", func(t *testing.T, src string) func() { return flipped(t, segmentOf(t, src, 1), -20) }, 0},
}

// walWith returns the file of the log that has some text.
func walWith(t *testing.T, dir, text string) string {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(dir, logDir, "*.wal"))
	for _, file := range files {
		p, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(p), text) {
			return file
		}
	}
	t.Fatalf("no file of the log has %q", text)
	return ""
}

func indexIn(t *testing.T, file, text string) int {
	t.Helper()
	p, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Index(string(p), text)
}

// What was damaged or missing is told by each import, and imported once it is mended,
// and nothing else is imported again.
func TestImportOfAMendedSource(t *testing.T) {
	whole := filepath.Join(t.TempDir(), "whole")
	storeOfParts(t, whole)
	for _, w := range sourceWounds {
		t.Run(w.name, func(t *testing.T) {
			src, to := filepath.Join(t.TempDir(), "src"), filepath.Join(t.TempDir(), "to")
			if err := os.CopyFS(src, os.DirFS(whole)); err != nil {
				t.Fatal(err)
			}
			mend := w.wound(t, src)
			first := testImport(t, to, src)[0]
			if lost := 4*inPart - int(first.Kept); w.lost >= 0 && lost != w.lost || w.lost < 0 && lost == 0 || first.Damaged == 0 {
				t.Errorf("damaged: %+v; want %d less", first, w.lost)
			}
			again := testImport(t, to, src)[0]
			if again.Kept != 0 || again.Known != first.Kept || again.Damaged != first.Damaged || fmt.Sprint(again.Damage) != fmt.Sprint(first.Damage) {
				t.Errorf("again: %+v; want the damage of %+v", again, first)
			}
			copied := filepath.Join(t.TempDir(), "copied")
			s := openTest(t, to, small())
			if _, err := s.Snapshot(t.Context(), copied); err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			mend()
			if got := testImport(t, copied, src)[0]; got.Kept != 4*inPart-first.Kept || got.Damaged != 0 {
				t.Errorf("into a snapshot: %+v", got)
			}
			once(t, copied)
			for kept := 4*inPart - first.Kept; ; kept = 0 {
				if got := testImport(t, to, src)[0]; got.Kept != kept || got.Kept+got.Known != 4*inPart || got.Damaged != 0 {
					t.Errorf("mended: %+v; want %d more", got, kept)
				}
				if kept == 0 {
					break
				}
			}
			once(t, to)
			files, err := filepath.Glob(filepath.Join(to, importsDir, "*"+seenSuffix))
			if want := w.name == "a block" || w.name == "an index"; err != nil || len(files) > 0 != want {
				t.Errorf("lists: %v %v", files, err)
			}
		})
	}
}

// A line that came later is imported, whatever its time.
func TestImportOfLateLines(t *testing.T) {
	src, to := filepath.Join(t.TempDir(), "src"), filepath.Join(t.TempDir(), "to")
	storeOfParts(t, src)
	testImport(t, to, src)
	for round, seal := range []bool{false, true, false} {
		s := openTest(t, src, anyTime())
		mustAppend(t, s, one(MustLabels("app", "A before a0"), int64(round), fmt.Sprint("late ", round)))
		if seal { // of positions that are imported, too
			if err := s.Seal(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := s.Compact(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		want := ImportResult{Source: src, Kept: 1, Known: int64(4*inPart + round)}
		if got := testImport(t, to, src)[0]; fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("round %d: %+v; want %+v", round, got, want)
		}
	}
	if got, want := linesIn(t, to), linesIn(t, src); !maps.Equal(got, want) {
		t.Errorf("%d lines; want %d", len(got), len(want))
	}
}

// The parts of a store may come one by one, from several copies.
func TestImportOfParts(t *testing.T) {
	dir := t.TempDir()
	src, to := filepath.Join(dir, "src"), filepath.Join(dir, "to")
	storeOfParts(t, src)
	snapshot := filepath.Join(dir, "snapshot")
	ro, err := OpenReadOnly(src, anyTime())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ro.Snapshot(t.Context(), snapshot); err != nil {
		t.Fatal(err)
	}
	if err := ro.Close(); err != nil {
		t.Fatal(err)
	}
	s := openTest(t, src, anyTime())
	if err := s.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	kept := int64(0)
	for i, from := range []string{segmentOf(t, snapshot, 2), filepath.Join(snapshot, catalog.SegmentDir), filepath.Join(snapshot, logDir), src, snapshot} {
		r := testImport(t, to, from)[0]
		kept += r.Kept
		want := []int64{inPart, 2 * inPart, inPart, 0, 0}[i]
		if r.Kept != want || r.Known != kept-r.Kept || r.Damaged != 0 {
			t.Errorf("%s: %+v; want %d", from, r, want)
		}
	}
	once(t, to)
}

// An import that ends within a damaged segment, which is mended then, leaves out nothing.
func TestImportGoesOnInAMendedSegment(t *testing.T) {
	src, to := filepath.Join(t.TempDir(), "src"), filepath.Join(t.TempDir(), "to")
	s := openTest(t, src, anyTime())
	const lines = 400
	for i := range lines {
		mustAppend(t, s, one(MustLabels("app", fmt.Sprint(i%2)), int64(i/9), fmt.Sprintf("%d %s", i, strings.Repeat(string(rune('a'+i%26)), 30000))))
	}
	if err := s.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	file := segmentOf(t, src, 0)
	in, err := InspectSegment(file)
	if err != nil {
		t.Fatal(err)
	}
	var middles []int
	for b, err := range in.EachBlock() {
		if err != nil {
			t.Fatal(err)
		}
		middles = append(middles, int(b.Offset+b.Bytes/2))
	}
	in.Close()
	if len(middles) < 4 {
		t.Fatalf("%d blocks", len(middles))
	}
	mends := []func(){flipped(t, file, middles[1]), flipped(t, file, middles[len(middles)-2])}
	stop := errors.New("stop")
	ended := 0
	for round := 0; ; round++ {
		ctx, cancel := context.WithCancelCause(t.Context())
		steps := 0
		o := ImportOptions{store: small(), Memory: minMemory, Progress: func(ImportProgress) {
			if steps++; steps == 2 {
				cancel(stop)
			}
		}}
		_, err := Import(ctx, to, o, src)
		cancel(nil)
		if err == nil {
			break
		}
		if !errors.Is(err, stop) && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if ended++; len(mends) > 0 {
			mends[0]()
			mends = mends[1:]
		}
	}
	if ended < 2 {
		t.Errorf("ended %d times", ended)
	}
	if got := testImport(t, to, src)[0]; got.Known != lines || got.Damaged != 0 || got.Kept != 0 {
		t.Errorf("%+v", got)
	}
	if got, want := sortedContents(t, to), sortedContents(t, src); !slices.Equal(got, want) {
		t.Errorf("%d entries; want %d", len(got), len(want))
	}
}

// States of the version before are refused: they are named after other identities.
func TestImportRefusesOldStates(t *testing.T) {
	src, to := filepath.Join(t.TempDir(), "src"), filepath.Join(t.TempDir(), "to")
	storeOfParts(t, src)
	testImport(t, to, src)
	old := filepath.Join(to, importsDir, "segment-00.json")
	if err := os.WriteFile(old, []byte(`{"schema":"stele.imports/1","source":"old","entries":7}`), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Import(t.Context(), to, ImportOptions{}, src); err == nil || !strings.Contains(err.Error(), old+" is of an earlier version") {
		t.Errorf("%v", err)
	}
}
