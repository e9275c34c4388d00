package segment2

import (
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"github.com/stele-go/stele/logstore/internal/block"
	"github.com/stele-go/stele/logstore/internal/template"
)

// A templatesWriter numbers the templates of a segment in dictionaries of its own, in the
// order of their first use. When one is full, the next begins.
type templatesWriter struct {
	latest *template.Dictionary
	full   []storedDictionary

	table []block.TemplateRows // of the last block, renumbered
	ids   []uint32             // the new numbers
	block []byte               // the last one
	enc   []byte               // scratch
}

// A storedDictionary is a dictionary as it will be stored.
type storedDictionary struct {
	storedPart
	templates int
}

// add returns a block of codec 2 for the dictionaries of the segment, and the number of
// the one that it refers to. It is valid until the next call, and so is t.table.
func (t *templatesWriter) add(z *zipper, p []byte, from *template.Dictionary) ([]byte, uint16, error) {
	var err error
	if t.table, err = block.Table(t.table[:0], p); err != nil {
		if errors.Is(err, block.ErrShort) {
			err = fmt.Errorf("%w: %w", block.ErrDamaged, err)
		}
		return nil, 0, err
	}
	for _, one := range t.table {
		if from == nil || int64(one.ID) >= int64(from.Len()) {
			return nil, 0, fmt.Errorf("%w: it has template %d, which its dictionary has not", block.ErrDamaged, one.ID)
		}
	}
	if t.latest == nil {
		t.latest = new(template.Dictionary)
	}
	t.ids = slices.Grow(t.ids[:0], len(t.table))[:len(t.table)]
	if !t.intern(from) {
		if err := t.next(z); err != nil {
			return nil, 0, err
		}
		// One dictionary had them all, so an empty one takes them.
		if !t.intern(from) {
			return nil, 0, fmt.Errorf("%d templates, more than a dictionary takes", len(t.table))
		}
	}
	i := -1
	t.block, err = block.Remap(t.block[:0], p, func(uint32) uint32 {
		i++
		t.table[i].ID = t.ids[i]
		return t.ids[i]
	})
	return t.block, uint16(len(t.full) + 1), err
}

// intern sets the new numbers of the templates of the table, and reports whether the
// latest dictionary has space for all of them. If not, it may have a few of them for nothing.
func (t *templatesWriter) intern(from *template.Dictionary) bool {
	for i, one := range t.table {
		id, ok := t.latest.Add(from.At(one.ID))
		if !ok {
			return false
		}
		t.ids[i] = id
	}
	return true
}

// next ends the latest dictionary, if there is one, and begins another.
func (t *templatesWriter) next(z *zipper) error {
	if t.latest == nil || t.latest.Len() == 0 {
		return nil
	}
	if len(t.full)+1 == maxDictionaries {
		return fmt.Errorf("more than %d dictionaries", maxDictionaries)
	}
	t.enc = t.latest.Append(t.enc[:0])
	p, err := z.store(t.enc)
	if err != nil {
		return err
	}
	t.full = append(t.full, storedDictionary{p, t.latest.Len()})
	t.latest = new(template.Dictionary)
	return nil
}

// memory returns about how many bytes of memory the templates take.
func (t *templatesWriter) memory() int64 {
	n := int64(cap(t.table))*8 + int64(cap(t.ids))*4 + int64(cap(t.block)) + int64(cap(t.enc))
	if t.latest != nil {
		n += t.latest.Weight()
	}
	for i := range t.full {
		n += int64(cap(t.full[i].p)) + int64(unsafe.Sizeof(storedDictionary{}))
	}
	return n
}

// endDictionaries writes the frames of the dictionaries, each a section.
func (w *Writer) endDictionaries() error {
	t := &w.templates
	if err := t.next(&w.zip); err != nil {
		return err
	}
	for i, d := range t.full {
		s := section{kind: TypeDictionaryFrame, flags: FlagNeeded, items: uint32(d.templates), instance: uint32(i), off: w.out.size()}
		p := appendDictionaryFrame(nil, w.salt, s.off, s.instance, d)
		s.bytes, s.raw, s.sum = int64(len(p)), int64(len(p)), checksum(p)
		w.out.put(p)
		w.sections = append(w.sections, s)
	}
	return nil
}

// appendDictionaryFrame appends the frame at offset off of a dictionary.
func appendDictionaryFrame(dst []byte, salt uint64, off int64, instance uint32, d storedDictionary) []byte {
	f := dictionaryFrame{instance: instance, raw: uint32(d.raw), templates: uint32(d.templates), stored: uint32(len(d.p)), sum: checksum(d.p)}
	return append(f.append(dst, salt, off), d.p...)
}

// putDictionaries writes the dictionaries a second time, and the tables of the blocks. The
// groups follow: what reads a group often needs these too, see region.
func (w *Writer) putDictionaries() {
	for i, d := range w.templates.full {
		w.sections = append(w.sections, section{
			kind: TypeDictionary, flags: FlagNeeded, items: uint32(d.templates), instance: uint32(i),
			off: w.out.size(), bytes: int64(len(d.p)), raw: int64(d.raw), sum: checksum(d.p),
		})
		w.out.put(d.p)
	}
	if len(w.templates.full) > 0 {
		w.putParts(TypeTables, len(w.groups.blocks), w.groups.tables)
	}
}
