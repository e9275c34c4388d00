package block

import (
	"slices"

	"github.com/stele-go/stele/logstore/internal/column"
	"github.com/stele-go/stele/logstore/internal/template"
)

// A decoder2 reads blocks of version 2.
type decoder2 struct {
	zip       decompressor
	header    header2
	table     []TemplateRows
	head      head2
	stored    [][]byte // of each section
	small     []byte   // the raw bytes of a section that is not kept
	headBytes []byte

	dictionary  *template.Dictionary
	rowsOf      []uint16 // the place of its template in the table, of each row
	counts      []uint32 // of the rows of each template
	columns     keptColumns
	isOpen      []bool // of each column
	packed      []byte // nil: not yet read
	packedBytes []byte
	pool        []byte
	hasPool     bool
	poolBytes   []byte
	ownTexts    [][]byte       // nil: not yet read
	memory      *column.Memory // of columns
	times2      timeReader
	// least and greatest are what no time of a row lies beyond, if hasSpan is set.
	least, greatest int64
	hasSpan         bool
	timesBytes      []byte // of times2
	columnTimes     []int64
	lines2          rebuilding
	counter         valueCounter
	uses            []uint32 // of a column, by each template
	searches        search2
	fieldsOf        fields2
}

func (d *decoder2) openTimes(p []byte) (rows int, err error) {
	d.stored, d.packed, d.hasPool, d.hasSpan = d.stored[:0], nil, false, false
	d.times2.release()
	if err := d.header.parse(p); err != nil {
		return 0, err
	}
	times, low, _, err := d.header.timesOf(p)
	if err != nil {
		return 0, err
	}
	d.stored = append(d.stored, times, low)
	return d.header.rows, nil
}

// open opens the block of which the times are open.
func (d *decoder2) open(p []byte) (err error) {
	rest, err := d.openHead(p)
	if err != nil {
		return err
	}
	for i, s := range d.head.sections[section2Rows:] {
		if uint64(s.stored) > uint64(len(rest)) {
			return damaged("section %d ends behind the block", i+section2Rows)
		}
		d.stored = append(d.stored, rest[:s.stored])
		rest = rest[s.stored:]
	}
	if len(rest) > 0 {
		return damaged("%d bytes after the last section", len(rest))
	}
	return d.checkTemplates()
}

// openHead decodes the table and the head, and returns the sections behind it.
func (d *decoder2) openHead(p []byte) (rest []byte, err error) {
	d.table, d.rowsOf, d.isOpen, d.ownTexts = d.table[:0], d.rowsOf[:0], d.isOpen[:0], d.ownTexts[:0]
	if d.memory == nil {
		d.memory = new(column.Memory)
	}
	d.memory.Reset()
	h := &d.header
	stored, err := h.tableOf(p)
	if err != nil {
		return nil, err
	}
	for t := range h.entries(stored, &err) {
		d.table = append(d.table, t)
	}
	if err != nil {
		return nil, err
	}
	if _, _, rest, err = h.timesOf(p); err != nil {
		return nil, err
	}
	if uint64(h.headStored) > uint64(len(rest)) {
		return nil, ErrShort
	}
	head := rest[:h.headStored]
	if checksum(head) != h.headSum || h.headRaw > maxHead {
		return nil, damaged("the checksum of the head does not match")
	}
	if h.compressed {
		if d.headBytes, err = d.zip.decompress(d.headBytes, head, int(h.headRaw)); err != nil {
			return nil, err
		}
		head = d.headBytes
	}
	return rest[h.headStored:], d.head.parse(head, h, d.table)
}

// checkTemplates verifies that the dictionary has the templates, with as many slots.
func (d *decoder2) checkTemplates() error {
	if d.dictionary == nil {
		return ErrNoDictionary
	}
	for i, t := range d.table {
		if int64(t.ID) >= int64(d.dictionary.Len()) {
			return damaged("template %d of a dictionary of %d", t.ID, d.dictionary.Len())
		}
		if n := int(d.head.first[i+1] - d.head.first[i]); n != d.dictionary.At(t.ID).Slots() {
			return damaged("template %d has %d slots; want %d", t.ID, d.dictionary.At(t.ID).Slots(), n)
		}
	}
	return nil
}

// section returns the raw bytes of a section, in memory if it was compressed.
func (d *decoder2) section(id int, memory []byte) (raw, kept []byte, err error) {
	return d.raw(&d.head.sections[id], d.stored[id], memory, id)
}

func (d *decoder2) raw(s *section, p, memory []byte, id int) (raw, kept []byte, err error) {
	if len(p) > 0 && checksum(p) != s.sum {
		return nil, memory, damaged("the checksum of section %d is wrong", id)
	}
	if !s.compressed {
		return p, memory, nil
	}
	memory, err = d.zip.decompress(memory, p, int(s.raw))
	return memory, memory, err
}

