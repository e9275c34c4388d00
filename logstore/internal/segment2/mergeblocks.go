package segment2

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"

	"github.com/stele-go/stele/logstore/internal/block"
	"github.com/stele-go/stele/logstore/internal/template"
)

// writeBlocks writes the blocks of all units.
func (m *merger) writeBlocks() error {
	for i, u := range m.units {
		m.tellMemory()
		if err := m.writeUnit(u.blocks, u.recode); err != nil {
			return err
		}
		// Mostly few blocks are encoded, and what these take is not kept while many are copied.
		if m.encodesOneOf(m.units[i:i+1]) && !m.encodesOneOf(m.units[i+1:min(i+1+copiedInARow, len(m.units))]) {
			m.tellMemory()
			m.blocks.release()
		}
	}
	m.units = nil
	return nil
}

// copiedInARow is how many units are copied without the memory that encoding takes: to make it
// anew is little beside so many.
const copiedInARow = 16

// encodesOneOf reports whether a block of some units is encoded again.
func (m *merger) encodesOneOf(units []mergeUnit) bool {
	return slices.ContainsFunc(units, func(u mergeUnit) bool { return !m.copies(u.blocks, u.recode) })
}

// copies reports whether a unit is one block, which is not encoded again.
func (m *merger) copies(blocks []blockID, recode bool) bool {
	return len(blocks) == 1 && !recode && !m.losesRows(blocks[0])
}

func (m *merger) writeUnit(blocks []blockID, recode bool) error {
	if m.copies(blocks, recode) {
		return m.copy(blocks)
	}
	joined, apart, err := m.blocks.write(m, blocks)
	if err != nil {
		return err
	}
	if len(joined) > 0 {
		m.wrote(joined)
	}
	if len(apart) == 1 && len(blocks) == 1 && m.losesRows(apart[0]) {
		return m.unsplit(apart[0])
	}
	for i := range apart {
		if err := m.writeUnit(apart[i:i+1], false); err != nil {
			return err
		}
	}
	return nil
}

// unsplit is the error for a block of which some rows must go, and that could not be
// encoded without them.
func (m *merger) unsplit(id blockID) error {
	s := m.sources[id.source]
	if len(m.blocks.block) > MaxRead {
		return fmt.Errorf("segment: %s: block %d has %d bytes without the rows that are removed; want at most %d", s.src.Name(), id.block, len(m.blocks.block), MaxRead)
	}
	return &VersionError{File: s.src.Name(), Version: version, Codec: id.codec}
}

// wrote notes a block that was merged from some.
func (m *merger) wrote(joined []blockID) {
	if m.blocks.made {
		m.made[len(m.written)] = m.blocks.filter
		m.madeBytes += int64(len(m.blocks.filter))
	}
	m.written = append(m.written, joined)
}

// losesRows reports whether a block cannot be copied, as rows of it are gone.
func (m *merger) losesRows(id blockID) bool {
	return m.sources[id.source].removal.of(id.block) != nil
}

// copy copies a block with its positions.
func (m *merger) copy(one []blockID) error {
	id := one[0]
	s := m.sources[id.source]
	b, spans, err := s.read(m, &m.frame, int(id.block))
	if err != nil {
		return err
	}
	out := EncodedBlock{Block: m.frame.Block, Codec: m.frame.Codec, Runs: m.runs[:0]}
	for i, r := range m.frame.Runs {
		run := Run{Ordinal: s.ordinals[r.Ordinal], First: r.First, Rows: r.Rows, MinTime: spans[i].min, MaxTime: spans[i].max, Raw: int64(spans[i].raw)}
		run.Seq = m.shift(int(id.source), run.Ordinal, r.Seq)
		out.Runs = append(out.Runs, run)
	}
	m.runs = out.Runs
	if !slices.IsSortedFunc(out.Runs, compareRuns) { // version 1 does not demand it
		joined, _, err := m.blocks.write(m, one)
		if err == nil && len(joined) == 0 {
			err = s.corrupt(b.Offset, int(id.block), errors.New("its runs are not in order"))
		}
		m.wrote(joined)
		return err
	}
	if s.version2 {
		if out.Positions = m.frame.positions; out.Positions == nil || checksum(out.Positions) != m.frame.positionsSum {
			return s.corrupt(b.Offset, int(id.block), errors.New("the checksum of its positions does not match"))
		}
	} else {
		if m.ids, err = s.IDs(m.ctx, m.ids[:0], &m.frame); err != nil {
			return err
		}
		out.IDs = m.ids
	}
	if out.Templates, err = s.templates(m.ctx, m.frame.Dictionary); err != nil {
		return err
	}
	m.written = append(m.written, one)
	if err = m.w.AddBlock(out); errors.Is(err, block.ErrDamaged) { // its table
		return s.corrupt(b.Offset, int(id.block), err)
	}
	return err
}

// templates returns those that a block refers to. The last ones are kept: most segments
// have one dictionary, and blocks with the same one lie together.
func (s *mergeSource) templates(ctx context.Context, number uint16) (*template.Dictionary, error) {
	if number == s.dictionaryNumber { // also 0
		return s.dictionary, nil
	}
	if number == 0 {
		return nil, nil
	}
	d, err := s.Dictionary(ctx, number)
	if UnlessRebuilt(err) != nil {
		return nil, err
	}
	s.dictionary, s.dictionaryNumber = d, number
	return d, nil
}

// compareRuns orders runs as a block has them.
func compareRuns(a, b Run) int {
	return cmp.Or(cmp.Compare(a.Ordinal, b.Ordinal), cmp.Compare(a.Seq, b.Seq))
}

