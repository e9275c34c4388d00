package block

import (
	"encoding/binary"
	"errors"
	"iter"
	"math"
)

// The header of version 2 and the table behind it, which is all of a block that depends
// on the dictionary of its segment: so a merge rewrites these and copies the rest. The
// package comment draws them.
const (
	version2 = 2

	header2Size  = 56
	header2SumAt = header2Size - 4

	// headCompressed is the flag of a head that is a zstd frame.
	headCompressed = 1

	// maxTemplates bounds the templates of a block, and maxEntry is the most bytes that
	// one takes in the table.
	maxTemplates = 1 << 16
	maxEntry     = binary.MaxVarintLen64 + binary.MaxVarintLen32
)

var errNoTable = errors.New("block: a block of version 1 has no table")

// A header2 is the first bytes of a block of version 2.
type header2 struct {
	rows       int
	compressed bool   // the head
	headStored uint32 // bytes
	headRaw    uint32
	headSum    uint32 // of the head as stored
	templates  int
	table      uint32 // bytes
	tableSum   uint32
	times      [section2Rows]section // and time bits
}

// put encodes the header into p.
func (h *header2) put(p []byte) {
	clear(p[:header2Size])
	p[0] = version2
	if h.compressed {
		p[1] = headCompressed
	}
	times, low := &h.times[section2Times], &h.times[section2TimeBits]
	for i, v := range [...]uint32{
		uint32(h.rows), h.headStored, h.headRaw, uint32(h.templates), h.headSum, h.table, h.tableSum,
		times.stored, times.raw, times.sum, low.stored, low.sum,
	} {
		binary.LittleEndian.PutUint32(p[4+4*i:], v)
	}
	binary.LittleEndian.PutUint32(p[header2SumAt:], checksum(p[:header2SumAt]))
}

// parse decodes the header that p begins with, and verifies its bounds; how large a
// head may be is the caller's to verify.
func (h *header2) parse(p []byte) error {
	if len(p) < header2Size {
		return ErrShort
	}
	if binary.LittleEndian.Uint32(p[header2SumAt:]) != checksum(p[:header2SumAt]) {
		return damaged("the checksum of the header does not match")
	}
	var v [12]uint32
	for i := range v {
		v[i] = binary.LittleEndian.Uint32(p[4+4*i:])
	}
	*h = header2{
		compressed: p[1]&headCompressed != 0, headStored: v[1], headRaw: v[2], headSum: v[4], table: v[5], tableSum: v[6],
	}
	h.times[section2Times] = section{stored: v[7], raw: v[8], sum: v[9], compressed: v[7] < v[8]}
	h.times[section2TimeBits] = section{stored: v[10], raw: v[10], sum: v[11]}
	switch {
	case p[1]&^headCompressed != 0 || p[2] != 0 || p[3] != 0:
		return damaged("the header has unknown bits")
	case v[0] == 0 || v[0] > MaxRows:
		return damaged("%d rows; want 1 to %d", v[0], MaxRows)
	case v[3] == 0 || v[3] > min(v[0], maxTemplates):
		return damaged("%d templates of %d rows; want 1 to %d", v[3], v[0], min(v[0], maxTemplates))
	case v[5] < 2*v[3] || v[5] > maxEntry*v[3]:
		return damaged("a table of %d bytes for %d templates", v[5], v[3])
	case h.compressed && v[1] >= v[2] || !h.compressed && v[1] != v[2]:
		return damaged("the head stores %d bytes in %d", v[2], v[1])
	case v[7] > v[8] || int64(v[8]) > int64(maxSection(sectionTimes, int(v[0]))):
		return damaged("%d bytes of times, stored in %d, for %d rows", v[8], v[7], v[0])
	case int64(v[10]) > int64(maxTimeBits2(int(v[0]))):
		return damaged("%d bytes of time bits for %d rows", v[10], v[0])
	}
	h.rows, h.templates = int(v[0]), int(v[3])
	return nil
}

// A TemplateRows is an entry of the table of a block: a template, by its number in the
// dictionary, and of how many rows it is. Rows name templates by their place in the table.
type TemplateRows struct{ ID, Rows uint32 }

// timesOf returns the stored times and time bits of the block of h, which p begins, and what
// follows them.
func (h *header2) timesOf(p []byte) (times, low, rest []byte, err error) {
	n := [...]uint64{uint64(h.table) + header2Size, uint64(h.times[section2Times].stored), uint64(h.times[section2TimeBits].stored)}
	if uint64(len(p)) < n[0]+n[1]+n[2] {
		return nil, nil, nil, ErrShort
	}
	p = p[n[0]:]
	return p[:n[1]], p[n[1]:][:n[2]], p[n[1]+n[2]:], nil
}

