package wal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// scanChunk is the number of bytes that a scanner reads at once.
const scanChunk = 1 << 20

// A record is a record in a segment.
type record struct {
	typ       byte
	pos       Position
	back      uint32
	off, next int64  // offsets of it and of the next record
	payload   []byte // valid until the next call of the scanner
}

// durable returns the offset before which all of the segment was durable when
// the record was written.
func (r record) durable() int64 { return r.off - int64(r.back) }

var (
	// errEnd means that the scanner is at the limit.
	errEnd = errors.New("end of the segment")
	// errInvalid means that there is no record of the segment at the scanner's
	// offset, or not the one that must follow. scanner.corrupt has the reason.
	errInvalid = errors.New("no record")
)

// A scanner reads and verifies the records of a segment, one after the other. It
// allocates its buffer only. The zero value is ready for reset.
type scanner struct {
	g   *segment
	off int64
	pos Position // of the next data record; 0: not known

	buf    []byte // of the file from start on
	start  int64
	reason string // for errInvalid
	// damage is set with errInvalid if the record has the right checksum and yet
	// cannot be the next one, which no crash leaves.
	damage bool
}

// reset makes the scanner read g from off on, where the next data record has
// position pos; 0 accepts any. It keeps its buffer.
func (c *scanner) reset(g *segment, off int64, pos Position) {
	c.g, c.off, c.pos = g, off, pos
	c.buf, c.start = c.buf[:0], off
}

// next returns the record at the scanner's offset, of any type. It reads nothing
// from limit on, the end of what is acknowledged in a live log. At the limit it
// returns errEnd; call it again with a higher one. For errInvalid see corrupt.
// Other errors are those of the file.
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
	// The checksum is right, so another program wrote these.
	switch {
	case r.typ == typeEnd && (len(r.payload) != 8 || binary.LittleEndian.Uint64(r.payload) != c.g.number+1):
		return record{}, c.damaged("the end record does not name the next segment")
	case r.typ == typeClosed && len(r.payload) != 0:
		return record{}, c.damaged("the closed mark has a payload")
	}
	c.skip(r)
	return r, nil
}

// seek moves to the data record pos, which is not before the scanner, or to
// limit if pos is the next one to be written. It reads the heads of the records
// only. Its errors are those of next.
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
			return c.damaged("record %d is missing before it", pos)
		}
		c.skip(r)
	}
}

// corrupt returns the error for errInvalid.
func (c *scanner) corrupt() *CorruptError {
	return &CorruptError{File: c.g.path, Offset: c.off, Reason: c.reason}
}

func (c *scanner) invalid(reason string) error {
	c.reason, c.damage = reason, false
	return errInvalid
}

func (c *scanner) damaged(reason string, args ...any) error {
	c.reason, c.damage = fmt.Sprintf(reason, args...), true
	return errInvalid
}

// skip moves past r.
func (c *scanner) skip(r record) {
	c.off, c.pos = r.next, r.pos
	if r.typ == typeData {
		c.pos++
	}
}

// head reads and verifies the head of the record at the scanner's offset into r.
// To return the struct through several functions would take longer than all the
// rest for a short record.
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
		return c.damaged("the record has the unknown type %d", r.typ)
	case r.pos == 0:
		return c.damaged("the record has no position")
	case c.pos != 0 && r.pos != c.pos:
		return c.damaged("the record has position %d, not %d", r.pos, c.pos)
	case r.durable() < firstOffset:
		return c.damaged("the record refers to an offset before the first record")
	case r.next > limit:
		return c.damaged("the record does not fit before the end")
	}
	return nil
}

// parse reads the head b of a record at off, and reports whether its checksum is
// right.
func (r *record) parse(b []byte, seed uint32, off int64) bool {
	if binary.LittleEndian.Uint32(b) != headSum(seed, off, b) {
		return false
	}
	r.decode(b, off)
	return true
}

// decode reads the head b of a record at off without its checksum.
func (r *record) decode(b []byte, off int64) {
	word := binary.LittleEndian.Uint32(b[8:])
	r.typ = byte(word >> 24)
	r.back = binary.LittleEndian.Uint32(b[12:])
	r.pos = Position(binary.LittleEndian.Uint64(b[16:]))
	r.off = off
	r.next = off + headerSize + int64(word&0xffffff)
}

// fits reports whether a record that was found by a search may be one of a
// segment of size bytes.
func (r *record) fits(size int64) bool {
	return typeData <= r.typ && r.typ <= typePad && r.next <= size && r.durable() >= firstOffset
}

// fill returns n bytes at the scanner's offset. They do not reach over limit.
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
		piece := min(scanChunk, int(c.g.size))
		c.buf = append(make([]byte, 0, max(n, piece)), c.buf[:kept]...)
	}
	c.start = c.off
	c.buf = c.buf[:min(int64(cap(c.buf)), limit-c.off)]
	m, err := c.g.file.ReadAt(c.buf[kept:], c.off+int64(kept))
	c.buf = c.buf[:kept+m]
	if len(c.buf) >= n {
		return c.buf[:n], nil // an error will return
	}
	if err == io.EOF {
		return nil, c.invalid(fmt.Sprintf("the file ends at %d bytes", c.start+int64(len(c.buf))))
	}
	return nil, fmt.Errorf("wal: %w", err)
}

// seedOf returns segment.seed for a salt.
func seedOf(salt uint64) uint32 { return addUint64(0, salt) }

// sumOf returns the CRC-32C of a header or a slot of META.
func sumOf(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }
