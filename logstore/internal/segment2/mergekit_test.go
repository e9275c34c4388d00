package segment2

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stele-go/stele/logstore/internal/template"
)

// An Entry1 is an entry of a segment of version 1.
type Entry1 struct {
	Labels     string
	Time       int64
	Line, Meta string
}

// PackVersion1 makes a segment of version 1. It is set by the tests that may
// import package segment.
var PackVersion1 func(t testing.TB, entries []Entry1, info Info, maxRaw, maxRows int) (MergeSource, Index)

// newColumnsEncoder returns one with a miner of its own.
func newColumnsEncoder() BlockEncoder { return NewColumnsEncoder(template.NewMiner(), nil) }

// someEncoder sets MergeOptions.Encoder, and what it encodes again.
func someEncoder(r *rand.Rand, o *MergeOptions) {
	if r.IntN(3) > 0 {
		o.Encoder = newColumnsEncoder()
	}
	if r.IntN(3) > 0 {
		o.Recode = r.Int64N(20 << 10)
	}
}

// A mergeable is a source with the rows that it has.
type mergeable struct {
	MergeSource
	index Index
	rows  map[streamKey][]row
	p     []byte // of version 2
}

// mergeable2 returns a segment of version 2 that is in memory.
func mergeable2(t testing.TB, p []byte, rows map[streamKey][]row) mergeable {
	t.Helper()
	src := memory{p: p}
	c, err := OpenCard(src, int64(len(p)))
	if err != nil {
		t.Fatal(err)
	}
	return mergeable{c.MergeSource(src), c.Index(src, mapCache{}), rows, p}
}

// someSource makes a random source, of any version.
func someSource(t testing.TB, r *rand.Rand, info Info) mergeable {
	t.Helper()
	rows := someRows(r, r.IntN(1200), 1+r.IntN(120))
	if r.IntN(6) == 0 { // one row a stream
		seen := map[streamKey]bool{}
		rows = slices.DeleteFunc(rows, func(e row) bool {
			was := seen[e.streamKey]
			seen[e.streamKey] = true
			return was
		})
	}
	if r.IntN(6) == 0 {
		for i := range rows {
			if r.IntN(40) == 0 {
				rows[i].labels = labelsOf("app", strings.Repeat("x", 20<<10), "i", fmt.Sprint(i))
			}
		}
	}
	maxRaw, maxRows := 1+r.IntN(6<<10), 1+r.IntN(100)
	if r.IntN(2) > 0 {
		info.Log, info.Term, info.TermBefore, info.Applied = [16]byte{9}, info.Upto/3, info.After/3, info.Upto
		k := pack(t, rows, info, maxRaw, maxRows)
		if r.IntN(6) == 0 {
			k.withoutFilters(t, info)
		}
		return mergeable2(t, k.p, k.rows)
	}
	return packed1(t, rows, info, maxRaw, maxRows)
}

// withoutFilters writes the segment again with some empty filters.
func (k *packed) withoutFilters(t testing.TB, info Info) {
	for i := range k.blocks {
		if i%3 > 0 {
			k.blocks[i].filter = nil
		}
	}
	k.write(t, info)
}

// packed1 makes a source of version 1.
func packed1(t testing.TB, rows []row, info Info, maxRaw, maxRows int) mergeable {
	t.Helper()
	want := map[streamKey][]row{}
	var entries []Entry1
	for _, e := range rows {
		e.tenant = ""
		want[e.streamKey] = append(want[e.streamKey], e)
		entries = append(entries, Entry1{e.labels, e.time, e.line, e.meta})
	}
	for _, list := range want {
		slices.SortStableFunc(list, func(a, b row) int { return cmp.Compare(a.time, b.time) })
		for i := range list {
			list[i].id = ID{info.Upto, uint32(i)}
		}
	}
	s, x := PackVersion1(t, entries, info, maxRaw, maxRows)
	return mergeable{s, x, want, nil}
}

// joined returns the rows of all sources as a reader gets them.
func joined(sources []mergeable) map[streamKey][]row {
	all := map[streamKey][]row{}
	for _, s := range sources {
		for key, list := range s.rows {
			all[key] = append(all[key], list...)
		}
	}
	for _, list := range all {
		slices.SortStableFunc(list, func(a, b row) int { return cmp.Compare(a.time, b.time) })
	}
	return all
}

// mergeAll merges, and checks what holds for every merge.
func mergeAll(t testing.TB, sources []mergeable, o MergeOptions) mergeable {
	t.Helper()
	largest := 0
	o.Throttle = func(_ context.Context, n int) error { largest = max(largest, n); return nil }
	p, info, err := tryMerge(t.Context(), sources, o)
	if err != nil {
		t.Fatal(err)
	}
	if largest > writeSize {
		t.Errorf("%d bytes at once", largest)
	}
	m := mergeable2(t, p, joined(sources))
	m.check(t, info)
	first, last := sources[0].Info(), sources[len(sources)-1].Info()
	if info.After != first.After || info.Upto != last.Upto || info.TermBefore != first.TermBefore || info.Term != last.Term ||
		info.Generation != o.Generation || info.Created != o.Created {
		t.Errorf("%+v of %+v and %+v", info, first, last)
	}
	return m
}

func tryMerge(ctx context.Context, sources []mergeable, o MergeOptions) ([]byte, Info, error) {
	var list []MergeSource
	for _, s := range sources {
		list = append(list, s.MergeSource)
	}
	var out bytes.Buffer
	info, err := Merge(ctx, &out, list, o)
	return out.Bytes(), info, err
}

// check verifies the segment, and that it has its rows and no others.
func (m mergeable) check(t testing.TB, info Info) {
	t.Helper()
	c, src := m.MergeSource.(mergeSource2).Card, memory{p: m.p}
	if err := c.Verify(t.Context(), src, nil); err != nil {
		t.Fatal(err)
	}
	if c.Info() != info {
		t.Errorf("%+v, and was written as %+v", c.Info(), info)
	}
	got, errs := readAll(t, m.index)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	sameRows(t, got, m.rows)
	checkFilters(t, m.index)
}

func sameRows(t testing.TB, got, want map[streamKey][]row) {
	t.Helper()
	if a, b := slices.SortedFunc(maps.Keys(got), streamKey.compare), slices.SortedFunc(maps.Keys(want), streamKey.compare); !slices.Equal(a, b) {
		t.Fatalf("%d streams; want %d", len(a), len(b))
	}
	for key, list := range want {
		for i, e := range list {
			if len(got[key]) != len(list) || got[key][i] != e {
				t.Fatalf("stream %q: row %d of %d; want %d rows and %+v", key, i, len(got[key]), len(list), e)
			}
		}
	}
}

// checkFilters tests the filters for the first word of each line.
func checkFilters(t testing.TB, x Index) {
	t.Helper()
	ctx := t.Context()
	zones, err := x.Zones(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var f Frame
	for i := range zones {
		g := must(x.Group(ctx, i))
		filters := must(x.Filters(ctx, g))
		for n := g.First; n < g.First+len(g.Blocks); n++ {
			if err := x.ReadFrame(ctx, &f, g, n); err != nil {
				t.Fatal(err)
			}
			for _, e := range must(decodeRows(ctx, x, &f, nil, func(uint32) (streamKey, error) { return streamKey{}, nil })) {
				if may, err := filters.May(g, n, wordOf(e)); !may || err != nil {
					t.Fatalf("block %d cannot have %q: %v", n, e.line, err)
				}
			}
		}
		filters.Release()
	}
}
