package wal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// scanPiece is how many bytes a scanner reads at once.
const scanPiece = 1 << 20

// A record as it is in a segment.
type record struct {
	typ       byte
	pos       Position
	back      uint32
	off, next int64  // where it begins, and where the one behind it does
	payload   []byte // valid until the next call of the scanner
}

// durable is the offset before which all of the segment was durable when the
// record was written.
func (r record) durable() int64 { return r.off - int64(r.back) }

var (
	// errEnd: there is nothing before the limit any more.
	errEnd = errors.New("end of the segment")
	// errInvalid: what is at the scanner's offset is no record of this
	// segment, or not the one that has to follow. scanner.corrupt says why.
	errInvalid = errors.New("no record")
)

// A scanner reads the records of a segment, one after the other, and verifies
// each. It allocates nothing but its buffer. Its zero value is ready for reset.
type scanner struct {
	g   *segment
	off int64
	pos Position // the next data record must have; 0: not known

	buf    []byte // of the file from start on
	start  int64
	reason string // for errInvalid
	// wrong: the checksum there is right and yet it cannot be the next record.
	// No crash leaves that.
	wrong bool
}

// reset has the scanner read g from off on, where the next data record has
// the position pos; 0: whatever the record there says. It keeps its buffer.
func (c *scanner) reset(g *segment, off int64, pos Position) {
	c.g, c.off, c.pos = g, off, pos
	c.buf, c.start = c.buf[:0], off
}

// next returns the record at the scanner's offset, of any type. It reads
// nothing at limit or behind (a reader of a live log gives the end of what is
// acknowledged). errEnd: at the limit, call again with a higher one.
// errInvalid: see corrupt. Other errors are of the file.
func (c *scanner) next(limit int64) (r record, err error) {
	if err := c.head(&r, limit); err != nil {
		return record{}, err
	}
	b, err := c.fill(int(r.next-r.off), limit)
	if err != nil {
		return record{}, err
	}
	r.payload = b[headerSize:]
	if checksum(r.payload) != binary.LittleEndian.Uint32(b[4:]) {
		return record{}, c.invalid("the checksum of the payload is wrong")
	}
	// The sum is right, so these were written so: by another program.
	switch {
	case r.typ == typeEnd && (len(r.payload) != 8 || binary.LittleEndian.Uint64(r.payload) != c.g.number+1):
		return record{}, c.refused("the end record does not name the next segment")
	case r.typ == typeClosed && len(r.payload) != 0:
		return record{}, c.refused("the closed mark has a payload")
	}
	c.pass(r)
	return r, nil
}

// seek moves to the data record pos, or to limit if that is where it will be,
// by the heads of the records alone. pos is not behind the scanner. Errors are
// those of next.
func (c *scanner) seek(pos Position, limit int64) error {
	for {
		var r record
		err := c.head(&r, limit)
		switch {
		case err == errEnd && c.pos == pos:
			return nil
		case err != nil:
			return err
		case r.typ == typeData && r.pos == pos:
			c.pos = pos
			return nil
		case r.typ == typeEnd || r.pos > pos:
			return c.refused("record %d is missing before it", pos)
		}
		c.pass(r)
	}
}

// corrupt is the error for errInvalid.
func (c *scanner) corrupt() *CorruptError {
	return &CorruptError{File: c.g.path, Offset: c.off, Reason: c.reason}
}

func (c *scanner) invalid(reason string) error {
	c.reason, c.wrong = reason, false
	return errInvalid
}

func (c *scanner) refused(reason string, args ...any) error {
	c.reason, c.wrong = fmt.Sprintf(reason, args...), true
	return errInvalid
}

// pass moves behind r.
func (c *scanner) pass(r record) {
	c.off, c.pos = r.next, r.pos
	if r.typ == typeData {
		c.pos++
	}
}

// head reads and verifies the head of the record at the scanner's offset, into
// r: to hand such a structure back from function to function takes longer than
// all the rest for a short record.
func (c *scanner) head(r *record, limit int64) error {
	limit = min(limit, c.g.size)
	if c.off >= limit {
		return errEnd
	}
	if c.off+headerSize > limit {
		return c.invalid("a record does not fit before the end")
	}
	b, err := c.fill(headerSize, limit)
	if err != nil {
		return err
	}
	switch {
	case !r.parse(b, c.g.seed, c.off):
		return c.invalid("there is no head of a record with a right checksum")
	case r.typ < typeData || r.typ > typePad:
		return c.refused("type %d of a record is not known", r.typ)
	case r.pos == 0:
		return c.refused("the record has no position")
	case c.pos != 0 && r.pos != c.pos:
		return c.refused("the record has position %d, not %d", r.pos, c.pos)
	case r.durable() < firstOffset:
		return c.refused("the record refers to what is before the first")
	case r.next > limit:
		return c.refused("the record does not fit before the end")
	}
	return nil
}

// parse reads the head b of a record at off, and reports whether its sum is
// right.
func (r *record) parse(b []byte, seed uint32, off int64) bool {
	if binary.LittleEndian.Uint32(b) != headSum(seed, off, b) {
		return false
	}
	word := binary.LittleEndian.Uint32(b[8:])
	r.typ = byte(word >> 24)
	r.back = binary.LittleEndian.Uint32(b[12:])
	r.pos = Position(binary.LittleEndian.Uint64(b[16:]))
	r.off = off
	r.next = off + headerSize + int64(word&0xffffff)
	return true
}

// fill returns n bytes from the scanner's offset on. They end before limit.
func (c *scanner) fill(n int, limit int64) ([]byte, error) {
	at := c.off - c.start
	if at <= int64(len(c.buf)) && at+int64(n) <= int64(len(c.buf)) {
		return c.buf[at : at+int64(n)], nil
	}
	kept := 0
	if at < int64(len(c.buf)) {
		kept = copy(c.buf, c.buf[at:])
	}
	if n > cap(c.buf) {
		piece := min(scanPiece, int(c.g.size))
		c.buf = append(make([]byte, 0, max(n, piece)), c.buf[:kept]...)
	}
	c.start = c.off
	c.buf = c.buf[:min(int64(cap(c.buf)), limit-c.off)]
	m, err := c.g.file.ReadAt(c.buf[kept:], c.off+int64(kept))
	c.buf = c.buf[:kept+m]
	if len(c.buf) >= n {
		return c.buf[:n], nil // an error comes again
	}
	if err == io.EOF {
		return nil, c.invalid(fmt.Sprintf("the file ends at %d bytes", c.start+int64(len(c.buf))))
	}
	return nil, fmt.Errorf("wal: %w", err)
}

// seedOf is segment.seed for a salt.
func seedOf(salt uint64) uint32 { return addUint64(0, salt) }

// sumOf is the CRC-32C of headers and META.
func sumOf(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }
