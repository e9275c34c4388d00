package segment

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/stele-go/stele/logstore/internal/block"
	"github.com/stele-go/stele/logstore/internal/filter"
)

// tiny makes n segments of one small block each, with rows of all streams.
func tiny(t testing.TB, n, rows, streams int) (sources []*Segment, all []entry) {
	t.Helper()
	r := rand.New(rand.NewPCG(uint64(n), uint64(rows)))
	for i := range n {
		var part []entry
		for j := range rows {
			part = append(part, entry{
				labels: labelsOf(j % streams), time: 1_700_000_000_000 + r.Int64N(50),
				line: fmt.Sprintf("word%dof%d %x in each of them", j, i, r.Uint64()),
			})
		}
		all = append(all, part...)
		sources = append(sources, open(t, pack(t, part, Info{After: uint64(i), Upto: uint64(i + 1)}, 1<<20, 1000)))
	}
	return sources, all
}

func filterOf(t testing.TB, s *Segment, n int) []byte {
	t.Helper()
	b, err := s.Block(n)
	if err != nil {
		t.Fatal(err)
	}
	f := make([]byte, b.FilterBytes)
	if err := readFull(s.src, f, b.FilterOffset, n); err != nil {
		t.Fatal(err)
	}
	return f
}

// However often and however many small blocks are merged, each filter is kept
// once, and no block has more than maxParts of them.
func TestFiltersStaySharp(t *testing.T) {
	for _, c := range []struct{ segments, rows, streams, raw, blocks int }{
		{100, 3, 3, 64 << 10, 7},    // as many as may be: 16 in a block
		{100, 40, 20, 10 << 10, 20}, // of some 2 KiB each: 5 in a block
		{9, 200, 50, 16 << 10, 9},   // good ones
	} {
		sources, all := tiny(t, c.segments, c.rows, c.streams)
		filters := int64(0)
		for _, s := range sources {
			filters += int64(len(filterOf(t, s, 0)))
		}
		o := MergeOptions{BlockRaw: c.raw}
		for len(sources) > 1 { // each time those of a size that Merge is called with
			var next []*Segment
			for from := 0; from < len(sources); from += 10 {
				next = append(next, mergeAll(t, sources[from:min(from+10, len(sources))], o))
			}
			sources = next
		}
		s := sources[0]
		got := mustRead(t, s)
		same(t, got, byStream(all))
		checkFilters(t, s, got)
		parts, size := 0, int64(0)
		for n := range s.Info().Blocks {
			f := filterOf(t, s, n)
			p := filter.Parts(f)
			if p < 1 || p > maxParts {
				t.Errorf("%+v: the filter of block %d has %d parts", c, n, p)
			}
			parts += p
			size += int64(len(f))
		}
		if parts != c.segments || size > filters+int64(4*parts) {
			t.Errorf("%+v: %d filters of %d bytes became %d of %d", c, c.segments, filters, parts, size)
		}
		if n := s.Info().Blocks; n < c.blocks || n > c.blocks*3/2 {
			t.Errorf("%+v: %d blocks, want about %d", c, n, c.blocks)
		}
		// A word of one line is found in one block or, by chance, in another
		// too.
		passed, asked := 0, 0
		for i := 0; i < len(all); i += 1 + len(all)/300 {
			asked++
			for n := range s.Info().Blocks {
				may, err := s.May(n, wordOf(all[i]))
				if err != nil {
					t.Fatal(err)
				}
				if may {
					passed++
				}
			}
		}
		// All keys of a word seem to be in at most one of 256 filters.
		if limit := asked + asked*c.segments/64; passed < asked || passed > limit {
			t.Errorf("%+v: %d words pass %d blocks, at most %d expected", c, asked, passed, limit)
		}
	}
}

// A block without a filter does not drop those of others.
func TestBlocksWithoutFiltersStayApart(t *testing.T) {
	var sources []*Segment
	for i := range 6 {
		var out bytes.Buffer
		w := NewWriter(&out)
		var e block.Encoder
		var f filter.Builder
		line := fmt.Appendf(nil, "line%d", i)
		e.Add(5, line, nil)
		f.Add(line)
		p, err := e.Append(nil)
		if err != nil {
			t.Fatal(err)
		}
		filters := [][]byte{f.Append(nil), nil, nil}
		run := []StreamRun{{"app", Run{Rows: 1, MinTime: 5, MaxTime: 5, Raw: 5}}}
		if err := w.AddBlock(p, filters[i%3], run); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Finish(Info{After: uint64(i), Upto: uint64(i + 1)}); err != nil {
			t.Fatal(err)
		}
		sources = append(sources, open(t, out.Bytes()))
	}
	s := mergeAll(t, sources, MergeOptions{BlockRaw: 1 << 10})
	// 0, 1 with 2, 3, and 4 with 5.
	if n := s.Info().Blocks; n != 4 {
		t.Errorf("%d blocks", n)
	}
	passed := 0
	for n := range s.Info().Blocks {
		if may, err := s.May(n, wordOf(entry{line: "line3"})); err != nil {
			t.Fatal(err)
		} else if may {
			passed++
		}
	}
	if passed != 3 { // that with line3, and those that rule nothing out
		t.Errorf("%d blocks may have line3", passed)
	}
	got := mustRead(t, s)
	if len(got["app"]) != 6 {
		t.Fatal(got)
	}
	for i, e := range got["app"] {
		if e.line != fmt.Sprint("line", i) {
			t.Errorf("row %d is %q", i, e.line)
		}
	}
}

// Of many sources, each with many streams in one small block, each byte is read
// once, those of filters twice.
func TestMergeReadsOnce(t *testing.T) {
	sources, _ := tiny(t, 40, 60, 60)
	size, filters := int64(0), int64(0)
	for _, s := range sources {
		size += s.Info().Size
		filters += int64(len(filterOf(t, s, 0)) + frameHeaderSize)
	}
	moved := int64(0)
	info, err := Merge(t.Context(), io.Discard, sources, MergeOptions{
		BlockRaw: 64 << 10, Throttle: func(_ context.Context, n int) error { moved += int64(n); return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	if read := moved - info.Size; read > size+filters {
		t.Errorf("%d bytes were read of %d, %d of them filters", read, size, filters)
	}
}
