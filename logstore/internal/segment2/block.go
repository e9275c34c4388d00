package segment2

import (
	"context"
	"slices"
	"sync"

	"github.com/stele-go/stele/logstore/internal/filter"
)

func (x *index2) ReadFrame(ctx context.Context, f *Frame, g *Group, block int) error {
	f.Reset(block)
	if err := ctx.Err(); err != nil {
		return err
	}
	b := g.Block(block)
	f.offset = b.Offset
	p := f.Buffer(int(b.Bytes))
	if err := ReadFull(Within(ctx, x.src), p, b.Offset, block); err != nil {
		return err
	}
	content := p[len(p)-int(b.size):]
	if checksum(content) != b.sum {
		return corrupt(x.src, b.Offset+b.Bytes-int64(b.size), block, "the checksum does not match")
	}
	bad := x.openFrame(f, p, b)
	if bad != nil {
		// The index has the same list.
		runs, err := x.Runs(ctx, g.Number)
		if err != nil && !isCorrupt(err) {
			return err
		}
		if err != nil {
			return bad
		}
		f.Runs = f.Runs[:0]
		for _, r := range runs.Of(block) {
			f.Runs = append(f.Runs, FrameRun{r.Ordinal, r.First, r.Rows, r.Seq})
		}
		bad.Rebuilt = true
	}
	f.Block, f.Codec, f.Dictionary = content, b.Codec, b.Dictionary
	if bad != nil {
		return bad
	}
	return nil
}

// ReadStart reads the first n bytes of a block of a group, or all if there are less, into
// f.Block, for a caller that needs no more. Nothing is verified, and f has no runs.
func (x *index2) ReadStart(ctx context.Context, f *Frame, g *Group, block, n int) error {
	f.Reset(block)
	if err := ctx.Err(); err != nil {
		return err
	}
	b := g.Block(block)
	f.offset = b.Offset
	p := f.Buffer(min(n, int(b.size)))
	if err := ReadFull(Within(ctx, x.src), p, b.Offset+b.Bytes-int64(b.size), block); err != nil {
		return err
	}
	f.Block, f.Codec, f.Dictionary = p, b.Codec, b.Dictionary
	return nil
}

// openFrame verifies a frame p up to its positions, and sets its runs and
// positions.
func (x *index2) openFrame(f *Frame, p []byte, b *Block) *CorruptError {
	damaged := func(off int64, why string) *CorruptError {
		return corrupt(x.src, b.Offset+off, f.Number, "%s", why).(*CorruptError)
	}
	h, ok := parseBlockFrame(p, x.card.salt, b.Offset)
	if !ok || int(h.number) != f.Number || h.list != b.list || h.positions != b.positions || h.size != b.size || h.sum != b.sum || h.codec != b.Codec || h.dictionary != b.Dictionary {
		return damaged(0, "its header is not as it was written")
	}
	list := p[blockHeaderSize:][:b.list]
	f.positions, f.positionsSum = p[blockHeaderSize+b.list:][:b.positions], h.positionsSum
	if checksum(list) != h.listSum {
		return damaged(blockHeaderSize, "the checksum of its list of runs does not match")
	}
	runs, rows, err := parseList(f.Runs[:0], list)
	f.Runs = runs
	if err != nil || rows != int(b.Rows) || len(runs) != int(b.Runs) || runs[0].Ordinal != b.Low || runs[len(runs)-1].Ordinal != b.High {
		return damaged(blockHeaderSize, "its list of runs is not that of the index")
	}
	return nil
}

func (x *index2) IDs(ctx context.Context, dst []ID, f *Frame) ([]ID, error) {
	if err := ctx.Err(); err != nil {
		return dst, err
	}
	ids, err := f.ids(dst)
	if err != nil {
		return dst, corrupt(x.src, f.offset, f.Number, "its positions: %v", err)
	}
	return ids, nil
}

// ids appends the identity of each row.
func (f *Frame) ids(dst []ID) ([]ID, error) {
	if f.positions == nil || checksum(f.positions) != f.positionsSum {
		return dst, errSum
	}
	return parsePositions(dst, f.positions, f.Runs)
}

