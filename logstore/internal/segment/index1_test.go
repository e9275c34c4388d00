package segment

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stele-go/stele/logstore/internal/labelindex"
	"github.com/stele-go/stele/logstore/internal/segment2"
)

// checkIndex compares all answers of the index with the segment.
func checkIndex(t *testing.T, s *Segment, x segment2.Index) {
	t.Helper()
	ctx, info := t.Context(), s.Info()
	want := make(map[int]segment2.Runs) // by block
	for i := range info.Streams {
		st, err := s.Stream(i)
		if err != nil {
			t.Fatal(err)
		}
		part, err := x.Streams(ctx, i/segment2.PartStreams)
		if err != nil {
			t.Fatal(err)
		}
		totals := part.Streams[uint32(i)-part.First]
		if totals.Rows != st.Rows || totals.Raw != st.Raw || totals.MinTime != st.MinTime || totals.MaxTime != st.MaxTime {
			t.Fatalf("stream %d: totals %+v, want %+v", i, totals, st)
		}
		chunk, err := x.ChunkOf(ctx, uint32(i))
		if err != nil {
			t.Fatal(err)
		}
		labels, err := x.Labels(ctx, chunk)
		if err != nil || labels.Of(uint32(i)) != st.Labels {
			t.Fatalf("stream %d: labels %q, %v; want %q", i, labels.Of(uint32(i)), err, st.Labels)
		}
		if c, err := x.Content(ctx, uint32(i)); c.First != labels.First || int(c.Streams) != len(labels.Labels) || c.Hash != 0 || err != nil {
			t.Fatalf("stream %d: content %+v, %v", i, c, err)
		}
		if n, ok, err := x.Find(ctx, "", st.Labels); int(n) != i || !ok || err != nil {
			t.Fatalf("Find(%q) = %d, %v, %v; want %d", st.Labels, n, ok, err, i)
		}
		runs, err := s.Runs(i)
		if err != nil {
			t.Fatal(err)
		}
		seq := uint64(0)
		for _, r := range runs {
			want[r.Block] = append(want[r.Block], segment2.Run{
				Ordinal: uint32(i), Block: uint32(r.Block), First: uint32(r.First), Rows: uint32(r.Rows),
				MinTime: r.MinTime, MaxTime: r.MaxTime, Raw: r.Raw, Seq: seq, // its rank, see below
			})
			seq++
		}
	}
	checkGroups(t, s, x, want)
}

