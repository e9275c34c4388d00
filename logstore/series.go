package logstore

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/RoaringBitmap/roaring/v2"
)

// Labels returns the names of the labels of the streams that sel selects and
// that have entries in the range from <= time < to, sorted. To 0 means no end.
// Errors that come with results are those of Count.
func (s *Store) Labels(ctx context.Context, sel Selector, from, to int64) ([]string, error) {
	if s.log == nil {
		return nil, fmt.Errorf("logstore: streams: %w", errUnopened)
	}
	defer s.labels.Pin()()
	p, err := s.present(ctx, sel, from, to)
	if p == nil {
		return nil, err
	}
	return s.labels.Names(p.streams), err
}

// LabelValues returns the values of a label, as Labels returns the names.
func (s *Store) LabelValues(ctx context.Context, name string, sel Selector, from, to int64) ([]string, error) {
	if s.log == nil {
		return nil, fmt.Errorf("logstore: streams: %w", errUnopened)
	}
	defer s.labels.Pin()()
	p, err := s.present(ctx, sel, from, to)
	if p == nil {
		return nil, err
	}
	return s.labels.Values(name, p.streams), err
}

// Series returns the labels of the streams, ordered by names and values; see
// Labels.
func (s *Store) Series(ctx context.Context, sel Selector, from, to int64) ([]Labels, error) {
	p, err := s.present(ctx, sel, from, to)
	if p == nil {
		return nil, err
	}
	slices.SortFunc(p.names, func(a, b *streamLabels) int { return strings.Compare(a.sortKey, b.sortKey) })
	series := make([]Labels, len(p.names))
	for i, n := range p.names {
		series[i] = n.labels
	}
	return series, err
}

// A presence collects the streams that have entries in the range of a search.
type presence struct {
	x       *search
	mu      sync.Mutex
	streams *roaring.Bitmap
	names   []*streamLabels
}

// present collects them. It returns nil where an error leaves nothing.
func (s *Store) present(ctx context.Context, sel Selector, from, to int64) (*presence, error) {
	p := &presence{streams: roaring.New()}
	partial, err := s.scanAll(ctx, Query{Selector: sel, From: from, To: to}, func(x *search) task {
		p.x = x
		return p
	})
	if err != nil {
		p, partial = nil, err
	}
	if partial != nil {
		partial = s.opError("streams of", partial)
	}
	return p, partial
}

func (p *presence) add(n *streamLabels) {
	if p.streams.CheckedAdd(n.stream) {
		p.names = append(p.names, n)
	}
}

// whole takes a run that has its first or its last entry in the range. A run
// that spans the whole range may have no entry in it, and must be read.
func (p *presence) whole(n *streamLabels, min, max, _, _ int64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if min >= p.x.from || max < p.x.to {
		p.add(n)
	}
	return p.streams.Contains(n.stream)
}

func (p *presence) visit(r *reading, l leaf, bound, _ int64, out *outcome) {
	rest, err := l.pick(r, bound, timesOnly)
	if err != nil {
		out.add(err)
		return
	}
	if rest != nil {
		out.more = append(out.more, rest)
	}
	span := int32(-1) // picks of a span are adjacent
	for _, k := range r.picks {
		if k.span == span {
			continue
		}
		span = k.span
		labels, _, err := l.stream(r, span)
		if err != nil {
			out.add(err)
			continue
		}
		p.mu.Lock()
		p.add(labels)
		p.mu.Unlock()
	}
}