func (x *index2) Filters(ctx context.Context, groups ...*Group) (Filters, error) {
	f := &filters2{x: x, src: Within(ctx, x.src)}
	if x.viewer != nil {
		return f, ctx.Err()
	}
	for _, g := range groups {
		if ok, err := f.shared(ctx, g); err != nil {
			return nil, err
		} else if ok {
			continue
		}
		for i := range g.Blocks {
			b := &g.Blocks[i]
			f.ranges.want(b.FilterOffset, int64(b.FilterBytes), MaxRead)
		}
	}
	for i := range f.ranges {
		s := &f.ranges[i]
		if s.p != nil {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := s.read(f.src); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// A filters2 has the bytes of filters in memory, unless its source is a Viewer.
type filters2 struct {
	x      *index2
	src    Source
	ranges byteRanges
}

// shared adds the windows in which the filters of a group lie: all filters of a segment
// are cut into windows of as many bytes as may be read at once, and the cache keeps. It
// reports false if the filters are not to be read so.
func (f *filters2) shared(ctx context.Context, g *Group) (bool, error) {
	x := f.x
	if x.cache == nil || x.alone {
		return false, nil
	}
	zones, err := x.zones(ctx)
	if err != nil {
		return false, unlessCorrupt(err)
	}
	z, filters := &zones[g.Number], zones.filters()
	from, to, log, ok := x.windows(filters, z.filters, int64(z.filterBytes))
	if !ok {
		return false, nil
	}
	for n := from; n <= to; n++ {
		s, err := x.window(ctx, filters, n, log)
		if err != nil {
			return false, err
		}
		if !slices.ContainsFunc(f.ranges, func(has byteRange) bool { return has.off == s.off && has.p != nil }) {
			f.ranges = append(f.ranges, *s)
		}
	}
	return true, nil
}

func unlessCorrupt(err error) error {
	if isCorrupt(err) {
		return nil
	}
	return err
}

func (f *filters2) Release() { f.ranges = nil }

func (f *filters2) May(g *Group, block int, needles ...filter.Needle) (bool, error) {
	b := g.Block(block)
	if b.FilterBytes == 0 || !slices.ContainsFunc(needles, func(n filter.Needle) bool { return !n.Empty() }) {
		return true, nil
	}
	p := probes.Get().(*probe)
	defer p.release()
	i := block - g.First
	word, bit := &g.checked[i/64], uint64(1)<<(i%64)
	p.needles, p.sum, p.intact, p.may = needles, b.filterSum, word.Load()&bit != 0, true
	if err := f.view(b, block, p.call); err != nil {
		return true, err
	}
	if !p.intact {
		return true, corrupt(f.x.src, b.FilterOffset, block, "the checksum of the filter does not match")
	}
	word.Or(bit)
	return p.may, nil
}

// view calls call with the filter of a block.
func (f *filters2) view(b *Block, block int, call func([]byte) error) error {
	off, n := b.FilterOffset, int(b.FilterBytes)
	if f.x.viewer != nil {
		if err := f.x.viewer.View(off, n, call); err != nil {
			return ReadError(f.x.src, err, off, block)
		}
		return nil
	}
	for i := range f.ranges {
		if s := &f.ranges[i]; s.has(off, int64(n)) {
			return call(s.at(off, int64(n)))
		}
	}
	buf := getBuffer(n)
	defer buf.put()
	if !f.ranges.join(buf.p, off) { // not of the groups that Filters was called with
		if err := ReadFull(f.src, buf.p, off, block); err != nil {
			return err
		}
	}
	return call(buf.p)
}

// A probe tests one filter. It is pooled with its method value, so that a test
// allocates nothing.
type probe struct {
	needles []filter.Needle
	sum     uint32
	intact  bool // the checksum has been verified
	may     bool
	call    func([]byte) error
}

var probes = sync.Pool{New: func() any {
	p := new(probe)
	p.call = p.ask
	return p
}}

func (p *probe) release() {
	p.needles = nil
	probes.Put(p)
}

func (p *probe) ask(b []byte) error {
	if p.intact = p.intact || checksum(b) == p.sum; !p.intact {
		return nil
	}
	for _, n := range p.needles {
		if !filter.May(b, n) {
			p.may = false
			break
		}
	}
	return nil
}
