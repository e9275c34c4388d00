package logstore

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stele-go/stele/logstore/internal/segment2"
)

// codecsOf returns how many blocks the segments of a store have by codec.
func codecsOf(t *testing.T, s *Store) map[uint16]int {
	t.Helper()
	segs := s.catalog.Snapshot()
	defer segs.Release()
	n := map[uint16]int{}
	for seg := range segs.Segments() {
		zones, err := seg.Zones(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for i := range zones {
			g, err := seg.Group(t.Context(), i)
			if err != nil {
				t.Fatal(err)
			}
			for _, b := range g.Blocks {
				n[b.Codec]++
			}
		}
	}
	return n
}

// appendShop appends lines as a shop logs them, to a few streams.
func appendShop(t *testing.T, s *Store, round int) {
	t.Helper()
	var b Batch
	for app := range 4 {
		st := Stream{Labels: MustLabels("app", fmt.Sprint("app", app))}
		for i := range 300 {
			line := fmt.Sprintf("level=info order=%d took=%d.%03dms user=10.0.%d.%d", round*1000+i, i%50, i, app, i%250)
			e := Entry{Time: int64(1_700_000_000+round*300+i) * 1e9, Line: []byte(line)}
			if i%7 == 0 {
				e.Metadata = MustLabels("trace", fmt.Sprintf("%016x", uint64(i)*0x9e3779b97f4a7c15))
			}
			st.Entries = append(st.Entries, e)
		}
		b = append(b, st)
	}
	mustAppend(t, s, b)
}

// storedLines returns all lines of a store that contain a text, in order.
func storedLines(t *testing.T, s *Store, text string) (all []string) {
	t.Helper()
	q := Query{}
	if text != "" {
		q.Filter = Contains(text)
	}
	for e, err := range s.Query(t.Context(), q) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, fmt.Sprintf("%d %v %s %v", e.Time, e.Labels, e.Line, e.Metadata))
	}
	return all
}

// A store whose blocks have different codecs is read as one, compacted, and recoded both
// ways, and what queries find stays the same.
func TestRecode(t *testing.T) {
	dir, o := t.TempDir(), anyTime()
	o.BackgroundRate = -1
	searches := []string{"", "order=2007 ", "10.0.3.", "took=4", "nothing has this"}
	want := map[string][]string{}
	var s *Store
	open := func(c Codec) {
		o.Codec = c
		s = openTest(t, dir, o)
	}
	check := func(when string) {
		t.Helper()
		for _, text := range searches {
			got := storedLines(t, s, text)
			if want[text] == nil {
				want[text] = got
			}
			if !slices.Equal(got, want[text]) {
				t.Fatalf("%s: %q: %d lines, want %d", when, text, len(got), len(want[text]))
			}
		}
	}
	for round, c := range []Codec{CodecLines, CodecColumns, CodecLines, CodecColumns} {
		open(c)
		appendShop(t, s, round)
		if err := s.Seal(t.Context()); err != nil {
			t.Fatal(err)
		}
		if round < 3 {
			mustDo(t, s.Close())
		}
	}
	if n := codecsOf(t, s); n[segment2.CodecLines] == 0 || n[segment2.CodecColumns] == 0 {
		t.Fatalf("blocks by codec: %v", n)
	}
	check("mixed")
	for _, c := range []Codec{CodecColumns, CodecLines, CodecColumns} {
		mustDo(t, s.Close())
		open(c)
		check("opened")
		last := RecodeProgress{Done: -1}
		if err := s.Recode(t.Context(), func(p RecodeProgress) { last = p }); err != nil {
			t.Fatal(err)
		}
		if n := codecsOf(t, s); len(n) != 1 || n[uint16(c)] == 0 || last.Done != last.Total || last.Done == 0 {
			t.Errorf("recoded to %v: blocks by codec %v, %+v", c, n, last)
		}
		check(fmt.Sprintf("recoded to %v", c))
	}
	mustDo(t, s.Compact(t.Context()))
	check("compacted")
	if err := s.Recode(t.Context(), nil); err != nil { // nothing to do
		t.Error(err)
	}
}

