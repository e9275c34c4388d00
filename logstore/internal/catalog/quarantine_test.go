package catalog

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stele-go/stele/logstore/internal/filter"
	"github.com/stele-go/stele/logstore/internal/segment/segmenttest"
	"github.com/stele-go/stele/logstore/internal/segment2"
)

// A publisher is publish or publish1.
type publisher func(t testing.TB, s *Catalog, n uint64, rows map[string][]row)

var publishers = []struct {
	name    string
	publish publisher
}{{"version 1", publish1}, {"version 2", publish}}

// twoSegments makes a directory of two segments, and returns their lines.
func twoSegments(t testing.TB, o Options, publish publisher) (dir string, first, second map[string][]row) {
	t.Helper()
	dir = t.TempDir()
	s := open(t, dir, o)
	first, second = rowsOf(1e18, 40, "a", "b", "c"), rowsOf(1e18+1e12, 40, "b", "c", "d")
	publish(t, s, 1, first)
	publish(t, s, 1, second)
	closeCatalog(t, s)
	return dir, first, second
}

// One byte is wrong, anywhere in a file: the rest stays readable, nothing is
// made up or served twice, at most one block is lost, and a report names it.
func TestOneByteWrong(t *testing.T) {
	for _, p := range publishers {
		t.Run(p.name, func(t *testing.T) { oneByteWrong(t, p.publish) })
	}
}

