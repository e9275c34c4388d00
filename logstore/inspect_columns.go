package logstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/stele-go/stele/logstore/internal/block"
	"github.com/stele-go/stele/logstore/internal/segment2"
	"github.com/stele-go/stele/logstore/internal/template"
)

// A Cost is how many bytes of a segment a part takes, over all blocks.
type Cost struct {
	File string // the segment
	// Part is "lines", "times", "metadata", "positions", "filters", "templates" (the
	// dictionaries, and which of their templates a block has) or "index", which is what
	// is left.
	Part  string
	Bytes int64
}

// A TemplateInfo describes a template of a segment: what lines share.
type TemplateInfo struct {
	File   string // the segment
	Text   string // with <*> for each variable
	Slots  int    // variables
	Blocks int    // that have lines of it
	Rows   int64  // lines
}

// A ColumnInfo describes the columns of a kind in a segment: variables of lines.
type ColumnInfo struct {
	File    string // the segment
	Kind    string // how the variables are stored: as integers, addresses, text and others
	Columns int    // in all blocks
	Values  int64
	Bytes   int64 // before columns are compressed together
}

// Costs returns what each part of the segment takes; in all its Size. It reads all blocks,
// unless Columns has: neither is called while the other runs.
// The error is a *CorruptError, or that of the file system. A segment whose index is
// damaged tells nothing.
func (s *SegmentInspection) Costs() (list []Cost, err error) {
	if s.content == nil {
		return nil, fmt.Errorf("logstore: %w", errUnopened)
	}
	c, ok := s.content.(*indexContent)
	if !ok {
		return nil, nil
	}
	of := s.sizes(c)
	if of.err != nil {
		return nil, exportError(of.err)
	}
	parts := of.parts
	for _, n := range s.Sections() {
		switch n.Type {
		case segment2.TypeDictionary.String(), segment2.TypeDictionaryFrame.String(), segment2.TypeTables.String():
			parts.Templates += n.Bytes
		}
	}
	rest := s.Size
	for _, one := range []Cost{
		{s.File, "lines", parts.Lines}, {s.File, "times", parts.Times}, {s.File, "metadata", parts.Metadata},
		{s.File, "positions", of.positions}, {s.File, "filters", of.filters}, {s.File, "templates", parts.Templates},
	} {
		list = append(list, one)
		rest -= one.Bytes
	}
	return append(list, Cost{s.File, "index", rest}), nil
}

// Templates returns the templates that lines of the segment have, the one with the most
// lines first. It reads the index alone. Errors are those of Costs.
func (s *SegmentInspection) Templates() (list []TemplateInfo, err error) {
	if s.content == nil {
		return nil, fmt.Errorf("logstore: %w", errUnopened)
	}
	c, ok := s.content.(*indexContent)
	if !ok || c.card == nil {
		return nil, nil
	}
	type place struct {
		dictionary uint16
		id         uint32
	}
	found := map[place]*TemplateInfo{}
	err = c.eachGroup(func(g *segment2.Group) error {
		tables, err := c.index.Tables(context.Background(), g.Number)
		if err = unlessRebuilt(err); err != nil {
			return err
		}
		for n := range g.Blocks {
			for _, t := range tables.Of(g.First + n) {
				at := place{g.Blocks[n].Dictionary, t.ID}
				if found[at] == nil {
					found[at] = &TemplateInfo{File: s.File}
				}
				found[at].Blocks++
				found[at].Rows += int64(t.Rows)
			}
		}
		return nil
	})
	var d *template.Dictionary // one at a time: there may be thousands of large ones
	var number uint16          // of d
	byDictionary := func(a, b place) int { return cmp.Compare(a.dictionary, b.dictionary) }
	for _, at := range slices.SortedFunc(maps.Keys(found), byDictionary) {
		info := found[at]
		if err == nil && (d == nil || number != at.dictionary) {
			d, err = c.index.Dictionary(context.Background(), at.dictionary)
			err, number = unlessRebuilt(err), at.dictionary
		}
		if err != nil {
			return nil, exportError(err)
		}
		if d == nil || int64(at.id) >= int64(d.Len()) {
			return nil, &CorruptError{s.File, 0, fmt.Sprintf("template %d is in no dictionary", at.id)}
		}
		info.Text, info.Slots = d.At(at.id).String(), d.At(at.id).Slots()
		list = append(list, *info)
	}
	slices.SortFunc(list, func(a, b TemplateInfo) int {
		return cmp.Or(cmp.Compare(b.Rows, a.Rows), cmp.Compare(a.Text, b.Text))
	})
	return list, exportError(err)
}

