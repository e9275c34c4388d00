package logstore

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
)

// columnLines are lines of some templates, with variables of many kinds, and lines that
// have none.
func columnLines(r *rand.Rand, n int) (list []string) {
	users := []string{"ann", "bob", "cem", "Größe", "root"}
	for i := range n {
		user := users[r.IntN(len(users))]
		switch r.IntN(8) {
		case 0:
			list = append(list, fmt.Sprintf("GET /items/%d HTTP/1.1 %d took %d.%03d ms", r.IntN(1e6), 200+r.IntN(3), r.IntN(90), r.IntN(1000)))
		case 1:
			list = append(list, fmt.Sprintf(`{"id":"%08x","user":"%s","n":%d}`, r.Uint32(), user, r.IntN(50)))
		case 2:
			list = append(list, fmt.Sprintf("from 10.0.%d.%d:%d to /dev/null", r.IntN(4), r.IntN(250), 1000+r.IntN(60000)))
		case 3:
			list = append(list, fmt.Sprintf("level=%s user=%s err=\"code %d\" worker-%d", []string{"info", "error", "ERROR"}[r.IntN(3)], user, r.IntN(9), r.IntN(20)))
		case 4:
			list = append(list, "the session has ended")
		case 5:
			list = append(list, fmt.Sprint("once ", r.Uint64(), " \xff\x00", r.IntN(2) == 0))
		case 6:
			list = append(list, time.Unix(int64(i), 0).UTC().Format(time.RFC3339)+" session opened for user "+user)
		default:
			list = append(list, strings.Repeat("a b ", r.IntN(5)))
		}
	}
	return list
}

// hardExprs have no text that each match has, or only short ones, or letters in both cases
// beside others.
var hardExprs = []string{
	"[A-Z]{5}", "^$", ".{40,}", "[^ -~]", "(took|opened)+?", "[Ee]rror", "(?i:ERROR) user", "(?i:get)|root", "[Ss]ession (has|opened)", "[gG]röße",
	`\d+\.\d+\.\d+`, `\d\.\d|[a-f]=`, `:\d+ `,
}

// columnFilters are filters of each kind for parts of lines.
func columnFilters(r *rand.Rand, lines []string) Filter {
	part := func() string {
		l := lines[r.IntN(len(lines))]
		from := r.IntN(len(l) + 1)
		return l[from : from+r.IntN(min(len(l)-from, 14)+1)]
	}
	expr := func(s string) string { return regexp.QuoteMeta(strings.ToValidUTF8(s, " ")) }
	switch s := part(); r.IntN(10) {
	case 0:
		return ContainsFold(strings.ToUpper(s))
	case 1:
		return Word(s)
	case 2:
		return Regexp(regexp.MustCompile(expr(s) + "|" + expr(part())))
	case 3:
		return Regexp(regexp.MustCompile("(?i)" + expr(s) + ".*" + expr(part())))
	case 4:
		return Not(columnFilters(r, lines))
	case 5:
		return All(columnFilters(r, lines), columnFilters(r, lines))
	case 6:
		return Any(columnFilters(r, lines), columnFilters(r, lines))
	case 7:
		re := regexp.MustCompile(hardExprs[r.IntN(len(hardExprs))])
		if r.IntN(2) == 0 {
			return RegexpFunc(re.String(), re.Match)
		}
		return Regexp(re)
	case 8:
		return Any(metadataIs(Equal, "t1"), All(Contains(s), LineFunc(func(line []byte) bool { return len(line)%2 == 0 })))
	default:
		return Contains(s)
	}
}

// TestSearchColumns compares what queries find in blocks of columns with all lines.
func TestSearchColumns(t *testing.T) {
	s := openTest(t, t.TempDir(), Options{Memory: minMemory, MinFree: 1, Codec: CodecColumns})
	r := rand.New(rand.NewPCG(21, 22))
	lines := columnLines(r, 2000)
	trace := MustLabels("trace", "t1")
	var entries []Entry
	for i, l := range lines {
		e := Entry{Time: int64(i), Line: []byte(l)}
		if i%10 == 0 {
			e.Metadata = trace
		}
		entries = append(entries, e)
	}
	for i := range 4 {
		var some []Entry
		for j := i; j < len(entries); j += 4 {
			some = append(some, entries[j])
		}
		mustAppend(t, s, Batch{{MustLabels("stream", fmt.Sprint(i)), some}})
	}
	if err := s.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 150 {
		f := columnFilters(r, lines)
		from := int64(r.IntN(len(lines)))
		var want, got []string
		for i := int(from); i < len(entries); i++ {
			if f.Match(entries[i].Line, entries[i].Metadata) {
				want = append(want, fmt.Sprintf("%d %q", i, entries[i].Line))
			}
		}
		for e, err := range s.Query(t.Context(), Query{From: from, Filter: f}) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, fmt.Sprintf("%d %q", e.Time, bytes.Clone(e.Line)))
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Fatalf("found %d entries %q; want %d %q", len(got), got[:min(len(got), 5)], len(want), want[:min(len(want), 5)])
		}
	}
}

