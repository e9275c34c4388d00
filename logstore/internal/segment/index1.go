package segment

import (
	"cmp"
	"context"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/stele-go/stele/logstore/internal/filter"
	"github.com/stele-go/stele/logstore/internal/segment2"
	"github.com/stele-go/stele/logstore/internal/template"
)

// An index1 answers from the tables of version 1, which has neither groups nor
// tenants nor positions: the groups are made here.
type index1 struct {
	s     *Segment
	cache segment2.Cache
}

// Index returns the index of the segment. cache may be nil.
func (s *Segment) Index(cache segment2.Cache) segment2.Index { return &index1{s, cache} }

func (x *index1) load(ctx context.Context) (*tables, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return x.s.load()
}

func (x *index1) Info() segment2.Info { return x.s.footer.info }

func (x *index1) MaySelect(tenant string, _ []segment2.Condition) bool { return tenant == "" }

func (x *index1) Zones(ctx context.Context) ([]segment2.Zone, error) {
	k := segment2.PartKey{Kind: segment2.ZonesPart}
	if l, ok := segment2.Present[segment2.ZoneList](x.cache, k); ok {
		return l, nil
	}
	return segment2.Load(ctx, x.cache, k, func(ctx context.Context) (segment2.ZoneList, error) {
		_, o, err := x.outlined(ctx)
		if o == nil {
			return nil, err
		}
		return o.zones, err
	})
}

// outlined returns the tables and the outline, nil if they cannot be read.
// Damage comes with them.
func (x *index1) outlined(ctx context.Context) (*tables, *outline, error) {
	t, err := x.load(ctx)
	if err != nil {
		return nil, nil, err
	}
	o, err := x.loadOutline(ctx, t)
	return t, o, err
}

func (x *index1) Group(ctx context.Context, group int) (*segment2.Group, error) {
	k := segment2.PartKey{Kind: segment2.GroupPart, Number: uint32(group)}
	if g, ok := segment2.Present[*segment2.Group](x.cache, k); ok {
		return g, nil
	}
	return segment2.Load(ctx, x.cache, k, func(ctx context.Context) (*segment2.Group, error) {
		t, o, err := x.outlined(ctx)
		if o == nil {
			return nil, err
		}
		z := o.zones[group]
		g := &segment2.Group{Number: group, First: z.First, Blocks: make([]segment2.Block, z.Blocks)}
		for i := range g.Blocks {
			entry, span := t.blockEntry(z.First+i), o.spans[z.First+i]
			b := segment2.Block{
				Offset: entry.off, Bytes: frameHeaderSize + int64(entry.list) + int64(entry.size), FilterBytes: entry.filterSize,
				Rows: entry.rows, Runs: entry.runs, Raw: entry.raw,
				MinTime: span.minTime, MaxTime: span.maxTime, Low: span.low, High: span.high, Codec: codec1,
			}
			if entry.filterSize > 0 {
				b.FilterOffset = entry.filterOff + frameHeaderSize
			}
			g.Blocks[i] = b
		}
		return g, err
	})
}

func (x *index1) Runs(ctx context.Context, group int) (segment2.Runs, error) {
	k := segment2.PartKey{Kind: segment2.RunsPart, Number: uint32(group)}
	if r, ok := segment2.Present[segment2.Runs](x.cache, k); ok {
		return r, nil
	}
	return segment2.Load(ctx, x.cache, k, func(ctx context.Context) (segment2.Runs, error) {
		t, o, err := x.outlined(ctx)
		if o == nil {
			return nil, err
		}
		z := o.zones[group]
		runs := make(segment2.Runs, 0, min(z.Runs, segment2.GroupRuns))
		var found damage
		err = x.eachList(ctx, t, int(z.Low), int(z.High)+1, found.note, func(stream int, list []seqRun) {
			for _, r := range list {
				if r.Block >= z.First && r.Block < z.First+z.Blocks {
					runs = append(runs, indexRun(stream, r))
				}
			}
		})
		if err != nil {
			return nil, err
		}
		sortRuns(runs)
		return x.complete(runs, t, z, &found)
	})
}

// complete replaces the runs of blocks that the lists of streams do not cover
// by those of the blocks' own lists.
func (x *index1) complete(runs segment2.Runs, t *tables, z segment2.Zone, found *damage) (segment2.Runs, error) {
	for b := z.First; b < z.First+z.Blocks; b++ {
		part, rows := runs.Of(b), uint32(0)
		for _, r := range part {
			rows += r.Rows
		}
		if rows == t.blockEntry(b).rows {
			continue
		}
		found.note(x.missing(b))
		own, err := x.ownRuns(nil, t, b)
		switch {
		case isCorrupt(err):
			found.lost = true // part is what is left
		case err != nil:
			return nil, err
		default:
			at, _ := slices.BinarySearchFunc(runs, uint32(b), func(r segment2.Run, b uint32) int { return cmp.Compare(r.Block, b) })
			runs = slices.Replace(runs, at, at+len(part), own...)
		}
	}
	return runs, found.result()
}

