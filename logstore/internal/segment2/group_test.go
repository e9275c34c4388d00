package segment2

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/stele-go/stele/internal/filetest"
)

// someGroup makes blocks with their runs, and the zone of them.
func someGroup(r *rand.Rand, blocks, runs int) ([]Block, Runs, zone) {
	var list []Block
	var all Runs
	off, filter := int64(5000), int64(90_000)
	ordinal := uint32(r.IntN(1000))
	for i := range blocks {
		b := Block{
			Offset: off, FilterOffset: filter, FilterBytes: r.Uint32N(3) * 500,
			list: 1 + r.Uint32N(50), positions: r.Uint32N(100), size: 1 + r.Uint32N(90_000), sum: r.Uint32(), filterSum: r.Uint32(),
			MinTime: math.MaxInt64, MaxTime: math.MinInt64, Low: ordinal,
		}
		b.Dictionary = uint16(r.IntN(3))
		b.Codec = CodecLines + min(b.Dictionary, 1)
		b.Bytes = blockHeaderSize + int64(b.list) + int64(b.positions) + int64(b.size)
		for range runs {
			rows := 1 + r.Uint32N(5)
			run := Run{
				Ordinal: ordinal, Block: uint32(70 + i), First: b.Rows, Rows: rows, Seq: uint64(r.IntN(3)),
				MinTime: 1_700_000_000_000 + r.Int64N(3_600_000), Raw: r.Int64N(200),
			}
			run.MaxTime = run.MinTime + r.Int64N(2)*50
			ordinal += r.Uint32N(2)
			b.Rows += rows
			b.Runs++
			b.Raw += uint32(run.Raw)
			b.MinTime, b.MaxTime = min(b.MinTime, run.MinTime), max(b.MaxTime, run.MaxTime)
			b.High = run.Ordinal
			all = append(all, run)
		}
		off += b.Bytes
		filter += int64(b.FilterBytes)
		list = append(list, b)
	}
	z := zoneOf(list)
	z.First = 70
	return list, all, z
}

// A block of columns without a dictionary, and one of lines with one, are refused, in a group
// and in a frame; a codec of a newer program may have any.
func TestDictionaryOfBlock(t *testing.T) {
	for _, c := range []struct {
		codec, dictionary uint16
		ok                bool
	}{{CodecLines, 0, true}, {CodecLines, 1, false}, {CodecColumns, 0, false}, {CodecColumns, 2, true}, {257, 0, true}, {257, 3, true}} {
		blocks, _, z := someGroup(rand.New(rand.NewPCG(1, 3)), 3, 2)
		blocks[1].Codec, blocks[1].Dictionary = c.codec, c.dictionary
		if _, err := parseGroup(appendBlocks(nil, blocks, z.Zone), 4, &z); (err == nil) != c.ok {
			t.Errorf("a group with a block of codec %d and dictionary %d: %v", c.codec, c.dictionary, err)
		}
		f := blockFrame{codec: c.codec, dictionary: c.dictionary, list: 1, size: 1}
		p := make([]byte, blockHeaderSize)
		f.append(p[:0], 7, 4096)
		if _, ok := parseBlockFrame(p, 7, 4096); ok != c.ok {
			t.Errorf("a frame of codec %d with dictionary %d is valid: %t", c.codec, c.dictionary, ok)
		}
	}
}

func TestGroups(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, c := range [][2]int{{1, 1}, {256, 1}, {7, 300}, {1, 20_000}} {
		blocks, runs, z := someGroup(r, c[0], c[1])
		p := appendBlocks(nil, blocks, z.Zone)
		g, err := parseGroup(p, 4, &z)
		if err != nil || g.Number != 4 || g.First != 70 || !reflect.DeepEqual(g.Blocks, blocks) {
			t.Fatalf("%v: %v", c, err)
		}
		q := appendRuns(nil, runs, blocks, z.Zone)
		got, err := parseRuns(q, g, z.Zone)
		if err != nil || !slices.Equal(got, runs) {
			t.Fatalf("%v: %v", c, err)
		}
		// Whatever the zone or a block says otherwise is noticed.
		for i, change := range []func(z *zone){
			func(z *zone) { z.MaxTime++ }, func(z *zone) { z.High++ }, func(z *zone) { z.Rows-- }, func(z *zone) { z.Raw++ },
			func(z *zone) { z.Runs++ }, func(z *zone) { z.filterBytes++ }, func(z *zone) { z.Blocks-- }, func(z *zone) { z.MinTime++ },
		} {
			bad := z
			change(&bad)
			if _, err := parseGroup(p, 4, &bad); err == nil {
				t.Errorf("%v: change %d of the zone is not noticed", c, i)
			}
		}
		for i, change := range []func(b *Block){
			func(b *Block) { b.MaxTime++ }, func(b *Block) { b.High++ }, func(b *Block) { b.Rows++ }, func(b *Block) { b.Raw++ },
			func(b *Block) { b.Runs++ }, func(b *Block) { b.MinTime-- },
		} {
			bad := *g
			bad.Blocks = slices.Clone(blocks)
			change(&bad.Blocks[len(blocks)-1])
			if _, err := parseRuns(q, &bad, z.Zone); err == nil {
				t.Errorf("%v: change %d of a block is not noticed", c, i)
			}
		}
	}
}