func (d *decoder2) times() (_ *timeReader, err error) {
	r := &d.times2
	if r.rows > 0 {
		return r, nil
	}
	h, p, low := &d.header, d.stored[section2Times], d.stored[section2TimeBits]
	if p, d.timesBytes, err = d.raw(&h.times[section2Times], p, d.timesBytes, section2Times); err != nil {
		return nil, err
	}
	if low, _, err = d.raw(&h.times[section2TimeBits], low, nil, section2TimeBits); err == nil {
		err = r.open(p, low, h.rows, true)
	}
	return r, err
}

// metadata decodes metadata as version 1 does.
func (d *decoder2) metadata(meta *texts) error {
	rows := d.header.rows
	raw, memory, err := d.section(section2Meta, meta.text)
	if err != nil {
		return err
	}
	if !d.head.sections[section2Meta].compressed {
		memory = append(memory, raw...)
	}
	meta.text = memory
	var lengths []byte
	if lengths, d.small, err = d.section(section2MetaLengths, d.small); err == nil && len(meta.text)+len(lengths) > 0 {
		if len(lengths) == 0 {
			err = meta.split(rows)
		} else {
			err = meta.cut(lengths, rows)
		}
	}
	if err != nil {
		meta.reset()
	}
	return err
}

// lines makes all lines of their templates and columns.
func (d *decoder2) lines(lines, meta *texts) error {
	err := d.metadata(meta)
	if err == nil {
		err = d.openVarying(true)
	}
	if err == nil {
		err = d.rebuild(lines, nil)
	}
	if err != nil {
		lines.reset()
		meta.reset()
	}
	return err
}

// openColumns decodes the templates of the rows and opens all columns.
func (d *decoder2) openColumns() error {
	if err := d.openRows(); err != nil {
		return err
	}
	for i := range d.head.columns {
		if _, err := d.columnAt(uint32(i)); err != nil {
			return err
		}
	}
	return nil
}

// columnAt returns a column, which it opens if it is not open yet. The templates of the
// rows must have been decoded.
func (d *decoder2) columnAt(i uint32) (*column.Column, error) {
	if len(d.isOpen) == 0 {
		d.isOpen = append(d.isOpen, make([]bool, len(d.head.columns))...)
	}
	if !d.isOpen[i] {
		if err := d.openColumn(int(i)); err != nil {
			return nil, err
		}
		d.isOpen[i] = true
	}
	return d.columns.all[i], nil
}

func (d *decoder2) openColumn(i int) (err error) {
	c := &d.head.columns[i]
	if err := d.openPacked(); err != nil {
		return err
	}
	packed := d.packed[c.packedAt:][:c.packed]
	text, err := d.textOf(i)
	if err != nil {
		return err
	}
	var times []int64
	if column.TimesNeeded(packed) {
		if times, err = d.timesOfColumn(uint32(i)); err != nil {
			return err
		}
	}
	if err := d.columns.use(i, d.memory).Open(packed, text, int(c.count), times); err != nil {
		return damaged("column %d: %v", i, err)
	}
	return nil
}

// textOf returns the text of a column.
func (d *decoder2) textOf(i int) (text []byte, err error) {
	c := &d.head.columns[i]
	switch {
	case c.own > 0:
		for len(d.ownTexts) < int(c.own) {
			d.ownTexts = append(d.ownTexts, nil)
		}
		if text = d.ownTexts[c.own-1]; text == nil {
			if text, err = d.ownText(sections2 + int(c.own) - 1); err == nil {
				d.ownTexts[c.own-1] = text
			}
		}
	case c.text > 0:
		text, err = d.pooled()
	}
	if err != nil || c.text == 0 {
		return nil, err
	}
	return text[c.textAt:][:c.text], nil
}

// openPacked reads the packed bytes of all columns.
func (d *decoder2) openPacked() (err error) {
	if d.packed == nil {
		if d.packed, d.packedBytes, err = d.section(section2Packed, d.packedBytes); err != nil {
			d.packed = nil
		}
	}
	return err
}

// pooled returns the texts that have no sections of their own.
func (d *decoder2) pooled() (_ []byte, err error) {
	if !d.hasPool {
		if d.pool, d.poolBytes, err = d.section(section2Texts, d.poolBytes); err != nil {
			return nil, err
		}
		d.hasPool = true
	}
	return d.pool, nil
}

// ownText returns the text of one column.
func (d *decoder2) ownText(section int) (text []byte, err error) {
	var memory []byte
	if s := &d.head.sections[section]; s.compressed {
		memory = d.memory.Bytes(int(s.raw) + overrun)
	}
	text, _, err = d.section(section, memory)
	return text, err
}