func oneByteWrong(t *testing.T, publish publisher) {
	const perBlock = 16
	o, _ := testOptions()
	dir, first, second := twoSegments(t, o, publish)
	name := (positions{0, 1, 0}).String()
	whole, err := os.ReadFile(filepath.Join(dir, SegmentDir, name))
	if err != nil {
		t.Fatal(err)
	}
	all := sortedLines(first, second)
	isLine := map[string]bool{}
	for _, l := range all {
		isLine[l] = true
	}
	intact := sortedLines(second)
	tries := 150
	if raceEnabled {
		tries = 40 // no goroutine shares what is damaged
	}
	step := 1
	if len(whole) > tries {
		step = len(whole)/tries | 1
	}
	needle := filter.Word([]byte("answered")) // which is in every line
	seen := map[string]int{}
	for off := 0; off < len(whole); off += step {
		bad := slices.Clone(whole)
		bad[off] ^= 1 << (off % 8)
		crashed := copyDir(t, dir)
		path := filepath.Join(crashed, SegmentDir, name)
		if err := os.WriteFile(path, bad, 0o644); err != nil {
			t.Fatal(err)
		}
		s := open(t, crashed, o)
		check := func(when string, lines []string) {
			t.Helper()
			got := map[string]bool{}
			for _, l := range lines {
				if !isLine[l] || got[l] {
					t.Fatalf("byte %d, %s: %q was never written, or is served twice", off, when, l)
				}
				got[l] = true
			}
			for _, l := range intact {
				if !got[l] {
					t.Fatalf("byte %d, %s: %q of the other segment is missing", off, when, l)
				}
			}
		}
		n := s.Snapshot()
		lines, errs := linesOf(n)
		for seg := range n.Segments() {
			for b := range seg.Info().Blocks {
				if may, err := mayHave(seg, b, needle); !may {
					t.Fatalf("byte %d: a block is ruled out that has the needle: %v", off, err)
				}
			}
		}
		n.Release()
		check("before", flat(lines))
		if missing := len(all) - len(flat(lines)); missing > 0 && len(errs) == 0 && s.Stats().Unreadable == 0 {
			t.Fatalf("byte %d: %d lines are missing without an error", off, missing)
		}
		maintain(t, s)
		lines2, errs := linesOf2(t, s)
		check("after", lines2)
		if len(errs) > 0 {
			t.Fatalf("byte %d: not repaired: %v", off, errs)
		}
		lost := len(all) - len(lines2)
		st, reports := s.Stats(), reportsIn(t, crashed)
		switch {
		case lost > perBlock:
			t.Fatalf("byte %d: %d lines are lost, a block has %d", off, lost, perBlock)
		case lost > 0 && (len(reports) != 1 || st.Quarantined != 1 || st.LostRows != int64(lost)):
			t.Fatalf("byte %d: %d lines are lost; stats %+v, reports %q", off, lost, st, reports)
		case lost > 0:
			seen["lines lost"]++
			fallthrough
		case st.Quarantined > 0:
			seen["quarantined"]++
			if !strings.Contains(reports[0], name) || !strings.Contains(reports[0], (positions{0, 1, 1}).String()) {
				t.Fatalf("byte %d: report %q", off, reports[0])
			}
			kept, err := os.ReadFile(filepath.Join(crashed, QuarantineDir, name))
			if err != nil || !slices.Equal(kept, bad) {
				t.Fatalf("byte %d: what is in quarantine is not the damaged file: %v", off, err)
			}
			if files := namesIn(t, crashed, SegmentDir); !slices.Equal(files, []string{(positions{0, 1, 1}).String(), (positions{1, 2, 0}).String()}) {
				t.Fatalf("byte %d: files %v", off, files)
			}
		default:
			seen["not read"]++ // the head of the file, for one
		}
		closeCatalog(t, s)
		// And it stays repaired.
		s = open(t, crashed, o)
		equalLines(t, fmt.Sprintf("byte %d, opened again", off), served(t, s), lines2)
		closeCatalog(t, s)
		if err := os.RemoveAll(crashed); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d bytes: %v", (len(whole)+step-1)/step, seen)
	if seen["lines lost"] == 0 || seen["quarantined"] <= seen["lines lost"] {
		t.Errorf("the damage was not where it should be: %v", seen)
	}
}

func linesOf2(t testing.TB, s *Catalog) ([]string, []error) {
	t.Helper()
	n := s.Snapshot()
	defer n.Release()
	lines, errs := linesOf(n)
	return flat(lines), errs
}

// After a crash at each step of a repair the segment is repaired too.
func TestCrashInRepair(t *testing.T) {
	for _, p := range publishers {
		t.Run(p.name, func(t *testing.T) { crashInRepair(t, p.publish) })
	}
}

// damageBlock damages the last byte of the first block of the first segment.
func damageBlock(t testing.TB, dir string, o Options) {
	t.Helper()
	s := open(t, dir, o)
	n := s.Snapshot()
	seg := Segment{catalog: s, file: n.v.order[0]}
	g, err := seg.Group(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	n.Release()
	closeCatalog(t, s)
	p, err := os.ReadFile(seg.Path())
	if err != nil {
		t.Fatal(err)
	}
	p[g.Blocks[0].Offset+g.Blocks[0].Bytes-1] ^= 1
	if err := os.WriteFile(seg.Path(), p, 0o644); err != nil {
		t.Fatal(err)
	}
}

func crashInRepair(t *testing.T, publish publisher) {
	o, _ := testOptions()
	dir, first, second := twoSegments(t, o, publish)
	name, salvage := (positions{0, 1, 0}).String(), (positions{0, 1, 1}).String()
	damageBlock(t, dir, o)
	before := copyDir(t, dir)
	s := open(t, dir, o)
	if _, errs := linesOf2(t, s); len(errs) == 0 {
		t.Fatal("the damage was not found")
	}
	maintain(t, s)
	want, errs := linesOf2(t, s)
	if len(errs) > 0 || len(want) >= len(sortedLines(first, second)) {
		t.Fatalf("%d lines, errors %v", len(want), errs)
	}
	closeCatalog(t, s)

	for _, c := range []struct {
		name  string
		files [][3]string // directory, file, from: b(efore) or a(fter)
	}{
		{"the salvage is published", [][3]string{{SegmentDir, salvage, "a"}}},
		{"the report is written", [][3]string{{SegmentDir, salvage, "a"}, {QuarantineDir, strings.TrimSuffix(name, SegmentSuffix) + ReportSuffix, "a"}}},
	} {
		crashed := copyDir(t, before)
		for _, f := range c.files {
			from := map[string]string{"a": dir, "b": before}[f[2]]
			copyFile(t, filepath.Join(crashed, f[0], f[1]), filepath.Join(from, f[0], f[1]))
		}
		s := open(t, crashed, o)
		equalLines(t, c.name, served(t, s), want)
		if st := s.Stats(); st.Quarantined != 1 || st.Segments != 2 {
			t.Errorf("%s: stats %+v", c.name, st)
		}
		if got := namesIn(t, crashed, QuarantineDir); len(got) != 2 {
			t.Errorf("%s: in quarantine: %v", c.name, got)
		}
		closeCatalog(t, s)
	}
}

// A salvage is not merged before the damaged file is in quarantine: after a crash Open
// would remove that file, as a source of the merge.
func TestSalvageIsMergedLater(t *testing.T) {
	o, _ := testOptions()
	dir, _, _ := twoSegments(t, o, publish)
	damageBlock(t, dir, o)
	s := open(t, dir, o)
	held := s.Snapshot()
	if _, errs := linesOf(held); len(errs) == 0 {
		t.Fatal("the damage was not found")
	}
	for range 2 {
		if err := s.CompactAll(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if st := s.Stats(); st.Salvaged != 1 || st.Compactions != 0 {
		t.Fatalf("%d salvaged, %d compactions while a snapshot uses the damaged file", st.Salvaged, st.Compactions)
	}
	crashed := copyDir(t, dir)
	held.Release()
	if err := s.CompactAll(t.Context()); err != nil || s.Stats().Segments != 1 {
		t.Errorf("%v, %d segments; want one", err, s.Stats().Segments)
	}
	closeCatalog(t, s)
	s = open(t, crashed, o)
	for _, d := range []string{dir, crashed} {
		if got := namesIn(t, d, QuarantineDir); len(got) != 2 {
			t.Errorf("in quarantine: %q", got)
		}
	}
	closeCatalog(t, s)
}

// Two damaged files of one name are both kept.
func TestQuarantineClobbersNothing(t *testing.T) {
	o, _ := testOptions()
	o.Truncated = 0 // so they go into quarantine as they are
	dir := t.TempDir()
	name := (positions{0, 1, 0}).String()
	for i := range 3 {
		text := fmt.Sprint("no segment, of attempt ", i)
		s := open(t, dir, o)
		closeCatalog(t, s)
		if err := os.WriteFile(filepath.Join(dir, SegmentDir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		s = open(t, dir, o)
		if s.Upto() != 0 {
			t.Errorf("Upto is %d, want 0: the log replays what was in it", s.Upto())
		}
		if st := s.Stats(); st.Quarantined != int64(i+1) || st.Segments != 0 {
			t.Errorf("stats: %+v", st)
		}
		closeCatalog(t, s)
		base := strings.TrimSuffix(name, SegmentSuffix)
		if i > 0 {
			base = fmt.Sprintf("%s.%d", base, i+1)
		}
		if b, err := os.ReadFile(filepath.Join(dir, QuarantineDir, base+SegmentSuffix)); string(b) != text {
			t.Errorf("%s has %q, %v", base, b, err)
		}
		if r := reportsIn(t, dir); len(r) != i+1 || !strings.Contains(r[0], "which the log still has") {
			t.Errorf("reports: %q", r)
		}
	}
}

// Nothing is intact: the file is quarantined, the others stay, and positions
// are not reused.
func TestNothingToSalvage(t *testing.T) {
	for _, p := range publishers {
		t.Run(p.name, func(t *testing.T) { nothingToSalvage(t, p.publish) })
	}
}

func nothingToSalvage(t *testing.T, publish publisher) {
	o, _ := testOptions()
	dir, first, _ := twoSegments(t, o, publish)
	path := filepath.Join(dir, SegmentDir, (positions{1, 2, 0}).String())
	if err := os.WriteFile(path, make([]byte, 1000), 0o644); err != nil {
		t.Fatal(err)
	}
	s := open(t, dir, o)
	if st := s.Stats(); st.Unreadable != 1 || s.Upto() != 2 {
		t.Errorf("Upto %d, stats %+v", s.Upto(), st)
	}
	maintain(t, s)
	equalLines(t, "the other", served(t, s), sortedLines(first))
	if st := s.Stats(); st.Unreadable != 0 || st.Quarantined != 1 || st.Salvaged != 0 {
		t.Errorf("stats %+v", st)
	}
	if r := reportsIn(t, dir); len(r) != 1 || !strings.Contains(r[0], "served:      nothing") {
		t.Errorf("reports: %q", r)
	}
	publish(t, s, 1, rowsOf(1e18, 1, "z"))
	if got := namesIn(t, dir, SegmentDir); !slices.Contains(got, (positions{2, 3, 0}).String()) {
		t.Errorf("files: %v", got)
	}
}

// A segment that is intact when read again stays as it is.
func TestFalseAlarm(t *testing.T) {
	for _, p := range publishers {
		t.Run(p.name, func(t *testing.T) { falseAlarm(t, p.publish) })
	}
}

func falseAlarm(t *testing.T, publish publisher) {
	o, c := testOptions()
	dir, first, second := twoSegments(t, o, publish)
	s := open(t, dir, o)
	s.noteError(s.current.Load().order[0], &segment2.CorruptError{Reason: "a bit of memory"})
	maintain(t, s)
	equalLines(t, "afterwards", served(t, s), sortedLines(first, second))
	if st := s.Stats(); st.Damaged != 1 || st.FalseAlarms != 1 || st.Quarantined != 0 || st.Obsolete != 0 {
		t.Errorf("stats %+v", st)
	}
	// It is not verified again for a while, even after another report of
	// damage.
	s.noteError(s.current.Load().order[0], &segment2.CorruptError{Reason: "a bit of memory"})
	maintain(t, s)
	if st := s.Stats(); st.Damaged != 2 || st.FalseAlarms != 1 {
		t.Errorf("stats %+v", st)
	}
	c.forward(retryAfter + time.Second)
	maintain(t, s)
	if st := s.Stats(); st.FalseAlarms != 2 {
		t.Errorf("stats %+v", st)
	}
}

// A compaction that finds damage has it repaired, and is done then.
func TestMergeMeetsDamage(t *testing.T) {
	for _, p := range publishers {
		t.Run(p.name, func(t *testing.T) { mergeMeetsDamage(t, p.publish) })
	}
}

func mergeMeetsDamage(t *testing.T, publish publisher) {
	o, _ := testOptions()
	dir, first, second := twoSegments(t, o, publish)
	damageBlock(t, dir, o)
	s := open(t, dir, o)
	if err := s.CompactAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	lines, errs := linesOf2(t, s)
	if want := len(sortedLines(first, second)); len(errs) > 0 || len(lines) != want-16 {
		t.Errorf("%d lines, want %d; errors %v", len(lines), want-16, errs)
	}
	if st := s.Stats(); st.Segments != 1 || st.Compactions != 1 || st.Salvaged != 1 || st.LostRows != 16 || st.Quarantined != 1 {
		t.Errorf("stats %+v", st)
	}
	if got := namesIn(t, dir, SegmentDir); !slices.Equal(got, []string{(positions{0, 2, 2}).String()}) {
		t.Errorf("files %v", got)
	}
}

// A segment of version 1 with labels that version 2 cannot have counts as damaged: the
// lines of the other streams are served, and the file is kept with a report that names
// the stream.
func TestLabelsThatAreNotWellFormed(t *testing.T) {
	o, _ := testOptions()
	dir := t.TempDir()
	s := open(t, dir, o)
	good := rowsOf(1e18, 40, "a", "b")
	publish1(t, s, 1, good)
	closeCatalog(t, s)
	rows := rowsOf(1e18, 40, "a", "b", "") // the last one has a label without a value
	name := (positions{0, 1, 0}).String()
	file, err := os.Create(filepath.Join(dir, SegmentDir, name))
	if err != nil {
		t.Fatal(err)
	}
	w := segmenttest.NewWriter(file)
	if err := writeRows1(w, rows, 16); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Finish(segment2.Info{Upto: 1, Created: 1}); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(filepath.Join(dir, SegmentDir, name))
	if err != nil {
		t.Fatal(err)
	}
	s = open(t, dir, o)
	if n := s.Stats().Unreadable; n != 1 {
		t.Errorf("%d files are unreadable; want 1", n)
	}
	maintain(t, s)
	equalLines(t, "after the salvage", served(t, s), sortedLines(good))
	if st := s.Stats(); st.Quarantined != 1 || st.Salvaged != 1 {
		t.Errorf("%+v", st)
	}
	closeCatalog(t, s)
	kept, err := os.ReadFile(filepath.Join(dir, QuarantineDir, name))
	if err != nil || !slices.Equal(kept, before) {
		t.Errorf("what is in quarantine is not the file: %v", err)
	}
	if reports := reportsIn(t, dir); len(reports) != 1 || !strings.Contains(reports[0], "stream 0: labels are not well-formed") {
		t.Errorf("reports %q", reports)
	}
}

// A report says by the clock when a file was put into quarantine, whatever the time is by
// which entries are deleted.
func TestReportHasTheClock(t *testing.T) {
	o, c := testOptions()
	dir, _, _ := twoSegments(t, o, publish)
	name := (positions{0, 1, 0}).String()
	path := filepath.Join(dir, SegmentDir, name)
	p, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	p[len(p)-1] ^= 1
	if err := os.WriteFile(path, p, 0o666); err != nil {
		t.Fatal(err)
	}
	c.forward(3 * time.Hour) // so the clock is doubted
	s := open(t, dir, o)
	maintain(t, s)
	report, err := os.ReadFile(filepath.Join(dir, QuarantineDir, strings.TrimSuffix(name, SegmentSuffix)+ReportSuffix))
	if want := "quarantined: " + c.Now().UTC().Format(time.RFC3339) + "\n"; err != nil || !strings.Contains(string(report), want) {
		t.Errorf("%v; want %q in\n%s", err, want, report)
	}
}