func indexRun(stream int, r seqRun) segment2.Run {
	return segment2.Run{
		Ordinal: uint32(stream), Block: uint32(r.Block), First: uint32(r.First), Rows: uint32(r.Rows), Seq: r.seq,
		MinTime: r.MinTime, MaxTime: r.MaxTime, Raw: r.Raw,
	}
}

func sortRuns(runs segment2.Runs) {
	slices.SortFunc(runs, func(a, b segment2.Run) int {
		return cmp.Or(cmp.Compare(a.Block, b.Block), cmp.Compare(a.First, b.First))
	})
}

func (x *index1) Select(ctx context.Context, tenant string, conditions []segment2.Condition) (*roaring.Bitmap, error) {
	t, err := x.load(ctx)
	switch {
	case err != nil:
		return roaring.New(), err
	case tenant != "":
		return roaring.New(), nil
	case len(conditions) == 0:
		return nil, nil
	}
	m, pair := segment2.NewMatcher(conditions), longestPair(conditions)
	var found []uint32
	for i := range t.streams {
		if i%4096 == 4095 {
			if err := ctx.Err(); err != nil {
				return roaring.New(), err
			}
		}
		if l := t.streams[i].Labels; strings.Contains(l, pair) && m.Meets(l) {
			found = append(found, uint32(i))
		}
	}
	if len(found) == len(t.streams) && len(found) > 0 {
		return nil, nil
	}
	return roaring.BitmapOf(found...), nil
}

// longestPair returns encoded labels that each stream that meets the conditions
// has: to search for bytes is faster than to decode all labels.
func longestPair(conditions []segment2.Condition) (pair string) {
	for _, c := range conditions {
		if c.Match != nil || c.Not || len(c.Values) != 1 || c.Values[0] == "" {
			continue
		}
		p := append(binary.AppendUvarint(nil, uint64(len(c.Name))), c.Name...)
		p = append(binary.AppendUvarint(p, uint64(len(c.Values[0]))), c.Values[0]...)
		if len(p) > len(pair) {
			pair = string(p)
		}
	}
	return pair
}

// Names and Values leave it to the labels of streams, which is all that
// version 1 has.

func (x *index1) Names(ctx context.Context, _ string) (names []string, ok bool, err error) {
	return nil, false, ctx.Err()
}

func (x *index1) Values(ctx context.Context, _, _ string) (values []string, ok bool, err error) {
	return nil, false, ctx.Err()
}

// Tenants returns what all streams have, which are those of the tenant "".
func (x *index1) Tenants(ctx context.Context) ([]segment2.TenantTotals, error) {
	i := x.Info()
	all := segment2.TenantTotals{Streams: i.Streams, Blocks: i.Blocks, Rows: i.Rows, Raw: i.Raw, MinTime: i.MinTime, MaxTime: i.MaxTime}
	if i.Streams == 0 {
		return nil, ctx.Err()
	}
	zones, err := x.Zones(ctx)
	for number := 0; number < len(zones) && err == nil; number++ {
		var g *segment2.Group
		if g, err = x.Group(ctx, number); err == nil {
			for n := range g.Blocks {
				all.Bytes += g.Blocks[n].Bytes + int64(g.Blocks[n].FilterBytes)
			}
		}
	}
	return []segment2.TenantTotals{all}, err
}

func (x *index1) Find(ctx context.Context, tenant, labels string) (ordinal uint32, ok bool, err error) {
	t, err := x.load(ctx)
	if err != nil || tenant != "" {
		return 0, false, err
	}
	i, ok := t.find(labels)
	return uint32(i), ok, nil
}

func (x *index1) Streams(ctx context.Context, part int) (*segment2.Part, error) {
	k := segment2.PartKey{Kind: segment2.StreamsPart, Number: uint32(part)}
	if p, ok := segment2.Present[*segment2.Part](x.cache, k); ok {
		return p, nil
	}
	return segment2.Load(ctx, x.cache, k, func(ctx context.Context) (*segment2.Part, error) {
		t, err := x.load(ctx)
		if err != nil {
			return nil, err
		}
		streams := t.streams[part*segment2.PartStreams:]
		p := &segment2.Part{
			First:   uint32(part * segment2.PartStreams),
			Streams: make([]segment2.StreamTotals, min(segment2.PartStreams, len(streams))),
		}
		for i := range p.Streams {
			st := &streams[i]
			p.Streams[i] = segment2.StreamTotals{Rows: st.Rows, Raw: st.Raw, MinTime: st.MinTime, MaxTime: st.MaxTime, Seqs: st.seqs}
		}
		return p, nil
	})
}

func (x *index1) ChunkOf(_ context.Context, ordinal uint32) (int, error) {
	return int(ordinal / segment2.PartStreams), nil
}

func (x *index1) Content(_ context.Context, ordinal uint32) (segment2.Content, error) {
	first := ordinal - ordinal%segment2.PartStreams
	return segment2.Content{First: first, Streams: min(segment2.PartStreams, uint32(x.Info().Streams)-first)}, nil
}

