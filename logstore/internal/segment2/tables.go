package segment2

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"unsafe"

	"github.com/stele-go/stele/logstore/internal/block"
)

// Tables has which templates the blocks of a group have, and how many rows of each. A nil
// one has none.
type Tables struct {
	first int      // the number of the first block
	ends  []uint32 // of the entries of each block
	list  []block.TemplateRows
}

// Of returns the table of a block, by its number in the segment. It is nil for a block of
// CodecLines, which has none, and for one whose table is not known: read the block.
func (t *Tables) Of(number int) []block.TemplateRows {
	if t == nil || number-t.first >= len(t.ends) {
		return nil
	}
	from, i := uint32(0), number-t.first
	if i > 0 {
		from = t.ends[i-1]
	}
	if from == t.ends[i] {
		return nil
	}
	return t.list[from:t.ends[i]:t.ends[i]]
}

// Weight returns about how many bytes of memory the tables take.
func (t *Tables) Weight() int64 {
	return int64(unsafe.Sizeof(*t)) + 4*int64(cap(t.ends)) + int64(cap(t.list))*int64(unsafe.Sizeof(block.TemplateRows{}))
}

// add adds the table of the next block.
func (t *Tables) add(table []block.TemplateRows) {
	t.list = append(t.list, table...)
	t.ends = append(t.ends, uint32(len(t.list)))
}

func (t *Tables) reset() { t.list, t.ends = t.list[:0], t.ends[:0] }

const (
	// tablesUnknown is the flag of a part that has no tables, as they would take more
	// than MaxRead.
	tablesUnknown = 1
	// maxTables bounds the entries of a part: one takes 10 bytes at most.
	maxTables = MaxRead/10 - 4*GroupBlocks
)

// append appends the part of a group.
func (t *Tables) append(dst []byte) []byte {
	if len(t.list) > maxTables {
		return append(dst, tablesUnknown)
	}
	dst = append(dst, 0)
	last := uint32(0)
	for _, end := range t.ends {
		dst = binary.AppendUvarint(dst, uint64(end-last))
		last = end
	}
	at := uint32(0)
	for _, end := range t.ends {
		id := int64(0)
		for _, one := range t.list[at:end] {
			dst = appendZigzag(dst, int64(one.ID)-id)
			id = int64(one.ID)
		}
		at = end
	}
	for _, one := range t.list {
		dst = binary.AppendUvarint(dst, uint64(one.Rows))
	}
	return dst
}

// parseTables decodes the part of a group, and compares it with the group.
func parseTables(p []byte, g *Group) (*Tables, error) {
	c := decoder{p: p}
	t := &Tables{first: g.First}
	if flags := c.byte(); flags == tablesUnknown {
		return t, c.end()
	} else if flags != 0 || c.left() < len(g.Blocks) {
		return nil, errForm
	}
	t.ends = make([]uint32, len(g.Blocks))
	most, total := uint64(c.left()/2), uint64(0)
	c.each(len(g.Blocks), func(i int, v uint64) bool {
		total += v
		t.ends[i] = uint32(total)
		return v <= uint64(g.Blocks[i].Rows) && total <= most && (v > 0) == (g.Blocks[i].Codec == CodecColumns)
	})
	if c.bad {
		return nil, errForm
	}
	t.list = make([]block.TemplateRows, total)
	at := uint32(0)
	for _, end := range t.ends {
		id, table := int64(0), t.list[at:end]
		c.each(len(table), func(i int, v uint64) bool {
			id += signed(v)
			table[i].ID = uint32(id)
			return id >= 0 && id <= math.MaxUint32
		})
		at = end
	}
	c.each(len(t.list), func(i int, v uint64) bool {
		t.list[i].Rows = uint32(v)
		return v > 0 && v <= math.MaxInt32
	})
	if err := c.end(); err != nil {
		return nil, err
	}
	for i := range g.Blocks {
		rows := uint64(0)
		for _, one := range t.Of(g.First + i) {
			rows += uint64(one.Rows)
		}
		if g.Blocks[i].Codec == CodecColumns && rows != uint64(g.Blocks[i].Rows) {
			return nil, errTotals
		}
	}
	return t, nil
}

// Tables reads the section of that name. If that is damaged it reads the tables of the
// blocks, and leaves out those that are damaged too.
func (x *index2) Tables(ctx context.Context, group int) (*Tables, error) {
	if x.card.section(TypeTables) == nil {
		return nil, ctx.Err()
	}
	k := PartKey{TablesPart, uint32(group)}
	if t, ok := Present[*Tables](x.cache, k); ok {
		return t, nil
	}
	g, bad := x.Group(ctx, group)
	if g == nil {
		return nil, bad
	}
	t, err := Load(ctx, x.cache, k, func(ctx context.Context) (t *Tables, err error) {
		err = x.partOf(ctx, TypeTables, group, func(p []byte) (err error) {
			t, err = parseTables(p, g)
			return err
		})
		return t, err
	})
	if isCorrupt(err) {
		return rebuilt(err, func() (*Tables, error) { return x.rebuildTables(ctx, g) })
	}
	if err == nil {
		err = bad
	}
	return t, err
}

// rebuildTables returns the tables of a group, from its blocks.
func (x *index2) rebuildTables(ctx context.Context, g *Group) (*Tables, error) {
	t := &Tables{first: g.First}
	var f Frame
	var table []block.TemplateRows
	for n := g.First; n < g.First+len(g.Blocks); n++ {
		var err error
		if table, err = x.tableOf(ctx, table[:0], &f, g, n); err != nil && !isCorrupt(err) {
			return nil, err
		}
		t.add(table)
	}
	return t, nil
}

// tableStart is how many bytes of a block are read at first for its table.
const tableStart = 4 << 10

// tableOf appends the table of a block, which f is used to read; none of one of
// CodecLines.
func (x *index2) tableOf(ctx context.Context, dst []block.TemplateRows, f *Frame, g *Group, number int) ([]block.TemplateRows, error) {
	b := g.Block(number)
	if b.Codec != CodecColumns {
		return dst, nil
	}
	if err := x.ReadStart(ctx, f, g, number, tableStart); err != nil {
		return dst, err
	}
	table, err := block.Table(dst, f.Block)
	if errors.Is(err, block.ErrShort) && int(b.size) > tableStart {
		if err := x.ReadStart(ctx, f, g, number, int(b.size)); err != nil {
			return dst, err
		}
		table, err = block.Table(dst, f.Block)
	}
	if err != nil {
		return dst, corrupt(x.src, b.Offset, number, "%v", err)
	}
	return table, nil
}
