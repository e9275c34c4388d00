package block

import (
	"encoding/binary"
)

// Sections of version 2 in the order of the layout. Behind the last one, texts of columns
// have sections of their own.
const (
	section2Times = iota
	section2TimeBits
	section2Rows // the template of each row
	section2Packed
	section2Texts
	section2Meta
	section2MetaLengths
	sections2
)

const (
	// maxColumns bounds the columns of a block. The last one takes all that are left.
	maxColumns = 1 << 12
	// ownText is how many bytes of text have a section of their own. Less are compressed
	// together, since columns of one block have much in common: of the logs of a package
	// manager, that takes a quarter less.
	ownText = 1 << 15

	maxSlots2    = 1 << 20 // of all templates of a block
	maxSections2 = sections2 + maxColumns
	maxHead      = binary.MaxVarintLen32 * (1 + maxTemplates + maxSlots2 + 3*maxColumns + 1 + 3*maxSections2)
)

// A head2 is the head of a block of version 2: which columns the slots of its templates
// have, and where these are.
type head2 struct {
	slots    []uint32 // the columns of the slots of all templates
	first    []uint32 // of each template, where its slots begin, and one more
	columns  []columnEntry
	sections []section
}

// A columnEntry says where a column is.
type columnEntry struct {
	packed, text uint32 // bytes
	own          uint32 // one more than its place among the sections of single texts, 0: section2Texts
	packedAt     uint32
	textAt       uint32
	count        uint32 // of its values
}

// maxTimeBits2 returns the most bytes of time bits and marks of a block of version 2.
func maxTimeBits2(rows int) int {
	return timeBits(rows, maxTimeBits) + (rows-1)/pieceRows*2*binary.MaxVarintLen64
}

func (h *head2) reset() {
	h.slots, h.first, h.columns, h.sections = h.slots[:0], append(h.first[:0], 0), h.columns[:0], h.sections[:0]
}

// append appends the head.
func (h *head2) append(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(h.columns)))
	for i, from := range h.first[:len(h.first)-1] {
		slots := h.slots[from:h.first[i+1]]
		dst = binary.AppendUvarint(dst, uint64(len(slots)))
		for _, c := range slots {
			dst = binary.AppendUvarint(dst, uint64(c))
		}
	}
	for _, c := range h.columns {
		dst = binary.AppendUvarint(dst, uint64(c.packed))
		dst = binary.AppendUvarint(dst, uint64(c.text))
		dst = binary.AppendUvarint(dst, uint64(c.own))
	}
	sections := h.sections[section2Rows:] // the header has those before
	dst = binary.AppendUvarint(dst, uint64(len(sections)))
	for _, s := range sections {
		dst = binary.AppendUvarint(dst, uint64(s.raw))
		dst = binary.AppendUvarint(dst, uint64(s.raw-s.stored))
		dst = binary.LittleEndian.AppendUint32(dst, s.sum)
	}
	return dst
}

// A headReader decodes numbers of a head. Its first error stays.
type headReader struct {
	p   []byte
	err error
}

// number returns the next number, 0 after an error.
func (r *headReader) number(most uint64, what string) uint32 {
	if r.err != nil {
		return 0
	}
	if len(r.p) > 0 && r.p[0] < 0x80 && uint64(r.p[0]) <= most { // nearly always
		v := r.p[0]
		r.p = r.p[1:]
		return uint32(v)
	}
	v, n := binary.Uvarint(r.p)
	if n <= 0 || v > most {
		r.err = damaged("the head has %d %s; want at most %d", v, what, most)
		return 0
	}
	r.p = r.p[n:]
	return uint32(v)
}