// timesOfColumn returns the times of the rows of the values of a column.
func (d *decoder2) timesOfColumn(c uint32) (_ []int64, err error) {
	r, err := d.times()
	if err != nil {
		return nil, err
	}
	timesOf, err := r.all()
	if err != nil {
		return nil, err
	}
	d.uses = append(d.uses[:0], make([]uint32, len(d.table))...) // slots of each template
	most := uint32(0)
	for k := range d.table {
		for _, of := range d.head.slots[d.head.first[k]:d.head.first[k+1]] {
			if of == c {
				d.uses[k]++
				most = max(most, d.uses[k])
			}
		}
	}
	count := int(d.head.columns[c].count)
	if most == 1 && count == len(timesOf) {
		return timesOf, nil
	}
	times := slices.Grow(d.columnTimes[:0], count+1)[:count+1] // with space for one that is not of the column
	at := uint32(0)
	if most == 1 {
		for row, k := range d.rowsOf {
			times[at] = timesOf[row]
			at += d.uses[k]
		}
		d.columnTimes = times[:count]
		return d.columnTimes, nil
	}
	for row, k := range d.rowsOf {
		times[at] = timesOf[row]
		at += min(d.uses[k], 1)
		for range max(d.uses[k], 1) - 1 {
			times[at] = timesOf[row]
			at++
		}
	}
	d.columnTimes = times[:count]
	return d.columnTimes, nil
}

// openRows decodes the templates of the rows.
func (d *decoder2) openRows() error {
	if len(d.rowsOf) > 0 {
		return nil
	}
	p, memory, err := d.section(section2Rows, d.small)
	d.small = memory
	if err != nil {
		return err
	}
	n := d.header.rows
	wide := len(d.table) > 1<<8
	if len(p) != n && !wide || len(p) != 2*n && wide {
		return damaged("%d bytes say which templates %d rows have", len(p), n)
	}
	d.counts = append(d.counts[:0], make([]uint32, max(len(d.table), 1<<8))...)
	d.rowsOf = slices.Grow(d.rowsOf[:0], n)[:n]
	if !wide {
		d.countRows(p)
	} else {
		for i, k := range p[:n] {
			k := uint16(k) | uint16(p[n+i])<<8
			if int(k) >= len(d.table) {
				d.rowsOf = d.rowsOf[:0]
				return damaged("row %d has template %d of %d", i, k, len(d.table))
			}
			d.counts[k]++
			d.rowsOf[i] = k
		}
	}
	for k, t := range d.table {
		if d.counts[k] != t.Rows {
			d.rowsOf = d.rowsOf[:0]
			return damaged("%d rows have template %d; want %d", d.counts[k], k, t.Rows)
		}
	}
	return nil
}

// countRows decodes the templates of the rows of a block with few. Places that are not of the
// table are found by the counts of the others. It counts in turns, as rows next to each other
// mostly have the same template.
func (d *decoder2) countRows(p []byte) {
	var counts [4][1 << 8]uint32
	rows := d.rowsOf[:len(p)]
	i := 0
	for ; i+4 <= len(p); i += 4 {
		q, of := p[i:i+4:i+4], rows[i:i+4:i+4]
		counts[0][q[0]]++
		counts[1][q[1]]++
		counts[2][q[2]]++
		counts[3][q[3]]++
		of[0], of[1], of[2], of[3] = uint16(q[0]), uint16(q[1]), uint16(q[2]), uint16(q[3])
	}
	for ; i < len(p); i++ {
		counts[0][p[i]]++
		rows[i] = uint16(p[i])
	}
	for k := range d.counts[:1<<8] {
		d.counts[k] = counts[0][k] + counts[1][k] + counts[2][k] + counts[3][k]
	}
}

// release forgets the block, and what was kept of its dictionary and its searches.
func (d *decoder2) release() {
	d.dictionary, d.packed, d.pool, d.hasPool = nil, nil, nil, false
	d.times2.release()
	clear(d.stored[:cap(d.stored)])
	clear(d.ownTexts[:cap(d.ownTexts)])
	d.lines2.release()
	d.columns.release()
	d.isOpen = d.isOpen[:0]
	d.zip.release()
	d.searches.release()
	d.fieldsOf.release()
}

// weight returns about how many bytes of memory the decoder keeps.
func (d *decoder2) weight() (n int64) {
	for _, p := range [...][]byte{d.small, d.timesBytes, d.headBytes, d.poolBytes, d.packedBytes} {
		n += int64(cap(p))
	}
	if d.memory != nil {
		n += d.memory.Weight()
	}
	n += 2*int64(cap(d.rowsOf)) + 8*int64(cap(d.columnTimes)+cap(d.table)) +
		4*int64(cap(d.counter.before)+cap(d.counter.counted)+cap(d.counter.cursors)+cap(d.uses)+cap(d.counts)+cap(d.head.slots)+cap(d.head.first)) + d.lines2.weight()
	n += d.times2.weight() + d.zip.weight()
	return n + d.columns.weight() + d.searches.weight() + d.fieldsOf.weight() + 24*int64(cap(d.head.columns)+cap(d.stored)+cap(d.ownTexts)) + 16*int64(cap(d.head.sections))
}