func TestZones(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	groups := section{kind: TypeGroups, off: 1 << 40, items: 9}
	filters := section{kind: TypeFilters, off: 1 << 39}
	var want []zone
	var p []byte
	off := groups.off
	for i := range 3 {
		_, _, z := someGroup(r, 3, 4)
		z.First = 3 * i
		z.blocks = part{off: off, bytes: 100, raw: 200, sum: r.Uint32()}
		z.runs = part{off: groups.off + 300 + 50*int64(i), bytes: 50, raw: 51, sum: r.Uint32()}
		z.filters = filters.off + filters.bytes
		z.frames += int64(i)
		off += 100
		filters.bytes += int64(z.filterBytes)
		want = append(want, z)
		p = z.append(p)
	}
	groups.bytes = off + 150 - groups.off
	got, err := parseZones(p, groups, filters)
	if err != nil || !slices.Equal(got, want) || len(p) != 3*zoneSize {
		t.Fatalf("%+v, %v; want %+v", got, err, want)
	}
	for i, change := range []func(g, f *section){
		func(g, _ *section) { g.items++ }, func(g, _ *section) { g.bytes-- }, func(g, _ *section) { g.off++ },
		func(_, f *section) { f.bytes++ }, func(_, f *section) { f.off-- },
	} {
		g, f := groups, filters
		change(&g, &f)
		if _, err := parseZones(p, g, f); err == nil {
			t.Errorf("change %d of the sections is not noticed", i)
		}
	}
}

func FuzzGroup(f *testing.F) {
	for _, c := range [][2]int{{1, 1}, {3, 4}} {
		blocks, runs, z := someGroup(rand.New(rand.NewPCG(1, 2)), c[0], c[1])
		f.Add(appendBlocks(nil, blocks, z.Zone), appendRuns(nil, runs, blocks, z.Zone), z.append(nil))
	}
	f.Fuzz(func(t *testing.T, p, q, table []byte) {
		parseZones(table, section{off: headerSize}, section{})
		if len(table) < zoneSize {
			return
		}
		z := parseZone(table)
		if again := parseZone(z.append(nil)); again != z {
			t.Fatalf("%+v, and was %+v", again, z)
		}
		z.Blocks = min(z.Blocks, GroupBlocks)
		var blocks []Block
		var runs Runs
		var err, runsErr error
		g := &Group{First: 70}
		took := filetest.Allocated(func() {
			if blocks, err = decodeBlocks(p, &z); err == nil {
				g.Blocks = blocks
				runs, runsErr = parseRuns(q, g, z.Zone)
			}
		})
		if most := uint64(64<<10 + 20*len(p) + 20*len(q)); took > most {
			t.Fatalf("%d bytes of memory for %d and %d", took, len(p), len(q))
		}
		if err != nil || len(blocks) == 0 {
			return
		}
		again, err := decodeBlocks(appendBlocks(nil, blocks, z.Zone), &z)
		if err != nil || !slices.Equal(again, blocks) {
			t.Fatalf("%v: %+v, and was %+v", err, again, blocks)
		}
		if runsErr == nil {
			again, err := parseRuns(appendRuns(nil, runs, blocks, z.Zone), g, z.Zone)
			if err != nil || !slices.Equal(again, runs) {
				t.Fatalf("%v: %+v, and was %+v", err, again, runs)
			}
		}
	})
}

func TestStreams(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, count := range []int{1, 5, PartStreams} {
		list := make([]StreamTotals, count)
		for i := range list {
			switch s := &list[i]; r.IntN(3) {
			case 0:
				s.Seqs = 1 // one run
			case 1:
				*s = StreamTotals{Rows: 1 + r.Int64N(1<<40), Raw: r.Int64N(1 << 50), MinTime: int64(r.Uint64()), Seqs: 1 + r.Uint64N(maxSeq)}
				s.MaxTime = s.MinTime + r.Int64N(math.MaxInt64-max(s.MinTime, 0))
			}
		}
		list[0] = StreamTotals{Rows: 1, MinTime: math.MinInt64, MaxTime: math.MaxInt64, Seqs: 1}
		p := appendStreams(nil, list)
		got, err := parseStreams(p, count)
		if err != nil || !slices.Equal(got, list) {
			t.Fatalf("%d streams: %+v, %v", count, got, err)
		}
		for _, n := range []int{count - 1, count + 1, 1 << 30} {
			if _, err := parseStreams(p, n); err == nil {
				t.Errorf("%d streams are taken for %d", count, n)
			}
		}
	}
}

func FuzzStreams(f *testing.F) {
	f.Add(appendStreams(nil, []StreamTotals{{Seqs: 1}, {}, {Rows: 5, Raw: 6, MinTime: -7, MaxTime: 8, Seqs: 9}}), 3)
	f.Fuzz(func(t *testing.T, p []byte, count int) {
		count &= 1023
		got, err := parseStreams(p, count)
		if err != nil {
			return
		}
		again, err := parseStreams(appendStreams(nil, got), count)
		if err != nil || !slices.Equal(again, got) {
			t.Fatalf("%v: %+v, and was %+v", err, again, got)
		}
	})
}
