package segment2

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stele-go/stele/logstore/internal/block"
	"github.com/stele-go/stele/logstore/internal/filter"
)

// Random rows are packed into segments of both versions that are merged again
// and again, in any grouping of neighbours: a reader gets the appended rows in
// order, with their identities.
func TestMergesLoseNothing(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 9))
		var segments []mergeable
		for i := range 1 + r.IntN(7) {
			segments = append(segments, someSource(t, r, Info{After: uint64(10 * i), Upto: uint64(10*i + r.IntN(11))}))
		}
		want := joined(segments)
		for more := true; more; more = len(segments) > 1 {
			from := r.IntN(len(segments))
			to := from + 1 + r.IntN(min(5, len(segments)-from))
			o := MergeOptions{BlockRaw: 1 + r.IntN(8<<10), Generation: 5, Created: 77, Log: [16]byte{9}}
			someEncoder(r, &o)
			segments = slices.Replace(segments, from, to, mergeAll(t, segments[from:to], o))
		}
		sameRows(t, segments[0].rows, want)
	}
}

// Blocks of another codec than the encoder's are encoded again, up to so many bytes of
// lines; the rest are copied.
func TestMergeRecodes(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 8))
	count := func(x Index) (lines, columns, blocks int) {
		for i := range must(x.Zones(t.Context())) {
			for _, b := range must(x.Group(t.Context(), i)).Blocks {
				if blocks++; b.Codec == CodecLines {
					lines += int(b.Raw)
				} else {
					columns += int(b.Raw)
				}
			}
		}
		return lines, columns, blocks
	}
	sources := []mergeable{packed1(t, someRows(r, 1500, 30), Info{Upto: 1}, 1<<10, 200)}
	for i := uint64(1); i < 4; i++ {
		k := pack(t, someRows(r, 1500, 30), Info{After: i, Upto: i + 1}, 1<<10, 200)
		sources = append(sources, mergeable2(t, k.p, k.rows))
	}
	before := mergeAll(t, sources, MergeOptions{BlockRaw: 1})
	lines, columns, blocks := count(before.index)
	if lines < 4*columns/3 || columns < 1<<10 {
		t.Fatalf("%d bytes in lines, %d in columns", lines, columns)
	}
	o := MergeOptions{BlockRaw: 1, Encoder: newColumnsEncoder()}
	if l, c, b := count(mergeAll(t, sources, o).index); l != lines || c != columns || b != blocks {
		t.Errorf("%d and %d bytes in %d blocks; want %d and %d in %d", l, c, b, lines, columns, blocks)
	}
	o.Recode = int64(lines / 2)
	if l, _, _ := count(mergeAll(t, sources, o).index); l < lines/2 || l > lines*2/3 {
		t.Errorf("%d of %d bytes stay in lines; want half", l, lines)
	}
	o.Recode, o.BlockRaw = 1<<40, 32<<10
	m := mergeAll(t, sources, o)
	if l, c, b := count(m.index); l != 0 || c != lines+columns || b > blocks/4 {
		t.Errorf("%d and %d bytes in %d blocks; want all %d in columns", l, c, b, lines+columns)
	}
	o.Encoder, o.BlockRaw = nil, 1 // and back
	m = mergeAll(t, []mergeable{m}, o)
	if l, c, _ := count(m.index); c != 0 || l != lines+columns || m.MergeSource.(mergeSource2).section(TypeDictionary) != nil {
		t.Errorf("%d and %d bytes; want all %d in lines", l, c, lines+columns)
	}
}