// tableOf returns the stored table of the block of h, which p begins.
func (h *header2) tableOf(p []byte) ([]byte, error) {
	if uint64(len(p)) < header2Size+uint64(h.table) {
		return nil, ErrShort
	}
	p = p[header2Size:][:h.table]
	if checksum(p) != h.tableSum {
		return nil, damaged("the checksum of the table does not match")
	}
	return p, nil
}

// entries ranges over the entries of a stored table, which has those of all rows. It
// sets err if it does not, or is not well-formed.
func (h *header2) entries(p []byte, err *error) iter.Seq[TemplateRows] {
	return func(yield func(TemplateRows) bool) {
		id, rows := int64(0), uint64(0)
		for i := range h.templates {
			step, n := binary.Varint(p)
			if n <= 0 || step < -id || step > math.MaxUint32-id {
				*err = damaged("entry %d of the table", i)
				return
			}
			count, m := binary.Uvarint(p[n:])
			if m <= 0 || count == 0 || count > uint64(h.rows)-rows {
				*err = damaged("entry %d of the table has %d rows; want 1 to %d", i, count, uint64(h.rows)-rows)
				return
			}
			id += step
			rows += count
			p = p[n+m:]
			if !yield(TemplateRows{ID: uint32(id), Rows: uint32(count)}) {
				return
			}
		}
		if rows != uint64(h.rows) || len(p) > 0 {
			*err = damaged("the table has %d rows, and %d bytes behind them; want %d rows", rows, len(p), h.rows)
		}
	}
}

// appendTable appends the table of a block.
func appendTable(dst []byte, table []TemplateRows) []byte {
	last := uint32(0)
	for _, t := range table {
		dst = appendEntry(dst, last, t)
		last = t.ID
	}
	return dst
}

// appendEntry appends an entry of a table; last is the number of the template before.
func appendEntry(dst []byte, last uint32, t TemplateRows) []byte {
	dst = binary.AppendVarint(dst, int64(t.ID)-int64(last))
	return binary.AppendUvarint(dst, uint64(t.Rows))
}

// open2 decodes the header of a block of version 2 that p begins.
func (h *header2) open2(p []byte) error {
	switch {
	case len(p) == 0:
		return ErrShort
	case p[0] > version2:
		return &VersionError{Version: p[0]}
	case p[0] == version1:
		return errNoTable
	case p[0] != version2:
		return damaged("version %d; want %d", p[0], version2)
	}
	return h.parse(p)
}

// Table appends the entries of the table of a block of version 2, of which p has at
// least the first bytes, in the order of the table. Their rows are all of the block. The
// error wraps ErrDamaged or, if more of the block is needed, ErrShort.
func Table(dst []TemplateRows, p []byte) ([]TemplateRows, error) {
	var h header2
	if err := h.open2(p); err != nil {
		return dst, err
	}
	stored, err := h.tableOf(p)
	if err != nil {
		return dst, err
	}
	start := len(dst)
	for t := range h.entries(stored, &err) {
		dst = append(dst, t)
	}
	if err != nil {
		return dst[:start], err
	}
	return dst, nil
}

// TableBytes is how many of the first bytes of a block have the table, if it has so many
// templates.
func TableBytes(templates int) int { return header2Size + maxEntry*templates }

// Remap appends the block p, of version 2, to dst, for a dictionary in which the template
// with the number old has the number id(old). Only the header and the table are verified,
// and change; the rest is copied. The error wraps ErrDamaged.
func Remap(dst, p []byte, id func(old uint32) uint32) ([]byte, error) {
	var h header2
	err := h.open2(p)
	var stored []byte
	if err == nil {
		stored, err = h.tableOf(p)
	}
	if errors.Is(err, ErrShort) {
		err = damaged("%d bytes; want a header and its table", len(p))
	}
	if err != nil {
		return dst, err
	}
	start, last := len(dst), uint32(0)
	dst = append(dst, p[:header2Size]...)
	for t := range h.entries(stored, &err) {
		t.ID = id(t.ID)
		dst = appendEntry(dst, last, t)
		last = t.ID
	}
	if err != nil {
		return dst[:start], err
	}
	rest := p[header2Size+h.table:]
	table := dst[start+header2Size:]
	h.table, h.tableSum = uint32(len(table)), checksum(table)
	h.put(dst[start:])
	return append(dst, rest...), nil
}