// parse decodes the head p of the block of a header, with a table.
func (h *head2) parse(p []byte, of *header2, table []TemplateRows) error {
	h.reset()
	rows := of.rows
	h.sections = append(h.sections, of.times[:]...)
	r := headReader{p: p}
	columns := int(r.number(min(maxColumns, uint64(len(p))), "columns"))
	for range columns {
		h.columns = append(h.columns, columnEntry{})
	}
	all := uint64(0) // values
	for _, t := range table {
		slots := r.number(min(uint64(len(r.p)), maxSlots2-uint64(len(h.slots))), "slots")
		for range slots {
			var c uint32
			if len(r.p) > 0 && r.p[0] < 0x80 && int(r.p[0]) < columns { // nearly always
				c, r.p = uint32(r.p[0]), r.p[1:]
			} else if c = r.number(uint64(max(columns, 1)-1), "as a column"); r.err != nil || columns == 0 {
				return damaged("slots without a column")
			}
			h.slots = append(h.slots, c)
			h.columns[c].count += t.Rows
			all += uint64(t.Rows)
			// Of the variables of a line, only that of a plain one may be empty.
			if h.columns[c].count > maxValues || all > uint64(MaxRaw+rows) {
				return damaged("column %d has more than %d values, or all together more than %d", c, maxValues, MaxRaw+rows)
			}
		}
		h.first = append(h.first, uint32(len(h.slots)))
	}
	if err := h.parseColumns(&r); err != nil {
		return err
	}
	return h.parseSections(&r, rows)
}

func (h *head2) parseColumns(r *headReader) error {
	var packed, texts, own uint64
	for i := range h.columns {
		c := &h.columns[i]
		if p := r.p; len(p) >= 3 && (p[0]|p[1])&0x80 == 0 && p[2] == 0 { // nearly always
			c.packed, c.text, c.own, r.p = uint32(p[0]), uint32(p[1]), 0, p[3:]
		} else {
			c.packed = r.number(maxFrame, "bytes of a column")
			c.text = r.number(maxFrame, "bytes of a text")
			c.own = r.number(own+1, "as a section")
		}
		c.packedAt, c.textAt = uint32(packed), uint32(texts)
		packed += uint64(c.packed)
		switch {
		case c.own == 0:
			texts += uint64(c.text)
		case uint64(c.own) != own+1:
			return damaged("column %d has section %d; want %d", i, c.own, own+1)
		default:
			c.textAt = 0
			own++
		}
		if r.err == nil && packed+texts > maxFrame {
			return damaged("more than %d bytes of columns", maxFrame)
		}
	}
	return r.err
}

// parseSections decodes the entries of the sections, and verifies that they have what the
// columns say.
func (h *head2) parseSections(r *headReader, rows int) error {
	n := int(r.number(maxSections2, "sections"))
	for range n {
		s := section{raw: r.number(maxFrame, "bytes of a section")}
		saved := r.number(uint64(s.raw), "bytes less as stored")
		if r.err != nil {
			return r.err
		}
		if len(r.p) < 4 {
			return damaged("the head ends before all sections")
		}
		s.stored, s.compressed = s.raw-saved, saved > 0
		s.sum = binary.LittleEndian.Uint32(r.p)
		r.p = r.p[4:]
		h.sections = append(h.sections, s)
	}
	if r.err != nil {
		return r.err
	}
	if len(r.p) > 0 {
		return damaged("%d bytes after the head", len(r.p))
	}
	return h.check(rows)
}

// check verifies the sizes of the sections.
func (h *head2) check(rows int) error {
	var packed, texts, all uint64
	own := 0
	for i := range h.columns {
		c := &h.columns[i]
		packed += uint64(c.packed)
		if c.own == 0 {
			texts += uint64(c.text)
			continue
		}
		if own++; sections2+own > len(h.sections) || h.sections[sections2+own-1].raw != c.text {
			return damaged("the text of column %d is not in a section", i)
		}
	}
	if len(h.sections) != sections2+own {
		return damaged("%d sections; want %d", len(h.sections), sections2+own)
	}
	for i, most := range [...]int{2 * rows, int(packed), int(texts), MaxRaw + rows, rows * binary.MaxVarintLen32} {
		if i += section2Rows; int64(h.sections[i].raw) > int64(most) {
			return damaged("section %d has %d bytes for %d rows", i, h.sections[i].raw, rows)
		}
	}
	for _, s := range h.sections {
		all += uint64(s.raw)
	}
	if uint64(h.sections[section2Packed].raw) != packed || uint64(h.sections[section2Texts].raw) != texts || all > 3*maxFrame {
		return damaged("its sections are not as large as its columns")
	}
	return nil
}