// A search decodes a dictionary once, also one that must be read from its copy.
func TestDamagedDictionaryIsReadOnce(t *testing.T) {
	var lines []string
	for i := range 100 {
		lines = append(lines, fmt.Sprintf("user %d has left", i))
	}
	dir, file := sealedColumns(t, lines)
	flipSection(t, file, "dictionary")
	s := openReadOnlyTest(t, dir)
	segs := s.catalog.Snapshot()
	defer segs.Release()
	for seg := range segs.Segments() {
		in, x := &searched{Segment: seg}, &search{ctx: t.Context()}
		d, err := in.dictionary(x, 1)
		if _, damaged := asDamage(err); d.dictionary == nil || !damaged {
			t.Fatalf("%v, and %v; want damage, and the copy", d, err)
		}
		if again, err := in.dictionary(x, 1); again.dictionary != d.dictionary || err != nil {
			t.Errorf("the second call gave %p after %p, error %v", again.dictionary, d.dictionary, err)
		}
	}
	n := 0
	for _, err := range s.Query(t.Context(), Query{Filter: Contains("7 has left")}) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 10 {
		t.Errorf("%d lines; want 10", n)
	}
}

// Entries of a segment whose dictionary is lost, with its copy, do not count for the limit of a
// query: it finds those of the segment before.
func TestLimitOverLostDictionary(t *testing.T) {
	dir := t.TempDir()
	o := columnOptions()
	s := openTest(t, dir, o)
	const each, limit = 1000, 100
	for part := range 2 {
		var entries []Entry
		for i := range each {
			at := part*each + i
			entries = append(entries, Entry{Time: int64(at), Line: fmt.Appendf(nil, "user %d has left %d", at, part)})
		}
		mustAppend(t, s, Batch{{MustLabels("app", "a"), entries}})
		mustDo(t, s.Seal(t.Context()))
	}
	mustDo(t, s.Close())
	for lost, file := range mustFindSegments(t, dir, 2) {
		whole, err := os.ReadFile(file)
		mustDo(t, err)
		flipSection(t, file, "dictionary")
		flipSection(t, file, "dictionary frame")
		for _, order := range []Order{Forward, Backward} {
			n, damaged := 0, false
			for e, err := range openReadOnlyTest(t, dir).Query(t.Context(), Query{Order: order, Limit: limit}) {
				if _, ok := asDamage(err); ok {
					damaged = true
					continue
				}
				mustDo(t, err)
				n++
				if part := int(e.Time / each); part == lost {
					t.Fatalf("an entry at %d, of which the dictionary is lost", e.Time)
				}
			}
			if n != limit || !damaged && (lost == 0) == (order == Forward) {
				t.Errorf("dictionary %d lost, order %v: %d entries, damage %v; want %d", lost, order, n, damaged, limit)
			}
		}
		mustDo(t, os.WriteFile(file, whole, 0o666))
	}
}

// flipSection flips a bit of a section of a segment.
func flipSection(t *testing.T, file, section string) {
	t.Helper()
	in, err := InspectSegment(file)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	for _, of := range in.Sections() {
		if of.Type == section {
			p, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			p[of.Offset+of.Bytes/2] ^= 1
			if err := os.WriteFile(file, p, 0o666); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatalf("%s has no section %q", file, section)
}

// flipBlock flips a bit in the middle of a block of a segment.
func flipBlock(t *testing.T, file string, number int) {
	t.Helper()
	in, err := InspectSegment(file)
	mustDo(t, err)
	defer in.Close()
	for b, err := range in.EachBlock() {
		mustDo(t, err)
		if b.Number == number {
			p, err := os.ReadFile(file)
			mustDo(t, err)
			p[b.Offset+b.Bytes/2] ^= 1
			mustDo(t, os.WriteFile(file, p, 0o666))
			return
		}
	}
	t.Fatalf("%s has no block %d", file, number)
}
