package logstore

import "github.com/stele-go/stele/logstore/internal/segment2"

// A resultBatch is rows that were copied out of results, so that the caller of
// the consumer keeps none of these in memory.
type resultBatch struct {
	rows []batchRow
	data []byte // lines, each followed by its metadata
}

type batchRow struct {
	time            int64
	stream          *streamLabels
	off, line, meta uint32 // bytes of data
	block           *blockLeaf
	id              segment2.ID
}

// A batch is full with batchRows rows, or with batchBytes bytes of lines and
// metadata. The last line may exceed that.
const (
	batchRows  = 64
	batchBytes = 16 << 10
)

// reset empties the batch. It keeps no memory of long lines.
func (b *resultBatch) reset() {
	clear(b.rows)
	b.rows = b.rows[:0]
	if b.data = b.data[:0]; cap(b.data) > 2*batchBytes {
		b.data = nil
	}
}

func (b *resultBatch) isFull() bool { return len(b.rows) >= batchRows || len(b.data) >= batchBytes }

// add copies the first row of f.
func (b *resultBatch) add(f *results) {
	r := f.first()
	row := batchRow{r.time, f.streams[r.stream], uint32(len(b.data)), r.line, r.meta, nil, segment2.ID{}}
	row.block, _ = f.leaf.(*blockLeaf)
	if len(f.ids) > 0 {
		row.id = f.ids[f.next]
	}
	b.rows = append(b.rows, row)
	b.data = append(b.data, f.data[r.off:r.off+r.line+r.meta]...)
}

// of returns the line and the metadata of a row.
func (b *resultBatch) of(r *batchRow) (line, meta []byte) {
	p := b.data[r.off:]
	return p[:r.line:r.line], p[r.line : r.line+r.meta]
}
