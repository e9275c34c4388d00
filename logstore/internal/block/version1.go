package block

import (
	"bytes"
	"encoding/binary"
)

// An encoder1 writes blocks of version 1.
type encoder1 struct {
	zip     compressor
	times   timesEncoder
	lengths [2][]byte
}

func (e *encoder1) encode(dst []byte, r *rows) ([]byte, error) {
	e.times.encode(r.times)
	raw := [sections][]byte{sectionTimes: e.times.varint, sectionTimeBits: e.times.bits}
	for i, c := range []*texts{&r.lines, &r.meta} {
		e.lengths[i] = appendLengths(e.lengths[i][:0], c)
		raw[sectionLines+2*i], raw[sectionLineLengths+2*i] = c.text, e.lengths[i]
	}
	start := len(dst)
	dst = append(dst, make([]byte, headerSize)...)
	h := header{rows: len(r.times)}
	for i, p := range raw {
		if len(p) == 0 {
			continue
		}
		from, zipped := len(dst), false
		if i == sectionTimeBits {
			dst = append(dst, p...)
		} else {
			var err error
			if dst, zipped, err = e.zip.append(dst, p); err != nil {
				return dst[:start], err
			}
		}
		stored := dst[from:]
		h.sections[i] = section{uint32(len(stored)), uint32(len(p)), checksum(stored), zipped}
	}
	h.put(dst[start:])
	return dst, nil
}

// appendLengths appends the lengths section of c, which is empty if only
// separators end texts.
func appendLengths(dst []byte, c *texts) []byte {
	if !c.ambiguous {
		return dst
	}
	for i, start := range c.starts[1:] {
		dst = binary.AppendUvarint(dst, uint64(start-1-c.starts[i]))
	}
	return dst
}

// A decoder1 reads blocks of version 1.
type decoder1 struct {
	zip     decompressor
	header  header
	stored  [sections][]byte
	scratch [3][]byte // of times and time bits, which timesOf keeps, and of lengths
	timesOf timeReader
}

func (d *decoder1) open(p []byte) error {
	if err := d.header.parse(p); err != nil {
		return err
	}
	p = p[headerSize:]
	for i, s := range d.header.sections {
		d.stored[i], p = p[:s.stored], p[s.stored:]
	}
	return nil
}

func (d *decoder1) openTimes(p []byte) (rows int, err error) {
	d.timesOf.release()
	if len(p) < headerSize {
		return 0, ErrShort
	}
	if _, err := d.header.parseStart(p); err != nil {
		return 0, err
	}
	d.stored = [sections][]byte{}
	p = p[headerSize:]
	for _, id := range [...]int{sectionTimes, sectionTimeBits} {
		n := uint64(d.header.sections[id].stored)
		if n > uint64(len(p)) {
			return 0, ErrShort
		}
		d.stored[id], p = p[:n], p[n:]
	}
	return d.header.rows, nil
}

// verified returns the stored bytes of a section, and verifies their checksum.
func (d *decoder1) verified(id int) ([]byte, error) {
	p := d.stored[id]
	if len(p) > 0 && checksum(p) != d.header.sections[id].sum {
		return nil, damaged("the checksum of section %d is wrong", id)
	}
	return p, nil
}

// section returns the raw bytes of a section, valid until the next call with
// the same scratch buffer, 0 to 2.
func (d *decoder1) section(id, memory int) ([]byte, error) {
	p, err := d.verified(id)
	if err != nil || !d.header.sections[id].compressed {
		return p, err
	}
	m := &d.scratch[memory]
	*m, err = d.zip.decompress(*m, p, int(d.header.sections[id].raw))
	return *m, err
}

func (d *decoder1) times() (*timeReader, error) {
	if d.timesOf.rows > 0 {
		return &d.timesOf, nil
	}
	p, err := d.section(sectionTimes, 0)
	if err != nil {
		return nil, err
	}
	low, err := d.section(sectionTimeBits, 1)
	if err == nil {
		err = d.timesOf.open(p, low, d.header.rows, false)
	}
	return &d.timesOf, err
}

func (d *decoder1) lines(lines, meta *texts) error {
	if d.header.sections[sectionLines].raw == 0 {
		return damaged("no lines")
	}
	err := d.column(lines, sectionLines)
	if err == nil {
		err = d.column(meta, sectionMeta)
	}
	if err != nil {
		lines.reset()
		meta.reset()
	}
	return err
}

func (d *decoder1) metadata(meta *texts) error {
	err := d.column(meta, sectionMeta)
	if err != nil {
		meta.reset()
	}
	return err
}

// column decodes the texts of section id and their lengths, if there are any,
// of the section after it.
func (d *decoder1) column(c *texts, id int) error {
	s := d.header.sections[id]
	if s.raw == 0 && d.header.sections[id+1].raw == 0 {
		return nil
	}
	if int(s.raw) < d.header.rows {
		return damaged("section %d has %d bytes for %d rows", id, s.raw, d.header.rows)
	}
	p, err := d.verified(id)
	if err != nil {
		return err
	}
	if s.compressed {
		if c.text, err = d.zip.decompress(c.text, p, int(s.raw)); err != nil {
			return err
		}
	} else {
		c.text = append(c.text, p...)
	}
	if cap(c.starts) < d.header.rows+1 {
		c.starts = make([]uint32, 0, d.header.rows+1)
	}
	if d.header.sections[id+1].raw == 0 {
		return c.split(d.header.rows)
	}
	lengths, err := d.section(id+1, 2)
	if err != nil {
		return err
	}
	return c.cut(lengths, d.header.rows)
}

// split finds the n texts by their separators.
func (c *texts) split(n int) error {
	starts := append(c.starts[:0], 0)
	at := 0
	for range n {
		i := bytes.IndexByte(c.text[at:], separator)
		if i < 0 {
			return damaged("texts end before all rows")
		}
		at += i + 1
		starts = append(starts, uint32(at))
	}
	if at != len(c.text) {
		return damaged("%d bytes after the texts", len(c.text)-at)
	}
	c.starts = starts
	return nil
}

// cut finds the n texts by their lengths.
func (c *texts) cut(lengths []byte, n int) error {
	starts := append(c.starts[:0], 0)
	at := uint64(0)
	for range n {
		l, size := binary.Uvarint(lengths)
		if size <= 0 || l >= uint64(len(c.text))-at {
			return damaged("texts end before all rows")
		}
		lengths = lengths[size:]
		at += l + 1
		if c.text[at-1] != separator {
			return damaged("a text does not end with its row")
		}
		starts = append(starts, uint32(at))
	}
	if at != uint64(len(c.text)) || len(lengths) != 0 {
		return damaged("bytes after the texts")
	}
	c.starts = starts
	return nil
}
