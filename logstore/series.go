package logstore

import (
	"context"
	"errors"
	"strings"

	"github.com/stele-go/stele/internal/setting"
)

// Labels returns the names of the labels of the streams that q.Selector selects
// and that have entries in the range of q, sorted. It reads no line. Segments
// that lie wholly within the range and of which all streams are selected tell
// their names by their index, whatever the number of streams.
//
// If there are more than q.Limit, not 0, it returns the first ones by order and
// ErrMore. It keeps about twice as many in memory; without a limit, it ends with
// a *LimitError where all would take more memory than the groups of an Aggregate
// may. LabelValues and Series go on behind a page by Query.After; Labels does not.
// q.Filter must be nil; q.Order means nothing.
//
// Other errors that come with results are those of Aggregate.
func (s *Store) Labels(ctx context.Context, q Query) ([]string, error) {
	return s.present(ctx, q, &presence{of: namesOf, compare: strings.Compare})
}

// LabelValues returns the values of a label, as Labels returns the names. If
// q.After.Labels has the label, it returns those behind that value; the other
// fields of q.After must be 0.
func (s *Store) LabelValues(ctx context.Context, name string, q Query) ([]string, error) {
	p := &presence{of: valuesOf, name: name, compare: strings.Compare}
	if p.after = q.After.Labels.Get(name); p.after != "" {
		q.After.Labels = Labels{}
	}
	return s.present(ctx, q, p)
}

// Series returns the labels of the streams, ordered by names and values, as
// Labels returns the names. It returns those behind q.After.Labels, unless these
// are empty; the other fields of q.After must be 0. So a caller lists any number
// of streams in the memory of a page, with the last labels of each page in After
// of the next one. A page costs about as much time as all series: it is as of its
// own start.
func (s *Store) Series(ctx context.Context, q Query) ([]Labels, error) {
	p := &presence{of: streamsOf, after: q.After.Labels.enc, compare: func(a, b string) int { return Labels{a}.Compare(Labels{b}) }}
	q.After.Labels = Labels{}
	list, err := s.present(ctx, q, p)
	if list == nil {
		return nil, err
	}
	series := make([]Labels, len(list))
	for i, enc := range list {
		series[i] = Labels{enc}
	}
	return series, err
}

func (s *Store) present(ctx context.Context, q Query, p *presence) ([]string, error) {
	if q.Filter != nil {
		return nil, errListFilter
	}
	limit := q.Limit
	if err := setting.AtLeast("logstore: Query.Limit", limit, 0); err != nil {
		return nil, err
	}
	q.Limit, q.Order = 0, Forward
	partial, err := s.scanAll(ctx, q, func(x *search) task {
		p.begin(x, limit)
		return p
	})
	if err != nil {
		return nil, s.opError("streams of", err)
	}
	list, more, err := p.found.result(ctx)
	if err != nil {
		return nil, s.opError("streams of", err)
	}
	if more {
		partial = errors.Join(ErrMore, partial)
	}
	if partial != nil {
		partial = s.opError("streams of", partial)
	}
	return list, partial
}

var errListFilter = errors.New("logstore: Query.Filter: a filter; want nil, as no line is read")

// A present is what a presence collects.
type present uint8

const (
	namesOf   present = iota // names of labels
	valuesOf                 // values of presence.name
	streamsOf                // labels of streams, encoded
)

// A presence collects what the streams have that have entries in the range of a
// search.
type presence struct {
	of      present
	name    string // for valuesOf
	after   string // texts up to this one are not asked for, unless it is ""
	compare func(a, b string) int

	x      *search
	found  *lowest
	chunks contentTable[struct{}] // of which found has all that is selected
}

// begin readies p to find the limit lowest, or, with 0, all.
func (p *presence) begin(x *search, limit int) {
	p.x, p.found, p.chunks.memory = x, newLowest(x, p.after, limit, p.compare), &x.sums
}

// texts appends what a stream with these labels has.
func (p *presence) texts(dst []string, labels string) []string {
	switch p.of {
	case namesOf:
		for name := range (Labels{labels}).All() {
			dst = append(dst, name)
		}
	case valuesOf:
		if value := (Labels{labels}).Get(p.name); value != "" {
			dst = append(dst, value)
		}
	default:
		dst = append(dst, labels)
	}
	return dst
}

// whole takes a stream that has its first or its last entry in the range, or of
// which nothing new would come. One that spans the whole range may have no entry
// in it, and must be read.
func (p *presence) whole(r *reading, st streamRef, t rowTotals) (bool, error) {
	labels, err := r.labels(st)
	if err != nil {
		return false, err
	}
	r.texts = p.texts(r.texts[:0], labels)
	if p.found.has(r.texts) {
		return true, nil
	}
	if t.min < p.x.from && t.max >= p.x.to {
		return false, nil
	}
	return true, p.found.add(r.texts)
}

// wholeStreams is false: which streams have entries is not known.
func (p *presence) wholeStreams(*reading, *searched, uint32, uint32, rowTotals) (bool, error) {
	return false, nil
}

// wholeSegment takes a segment within the range: each of its streams has
// entries.
func (p *presence) wholeSegment(r *reading, in *searched, t rowTotals, fail func(error)) bool {
	if t.min < p.x.from || t.max >= p.x.to {
		return false
	}
	if in.streams == nil && p.of != streamsOf {
		list, ok, err := p.byIndex(in)
		failLost(err, fail)
		if ok && err == nil {
			fail(p.found.add(list))
			return true
		}
	}
	for ordinal := in.next(0); ordinal >= 0 && !r.halted.Load(); {
		content, err := r.segment(in).Content(p.x.ctx, uint32(ordinal))
		if _, known := p.chunks.get(content.Hash); known && err == nil {
			ordinal = in.next(int64(content.First) + int64(content.Streams))
			continue
		}
		chunk, err := in.chunk(r, uint32(ordinal))
		if err != nil {
			return false // by stream, what is intact is told apart
		}
		end := int64(chunk.First) + int64(len(chunk.Labels))
		for ; ordinal >= 0 && ordinal < end; ordinal = in.next(ordinal + 1) {
			r.texts = p.texts(r.texts[:0], chunk.Of(uint32(ordinal)))
			if err := p.found.add(r.texts); err != nil {
				fail(err)
				return true
			}
		}
		p.chunks.put(content.Hash, struct{}{}, 0)
	}
	return true
}

// byIndex asks the index of a segment.
func (p *presence) byIndex(in *searched) (list []string, ok bool, err error) {
	if p.of == namesOf {
		return in.Names(p.x.ctx, p.x.tenant)
	}
	return in.Values(p.x.ctx, p.x.tenant, p.name)
}

func (*presence) yields() bool { return false }

func (p *presence) visit(r *reading, l leaf, bound int64, _ allotment, out *outcome) {
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
		labels, err := r.labels(l.ref(r, span))
		if err == nil {
			r.texts = p.texts(r.texts[:0], labels)
			err = p.found.add(r.texts)
		}
		out.add(err)
	}
}
