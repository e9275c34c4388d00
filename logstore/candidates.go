package logstore

import (
	"cmp"
	"slices"
	"strings"

	"github.com/stele-go/stele/logstore/internal/filter"
	"github.com/stele-go/stele/logstore/timeindex"
)

// A candidate may have entries that are searched.
type candidate struct {
	start, end int64 // keys that none of its entries is before and behind
	raw        int64 // about how many bytes it has
	// skip is how many entries with the key start were found already.
	skip int
	// Exactly one of these:
	segment *segmentSource
	block   *blockSource
	memory  *memorySource
}

// A segmentSource is what the time index says of one segment.
type segmentSource struct {
	items []timeindex.Item
}

// A blockSource is a block.
type blockSource struct {
	segment, rank uint64
	block         int
	spans         []span // by labels, those of one stream in order
	asked         bool   // its filter has been asked
}

// A span is a run of a stream in a block.
type span struct {
	*name
	run         int // of the stream, in its segment
	block       int
	first, rows int
	min, max    int64
	raw         int64
}

// A memorySource is a stream in a memtable. It is read by slices of time, each
// with about as many entries as are asked for at once.
type memorySource struct {
	*name
	mem      *memtable
	rank     uint64
	stream   uint32
	from, to int64
	step     int64 // of time
	whole    bool  // it is a slice
	// If there is a last, entries that do not come after it were found already.
	last    headRow
	hasLast bool
}

// firstMemoryRank is that of the oldest memtable: what is in memory came after
// all that is in segments.
const firstMemoryRank = 1 << 63

// A wholeFunc is told of entries of a stream, from min to max, before they are
// looked at one by one, and reports whether that need not be. Several
// goroutines call it.
type wholeFunc func(n *name, min, max, rows, raw int64) bool

// candidates hands what there is in the range of the search to push. An item of
// the index, or a memtable, of which whole reports that it has taken care is
// left out; whole may be nil.
func (x *search) candidates(whole wholeFunc, push func(candidate)) error {
	set, err := x.selector.streams(x.store.labels)
	if err != nil {
		return err
	}
	if x.from >= x.to {
		return nil
	}
	bySegment := map[uint64]*segmentSource{}
	var failed error
	var n *name // of the item before: those of a stream stand together
	add := func(it timeindex.Item) {
		if whole != nil {
			if n == nil || n.stream != it.Stream {
				if n, failed = x.names.of(it.Stream); failed != nil {
					return
				}
			}
			if whole(n, it.Min, it.Max, it.Rows, it.Raw) {
				return
			}
		}
		s := bySegment[it.Segment]
		if s == nil {
			s = &segmentSource{}
			bySegment[it.Segment] = s
		}
		s.items = append(s.items, it)
	}
	if set == nil {
		for it := range x.view.segs.Index.All(x.from, x.to) {
			if add(it); failed != nil {
				return failed
			}
		}
	} else {
		for it := set.Iterator(); it.HasNext(); {
			for it := range x.view.segs.Index.Overlapping(it.Next(), x.from, x.to) {
				if add(it); failed != nil {
					return failed
				}
			}
		}
	}
	for _, s := range bySegment {
		c := candidate{segment: s}
		c.start, c.end = x.keys(s.items[0].Min, s.items[0].Max)
		for _, it := range s.items {
			start, end := x.keys(it.Min, it.Max)
			c.start, c.end = min(c.start, start), max(c.end, end)
			c.raw += it.Raw
		}
		push(c)
	}
	for i, m := range x.view.mems {
		m.streams(func(n uint32, min, max, rows, raw int64) {
			if max < x.from || min >= x.to || set != nil && !set.Contains(n) {
				return
			}
			name, err := x.names.of(n)
			if err != nil {
				failed = err
				return
			}
			if whole != nil && whole(name, min, max, rows, raw) {
				return
			}
			c := candidate{raw: raw}
			c.start, c.end = x.keys(min, max)
			from, to := x.cut(c.start, c.end)
			c.memory = &memorySource{
				name: name, mem: m, rank: firstMemoryRank + uint64(i), stream: n,
				from: from, to: to, step: x.firstStep(max-min, rows),
			}
			push(c)
		})
	}
	return failed
}

// expand returns the blocks of a segment. bad is told of what cannot be read.
func (x *search) expand(s *segmentSource, whole wholeFunc, bad func(error)) []candidate {
	// So the spans come nearly in order: segments have streams by labels.
	slices.SortFunc(s.items, func(a, b timeindex.Item) int { return cmp.Compare(a.Ordinal, b.Ordinal) })
	spans := make([]span, 0, 2*len(s.items))
	for _, it := range s.items {
		n, err := x.names.of(it.Stream)
		if err != nil {
			bad(err)
			continue
		}
		runs, err := x.view.segs.Runs(it)
		if err != nil {
			bad(err)
			continue
		}
		for i, r := range runs {
			if r.MaxTime < x.from || r.MinTime >= x.to || r.Rows <= 0 {
				continue
			}
			if whole != nil && whole(n, r.MinTime, r.MaxTime, int64(r.Rows), r.Raw) {
				continue
			}
			spans = append(spans, span{n, i, r.Block, r.First, r.Rows, r.MinTime, r.MaxTime, r.Raw})
		}
	}
	// A block is read once, however many streams are in it.
	slices.SortFunc(spans, func(a, b span) int {
		switch {
		case a.block != b.block:
			return cmp.Compare(a.block, b.block)
		case a.name != b.name:
			return strings.Compare(a.order, b.order)
		}
		return cmp.Compare(a.run, b.run)
	})
	id := s.items[0].Segment
	rank := x.view.segs.Rank(id)
	var list []candidate
	for len(spans) > 0 {
		n := 1
		for n < len(spans) && spans[n].block == spans[0].block {
			n++
		}
		c := candidate{block: &blockSource{segment: id, rank: rank, block: spans[0].block, spans: spans[:n:n]}}
		c.start, c.end = x.keys(spans[0].min, spans[0].max)
		for _, sp := range spans[:n] {
			start, end := x.keys(sp.min, sp.max)
			c.start, c.end = min(c.start, start), max(c.end, end)
			c.raw += sp.raw
		}
		list = append(list, c)
		spans = spans[n:]
	}
	return list
}

// may reports whether the filter of the block lets something through.
func (x *search) may(b *blockSource) (bool, error) {
	return x.need.may(func(needles ...filter.Needle) (bool, error) {
		return x.view.segs.May(b.segment, b.block, needles...)
	})
}
