package segment

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/stele-go/stele/internal/setting"
)

// Merge and Salvage of version 1, as they wrote the segments that stores still
// have: package segment2 writes version 2 in their place, and is compared with
// them.

// MergeOptions are the settings of Merge and Salvage.
type MergeOptions struct {
	// BlockRaw is the target size of blocks in bytes of lines; a block of at
	// least half of that, or of very many rows, is copied.
	BlockRaw int
	// Throttle, unless nil, is called before n bytes are read or written, at
	// most 256 KiB, and may wait.
	Throttle func(ctx context.Context, n int) error
	// Created and Generation are those of the new segment.
	Created    int64
	Generation uint32
	// CheckLabels, unless nil, returns an error for invalid labels: Salvage
	// treats a block with such a run as damaged.
	CheckLabels func(enc string) error
}

// Merge writes one segment with all rows of sources, which are ordered by
// positions: the After of each is the Upto of the previous one, or more. Large
// blocks are copied; adjacent small ones are merged, up to BlockRaw and 16
// joined filters. Filters are never rebuilt.
//
// Its memory is that of a Writer, a few blocks, the tables of the sources, and
// for each run in a small block as much again.
func Merge(ctx context.Context, w io.Writer, sources []*Segment, o MergeOptions) (Info, error) {
	m, err := newMerger(ctx, w, sources, o)
	if err != nil {
		return Info{}, err
	}
	if err := m.plan(); err != nil {
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
	var g blockMerger
	for _, b := range m.batches {
		if err := g.write(m, b); err != nil {
			return Info{}, err
		}
	}
	first, last := sources[0].Info(), sources[len(sources)-1].Info()
	return m.w.Finish(Info{After: first.After, Upto: last.Upto, Generation: o.Generation, Created: o.Created})
}

// A merger iterates over the streams by labels, and over the runs of each in
// the order of the sources. A copied block is copied at the first of its
// streams, for all of them; merged blocks come last. So the runs of a stream
// are not written in order, and each has a sequence number (seq).
type merger struct {
	w       *Writer
	o       MergeOptions
	sources []*mergeSource
	batches []*batch

	frame, filter buffer
	runs          []blockRun
}

// A mergeSource is a source and its next stream.
type mergeSource struct {
	*Segment
	t            *tables
	stream       int           // the next one
	destinations []destination // of blocks
}

// A destination says where the rows of a block go: into a batch, as its slot-th
// block, or into a copy if batch is nil.
type destination struct {
	batch  *batch
	slot   int
	copied bool // already
}

func newMerger(ctx context.Context, w io.Writer, sources []*Segment, o MergeOptions) (*merger, error) {
	if len(sources) == 0 {
		return nil, errors.New("segment: merge: no sources; want at least one")
	}
	if o.BlockRaw <= 0 {
		return nil, setting.Wrong("segment: MergeOptions.BlockRaw", setting.Bytes(o.BlockRaw), "1 or more")
	}
	m := &merger{w: NewWriter(&throttledWriter{ctx, w, o.Throttle}), o: o}
	upto := sources[0].Info().After
	for _, s := range sources {
		if s.Info().After < upto {
			return nil, fmt.Errorf("segment: merge %s: After %d; want at least %d, where the source before it ends", s.src.Name(), s.Info().After, upto)
		}
		upto = s.Info().Upto
		paced, t, err := s.throttled(ctx, o.Throttle)
		if err != nil {
			return nil, err
		}
		m.sources = append(m.sources, &mergeSource{Segment: paced, t: t, destinations: make([]destination, t.count)})
	}
	return m, nil
}

// next returns the labels of the next stream.
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

// stream handles the runs of one stream.
func (m *merger) stream(labels string) error {
	base := uint64(0)
	var last *batch // that the run before goes into
	for i, s := range m.sources {
		if s.stream == len(s.t.streams) || s.t.streams[s.stream].Labels != labels {
			continue
		}
		list, err := s.list(s.t, s.stream)
		if err != nil {
			return err
		}
		for _, r := range list {
			p := s.destinations[r.Block]
			if p.batch == nil {
				if err := m.copy(i, r.Block); err != nil {
					return err
				}
			} else {
				r.seq += base
				// Runs are merged only if no other run is between them: its
				// entries of equal times would have to stay between.
				p.batch.add(labels, part{p.slot, r}, p.batch == last)
			}
			last = p.batch
		}
		base += s.t.streams[s.stream].seqs
		s.stream++
	}
	return nil
}

// copy copies a block with all its runs, once.
func (m *merger) copy(source, block int) error {
	s := m.sources[source]
	if s.destinations[block].copied {
		return nil
	}
	s.destinations[block].copied = true
	b, err := s.readFrame(&m.frame, m.runs, s.t, block)
	if err := errors.Join(err, b.listErr, b.payloadErr); err != nil {
		return err
	}
	m.runs = b.runs
	for i := range b.runs {
		b.runs[i].seq += m.base(source, b.runs[i].Labels)
	}
	f, err := s.readFilter(&m.filter, s.t, block)
	if err != nil {
		return err
	}
	return m.w.add(b.payload, f, b.runs)
}

// base returns the offset to add to seqs of a stream in a source.
func (m *merger) base(source int, labels string) (base uint64) {
	for _, s := range m.sources[:source] {
		if i, ok := s.t.find(labels); ok {
			base += s.t.streams[i].seqs
		}
	}
	return base
}
