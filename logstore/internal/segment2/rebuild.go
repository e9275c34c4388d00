package segment2

import (
	"context"
	"math"
	"slices"
	"sync/atomic"

	"github.com/stele-go/stele/logstore/internal/block"
	"github.com/stele-go/stele/logstore/internal/template"
)

// A damaged part of the index is made again from the frames, which say all that
// it has but where filters begin. It takes as long as to read them, each time,
// until the segment is salvaged.

// rebuilt returns what make returns, and bad, marked as rebuilt, if that is
// complete.
func rebuilt[P any](bad error, make func() (P, error)) (P, error) {
	var found damage
	found.note(bad)
	part, err := make()
	if err == nil {
		return part, found.result()
	}
	var none P
	if isCorrupt(err) {
		return none, bad
	}
	return none, err
}

// A blockReader reads blocks without the index.
type blockReader struct {
	*index2
	frame   Frame
	decoder block.Decoder
}

// read reads the block whose frame is at off, and returns its entry, without a
// filter, and its runs.
func (r *blockReader) read(ctx context.Context, off int64, number int) (Block, Runs, error) {
	if err := ctx.Err(); err != nil {
		return Block{}, nil, err
	}
	p := r.frame.Buffer(blockHeaderSize)
	if err := ReadFull(Within(ctx, r.src), p, off, number); err != nil {
		return Block{}, nil, err
	}
	h, ok := parseBlockFrame(p, r.card.salt, off)
	if !ok || int(h.number) != number {
		return Block{}, nil, corrupt(r.src, off, number, "its header is not as it was written")
	}
	b := Block{
		Offset: off, Bytes: h.bytes(), list: h.list, positions: h.positions, size: h.size,
		sum: h.sum, Codec: h.codec, Dictionary: h.dictionary,
	}
	p = r.frame.Buffer(int(b.Bytes))
	if err := ReadFull(Within(ctx, r.src), p, off, number); err != nil {
		return Block{}, nil, err
	}
	list, content := p[blockHeaderSize:][:h.list], p[len(p)-int(h.size):]
	if checksum(list) != h.listSum || checksum(content) != h.sum {
		return Block{}, nil, corrupt(r.src, off, number, "%v", errSum)
	}
	if !knownCodec(h.codec) {
		return Block{}, nil, &VersionError{File: r.src.Name(), Version: version, Codec: h.codec}
	}
	templates, err := r.Dictionary(ctx, b.Dictionary)
	if UnlessRebuilt(err) != nil {
		return Block{}, nil, err
	}
	runs, err := r.runs(&b, list, content, number, templates)
	if err != nil {
		return Block{}, nil, wrongContent(r.src, off, number, err)
	}
	return b, runs, nil
}

// runs decodes a block, and completes its entry.
func (r *blockReader) runs(b *Block, list, content []byte, number int, templates *template.Dictionary) (Runs, error) {
	frameRuns, rows, err := parseList(r.frame.Runs[:0], list)
	if err != nil {
		return nil, err
	}
	r.frame.Runs = frameRuns
	times, err := r.decoder.Decode(content, templates)
	if err != nil {
		return nil, err
	}
	if len(times) != rows {
		return nil, errRows
	}
	runs := make(Runs, len(frameRuns))
	b.Rows, b.Runs, b.Low, b.High = uint32(rows), uint32(len(runs)), frameRuns[0].Ordinal, frameRuns[len(runs)-1].Ordinal
	b.MinTime, b.MaxTime = math.MaxInt64, math.MinInt64
	for i, f := range frameRuns {
		part := times[f.First : f.First+f.Rows]
		run := Run{Ordinal: f.Ordinal, Block: uint32(number), First: f.First, Rows: f.Rows, Seq: f.Seq, MinTime: part[0], MaxTime: part[len(part)-1]}
		for row := f.First; row < f.First+f.Rows; row++ {
			run.Raw += int64(len(r.decoder.Line(int(row))) + len(r.decoder.Meta(int(row))))
		}
		if !slices.IsSorted(part) {
			return nil, errTimes
		}
		runs[i] = run
		b.Raw += uint32(run.Raw)
		b.MinTime, b.MaxTime = min(b.MinTime, run.MinTime), max(b.MaxTime, run.MaxTime)
	}
	return runs, nil
}