// A span is what the index has of a run and its block has not.
type span struct {
	min, max int64 // times
	raw      uint32
}

// groupSpans is the spans of a group, in less than half of the memory of its
// runs.
type groupSpans struct {
	group int // one more than its number; 0: none
	spans []span
	first []uint32 // of each block
}

// load comes to the group of a block.
func (s *mergeSource) load(m *merger, block int) (*Group, error) {
	if s.group == nil || block < s.group.First || block >= s.group.First+len(s.group.Blocks) {
		number := sort.Search(len(s.zones), func(i int) bool { return s.zones[i].First > block }) - 1
		g, err := s.Group(m.ctx, number)
		if UnlessRebuilt(err) != nil {
			return nil, err
		}
		s.group = g
	}
	return s.group, nil
}

// read reads a block, and returns its entry and the spans of its runs.
func (s *mergeSource) read(m *merger, f *Frame, block int) (*Block, []span, error) {
	g, err := s.load(m, block)
	if err != nil {
		return nil, nil, err
	}
	if err := s.loadSpans(m, g); err != nil {
		return nil, nil, err
	}
	if err := s.ReadFrame(m.ctx, f, g, block); UnlessRebuilt(err) != nil {
		return nil, nil, err
	}
	b := g.Block(block)
	spans := s.spans.spans[s.spans.first[block-g.First]:s.spans.first[block-g.First+1]]
	rows := uint32(0)
	for _, r := range f.Runs {
		if int64(r.Ordinal) >= int64(len(s.ordinals)) {
			return nil, nil, s.corrupt(b.Offset, block, errOrdinals)
		}
		rows += r.Rows
	}
	if len(spans) != len(f.Runs) || rows != b.Rows {
		return nil, nil, s.corrupt(b.Offset, block, errRows)
	}
	return b, spans, nil
}

// loadSpans reads the spans of a group.
func (s *mergeSource) loadSpans(m *merger, g *Group) error {
	if s.spans.group == g.Number+1 {
		return nil
	}
	runs, err := s.Runs(m.ctx, g.Number)
	if UnlessRebuilt(err) != nil {
		return err
	}
	s.spans.group = g.Number + 1
	s.spans.spans, s.spans.first = s.spans.spans[:0], s.spans.first[:0]
	for n := range g.Blocks {
		s.spans.first = append(s.spans.first, uint32(len(s.spans.spans)))
		for _, r := range runs.Of(g.First + n) {
			s.spans.spans = append(s.spans.spans, span{r.MinTime, r.MaxTime, uint32(r.Raw)})
		}
	}
	s.spans.first = append(s.spans.first, uint32(len(s.spans.spans)))
	return nil
}

// A decodedBlock is a small block that is merged.
type decodedBlock struct {
	id      blockID
	frame   Frame
	runs    []span
	decoder block.Decoder
	times   []int64
	ids     []ID   // none if they are lost
	gone    []bool // the rows that are; nil: none
}

// open reads and decodes a block. ok is false if a newer program is needed to
// decode it.
func (d *decodedBlock) open(m *merger, id blockID) (ok bool, err error) {
	s := m.sources[id.source]
	d.id = id
	b, spans, err := s.read(m, &d.frame, int(id.block))
	if err != nil {
		return false, err
	}
	d.runs = append(d.runs[:0], spans...)
	if !knownCodec(d.frame.Codec) {
		return false, nil
	}
	templates, err := s.templates(m.ctx, d.frame.Dictionary)
	if err != nil {
		return false, err
	}
	if d.times, err = d.decoder.Decode(d.frame.Block, templates); err != nil {
		if _, newer := errors.AsType[*block.VersionError](err); newer {
			return false, nil
		}
		return false, s.corrupt(b.Offset, int(id.block), err)
	}
	if len(d.times) != int(b.Rows) {
		return false, s.corrupt(b.Offset, int(id.block), errRows)
	}
	for i, r := range d.frame.Runs {
		if err := d.check(r, d.runs[i]); err != nil {
			return false, s.corrupt(b.Offset, int(id.block), err)
		}
	}
	if d.ids, err = s.rowIDs(m.ctx, d.ids[:0], b, &d.frame); err != nil {
		return false, err
	}
	d.gone = d.gone[:0]
	if m.losesRows(id) {
		info := s.Info()
		d.gone = slices.Grow(d.gone, len(d.times))[:len(d.times)]
		for _, r := range d.frame.Runs {
			for i := r.First; i < r.First+r.Rows; i++ {
				d.gone[i], _ = s.removal.has(&info, r.Ordinal, d.times, d.ids, &d.decoder, int(i))
			}
		}
	}
	return true, nil
}

// stays reports whether a row is not gone.
func (d *decodedBlock) stays(i uint32) bool { return len(d.gone) == 0 || !d.gone[i] }

// empties reports whether no row of a run stays.
func (d *decodedBlock) empties(r FrameRun) bool {
	return len(d.gone) > 0 && !slices.Contains(d.gone[r.First:r.First+r.Rows], false)
}

// check compares a run with the index.
func (d *decodedBlock) check(r FrameRun, want span) error {
	times, raw := d.times[r.First:r.First+r.Rows], 0
	if times[0] != want.min || times[len(times)-1] != want.max || !slices.IsSorted(times) {
		return errTimes
	}
	for i := r.First; i < r.First+r.Rows; i++ {
		raw += len(d.decoder.Line(int(i))) + len(d.decoder.Meta(int(i)))
	}
	if raw != int(want.raw) {
		return errBytes
	}
	return nil
}