func (x *index1) Labels(ctx context.Context, chunk int) (*segment2.Chunk, error) {
	k := segment2.PartKey{Kind: segment2.LabelsPart, Number: uint32(chunk)}
	if c, ok := segment2.Present[*segment2.Chunk](x.cache, k); ok {
		return c, nil
	}
	return segment2.Load(ctx, x.cache, k, func(ctx context.Context) (*segment2.Chunk, error) {
		t, err := x.load(ctx)
		if err != nil {
			return nil, err
		}
		streams := t.streams[chunk*segment2.PartStreams:]
		c := &segment2.Chunk{
			First:  uint32(chunk * segment2.PartStreams),
			Labels: make([]string, min(segment2.PartStreams, len(streams))),
		}
		for i := range c.Labels {
			c.Labels[i] = streams[i].Labels
		}
		return c, nil
	})
}

// InOrder reads nothing ahead, as the tables are read at once.
func (x *index1) InOrder(context.Context, *roaring.Bitmap, uint32, uint32) (segment2.Index, func()) {
	return x, nil
}

// Filters reads nothing: filters lie between blocks in version 1, so that they
// are tested one by one.
func (x *index1) Filters(context.Context, ...*segment2.Group) (segment2.Filters, error) {
	return filters1{x.s}, nil
}

type filters1 struct{ s *Segment }

func (f filters1) May(_ *segment2.Group, block int, needles ...filter.Needle) (bool, error) {
	return f.s.May(block, needles...)
}

func (f filters1) Release() {}

// codec1 is the codec of all blocks of version 1: package block.
const codec1 = 1

func (x *index1) ReadFrame(ctx context.Context, f *segment2.Frame, g *segment2.Group, block int) error {
	f.Reset(block)
	t, err := x.load(ctx)
	if err != nil {
		return err
	}
	entry := t.blockEntry(block)
	n, head := frameHeaderSize+int64(entry.list)+int64(entry.size), frameHeaderSize+int64(entry.list)
	var p []byte
	if n <= segment2.MaxRead {
		p = f.Buffer(int(n))
		err = segment2.ReadFull(x.s.src, p, entry.off, block)
	} else if p, err = segment2.ReadPieces(x.s.src, f.Buffer(0), head, entry.off, block); err == nil { // only lists have no holes
		p, err = segment2.ReadPieces(x.s.src, p, n-head, entry.payload(), block)
	}
	if err != nil {
		return err
	}
	if checksum(p[head:]) != entry.sum {
		return corrupt(x.s.src, entry.payload(), block, "the checksum does not match")
	}
	bad := x.frameRuns(f, p[:head], t, block)
	if bad != nil {
		runs, err := x.indexRuns(ctx, nil, t, block)
		if err != nil && !isCorrupt(err) {
			return err
		}
		if err != nil {
			return bad
		}
		f.Runs = f.Runs[:0]
		for _, r := range runs {
			f.Runs = append(f.Runs, segment2.FrameRun{Ordinal: r.Ordinal, First: r.First, Rows: r.Rows, Seq: r.Seq})
		}
		bad.Rebuilt = true
	}
	f.Block, f.Codec = p[head:], codec1
	if bad != nil {
		return bad
	}
	return nil
}

// frameRuns sets the runs of f, from the beginning of its frame.
func (x *index1) frameRuns(f *segment2.Frame, p []byte, t *tables, block int) *segment2.CorruptError {
	entry := t.blockEntry(block)
	r, err := x.s.readList(p, t, block)
	if err != nil {
		return err.(*segment2.CorruptError)
	}
	for r.next() {
		f.Runs = append(f.Runs, segment2.FrameRun{Ordinal: r.run.Ordinal, First: r.run.First, Rows: r.run.Rows, Seq: r.run.Seq})
	}
	if err := r.end(entry); err != nil {
		return corrupt(x.s.src, entry.off+frameHeaderSize, block, "%v", err).(*segment2.CorruptError)
	}
	return nil
}

// Dictionary returns no templates, as no block of version 1 refers to any.
func (x *index1) Dictionary(ctx context.Context, _ uint16) (*template.Dictionary, error) {
	return nil, ctx.Err()
}

// Tables returns none either.
func (x *index1) Tables(ctx context.Context, _ int) (*segment2.Tables, error) { return nil, ctx.Err() }

func (x *index1) IDs(ctx context.Context, dst []segment2.ID, f *segment2.Frame) ([]segment2.ID, error) {
	t, err := x.load(ctx)
	if err != nil {
		return dst, err
	}
	ids := dst
	for _, run := range f.Runs {
		list, err := x.s.list(t, int(run.Ordinal))
		if err != nil {
			return dst, err
		}
		place := uint32(0)
		for _, r := range list {
			if r.seq < run.Seq {
				place += uint32(r.Rows)
			}
		}
		for range run.Rows {
			ids = append(ids, segment2.ID{Position: x.s.footer.info.Upto, Place: place})
			place++
		}
	}
	return ids, nil
}
