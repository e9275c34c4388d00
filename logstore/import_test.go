package logstore

import (
	"context"
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

// importable makes a store with a segment and a log, closed: old and future times,
// equal lines, metadata.
func importable(t *testing.T, dir string) {
	t.Helper()
	o := small()
	o.LateWindow, o.FutureWindow = -1, -1
	s := openTest(t, dir, o)
	for i := range 300 {
		e := Entry{Time: int64(i/3) << 52, Line: fmt.Appendf(nil, "line %d", i/2)}
		if i%5 == 0 {
			e.Metadata = MustLabels("trace", fmt.Sprint(i))
		}
		mustAppend(t, s, Batch{{MustLabels("app", fmt.Sprint("a", i%4)), []Entry{e}}})
		if i == 200 {
			if err := s.Seal(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// sortedContents opens a store and returns its entries.
func sortedContents(t *testing.T, dir string) (all []string) {
	t.Helper()
	s := openTest(t, dir, small())
	defer s.Close()
	for _, k := range contents(t, s) {
		all = append(all, k.String())
	}
	slices.Sort(all)
	return all
}

func testImport(t *testing.T, dir string, sources ...string) []ImportResult {
	t.Helper()
	results, err := Import(t.Context(), dir, ImportOptions{store: small(), Memory: minMemory}, sources...)
	if err != nil {
		t.Fatal(err)
	}
	return results
}

func TestImportAStore(t *testing.T) {
	src, to := filepath.Join(t.TempDir(), "src"), filepath.Join(t.TempDir(), "to")
	importable(t, src)
	s := openTest(t, to, small())
	mustAppend(t, s, one(MustLabels("app", "a0"), 7, "line 0"))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	want := append(sortedContents(t, src), sortedContents(t, to)...)
	slices.Sort(want)
	for _, r := range []ImportResult{{Source: src, Kept: 300}, {Source: src, Known: 300}} {
		if got := testImport(t, to, src); fmt.Sprint(got) != fmt.Sprint([]ImportResult{r}) {
			t.Errorf("results: %+v; want %+v", got, r)
		}
		if got := sortedContents(t, to); !slices.Equal(got, want) {
			t.Fatalf("%d entries; want %d", len(got), len(want))
		}
	}
	// What a source gets later is imported too.
	o := small()
	o.FutureWindow = -1
	s = openTest(t, src, o)
	mustAppend(t, s, one(MustLabels("app", "new"), 99<<52, "at the last time"))
	mustAppend(t, s, one(MustLabels("app", "new"), 99<<52+1, "later"))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if got := testImport(t, to, src)[0]; got.Kept != 2 || got.Known != 300 {
		t.Errorf("a source that has grown: %+v", got)
	}
}

// An import that ends anywhere goes on where it ended.
func TestImportGoesOn(t *testing.T) {
	src, to := filepath.Join(t.TempDir(), "src"), filepath.Join(t.TempDir(), "to")
	o := small()
	o.LateWindow = -1
	s := openTest(t, src, o)
	for i := range 40 {
		b := Batch{{MustLabels("app", "a"), nil}}
		for j := range 10 {
			b[0].Entries = append(b[0].Entries, Entry{Time: int64(i*10+j) / 7, Line: fmt.Appendf(nil, "%d %s", i*10+j, strings.Repeat("x", 20000))})
		}
		mustAppend(t, s, b)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	stop := errors.New("stop")
	for round := 0; ; round++ {
		ctx, cancel := context.WithCancelCause(t.Context())
		var older []byte
		var file string
		o := ImportOptions{store: small(), Memory: minMemory, Progress: func(ImportProgress) {
			files, _ := filepath.Glob(filepath.Join(to, importsDir, "*"))
			file = files[0]
			if older != nil {
				cancel(stop)
			}
			older, _ = os.ReadFile(file)
		}}
		_, err := Import(ctx, to, o, src)
		cancel(nil)
		if err == nil {
			if round < 2 {
				t.Errorf("done after %d rounds", round+1)
			}
			break
		}
		if !errors.Is(err, stop) && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		// As if a crash had come before the state was written.
		if err := os.WriteFile(file, older, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := sortedContents(t, to), sortedContents(t, src); !slices.Equal(got, want) {
		t.Errorf("%d entries; want %d", len(got), len(want))
	}
}

func TestImportOfSegments(t *testing.T) {
	src := filepath.Join(t.TempDir(), "src")
	importable(t, src)
	sealed := segmentOf(t, src, 0)
	lone := filepath.Join(t.TempDir(), "any name")
	p, err := os.ReadFile(sealed)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(lone, p, 0o666); err != nil {
		t.Fatal(err)
	}
	copies := filepath.Join(t.TempDir(), "copies")
	if err := os.CopyFS(copies, os.DirFS(filepath.Join(src, catalog.SegmentDir))); err != nil {
		t.Fatal(err)
	}
	remove(t, filepath.Join(src, logDir))
	for _, from := range []string{lone, copies, sealed, src} {
		to := t.TempDir()
		r := testImport(t, to, from)[0]
		if r.Kept != 201 || r.Damaged > 1 { // a store without its log is not complete
			t.Errorf("%s: %+v", from, r)
		}
		if again := testImport(t, to, from)[0]; again.Kept != 0 || again.Known != 201 {
			t.Errorf("%s again: %+v", from, again)
		}
	}
	flipAt(t, lone, middleOfABlock(t, lone))
	r := testImport(t, t.TempDir(), lone)[0]
	if r.Damaged == 0 || len(r.Damage) == 0 || r.Kept >= 201 {
		t.Errorf("a damaged segment: %+v", r)
	}
}

// middleOfABlock returns an offset in the first block of a segment.
func middleOfABlock(t *testing.T, file string) int {
	t.Helper()
	s, err := InspectSegment(file)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for b, err := range s.EachBlock() {
		if err != nil {
			t.Fatal(err)
		}
		return int(b.Offset + b.Bytes/2)
	}
	t.Fatal("no block")
	return 0
}

func TestImportRefuses(t *testing.T) {
	src, to := filepath.Join(t.TempDir(), "src"), filepath.Join(t.TempDir(), "to")
	importable(t, src)
	if err := os.CopyFS(to, os.DirFS(src)); err != nil {
		t.Fatal(err)
	}
	other := t.TempDir()
	importable(t, other)
	before := filesOf(t, to)
	for _, c := range []struct {
		sources []string
		is      error
	}{
		{nil, fs.ErrInvalid},
		{[]string{to}, fs.ErrInvalid},
		{[]string{filepath.Join(to, ".", catalog.SegmentDir)}, fs.ErrInvalid},
		{[]string{segmentOf(t, to, 0)}, fs.ErrInvalid},
		{[]string{src}, fs.ErrInvalid}, // to is a copy of it
		{[]string{other, other}, fs.ErrInvalid},
		{[]string{filepath.Join(other, "none")}, fs.ErrNotExist},
		{[]string{t.TempDir()}, errNoStore},
	} {
		_, err := Import(t.Context(), to, ImportOptions{store: small()}, c.sources...)
		if !errors.Is(err, c.is) {
			t.Errorf("%v: %v; want %v", c.sources, err, c.is)
		}
	}
	if after := filesOf(t, to); !slices.Equal(after, before) {
		t.Errorf("changed: %v; want %v", after, before)
	}
	if runtime.GOOS == "linux" {
		openTest(t, other, small())
		if _, err := Import(t.Context(), to, ImportOptions{store: small()}, other); !errors.Is(err, ErrLocked) {
			t.Errorf("an open source: %v", err)
		}
	}
}