// Large blocks are copied byte for byte, but for tables; small ones are merged.
func TestMergeCopiesLargeBlocks(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	const raw = 4 << 10
	var sources []mergeable
	large := map[string]bool{}
	for i := range 6 {
		s := pack(t, someRows(r, 2000, 60), Info{After: uint64(i), Upto: uint64(i + 1)}, raw, 200)
		for _, b := range s.blocks {
			n := 0
			for _, e := range b.rows {
				n += len(e.line) + len(e.meta)
			}
			if n >= raw/2 {
				large[withoutTable(b.block)] = false
			}
		}
		sources = append(sources, mergeable2(t, s.p, s.rows))
	}
	m := mergeAll(t, sources, MergeOptions{BlockRaw: raw})
	small, low := 0, uint32(0)
	var f Frame
	for i := range must(m.index.Zones(t.Context())) {
		g := must(m.index.Group(t.Context(), i))
		for n := range g.Blocks {
			b := &g.Blocks[n]
			if b.Low < low {
				t.Errorf("a block of the streams from %d on behind one of those from %d on", b.Low, low)
			}
			low = b.Low
			if err := m.index.ReadFrame(t.Context(), &f, g, g.First+n); err != nil {
				t.Fatal(err)
			}
			if seen, ok := large[withoutTable(f.Block)]; ok {
				if seen {
					t.Error("a block is there twice")
				}
				large[withoutTable(f.Block)] = true
			} else if b.Raw < raw/2 {
				small++
			}
		}
	}
	for _, seen := range large {
		if !seen {
			t.Fatal("a large block has not been copied")
		}
	}
	if len(large) < 10 || small > 3 {
		t.Errorf("%d large blocks; %d small ones left, want at most one of each tenant", len(large), small)
	}
}

// The rows of a stream that small blocks have become one run.
func TestMergeJoinsRuns(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	var sources []mergeable
	for i := range 12 {
		info := Info{After: uint64(i), Upto: uint64(i + 1)}
		if rows := someRows(r, 40, 8); i%3 == 0 {
			sources = append(sources, packed1(t, rows, info, 1<<20, 1<<20))
		} else {
			k := pack(t, rows, info, 1<<20, 1<<20)
			sources = append(sources, mergeable2(t, k.p, k.rows))
		}
	}
	m := mergeAll(t, sources, MergeOptions{BlockRaw: 256 << 10})
	if i := m.Info(); i.Blocks != 3 || len(must(m.index.Runs(t.Context(), 0))) != i.Streams {
		t.Errorf("%d blocks with %d runs; want one of each of 3 tenants, and a run of each of %d streams", i.Blocks, len(must(m.index.Runs(t.Context(), 0))), i.Streams)
	}
	part := must(m.index.Streams(t.Context(), 0))
	for i, s := range part.Streams {
		if s != (StreamTotals{Seqs: 1}) {
			t.Errorf("stream %d: %+v; want one run", i, s)
		}
	}
}

// Each block is read once.
func TestMergeReadsBlocksOnce(t *testing.T) {
	k := pack(t, someRows(rand.New(rand.NewPCG(7, 8)), 3000, 60), Info{Upto: 1}, 2<<10, 100)
	c := must(OpenCard(memory{p: k.p}, int64(len(k.p))))
	src := &countedSource{memory: memory{p: k.p}, reads: map[int64]int{}}
	if _, err := Merge(t.Context(), io.Discard, []MergeSource{c.MergeSource(src)}, MergeOptions{BlockRaw: 3 << 10}); err != nil {
		t.Fatal(err)
	}
	for i := range must(k.open(t, true).Zones(t.Context())) {
		for _, b := range must(k.open(t, true).Group(t.Context(), i)).Blocks {
			if n := src.reads[b.Offset]; n != 1 {
				t.Errorf("the block at %d was read %d times", b.Offset, n)
			}
		}
	}
}

// A countedSource counts the reads at each offset.
type countedSource struct {
	memory
	reads map[int64]int
}

func (s *countedSource) ReadAt(p []byte, off int64) (int, error) {
	s.reads[off]++
	return s.memory.ReadAt(p, off)
}

