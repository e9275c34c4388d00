package segment2

import (
	"context"
	"errors"
)

// A MergeSource is a segment that Merge reads. Card.MergeSource returns one of
// version 2.
type MergeSource interface {
	Info() Info
	// OpenMerge returns a reader for one goroutine. It reads through what pace
	// returns for the segment's Source.
	OpenMerge(pace func(Source) Source) (MergeReader, error)
}

// A MergeReader is an Index of which Merge reads all.
type MergeReader interface {
	Index

	// Keys returns the keys of the streams of a chunk, in order, and the ordinal
	// of the first. A key is the length of the tenant's name (1 byte), that name,
	// and the labels. Errors are as those of Labels.
	Keys(ctx context.Context, chunk int) (first uint32, keys []string, err error)

	// ReadFilter returns the filter of a block, in the memory of buf if it is
	// large enough. It is empty if the block has none.
	ReadFilter(ctx context.Context, buf []byte, g *Group, block int) ([]byte, error)
}

// MergeSource returns the segment, which is read from src, for Merge.
func (c *Card) MergeSource(src Source) MergeSource { return mergeSource2{c, src} }

type mergeSource2 struct {
	*Card
	src Source
}

func (s mergeSource2) OpenMerge(pace func(Source) Source) (MergeReader, error) {
	return newMergeIndex2(s.Card, pace(s.src)), nil
}

// newMergeIndex2 returns an index for one goroutine that reads all of it.
func newMergeIndex2(c *Card, src Source) *index2 {
	x := c.index(src, new(mergeParts))
	x.alone = true
	return x
}

// mergeParts keeps the parts that a merge uses again and again, and the last
// group. It is for one goroutine.
type mergeParts struct {
	verifierParts
	last  PartKey
	group CachedPart
}

func (m *mergeParts) Present(k PartKey) CachedPart {
	if k.Kind != GroupPart {
		return m.verifierParts.Present(k)
	}
	if m.last == k {
		return m.group
	}
	return nil
}

func (m *mergeParts) Load(ctx context.Context, k PartKey, load func(context.Context) (CachedPart, error)) (CachedPart, error) {
	if k.Kind == DictionaryPart { // mergeSource has the last one
		return load(ctx)
	}
	if k.Kind != GroupPart {
		return m.verifierParts.Load(ctx, k, load)
	}
	g, err := load(ctx)
	if err == nil {
		m.last, m.group = k, g
	}
	return g, err
}

func (x *index2) Keys(ctx context.Context, chunk int) (first uint32, keys []string, err error) {
	d, bad := x.directory(ctx)
	if d == nil {
		return 0, nil, bad
	}
	if chunk >= len(d) {
		return 0, nil, corrupt(x.src, x.card.info.Size-footerSize, -1, "%d chunks of labels; want chunk %d", len(d), chunk)
	}
	if keys, _, err = x.keys(ctx, d, chunk); err == nil {
		err = bad
	}
	return d[chunk].first, keys, err
}

func (x *index2) ReadFilter(ctx context.Context, buf []byte, g *Group, block int) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	b := g.Block(block)
	buf, err := ReadPieces(Within(ctx, x.src), buf[:0], int64(b.FilterBytes), b.FilterOffset, block)
	if err == nil && checksum(buf) != b.filterSum {
		err = corrupt(x.src, b.FilterOffset, block, "the checksum of the filter does not match")
	}
	if err != nil {
		return nil, err
	}
	return buf, nil
}

// UnlessRebuilt returns err, or nil if it is a *CorruptError of damage that was rebuilt: what
// came with it is whole.
func UnlessRebuilt(err error) error {
	if bad, ok := errors.AsType[*CorruptError](err); ok && bad.Rebuilt {
		return nil
	}
	return err
}
