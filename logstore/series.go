package logstore

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
)

// Labels returns the names of the labels of the streams that sel selects and
// that have entries in the range from <= time < to, sorted. To 0 means no end.
// Errors that come with results are those of Count.
func (s *Store) Labels(ctx context.Context, sel Selector, from, to int64) ([]string, error) {
	p, err := s.present(ctx, sel, from, to)
	return p.distinct(func(name, _ string) (string, bool) { return name, true }), err
}

// LabelValues returns the values of a label, as Labels returns the names.
func (s *Store) LabelValues(ctx context.Context, name string, sel Selector, from, to int64) ([]string, error) {
	p, err := s.present(ctx, sel, from, to)
	return p.distinct(func(n, value string) (string, bool) { return value, n == name }), err
}

// Series returns the labels of the streams, ordered by names and values; see
// Labels.
func (s *Store) Series(ctx context.Context, sel Selector, from, to int64) ([]Labels, error) {
	p, err := s.present(ctx, sel, from, to)
	if p == nil {
		return nil, err
	}
	names := slices.SortedFunc(maps.Keys(p.streams), func(a, b *streamLabels) int { return strings.Compare(a.sortKey, b.sortKey) })
	series := make([]Labels, len(names))
	for i, n := range names {
		series[i] = n.labels
	}
	return series, err
}

// A presence collects the streams that have entries in the range of a search.
type presence struct {
	x       *search
	mu      sync.Mutex
	streams map[*streamLabels]struct{}
}

// present collects them. It returns nil where an error leaves nothing.
func (s *Store) present(ctx context.Context, sel Selector, from, to int64) (*presence, error) {
	p := &presence{streams: map[*streamLabels]struct{}{}}
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

// distinct returns the strings that choose returns for the labels of the streams
// with true, sorted. It returns nil if p is nil.
func (p *presence) distinct(choose func(name, value string) (string, bool)) []string {
	if p == nil {
		return nil
	}
	found := map[string]struct{}{}
	for n := range p.streams {
		for name, value := range n.labels.All() {
			if s, ok := choose(name, value); ok && value != "" {
				found[s] = struct{}{}
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// whole takes a run that has its first or its last entry in the range. A run
// that spans the whole range may have no entry in it, and must be read.
func (p *presence) whole(_ *reading, st streamRef, t rowTotals) (bool, error) {
	n, err := st.names(p.x)
	if err != nil {
		return false, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if t.min >= p.x.from || t.max < p.x.to {
		p.streams[n] = struct{}{}
	}
	_, found := p.streams[n]
	return found, nil
}

func (p *presence) wholeSegment(rowTotals) (bool, error) { return false, nil }

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
		p.streams[labels] = struct{}{}
		p.mu.Unlock()
	}
}
