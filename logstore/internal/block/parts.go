package block

import (
	"errors"

	"github.com/stele-go/stele/logstore/internal/column"
	"github.com/stele-go/stele/logstore/internal/template"
)

// PartSizes are the bytes of the parts of a block, as it stores them.
type PartSizes struct {
	Times     int64
	Lines     int64 // columns, the templates of rows, and the headers
	Metadata  int64
	Templates int64 // the table of those of the block
}

// Parts returns the sizes of the parts of a block.
func Parts(p []byte) (s PartSizes, err error) {
	if len(p) > 0 && p[0] == version2 {
		return parts2(p)
	}
	var h header
	if err := h.parse(p); err != nil {
		return s, err
	}
	stored := func(ids ...int) (n int64) {
		for _, id := range ids {
			n += int64(h.sections[id].stored)
		}
		return n
	}
	s.Times, s.Metadata = stored(sectionTimes, sectionTimeBits), stored(sectionMeta, sectionMetaLengths)
	s.Lines = int64(len(p)) - s.Times - s.Metadata
	return s, nil
}

func parts2(p []byte) (s PartSizes, err error) {
	var d decoder2
	_, err = d.openTimes(p)
	if err == nil {
		_, err = d.openHead(p)
	}
	if errors.Is(err, ErrShort) {
		return s, damaged("%d bytes; want more", len(p))
	} else if err != nil {
		return s, err
	}
	stored := func(first, last int) (n int64) {
		for _, one := range d.head.sections[first : last+1] {
			n += int64(one.stored)
		}
		return n
	}
	s.Times, s.Metadata = stored(section2Times, section2TimeBits), stored(section2Meta, section2MetaLengths)
	s.Templates = int64(d.header.table)
	s.Lines = int64(len(p)) - s.Times - s.Metadata - s.Templates
	return s, nil
}

// A ColumnInfo describes a column of a block of version 2.
type ColumnInfo struct {
	Kind  column.Kind
	Rows  int // values
	Bytes int // before they are compressed with those of other columns
}

// Columns returns the columns of a block of version 2, in their order, and none of
// another. The dictionary is that of Decoder.Open.
func Columns(p []byte, dictionary *template.Dictionary) (list []ColumnInfo, err error) {
	var d Decoder
	if err := d.Open(p, dictionary); err != nil || p[0] != version2 {
		return nil, err
	}
	v := &d.version2
	if err := v.openColumns(); err != nil {
		return nil, err
	}
	for i, c := range v.head.columns {
		list = append(list, ColumnInfo{v.columns.all[i].Kind(), int(c.count), int(c.packed + c.text)})
	}
	return list, nil
}

// Columns returns how many columns the open block has, none if it is of version 1, and how
// many of them were decoded.
func (d *Decoder) Columns() (opened, all int) {
	if d.decoding != &d.version2 {
		return 0, 0
	}
	for _, open := range d.version2.isOpen {
		if open {
			opened++
		}
	}
	return opened, len(d.version2.head.columns)
}
