package catalog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stele-go/stele/logstore/internal/segment2"
)

func TestSortOut(t *testing.T) {
	const served, broken, leftover, outcast = "served", "broken", "leftover", "outcast"
	type one struct {
		after, upto uint64
		generation  uint32
		created     int64
		bad         bool
		want        string
	}
	for _, c := range []struct {
		name      string
		truncated uint64
		list      []one
	}{
		{"nothing is wrong", 9, []one{{0, 5, 0, 1, false, served}, {5, 9, 2, 2, false, served}, {20, 30, 0, 3, false, served}}},
		{"a merge and its sources", 9, []one{
			{0, 5, 0, 1, false, leftover}, {5, 9, 1, 2, false, leftover}, {0, 9, 2, 3, false, served},
		}},
		{"a merge and the last of its sources", 9, []one{{5, 9, 0, 2, false, leftover}, {0, 9, 1, 3, false, served}}},
		{"a merge of a merge, and a source of the first", 9, []one{
			{5, 7, 0, 2, false, leftover}, {5, 9, 1, 2, false, leftover}, {0, 9, 2, 3, false, served},
		}},
		{"a salvage and what it is of", 9, []one{{0, 5, 1, 1, false, outcast}, {0, 5, 2, 2, false, served}}},
		{"a damaged source of a merge", 9, []one{{0, 5, 0, 1, true, leftover}, {0, 9, 1, 3, false, served}}},
		{"a damaged merge and its sources", 9, []one{
			{0, 5, 0, 1, false, served}, {5, 9, 0, 2, false, served}, {0, 9, 1, 3, true, outcast},
		}},
		{"damaged", 9, []one{{0, 5, 0, 1, true, broken}, {5, 9, 0, 2, false, served}}},
		{"damaged, and the log has it", 5, []one{{0, 5, 0, 1, false, served}, {5, 9, 0, 2, true, outcast}}},
		{"damaged, and the log has a part of it", 7, []one{{0, 5, 0, 1, false, served}, {5, 9, 0, 2, true, broken}}},
		{"damaged, and the log has it, but is replayed behind it", 5, []one{
			{0, 5, 0, 1, false, served}, {5, 9, 0, 2, true, broken}, {9, 12, 0, 3, false, served},
		}},
		{"the last two are damaged, and the log has them", 5, []one{
			{0, 5, 0, 1, false, served}, {5, 9, 0, 2, true, outcast}, {9, 12, 0, 3, true, outcast},
		}},
		{"they cross: the lower generation", 9, []one{{0, 6, 1, 1, false, served}, {5, 9, 0, 2, false, outcast}}},
		{"they cross: the one with fewer positions", 9, []one{{0, 6, 1, 1, false, served}, {5, 9, 1, 2, false, outcast}}},
		{"they cross: the newer", 9, []one{{0, 6, 1, 2, false, outcast}, {5, 11, 1, 1, false, served}}},
		{"one within the other, of one generation", 9, []one{{0, 9, 1, 2, false, served}, {3, 5, 1, 1, false, outcast}}},
	} {
		var all []*foundFile
		want := map[string]string{}
		for _, o := range c.list {
			sp := positions{o.after, o.upto, o.generation}
			f := &foundFile{name: sp.String(), positions: sp, file: &file{info: segment2.Info{Created: o.created}}}
			if o.bad {
				f.bad = &segment2.CorruptError{Reason: "damaged"}
			}
			all = append(all, f)
			want[f.name] = o.want
		}
		for range 2 { // in whatever order they are listed
			s := planRecovery(all, c.truncated)
			got := map[string]string{}
			for what, list := range map[string][]*foundFile{served: s.served, broken: s.unreadable, leftover: s.leftovers} {
				for _, f := range list {
					got[f.name] = what
				}
			}
			for _, f := range s.rejected {
				got[f.name] = outcast
				if f.why == "" || f.kept == "" {
					t.Errorf("%s: %s: no reason", c.name, f.name)
				}
			}
			for name, w := range want {
				if got[name] != w {
					t.Errorf("%s: %s is %s, want %s", c.name, name, got[name], w)
				}
			}
			slices.Reverse(all)
		}
	}
}

// copyDir copies the directory as a crash would leave it now.
func copyDir(t testing.TB, dir string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return to
}

