package logstore

import (
	"github.com/stele-go/stele/logstore/internal/catalog"
	"github.com/stele-go/stele/logstore/internal/segment2"
)

// A resultBatch is rows that were copied out of results, so that the caller of
// the consumer keeps none of these in memory.
type resultBatch struct {
	n     int // of rows
	rows  [batchRows]batchRow
	data  []byte        // lines, each followed by its metadata
	ids   []segment2.ID // of rows, if the search wants cursors
	parts []batchPart   // that rows are of
}

// A batchPart is what rows are of: a block, or, if seg is zero, memory. A batch must
// not keep a leaf, and so what a search knows of a segment, as long as its caller has
// an entry.
type batchPart struct {
	seg   catalog.Segment
	block int
}

// damaged returns err as damage of the block, if it is one.
func (p *batchPart) damaged(err error) error {
	if p.seg == (catalog.Segment{}) {
		return err
	}
	return corruptBlock(p.seg, p.block, err)
}

type batchRow struct {
	time            int64
	labels          Labels
	off, line, meta uint32 // bytes of data
	part            uint32 // index into resultBatch.parts
}

// A batch is full with batchRows rows, or with batchBytes bytes of lines and
// metadata. The last line may exceed that.
const (
	batchRows  = 64
	batchBytes = 16 << 10
)

// reset empties the batch. It keeps no memory of long lines.
func (b *resultBatch) reset() {
	b.n, b.parts, b.ids = 0, b.parts[:0], b.ids[:0]
	if b.data = b.data[:0]; cap(b.data) > 2*batchBytes {
		b.data = nil
	}
}

// forget empties the batch and drops what it refers to.
func (b *resultBatch) forget() {
	clear(b.rows[:])
	clear(b.parts[:cap(b.parts)])
	b.reset()
}

func (b *resultBatch) isFull() bool { return b.room() == 0 || len(b.data) >= batchBytes }

// room returns how many more rows the batch has place for.
func (b *resultBatch) room() int { return batchRows - b.n }

// add copies the first n rows of f, at least one and at most room, or as many as
// fit, with labels from the table. The batch is not full. It returns how many it has
// copied.
func (b *resultBatch) add(names *labelTable, f *results, n int) int {
	rows := f.rows[f.next : f.next+n]
	begin, part := rows[0].off, uint32(len(b.parts))
	at := uint32(len(b.data)) - begin
	for i := range rows {
		r, to := &rows[i], &b.rows[b.n+i]
		off := at + r.off
		if i > 0 && off >= batchBytes {
			rows = rows[:i]
			break
		}
		to.time, to.labels, to.off, to.line, to.meta, to.part = r.time, f.take(names, r), off, r.line, r.meta, part
	}
	b.n += len(rows)
	last := &rows[len(rows)-1]
	b.data = append(b.data, f.data[begin:last.off+last.line+last.meta]...)
	if len(f.ids) > 0 {
		b.ids = append(b.ids, f.ids[f.next:f.next+len(rows)]...)
	}
	var of batchPart
	if block, ok := f.leaf.(*blockLeaf); ok {
		of = batchPart{block.in.Segment, block.number}
	}
	b.parts = append(b.parts, of)
	return len(rows)
}

// id returns the identity of the i-th row, zero if the search wants no cursors.
func (b *resultBatch) id(i int) segment2.ID {
	if len(b.ids) == 0 {
		return segment2.ID{}
	}
	return b.ids[i]
}

// text returns the line and the metadata of a row.
func (b *resultBatch) text(r *batchRow) (line, meta []byte) {
	p := b.data[r.off:]
	return p[:r.line:r.line], p[r.line : r.line+r.meta]
}