// Columns returns the kinds of the columns of the segment, the one with the most bytes
// first. It reads all blocks, unless Costs has. Errors are those of Costs.
func (s *SegmentInspection) Columns() (list []ColumnInfo, err error) {
	if s.content == nil {
		return nil, fmt.Errorf("logstore: %w", errUnopened)
	}
	c, ok := s.content.(*indexContent)
	if !ok || c.card == nil {
		return nil, nil
	}
	of := s.sizes(c)
	list = slices.SortedFunc(slices.Values(of.columns), func(a, b ColumnInfo) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Kind, b.Kind))
	})
	return list, exportError(cmp.Or(of.err, of.columnsErr))
}

// blockSizes are what parts of blocks take, in all of a segment.
type blockSizes struct {
	parts              block.PartSizes
	positions, filters int64
	columns            []ColumnInfo
	err, columnsErr    error // of all, and of columns alone
}

// sizes reads all blocks, once unless that fails.
func (s *SegmentInspection) sizes(c *indexContent) *blockSizes {
	if s.blockSizes != nil {
		return s.blockSizes
	}
	of := &blockSizes{}
	of.err = c.eachBlock(func(number int, b *segment2.Block, f *segment2.Frame) error {
		one, err := block.Parts(f.Block)
		of.parts.Times, of.parts.Lines = of.parts.Times+one.Times, of.parts.Lines+one.Lines
		of.parts.Metadata, of.parts.Templates = of.parts.Metadata+one.Metadata, of.parts.Templates+one.Templates
		of.positions += b.PositionBytes()
		of.filters += int64(b.FilterBytes)
		if err == nil && of.columnsErr == nil && c.card != nil {
			of.columnsErr = c.damagedBlock(number, b, of.addColumns(c, s.File, f))
		}
		return err
	})
	if lasts(of.err) && lasts(of.columnsErr) {
		s.blockSizes = of
	}
	return of
}

// lasts reports whether an error, if it is one, comes again when blocks are read again.
func lasts(err error) bool {
	_, damaged := asDamage(err)
	return err == nil || damaged
}

// addColumns adds the columns of a block.
func (of *blockSizes) addColumns(c *indexContent, file string, f *segment2.Frame) error {
	d, err := c.index.Dictionary(context.Background(), f.Dictionary)
	if err = unlessRebuilt(err); err != nil {
		return err
	}
	columns, err := block.Columns(f.Block, d)
	for _, one := range columns {
		name := one.Kind.String()
		i := slices.IndexFunc(of.columns, func(k ColumnInfo) bool { return k.Kind == name })
		if i < 0 {
			i = len(of.columns)
			of.columns = append(of.columns, ColumnInfo{File: file, Kind: name})
		}
		k := &of.columns[i]
		k.Columns++
		k.Values += int64(one.Rows)
		k.Bytes += int64(one.Bytes)
	}
	return err
}

// eachGroup calls f for each group.
func (c *indexContent) eachGroup(f func(g *segment2.Group) error) error {
	zones, err := c.index.Zones(context.Background())
	if err = unlessRebuilt(err); err != nil {
		return err
	}
	for i := range zones {
		g, err := c.index.Group(context.Background(), i)
		if err = unlessRebuilt(err); err == nil {
			err = f(g)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// eachBlock calls f for each block, which it reads.
func (c *indexContent) eachBlock(f func(number int, b *segment2.Block, frame *segment2.Frame) error) error {
	var frame segment2.Frame
	return c.eachGroup(func(g *segment2.Group) error {
		for n := range g.Blocks {
			if err := unlessRebuilt(c.index.ReadFrame(context.Background(), &frame, g, g.First+n)); err != nil {
				return err
			}
			if err := c.damagedBlock(g.First+n, &g.Blocks[n], f(g.First+n, &g.Blocks[n], &frame)); err != nil {
				return err
			}
		}
		return nil
	})
}

// damagedBlock returns err, as a *CorruptError if it tells of damage.
func (c *indexContent) damagedBlock(number int, b *segment2.Block, err error) error {
	if errors.Is(err, block.ErrDamaged) {
		return &CorruptError{c.file, b.Offset, fmt.Sprintf("block %d: %v", number, err)}
	}
	return err
}
