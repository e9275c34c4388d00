package segment2

import (
	"encoding/binary"
	"math"
)

const (
	// flagZip: the columns of positions are compressed.
	flagZip = 1
	// positionColumns are heads, places, same, next, steps and step places.
	positionColumns = 6
)

// A positionsEncoder encodes the positions of blocks, and keeps its memory.
type positionsEncoder struct {
	columns [positionColumns][]byte
	all     []byte
}

// append appends the positions of a block, whose runs have the IDs in the order
// of rows.
func (e *positionsEncoder) append(dst []byte, z *zipper, runs []FrameRun, ids []ID) ([]byte, error) {
	for i := range e.columns {
		e.columns[i] = e.columns[i][:0]
	}
	same, next := bitWriter{p: e.columns[2]}, bitWriter{p: e.columns[3]}
	c := &e.columns
	last := uint64(0) // position of the first row of the run before
	for _, r := range runs {
		rows := ids[r.First : r.First+r.Rows]
		c[0] = appendZigzag(c[0], int64(rows[0].Position-last))
		c[1] = binary.AppendUvarint(c[1], uint64(rows[0].Place))
		last = rows[0].Position
		for i, id := range rows[1:] {
			before := rows[i]
			is := id == before.sameRecord()
			if same.append(is); is {
				continue
			}
			is = id == before.nextRecord()
			if next.append(is); is {
				continue
			}
			c[4] = appendZigzag(c[4], int64(id.Position-before.Position))
			c[5] = binary.AppendUvarint(c[5], uint64(id.Place))
		}
	}
	c[2], c[3] = same.p, next.p
	e.all = e.all[:0]
	for _, p := range c[:positionColumns-1] {
		e.all = binary.AppendUvarint(e.all, uint64(len(p)))
	}
	for _, p := range c {
		e.all = append(e.all, p...)
	}
	at := len(dst)
	dst = binary.AppendUvarint(append(dst, flagZip), uint64(len(e.all)))
	from := len(dst)
	dst, err := z.append(dst, e.all)
	if err != nil {
		return dst[:at], err
	}
	if len(dst)-from == len(e.all) { // not compressed
		dst = append(append(dst[:at], 0), e.all...)
	}
	return dst, nil
}

// sameRecord returns the identity of the next entry of the same record,
// nextRecord that of the first entry of the next record.
func (id ID) sameRecord() ID { return ID{id.Position, id.Place + 1} }
func (id ID) nextRecord() ID { return ID{id.Position + 1, 0} }

// parsePositions appends the IDs of all rows of a block with these runs.
func parsePositions(dst []ID, p []byte, runs []FrameRun) ([]ID, error) {
	if len(p) == 0 || p[0]&^flagZip != 0 {
		return dst, errForm
	}
	columns := p[1:]
	if p[0] == flagZip {
		c := decoder{p: columns}
		raw := c.atMost(MaxRead)
		stored := c.rest()
		if c.bad || raw == uint64(len(stored)) {
			return dst, errForm
		}
		var err error
		if columns, err = unzip(nil, stored, int(raw)); err != nil {
			return dst, err
		}
	}
	var d positionsDecoder
	if err := d.open(columns); err != nil {
		return dst, err
	}
	at := len(dst)
	for _, r := range runs {
		// Each later row takes a bit at least, and d.run ends when there are no
		// more: so what is allocated is in proportion to columns.
		if dst = d.run(dst, int(r.Rows)); d.bad() {
			return dst[:at], errForm
		}
	}
	if !d.done() {
		return dst[:at], errForm
	}
	return dst, nil
}

// A positionsDecoder decodes the columns of positions.
type positionsDecoder struct {
	heads, places, steps, stepPlaces decoder
	same, next                       bitReader
	last                             uint64
}

func (d *positionsDecoder) open(p []byte) error {
	c := decoder{p: p}
	var sizes [positionColumns]uint64
	for i := range sizes[:positionColumns-1] {
		sizes[i] = c.uvarint()
	}
	var columns [positionColumns][]byte
	for i := range columns[:positionColumns-1] {
		columns[i] = c.take(sizes[i])
	}
	if c.bad {
		return errForm
	}
	columns[positionColumns-1] = c.rest()
	d.heads.p, d.places.p, d.same.p, d.next.p, d.steps.p, d.stepPlaces.p =
		columns[0], columns[1], columns[2], columns[3], columns[4], columns[5]
	return nil
}

// run appends the IDs of a run of so many rows, fewer if the columns end.
func (d *positionsDecoder) run(dst []ID, rows int) []ID {
	id := ID{Position: d.last + uint64(d.heads.zigzag()), Place: uint32(d.places.atMost(math.MaxUint32))}
	d.last = id.Position
	dst = append(dst, id)
	for range rows - 1 {
		switch {
		case d.bad():
			return dst
		case d.same.next():
			id = id.sameRecord()
		case d.next.next():
			id = id.nextRecord()
		default:
			id = ID{Position: id.Position + uint64(d.steps.zigzag()), Place: uint32(d.stepPlaces.atMost(math.MaxUint32))}
		}
		dst = append(dst, id)
	}
	return dst
}

func (d *positionsDecoder) bad() bool {
	return d.heads.bad || d.places.bad || d.steps.bad || d.stepPlaces.bad || d.same.bad || d.next.bad
}

// done reports whether all columns end here.
func (d *positionsDecoder) done() bool {
	return d.heads.left()+d.places.left()+d.steps.left()+d.stepPlaces.left() == 0 && d.same.done() && d.next.done()
}

// A bitWriter appends bits, the lowest of a byte first.
type bitWriter struct {
	p []byte
	n int
}

func (w *bitWriter) append(bit bool) {
	if w.n%8 == 0 {
		w.p = append(w.p, 0)
	}
	if bit {
		w.p[w.n/8] |= 1 << (w.n % 8)
	}
	w.n++
}

// A bitReader reads what a bitWriter wrote.
type bitReader struct {
	p   []byte
	n   int
	bad bool // there were no more
}

func (r *bitReader) next() bool {
	if r.n/8 >= len(r.p) {
		r.bad = true
		return false
	}
	bit := r.p[r.n/8]>>(r.n%8)&1 != 0
	r.n++
	return bit
}

// done reports whether only zeros follow, up to the end of a byte.
func (r *bitReader) done() bool {
	return !r.bad && (r.n+7)/8 == len(r.p) && (r.n%8 == 0 || r.p[r.n/8]>>(r.n%8) == 0)
}