func checkGroups(t *testing.T, s *Segment, x segment2.Index, want map[int]segment2.Runs) {
	t.Helper()
	ctx, info := t.Context(), s.Info()
	zones, err := x.Zones(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var f segment2.Frame
	next, seen := 0, map[uint32][]segment2.ID{}
	for i, z := range zones {
		g, err := x.Group(ctx, i)
		if err != nil {
			t.Fatal(err)
		}
		runs, err := x.Runs(ctx, i)
		if err != nil {
			t.Fatal(err)
		}
		if z.First != next || z.Blocks == 0 || z.Blocks > segment2.GroupBlocks || z.Runs > segment2.GroupRuns && z.Blocks > 1 ||
			g.First != z.First || len(g.Blocks) != z.Blocks || g.Number != i || len(runs) != z.Runs {
			t.Fatalf("zone %d: %+v; the group has %d blocks from %d on, %d runs; want block %d", i, z, len(g.Blocks), g.First, len(runs), next)
		}
		got := segment2.Zone{First: z.First, Blocks: z.Blocks, Runs: z.Runs, Low: 1<<32 - 1, MinTime: 1<<63 - 1, MaxTime: -1 << 63}
		for b := z.First; b < z.First+z.Blocks; b++ {
			of, e := runs.Of(b), g.Block(b)
			expect := slices.Clone(want[b])
			sortRuns(expect)
			checkFrame(t, s, x, &f, g, b, of)
			seen = addIDs(t, x, &f, seen)
			for k := range of {
				// Seqs of a merged segment have gaps.
				r := of[k]
				if r.Seq < expect[k].Seq {
					t.Fatalf("block %d: run %+v; its stream has %d before it", b, r, expect[k].Seq)
				}
				r.Seq = expect[k].Seq
				if r != expect[k] {
					t.Fatalf("block %d: run %+v, want %+v", b, r, expect[k])
				}
				if e.MinTime > r.MinTime || e.MaxTime < r.MaxTime || e.Low > r.Ordinal || e.High < r.Ordinal {
					t.Fatalf("block %d: %+v does not have the run %+v", b, e, r)
				}
			}
			if int(e.Runs) != len(expect) || len(of) != len(expect) {
				t.Fatalf("block %d: %d and %d runs, want %d", b, e.Runs, len(of), len(expect))
			}
			got.MinTime, got.MaxTime = min(got.MinTime, e.MinTime), max(got.MaxTime, e.MaxTime)
			got.Low, got.High = min(got.Low, e.Low), max(got.High, e.High)
			got.Rows, got.Raw = got.Rows+int64(e.Rows), got.Raw+int64(e.Raw)
		}
		if got != z {
			t.Fatalf("zone %d: %+v, want %+v", i, z, got)
		}
		next += z.Blocks
	}
	if next != info.Blocks {
		t.Fatalf("the groups have %d blocks, want %d", next, info.Blocks)
	}
	for n, ids := range seen {
		for i, id := range ids {
			if id != (segment2.ID{Position: info.Upto, Place: uint32(i)}) {
				t.Fatalf("stream %d: its IDs are %v; want places from 0 to %d", n, ids, len(ids)-1)
			}
		}
	}
}

func checkFrame(t *testing.T, s *Segment, x segment2.Index, f *segment2.Frame, g *segment2.Group, b int, runs segment2.Runs) {
	t.Helper()
	if err := x.ReadFrame(t.Context(), f, g, b); err != nil {
		t.Fatal(err)
	}
	p, err := s.ReadBlock(nil, b)
	if err != nil || !bytes.Equal(p, f.Block) || f.Number != b || f.Codec != codec1 {
		t.Fatalf("block %d: ReadFrame has %d bytes of block %d, ReadBlock %d, %v", b, len(f.Block), f.Number, len(p), err)
	}
	if len(f.Runs) != len(runs) {
		t.Fatalf("block %d: %d runs in the frame, want %d", b, len(f.Runs), len(runs))
	}
	for i, r := range runs {
		if f.Runs[i] != (segment2.FrameRun{Ordinal: r.Ordinal, First: r.First, Rows: r.Rows, Seq: r.Seq}) {
			t.Fatalf("block %d: run %+v in the frame, want %+v", b, f.Runs[i], r)
		}
	}
}

// addIDs adds the IDs of a frame to those of its streams, in their order.
func addIDs(t *testing.T, x segment2.Index, f *segment2.Frame, seen map[uint32][]segment2.ID) map[uint32][]segment2.ID {
	t.Helper()
	ids, err := x.IDs(t.Context(), nil, f)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range f.Runs {
		list := append(seen[r.Ordinal], ids[r.First:r.First+r.Rows]...)
		slices.SortFunc(list, func(a, b segment2.ID) int { return int(a.Place) - int(b.Place) })
		seen[r.Ordinal] = list
	}
	return seen
}

func TestIndex(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	many := make([]entry, 20_000) // of many streams: runs bound the groups
	for i := range many {
		many[i] = entry{labels: labelsOf(i), time: r.Int64N(1000), line: "x"}
	}
	merged, _ := specimen(t)
	packed := pack(t, someEntries(r, 3000, 40), segment2.Info{Upto: 7}, 128, 6)
	for name, p := range map[string][]byte{
		"packed":       packed,
		"merged":       merged,
		"many streams": pack(t, many, segment2.Info{Upto: 1}, 2000, 1),
		"empty":        pack(t, nil, segment2.Info{Upto: 1}, 1, 1),
	} {
		t.Run(name, func(t *testing.T) {
			checkIndex(t, open(t, p), open(t, p).Index(nil))
			s, err := Open(inView(p), int64(len(p)))
			if err != nil {
				t.Fatal(err)
			}
			checkIndex(t, s, s.Index(&mapCache{}))
			scanned, lost, err := Scan(t.Context(), inMemory(p), int64(len(p)), s.Info())
			if err != nil || len(lost) > 0 {
				t.Fatal(lost, err)
			}
			checkIndex(t, scanned, scanned.Index(nil))
		})
	}
	x := open(t, packed).Index(nil)
	if _, ok, err := x.Find(t.Context(), "", "\x03app\x01q"); ok || err != nil {
		t.Errorf("Find of labels that are not there: %v, %v", ok, err)
	}
	if _, ok, err := x.Find(t.Context(), "tenant", labelsOf(0)); ok || err != nil {
		t.Errorf("Find of a tenant: %v, %v", ok, err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := x.Zones(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("Zones with a context that is done: %v", err)
	}
}

// mapCache keeps everything.
type mapCache struct {
	parts map[segment2.PartKey]segment2.CachedPart
	loads int
}

func (c *mapCache) Present(k segment2.PartKey) segment2.CachedPart { return c.parts[k] }

func (c *mapCache) Load(ctx context.Context, k segment2.PartKey, load func(context.Context) (segment2.CachedPart, error)) (segment2.CachedPart, error) {
	c.loads++
	p, err := load(ctx)
	if err == nil {
		if c.parts == nil {
			c.parts = map[segment2.PartKey]segment2.CachedPart{}
		}
		c.parts[k] = p
	}
	return p, err
}

// countedReads counts reads.
type countedReads struct {
	segment2.Source
	n atomic.Int64
}

func (s *countedReads) ReadAt(p []byte, off int64) (int, error) {
	s.n.Add(1)
	return s.Source.ReadAt(p, off)
}

// What is cached is not read again, and a group is not more reads for more
// blocks.
func TestIndexReads(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	p := pack(t, someEntries(r, 3000, 40), segment2.Info{Upto: 7}, 128, 6)
	src := &countedReads{Source: inMemory(p)}
	s, err := Open(src, int64(len(p)))
	if err != nil {
		t.Fatal(err)
	}
	c := &mapCache{}
	reads := func(what string, most int64, f func(x segment2.Index) error) {
		t.Helper()
		before := src.n.Load()
		if err := f(s.Index(c)); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if n := src.n.Load() - before; n > most {
			t.Errorf("%s: %d reads, want at most %d", what, n, most)
		}
	}
	zones := func(x segment2.Index) error { _, err := x.Zones(t.Context()); return err }
	group := func(x segment2.Index) error { _, err := x.Group(t.Context(), 1); return err }
	runs := func(x segment2.Index) error { _, err := x.Runs(t.Context(), 1); return err }
	reads("zones", 1, zones)
	reads("zones again", 0, zones)
	reads("a group", 0, group)
	reads("runs", 1, runs)
	reads("runs again", 0, runs)
	if c.loads != 3 {
		t.Errorf("%d loads, want 3", c.loads)
	}
	for k, part := range c.parts {
		if w := part.Weight(); w < 100 || w > 100_000 {
			t.Errorf("part %v weighs %d bytes", k, w)
		}
	}
	var f segment2.Frame
	reads("a block", 1, func(x segment2.Index) error {
		g, err := x.Group(t.Context(), 1)
		if err != nil {
			return err
		}
		return x.ReadFrame(t.Context(), &f, g, g.First)
	})
	x := s.Index(c)
	g, _ := x.Group(t.Context(), 1)
	allocs := testing.AllocsPerRun(100, func() {
		if _, err := x.Group(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		if err := x.ReadFrame(t.Context(), &f, g, g.First); err != nil {
			t.Fatal(err)
		}
	})
	if allocs > 2 { // labels of the first run; the buffer is the frame's
		t.Errorf("%v allocations for a cached group and a block", allocs)
	}
}

// Index answers conditions as labelindex does.
func TestIndexSelect(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	encode := func(pairs ...string) string {
		var b []byte
		for _, s := range pairs {
			b = append(binary.AppendUvarint(b, uint64(len(s))), s...)
		}
		return string(b)
	}
	var entries []entry
	for i := range 600 {
		var pairs []string
		for _, name := range []string{"a", "b", "c"} {
			if r.IntN(3) > 0 {
				pairs = append(pairs, name, fmt.Sprint(r.IntN(map[string]int{"a": 3, "b": 40, "c": 300}[name])))
			}
		}
		entries = append(entries, entry{labels: encode(pairs...), time: int64(i)})
	}
	s := open(t, pack(t, entries, segment2.Info{Upto: 1}, 100, 4))
	want := labelindex.New(func(enc string) (labels []labelindex.Label) {
		for enc != "" {
			name, value := enc[1:1+enc[0]], enc[1+enc[0]:]
			labels = append(labels, labelindex.Label{Name: name, Value: value[1 : 1+value[0]]})
			enc = value[1+value[0]:]
		}
		return labels
	})
	for i := range s.Info().Streams {
		st, _ := s.Stream(i)
		want.Add(0, st.Labels)
	}
	for range 300 {
		var conditions []segment2.Condition
		var same []labelindex.Condition
		for range r.IntN(4) {
			name, value, not := string(rune('a'+r.IntN(4))), fmt.Sprint(r.IntN(40)), r.IntN(2) == 0
			switch r.IntN(4) {
			case 0:
				value = ""
				fallthrough
			case 1:
				conditions = append(conditions, segment2.Condition{Name: name, Values: []string{value}, Not: not})
				same = append(same, labelindex.Condition{Name: name, Value: value, Not: not})
			case 2:
				values := []string{value, fmt.Sprint(r.IntN(40)), ""}[:2+r.IntN(2)]
				conditions = append(conditions, segment2.Condition{Name: name, Values: values, Not: not})
				same = append(same, labelindex.Condition{Name: name, Not: not, Match: func(v string) bool { return slices.Contains(values, v) }})
			default:
				match := func(v string) bool { return strings.HasSuffix(v, value[len(value)-1:]) || value < "2" && v == "" }
				conditions = append(conditions, segment2.Condition{Name: name, Match: match, Not: not})
				same = append(same, labelindex.Condition{Name: name, Match: match, Not: not})
			}
		}
		set, err := s.Index(nil).Select(t.Context(), "", conditions)
		if err != nil {
			t.Fatal(err)
		}
		expect := want.Select(0, same...)
		if set == nil && int(expect.GetCardinality()) != s.Info().Streams || set != nil && !set.Equals(expect) {
			t.Fatalf("Select(%+v) = %v, want %v", conditions, set, expect)
		}
	}
	if set, err := s.Index(nil).Select(t.Context(), "tenant", nil); err != nil || set == nil || !set.IsEmpty() {
		t.Errorf("streams of a tenant: %v, %v", set, err)
	}
}

// A damaged list of a stream, or of a block, is rebuilt from the other. Where
// both are damaged the block's rows are lost, and an error says so.
func TestIndexDamage(t *testing.T) {
	intact := pack(t, someEntries(rand.New(rand.NewPCG(3, 4)), 900, 12), segment2.Info{Upto: 7}, 256, 6)
	s := open(t, intact)
	tab, err := s.load()
	if err != nil {
		t.Fatal(err)
	}
	whole, err := s.Index(nil).Runs(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	rebuilt := func(what string, err error) {
		t.Helper()
		if bad, ok := errors.AsType[*segment2.CorruptError](err); !ok || !bad.Rebuilt {
			t.Fatalf("%s: %v; want a segment2.CorruptError of content that was rebuilt", what, err)
		}
	}
	for stream := range tab.streams {
		p := slices.Clone(intact)
		p[tab.streams[stream].off+1] ^= 4
		x := open(t, p).Index(nil)
		zones, err := x.Zones(t.Context())
		rebuilt("zones", err)
		if !slices.Equal(zones, must(s.Index(nil).Zones(t.Context()))) {
			t.Fatalf("stream %d: other zones", stream)
		}
		runs, err := x.Runs(t.Context(), 0)
		rebuilt("runs", err)
		if !slices.Equal(runs, whole) {
			t.Fatalf("stream %d: other runs", stream)
		}
		// With one of its blocks' own lists it is gone there.
		b := slices.IndexFunc(whole, func(r segment2.Run) bool { return int(r.Ordinal) == stream })
		entry := tab.blockEntry(int(whole[b].Block))
		p[entry.off+frameHeaderSize] ^= 4
		x = open(t, p).Index(nil)
		zones, err = x.Zones(t.Context())
		if bad, ok := errors.AsType[*segment2.CorruptError](err); !ok || bad.Rebuilt || zones[0].Low != 0 || int(zones[0].High) != len(tab.streams)-1 {
			t.Fatalf("stream %d: zones %+v, %v", stream, zones, err)
		}
		g, _ := x.Group(t.Context(), 0)
		var f segment2.Frame
		if err := x.ReadFrame(t.Context(), &f, g, int(whole[b].Block)); !isCorrupt(err) || f.Block != nil {
			t.Fatalf("stream %d: ReadFrame: %v", stream, err)
		}
	}
	for b := range tab.count {
		entry := tab.blockEntry(b)
		for _, at := range []int64{entry.off + 9, entry.off + frameHeaderSize + 2} {
			p := slices.Clone(intact)
			p[at] ^= 4
			x := open(t, p).Index(nil)
			g, err := x.Group(t.Context(), 0)
			if err != nil {
				t.Fatal(err)
			}
			var f, want segment2.Frame
			rebuilt("a block", x.ReadFrame(t.Context(), &f, g, b))
			if err := s.Index(nil).ReadFrame(t.Context(), &want, g, b); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(f.Runs, want.Runs) || !bytes.Equal(f.Block, want.Block) {
				t.Fatalf("block %d: other runs %+v, want %+v", b, f.Runs, want.Runs)
			}
		}
		p := slices.Clone(intact)
		p[entry.payload()] ^= 4
		x := open(t, p).Index(nil)
		g, _ := x.Group(t.Context(), 0)
		var f segment2.Frame
		if bad, ok := errors.AsType[*segment2.CorruptError](x.ReadFrame(t.Context(), &f, g, b)); !ok || bad.Rebuilt || bad.Block != b || f.Block != nil {
			t.Fatalf("block %d: a damaged block: %v", b, bad)
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