func TestMergeRefuses(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	source := func(info Info) mergeable {
		k := pack(t, someRows(r, 300, 20), info, 1<<10, 20)
		return mergeable2(t, k.p, k.rows)
	}
	a, b := source(Info{After: 5, Upto: 9}), source(Info{After: 9, Upto: 12})
	x, y := source(Info{After: 5, Upto: 9, Log: [16]byte{1}}), source(Info{After: 9, Upto: 12, Log: [16]byte{2}})
	o := MergeOptions{BlockRaw: 1 << 10}
	of := func(log byte) MergeOptions { return MergeOptions{BlockRaw: 1 << 10, Log: [16]byte{log}} }
	for name, err := range map[string]error{
		"no sources":             second(tryMerge(t.Context(), nil, o)),
		"the wrong order":        second(tryMerge(t.Context(), []mergeable{b, a}, o)),
		"no size":                second(tryMerge(t.Context(), []mergeable{a, b}, MergeOptions{})),
		"two logs":               second(tryMerge(t.Context(), []mergeable{x, y}, o)),
		"another log":            second(tryMerge(t.Context(), []mergeable{x}, of(3))),
		"another log in between": second(tryMerge(t.Context(), []mergeable{a, y}, of(3))),
	} {
		if err == nil || isCorrupt(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Merge(t.Context(), new(limitedWriter), []MergeSource{a, b}, o); !errors.Is(err, errFull) {
		t.Errorf("to a full disk: %v", err)
	}
	if m := mergeAll(t, []mergeable{a, y}, o); m.Info().Log != [16]byte{2} {
		t.Errorf("%+v", m.Info())
	}
	if m := mergeAll(t, []mergeable{a, b}, of(3)); m.Info().Log != [16]byte{3} {
		t.Errorf("%+v", m.Info())
	}
}

func second(_ []byte, _ Info, err error) error { return err }

// A merge can be cancelled at every step, and a source or the output may fail at
// every one.
func TestMergeIsCancelled(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	var sources []mergeable
	for i := range 3 {
		rows, info := someRows(r, 300, 20), Info{After: uint64(i), Upto: uint64(i + 1)}
		if i == 1 {
			sources = append(sources, packed1(t, rows, info, 2<<10, 20))
		} else {
			k := pack(t, rows, info, 2<<10, 20)
			sources = append(sources, mergeable2(t, k.p, k.rows))
		}
	}
	steps := 0
	o := MergeOptions{BlockRaw: 2 << 10, Throttle: func(context.Context, int) error { steps++; return nil }}
	for range 2 { // version 1 keeps what it has computed
		steps = 0
		if err := second(tryMerge(t.Context(), sources, o)); err != nil {
			t.Fatal(err)
		}
	}
	all := steps
	if all < 10 {
		t.Fatalf("%d steps", all)
	}
	for stop := range all {
		ctx, cancel := context.WithCancel(t.Context())
		steps = 0
		o.Throttle = func(ctx context.Context, _ int) error {
			if steps++; steps > stop {
				cancel()
			}
			return ctx.Err()
		}
		if err := second(tryMerge(ctx, sources, o)); !errors.Is(err, context.Canceled) {
			t.Fatalf("cancelled at step %d of %d: %v", stop, all, err)
		}
		cancel()
		if steps > stop+1 {
			t.Fatalf("%d steps after it was cancelled", steps-stop)
		}
	}
}

// Sections that this program does not know are kept if they say so, and what cannot be
// carried over is refused.
func TestMergeSections(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	source := func(after uint64, add ...Section) mergeable {
		var out bytes.Buffer
		k := pack(t, someRows(r, 20, 3), Info{}, 1<<20, 20)
		w := NewWriter(&out, Info{After: after, Upto: after + 1})
		w.AddStreams("", slices.Values([]string{labelsOf("a", "b")}))
		for seq := range 2 {
			raw := int64(0)
			for _, e := range k.blocks[0].rows {
				raw += int64(len(e.line) + len(e.meta))
			}
			n := uint32(len(k.blocks[0].rows))
			w.AddBlock(EncodedBlock{Block: k.blocks[0].block, Codec: k.blocks[0].codec, Runs: Runs{{Rows: n, Seq: uint64(seq), Raw: raw, MaxTime: 1}}, IDs: make([]ID, n)})
		}
		w.AddFilter(nil)
		w.AddFilter(nil)
		for _, s := range add {
			w.AddSection(s)
		}
		if _, err := w.Finish(); err != nil {
			t.Fatal(err)
		}
		return mergeable2(t, out.Bytes(), nil)
	}
	other := Section{Type: 77, Flags: FlagKept, Data: []byte("kept")}
	a := source(0, other, Section{Type: 78, Data: []byte("left out")})
	b := source(1, other)
	p, _, err := tryMerge(t.Context(), []mergeable{a, b}, MergeOptions{BlockRaw: 1, Sections: func() ([]Section, error) {
		return []Section{{Type: TypeLosses, Data: []byte("losses")}}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	x := must(openBytes(p, false, nil))
	var got []string
	for i := range x.card.sections {
		if s := &x.card.sections[i]; s.kind >= TypeRoster && s.kind != TypeOrigin {
			if err := x.whole(t.Context(), s, func(p []byte) error { got = append(got, string(p)); return nil }); err != nil {
				t.Fatal(err)
			}
		}
	}
	if want := []string{"kept", "kept", "losses"}; !slices.Equal(got, want) {
		t.Errorf("sections %q; want %q", got, want)
	}
	c := source(2, Section{Type: TypeDeletes})
	if err := second(tryMerge(t.Context(), []mergeable{c}, MergeOptions{BlockRaw: 1})); !isVersion(err) {
		t.Errorf("a section that would be left out: %v", err)
	}
}

// A block that only a newer program can decode is copied, not merged.
func TestMergeOfNewerBlock(t *testing.T) {
	k := specimen(t)
	const newer = 3
	k.blocks[newer].block = slices.Clone(k.blocks[newer].block)
	k.blocks[newer].block[0] = 9
	k.write(t, k.info)
	for _, raw := range []int{1, 2000, 1 << 20} {
		p, info, err := tryMerge(t.Context(), []mergeable{mergeable2(t, k.p, k.rows)}, MergeOptions{BlockRaw: raw})
		if err != nil || info.Rows != k.info.Rows || !bytes.Contains(p, k.blocks[newer].block) {
			t.Fatalf("BlockRaw %d: %+v, %v", raw, info, err)
		}
		x := must(openBytes(p, false, nil))
		err = x.card.Verify(t.Context(), x.src, func(bad error) { t.Error(bad) })
		if v, ok := errors.AsType[*block.VersionError](err); !ok || v.Version != 9 {
			t.Errorf("BlockRaw %d: Verify: %v", raw, err)
		}
	}
}

// However often small blocks are merged, each filter is kept once, and no block
// has more than maxJoined of them; one without a filter does not drop others.
func TestMergeKeepsFiltersSharp(t *testing.T) {
	var sources []mergeable
	size, without := int64(0), 0
	for i := range 100 {
		k := pack(t, someRows(rand.New(rand.NewPCG(uint64(i), 1)), 4, 1), Info{After: uint64(i), Upto: uint64(i + 1)}, 1<<20, 100)
		if i%20 == 19 {
			k.blocks[0].filter = nil
			k.write(t, k.info)
			without++
		}
		size += int64(len(k.blocks[0].filter))
		sources = append(sources, mergeable2(t, k.p, k.rows))
	}
	for len(sources) > 1 {
		var next []mergeable
		for some := range slices.Chunk(sources, 10) {
			next = append(next, mergeAll(t, some, MergeOptions{BlockRaw: 64 << 10}))
		}
		sources = next
	}
	x, parts, bytes := sources[0].index, 0, int64(0)
	g := must(x.Group(t.Context(), 0))
	var buf []byte
	for n := range g.Blocks {
		var err error
		if buf, err = x.(*index2).ReadFilter(t.Context(), buf, g, n); err != nil {
			t.Fatal(err)
		}
		if p := filter.Parts(buf); p > maxJoined {
			t.Errorf("the filter of block %d has %d parts", n, p)
		} else if len(buf) > 0 {
			parts += p
			bytes += int64(len(buf))
		}
	}
	if parts != 100-without || bytes > size+int64(4*parts) || len(g.Blocks) > 30 {
		t.Errorf("%d blocks; %d filters of %d bytes became %d of %d", len(g.Blocks), 100-without, size, parts, bytes)
	}
}
