package segment

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// MergeOptions are the settings of Merge and Salvage.
type MergeOptions struct {
	// BlockRaw is how many bytes of lines blocks are to have; one with at least
	// half of that, or very many rows, is good as it is.
	BlockRaw int
	// Pace, unless nil, is called before n bytes are read or written, at most 256
	// KiB, and may wait.
	Pace func(ctx context.Context, n int) error
	// Created is for the new segment's Info.
	Created    int64
	Generation uint32
}

// Merge writes one segment that has all rows of sources, which follow each
// other: each one's After is the Upto of the one before, or more. Blocks that
// are good are copied as they are; small ones become larger ones. Filters are
// never built anew.
//
// In memory it has what a Writer has, a few blocks, and the tables of the
// sources.
func Merge(ctx context.Context, w io.Writer, sources []*Segment, o MergeOptions) (Info, error) {
	m, err := newMerger(ctx, w, sources, o)
	if err != nil {
		return Info{}, err
	}
	for {
		labels, more := m.next()
		if !more {
			break
		}
		if err := m.stream(labels); err != nil {
			return Info{}, err
		}
	}
	if err := m.shared.write(m); err != nil {
		return Info{}, err
	}
	first, last := sources[0].Info(), sources[len(sources)-1].Info()
	return m.w.Finish(Info{After: first.After, Upto: last.Upto, Generation: o.Generation, Created: o.Created})
}

// A merger merges stream by stream, by labels: of each the runs of all sources,
// in their order. A good block is copied when the first of its streams is at
// turn, for all of them: so runs of one stream are not written in their order,
// and each carries its place (seq) along.
type merger struct {
	ctx     context.Context
	w       *Writer
	o       MergeOptions
	sources []*mergeSource

	cache blockCache
	group []part // small runs that follow each other
	own   gather // blocks of one stream
	// shared has the rows of several streams that have too few for a block.
	shared gather

	frame, filter buffer
	placed        []placed
}

// A mergeSource is a source, and how far it has been merged.
type mergeSource struct {
	*Segment
	t      *tables
	stream int    // the next one
	copied []bool // blocks
}

// A part is a small run.
type part struct {
	source int
	listed
}

func newMerger(ctx context.Context, w io.Writer, sources []*Segment, o MergeOptions) (*merger, error) {
	if len(sources) == 0 {
		return nil, errors.New("segment: nothing to merge")
	}
	if o.BlockRaw <= 0 {
		return nil, fmt.Errorf("segment: blocks of %d bytes", o.BlockRaw)
	}
	m := &merger{ctx: ctx, w: NewWriter(&pacedWriter{ctx, w, o.Pace}), o: o}
	upto := sources[0].Info().After
	for _, s := range sources {
		if s.Info().After < upto {
			return nil, fmt.Errorf("segment: %s begins after %d, and what is before it ends at %d", s.src.Name(), s.Info().After, upto)
		}
		upto = s.Info().Upto
		paced, t, err := s.paced(ctx, o.Pace)
		if err != nil {
			return nil, err
		}
		m.sources = append(m.sources, &mergeSource{Segment: paced, t: t, copied: make([]bool, t.count)})
	}
	return m, nil
}

// weight is the bytes of lines, or what many empty lines cost in their place.
func weight(rows, raw int64) int64 { return max(raw, 4*rows) }

// good reports whether a block is copied as it is.
func (m *merger) good(rows, raw int64) bool { return 2*weight(rows, raw) >= int64(m.o.BlockRaw) }

// next returns the labels of the stream that is at turn.
func (m *merger) next() (labels string, more bool) {
	for _, s := range m.sources {
		if s.stream < len(s.t.streams) {
			if l := s.t.streams[s.stream].Labels; !more || l < labels {
				labels, more = l, true
			}
		}
	}
	return labels, more
}

// stream merges one stream.
func (m *merger) stream(labels string) error {
	base, rows, raw := uint64(0), int64(0), int64(0)
	flush := func() error {
		err := m.flush(labels, rows, raw)
		m.group, rows, raw = m.group[:0], 0, 0
		return err
	}
	for i, s := range m.sources {
		if s.stream == len(s.t.streams) || s.t.streams[s.stream].Labels != labels {
			continue
		}
		list, err := s.list(s.t, s.stream)
		if err != nil {
			return err
		}
		for _, r := range list {
			if rec := s.t.record(r.Block); m.good(int64(rec.rows), int64(rec.raw)) {
				// Rows on both sides of it stay apart: of equal times those
				// before it come before its own.
				if err := errors.Join(flush(), m.copy(i, r.Block)); err != nil {
					return err
				}
				continue
			}
			r.seq += base
			m.group = append(m.group, part{i, r})
			rows += int64(r.Rows)
			raw += r.Raw
			if weight(rows, raw) >= int64(m.o.BlockRaw) {
				if err := flush(); err != nil {
					return err
				}
			}
		}
		base += s.t.streams[s.stream].seqs
		s.stream++
	}
	return flush()
}

// copy copies a block with all its runs, once.
func (m *merger) copy(source, block int) error {
	s := m.sources[source]
	if s.copied[block] {
		return nil
	}
	s.copied[block] = true
	b, err := s.readFrame(&m.frame, m.placed, s.t, block)
	if err := errors.Join(err, b.listErr, b.payloadErr); err != nil {
		return err
	}
	m.placed = b.runs
	for i := range b.runs {
		b.runs[i].seq += m.base(source, b.runs[i].Labels)
	}
	f, err := s.readFilter(&m.filter, s.t, block)
	if err != nil {
		return err
	}
	return m.w.add(b.payload, f, b.runs)
}

// base is what the seqs of a stream begin at that are of a source.
func (m *merger) base(source int, labels string) (base uint64) {
	for _, s := range m.sources[:source] {
		if i, ok := s.t.find(labels); ok {
			base += s.t.streams[i].seqs
		}
	}
	return base
}

// flush makes one run of the group, in a block of its own, or in the shared one.
func (m *merger) flush(labels string, rows, raw int64) error {
	if len(m.group) == 0 {
		return nil
	}
	g := &m.shared
	if m.good(rows, raw) {
		g = &m.own
	}
	if err := g.add(m, labels, m.group); err != nil {
		return err
	}
	if g == &m.own || weight(int64(g.encoder.Rows()), int64(g.encoder.Raw())) >= int64(m.o.BlockRaw) {
		return g.write(m)
	}
	return nil
}