// A compaction moves blocks to columns, and none back to lines.
func TestCompactionRecodes(t *testing.T) {
	dir, o := t.TempDir(), anyTime()
	o.BackgroundRate = -1
	for round, c := range []Codec{CodecLines, CodecLines, CodecColumns} {
		o.Codec = c
		s := openTest(t, dir, o)
		appendShop(t, s, round)
		mustDo(t, s.Seal(t.Context()))
		if c == CodecColumns {
			want := storedLines(t, s, "")
			mustDo(t, s.Compact(t.Context()))
			if n := codecsOf(t, s); len(n) != 1 || n[segment2.CodecColumns] == 0 {
				t.Errorf("blocks by codec: %v", n)
			}
			if got := storedLines(t, s, ""); !slices.Equal(got, want) {
				t.Errorf("%d lines, want %d", len(got), len(want))
			}
		}
		mustDo(t, s.Close())
	}
}

// A segment that Recode finds to be damaged is salvaged, and then recoded with the others.
func TestRecodeDamaged(t *testing.T) {
	o := anyTime()
	o.BackgroundRate, o.Codec = -1, CodecLines
	dir := t.TempDir()
	s := openTest(t, dir, o)
	appendShop(t, s, 0)
	mustDo(t, s.Seal(t.Context()))
	appendShop(t, s, 1)
	mustDo(t, s.Seal(t.Context()))
	want := storedLines(t, s, "")
	mustDo(t, s.Close())
	files, err := filepath.Glob(filepath.Join(dir, "segments", "*.seg"))
	if err != nil || len(files) != 2 {
		t.Fatal(files, err)
	}
	in, err := InspectSegment(files[0])
	mustDo(t, err)
	lost := 0
	for b, err := range in.EachBlock() {
		mustDo(t, err)
		flipByte(t, files[0], b.Offset+b.Bytes-10)
		lost = int(b.Rows)
		break
	}
	mustDo(t, in.Close())
	o.Codec = CodecColumns
	s = openTest(t, dir, o)
	var last RecodeProgress
	if err := s.Recode(t.Context(), func(p RecodeProgress) { last = p }); err != nil {
		t.Fatal(err)
	}
	if n := codecsOf(t, s); n[segment2.CodecLines] != 0 || n[segment2.CodecColumns] == 0 {
		t.Errorf("blocks by codec: %v", n)
	}
	if last.Done <= 0 || last.Done > last.Total {
		t.Errorf("%+v", last)
	}
	if got := storedLines(t, s, ""); len(got) != len(want)-lost {
		t.Errorf("%d lines; want %d without the %d of the block", len(got), len(want), lost)
	}
}

// An interrupted Recode leaves a sound store, and the next one goes on.
func TestRecodeInterrupted(t *testing.T) {
	o := anyTime()
	o.BackgroundRate, o.Codec = -1, CodecLines
	dir := t.TempDir()
	for round := range 3 { // no more, or they are compacted
		s := openTest(t, dir, o)
		appendShop(t, s, round)
		mustDo(t, s.Seal(t.Context()))
		mustDo(t, s.Close())
	}
	o.Codec = CodecColumns
	s := openTest(t, dir, o)
	want := storedLines(t, s, "")
	ctx, cancel := context.WithCancel(t.Context())
	calls := 0
	err := s.Recode(ctx, func(RecodeProgress) {
		if calls++; calls == 2 {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	mustDo(t, s.Close())
	s = openTest(t, dir, o)
	if got := storedLines(t, s, ""); !slices.Equal(got, want) {
		t.Fatalf("%d lines, want %d", len(got), len(want))
	}
	mustDo(t, s.Recode(t.Context(), nil))
	if n := codecsOf(t, s); n[segment2.CodecLines] != 0 {
		t.Errorf("blocks by codec: %v", n)
	}
	if got := storedLines(t, s, ""); !slices.Equal(got, want) {
		t.Errorf("%d lines, want %d", len(got), len(want))
	}
}