// rebuildGroup returns a group whose blocks have no filters.
func (x *index2) rebuildGroup(ctx context.Context, number int, z *zone) (*Group, error) {
	r := blockReader{index2: x}
	g := &Group{Number: number, First: z.First, checked: make([]atomic.Uint64, (z.Blocks+63)/64)}
	off := z.frames
	for n := z.First; n < z.First+z.Blocks; n++ {
		b, _, err := r.read(ctx, off, n)
		if err != nil {
			return nil, err
		}
		g.Blocks = append(g.Blocks, b)
		off += b.Bytes
	}
	has := zoneOf(g.Blocks)
	if has.First = z.First; has.Zone != z.Zone {
		return nil, corrupt(x.src, z.frames, -1, "group %d: %v", number, errTotals)
	}
	return g, nil
}

// rebuildRuns returns the runs of a group.
func (x *index2) rebuildRuns(ctx context.Context, g *Group) (all Runs, err error) {
	r := blockReader{index2: x}
	for i := range g.Blocks {
		b, runs, err := r.read(ctx, g.Blocks[i].Offset, g.First+i)
		if err != nil {
			return nil, err
		}
		if b.Runs != g.Blocks[i].Runs || b.Rows != g.Blocks[i].Rows || b.Raw != g.Blocks[i].Raw {
			return nil, corrupt(x.src, b.Offset, g.First+i, "%v", errTotals)
		}
		all = append(all, runs...)
	}
	return all, nil
}

// rebuildStreams returns a part of the table of streams, from the runs of all
// groups that may have some of them.
func (x *index2) rebuildStreams(ctx context.Context, number, streams int) (*Part, error) {
	zones, err := x.zones(ctx)
	if err != nil {
		return nil, err
	}
	low := uint32(number * PartStreams)
	totals := make([]streamTotal, streams)
	for i := range zones {
		if zones[i].High < low || zones[i].Low >= low+uint32(streams) {
			continue
		}
		runs, err := x.Runs(ctx, i)
		if runs == nil {
			return nil, err
		}
		for _, r := range runs {
			if r.Ordinal >= low && r.Ordinal-low < uint32(streams) {
				totals[r.Ordinal-low].add(r)
			}
		}
	}
	t := &Part{First: low, Streams: make([]StreamTotals, streams)}
	for i := range totals {
		t.Streams[i] = totals[i].stored()
	}
	return t, nil
}

// rebuildDirectory returns the label directory, from the label frames.
func (x *index2) rebuildDirectory(ctx context.Context) (d directory, err error) {
	off, first := int64(headerSize), 0
	for first < x.card.info.Streams {
		var f labelFrame
		err := x.view(ctx, off, labelHeaderSize, -1, "labels", func(p []byte) error {
			var ok bool
			if f, ok = parseLabelFrame(p, x.card.salt, off); !ok || int(f.number) != len(d) || int(f.first) != first {
				return errForm
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		e := chunkEntry{off: off, stored: f.stored, first: f.first, streams: f.streams}
		err = x.view(ctx, off, e.bytes(), -1, "labels", func(p []byte) error {
			keys, err := e.parse(p, x.card.salt, len(d))
			if err == nil {
				e.separator = keys[0]
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		d = append(d, e)
		off += e.bytes()
		first += int(e.streams)
	}
	if first != x.card.info.Streams || first == 0 {
		return nil, corrupt(x.src, off, -1, "labels of %d streams; want %d", first, x.card.info.Streams)
	}
	return d, nil
}
