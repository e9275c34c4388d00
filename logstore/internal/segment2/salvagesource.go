package segment2

import (
	"context"
	"sort"

	"github.com/stele-go/stele/logstore/internal/template"
)

// A salvageReader reads what is left of a segment, block by block. What was
// rebuilt comes without an error.
type salvageReader interface {
	Info() Info
	// chunks returns the number of chunks of labels, and keys the keys of the
	// streams of one. There may be gaps between their ordinals.
	chunks(ctx context.Context) (int, error)
	keys(ctx context.Context, chunk int) (first uint32, keys []string, err error)

	blocks() int
	// read reads a block, and returns the offset of its frame.
	read(ctx context.Context, f *Frame, block int) (off int64, err error)
	// ids appends the IDs of the rows of the block.
	ids(ctx context.Context, dst []ID, f *Frame) ([]ID, error)
	filter(ctx context.Context, buf []byte, block int) ([]byte, error)
	dictionary(ctx context.Context, number uint16) (*template.Dictionary, error)
}

// An indexedReader reads by the index.
type indexedReader struct {
	MergeReader
	zones []Zone
	group *Group
}

// openIndex returns a reader by the index. The error is a *CorruptError if the
// index does not tell of all blocks.
func openIndex(ctx context.Context, r MergeReader) (*indexedReader, error) {
	zones, err := r.Zones(ctx)
	if err != nil && (zones == nil || !isCorrupt(err)) {
		return nil, err
	}
	x := &indexedReader{MergeReader: r, zones: zones}
	for i := range zones {
		if err := x.load(ctx, zones[i].First); err != nil {
			return nil, err
		}
	}
	_, err = x.chunks(ctx)
	return x, err
}

// load comes to the group of a block. That of version 1 may come with damage.
func (x *indexedReader) load(ctx context.Context, block int) error {
	if g := x.group; g != nil && block >= g.First && block < g.First+len(g.Blocks) {
		return nil
	}
	number := sort.Search(len(x.zones), func(i int) bool { return x.zones[i].First > block }) - 1
	g, err := x.Group(ctx, number)
	if err != nil && (g == nil || !isCorrupt(err)) {
		return err
	}
	x.group = g
	return nil
}

func (x *indexedReader) blocks() int { return x.Info().Blocks }

func (x *indexedReader) chunks(ctx context.Context) (int, error) {
	streams := x.Info().Streams
	if streams == 0 {
		return 0, nil
	}
	last, err := x.ChunkOf(ctx, uint32(streams-1))
	return last + 1, UnlessRebuilt(err)
}

func (x *indexedReader) keys(ctx context.Context, chunk int) (first uint32, keys []string, err error) {
	first, keys, err = x.Keys(ctx, chunk)
	return first, keys, UnlessRebuilt(err)
}

func (x *indexedReader) read(ctx context.Context, f *Frame, block int) (off int64, err error) {
	if err := x.load(ctx, block); err != nil {
		return 0, err
	}
	return x.group.Block(block).Offset, UnlessRebuilt(x.ReadFrame(ctx, f, x.group, block))
}

func (x *indexedReader) ids(ctx context.Context, dst []ID, f *Frame) ([]ID, error) {
	return x.IDs(ctx, dst, f)
}

func (x *indexedReader) filter(ctx context.Context, buf []byte, block int) ([]byte, error) {
	if err := x.load(ctx, block); err != nil {
		return nil, err
	}
	return x.ReadFilter(ctx, buf, x.group, block)
}

func (x *indexedReader) dictionary(ctx context.Context, number uint16) (*template.Dictionary, error) {
	d, err := x.Dictionary(ctx, number)
	return d, UnlessRebuilt(err)
}

// A scannedReader reads blocks by their frames. It takes filters from the index
// where that can be read.
type scannedReader struct {
	s     *Scanned
	index *index2 // or nil
}

func (x *scannedReader) Info() Info                          { return x.s.info }
func (x *scannedReader) chunks(context.Context) (int, error) { return len(x.s.chunks), nil }
func (x *scannedReader) blocks() int                         { return len(x.s.blocks) }

func (x *scannedReader) keys(_ context.Context, chunk int) (first uint32, keys []string, err error) {
	return x.s.chunks[chunk].first, x.s.chunks[chunk].keys, nil
}

func (x *scannedReader) read(ctx context.Context, f *Frame, block int) (off int64, err error) {
	return x.s.blocks[block].off, x.s.ReadFrame(ctx, f, block)
}

func (x *scannedReader) ids(_ context.Context, dst []ID, f *Frame) ([]ID, error) {
	return x.s.IDs(dst, f)
}

func (x *scannedReader) dictionary(ctx context.Context, number uint16) (*template.Dictionary, error) {
	return x.s.Dictionary(ctx, number)
}

func (x *scannedReader) filter(ctx context.Context, buf []byte, block int) ([]byte, error) {
	if x.index == nil {
		return nil, nil
	}
	zones, err := x.index.zones(ctx)
	if err != nil {
		return nil, err
	}
	b := x.s.blocks[block]
	number := sort.Search(len(zones), func(i int) bool { return zones[i].First > int(b.number) }) - 1
	if number < 0 {
		return nil, nil
	}
	k, z := PartKey{GroupPart, uint32(number)}, &zones[number]
	g, ok := Present[*Group](x.index.cache, k)
	if !ok { // x.index.Group would rebuild it from all of its blocks
		g, err = Load(ctx, x.index.cache, k, func(ctx context.Context) (g *Group, err error) {
			err = x.index.viewPart(ctx, z.blocks, sectionName(TypeGroups), func(p []byte) (err error) {
				g, err = parseGroup(p, number, z)
				return err
			})
			return g, err
		})
	}
	if err != nil || int(b.number) >= g.First+len(g.Blocks) || g.Block(int(b.number)).Offset != b.off {
		return nil, err
	}
	return x.index.ReadFilter(ctx, buf, g, int(b.number))
}
