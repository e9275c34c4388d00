package segment

import (
	"context"

	"github.com/stele-go/stele/logstore/internal/segment2"
)

// MergeSource returns the segment, which must be open, for segment2.Merge. A
// merge has tables of its own, whatever Trim does to s.
func (s *Segment) MergeSource() segment2.MergeSource { return mergeSource1{&index1{s: s}} }

type mergeSource1 struct{ *index1 }

func (m mergeSource1) OpenMerge(pace func(segment2.Source) segment2.Source) (segment2.MergeReader, error) {
	src := pace(m.s.src)
	t, err := m.s.load()
	if err != nil {
		return nil, err
	}
	s := &Segment{src: src, footer: m.s.footer, scanned: m.s.scanned}
	s.tables.Store(t)
	return &mergeReader1{index1: &index1{s: s}}, nil
}

// A mergeReader1 reads a segment of version 1, which has only streams of the
// tenant "".
type mergeReader1 struct {
	*index1
	filter buffer
}

func (r *mergeReader1) Keys(ctx context.Context, chunk int) (first uint32, keys []string, err error) {
	c, err := r.Labels(ctx, chunk)
	if c == nil {
		return 0, nil, err
	}
	keys = c.Labels
	for i, l := range keys {
		keys[i] = "\x00" + l
	}
	return c.First, keys, err
}

func (r *mergeReader1) ReadFilter(ctx context.Context, buf []byte, _ *segment2.Group, block int) ([]byte, error) {
	t, err := r.load(ctx)
	if err != nil {
		return nil, err
	}
	p, err := r.s.readFilter(&r.filter, t, block)
	if err != nil {
		return nil, err
	}
	return append(buf[:0], p...), nil
}