func copyFile(t testing.TB, to, from string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

// Every state that a crash in a compaction leaves: its output, and any of its
// sources.
func TestCrashInMerge(t *testing.T) {
	dir := t.TempDir()
	o, _ := testOptions()
	s := open(t, dir, o)
	var all []map[string][]row
	for i := range 4 {
		rows := rowsOf(1e18+int64(i)*1e12, 20, "a", fmt.Sprint("s", i))
		all = append(all, rows)
		publish(t, s, 3, rows)
	}
	want := sortedLines(all...)
	before := copyDir(t, dir)
	sources := namesIn(t, dir, SegmentDir)
	if err := s.CompactAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	equalLines(t, "merged", served(t, s), want)
	merged := namesIn(t, dir, SegmentDir)
	if len(merged) != 1 || merged[0] != (positions{0, 12, 1}).String() {
		t.Fatalf("merged: %v", merged)
	}
	closeCatalog(t, s)
	for set := range 1 << len(sources) {
		crashed := copyDir(t, dir)
		for i, name := range sources {
			if set&(1<<i) != 0 {
				copyFile(t, filepath.Join(crashed, SegmentDir, name), filepath.Join(before, SegmentDir, name))
			}
		}
		// And one that was not complete.
		part := filepath.Join(crashed, SegmentDir, (positions{12, 13, 0}).String()+".x"+tempSuffix)
		if err := os.WriteFile(part, []byte("half"), 0o644); err != nil {
			t.Fatal(err)
		}
		s := open(t, crashed, o)
		equalLines(t, "after a crash", served(t, s), want)
		if got := namesIn(t, crashed, SegmentDir); !slices.Equal(got, merged) {
			t.Errorf("sources %b: left: %v", set, got)
		}
		if got := namesIn(t, crashed, QuarantineDir); len(got) > 0 {
			t.Errorf("sources %b: in quarantine: %v", set, got)
		}
		closeCatalog(t, s)
	}
}

// Files that are not segments are left alone.
func TestOtherFilesStay(t *testing.T) {
	dir := t.TempDir()
	o, _ := testOptions()
	s := open(t, dir, o)
	publish(t, s, 3, rowsOf(1e18, 5, "a"))
	closeCatalog(t, s)
	for _, name := range []string{"notes.txt", "0-1-2.seg", "x" + (positions{0, 3, 0}).String()} {
		if err := os.WriteFile(filepath.Join(dir, SegmentDir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s = open(t, dir, o)
	if got := namesIn(t, dir, SegmentDir); len(got) != 4 {
		t.Errorf("left: %v", got)
	}
	if n := len(served(t, s)); n != 5 {
		t.Errorf("%d lines, want 5", n)
	}
}

// A segment under the name of another is not served.
func TestRenamed(t *testing.T) {
	dir := t.TempDir()
	o, _ := testOptions()
	s := open(t, dir, o)
	publish(t, s, 3, rowsOf(1e18, 5, "a"))
	closeCatalog(t, s)
	at := func(sp positions) string { return filepath.Join(dir, SegmentDir, sp.String()) }
	copyFile(t, at(positions{3, 9, 0}), at(positions{0, 3, 0}))
	s = open(t, dir, o)
	if n := len(served(t, s)); n != 5 {
		t.Errorf("%d lines, want 5", n)
	}
	if st := s.Stats(); st.Unreadable != 0 || st.Quarantined != 1 || s.Upto() != 3 {
		t.Errorf("Upto %d, stats: %+v", s.Upto(), st)
	}
	reports := reportsIn(t, dir)
	if len(reports) != 1 || !strings.Contains(reports[0], (positions{0, 3, 0}).String()) {
		t.Errorf("reports: %q", reports)
	}
}

// Of two segments with overlapping positions one is served, and the streams
// that only the other has are unknown.
func TestConflict(t *testing.T) {
	o, _ := testOptions()
	dir, other := t.TempDir(), t.TempDir()
	s := open(t, dir, o)
	publish(t, s, 5, rowsOf(1e18, 3, "a", "both"))
	publish(t, s, 1, rowsOf(1e18, 3, "a"))
	closeCatalog(t, s)
	s = open(t, other, o)
	publish(t, s, 4, rowsOf(1e18, 3, "x", "both"))
	closeCatalog(t, s)
	name := (positions{0, 4, 0}).String()
	copyFile(t, filepath.Join(dir, SegmentDir, name), filepath.Join(other, SegmentDir, name))

	s = open(t, dir, o)
	equalLines(t, "served", served(t, s), sortedLines(rowsOf(1e18, 3, "a", "both"), rowsOf(1e18, 3, "a")))
	n := s.Snapshot()
	defer n.Release()
	if _, ok, err := n.Newest(t.Context(), "", labelsOf("x"), 0); ok || err != nil {
		t.Errorf("a stream of a segment that is not served: %v, %v", ok, err)
	}
	if r := reportsIn(t, dir); len(r) != 1 || !strings.Contains(r[0], "neither was made from the other") {
		t.Errorf("reports: %q", r)
	}
}

func reportsIn(t testing.TB, dir string) (texts []string) {
	t.Helper()
	for _, name := range namesIn(t, dir, QuarantineDir) {
		if strings.HasSuffix(name, ReportSuffix) {
			b, err := os.ReadFile(filepath.Join(dir, QuarantineDir, name))
			if err != nil {
				t.Fatal(err)
			}
			texts = append(texts, string(b))
		}
	}
	return texts
}

// An error of the disk is not damage: nothing is moved, and Open fails.
func TestOpenFails(t *testing.T) {
	if os.Getuid() == 0 {
		t.Log("as root no file is unreadable: a directory replaces it")
	}
	dir := t.TempDir()
	o, _ := testOptions()
	s := open(t, dir, o)
	publish(t, s, 3, rowsOf(1e18, 5, "a"))
	closeCatalog(t, s)
	bad := filepath.Join(dir, SegmentDir, (positions{3, 4, 0}).String())
	if err := os.Mkdir(bad, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := openDir(t.Context(), dir, o); err == nil || !strings.Contains(err.Error(), bad) {
		t.Errorf("Open: %v, want an error that names %s", err, bad)
	}
	if got := namesIn(t, dir, QuarantineDir); len(got) > 0 {
		t.Errorf("in quarantine: %v", got)
	}
	if err := os.Remove(bad); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := openDir(ctx, dir, o); !errors.Is(err, context.Canceled) {
		t.Errorf("Open of a context that is done: %v", err)
	}
	if _, err := openDir(t.Context(), filepath.Join(dir, "none"), o); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Open without a directory: %v", err)
	}
}
