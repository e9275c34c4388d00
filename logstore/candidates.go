package logstore

import (
	"cmp"
	"slices"
	"strings"

	"github.com/stele-go/stele/logstore/internal/filter"
	"github.com/stele-go/stele/logstore/internal/shelf"
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
	segs  *shelf.Snapshot
	rank  uint64
	items []sourceItem
}

type sourceItem struct {
	timeindex.Item
	only *stretch // of its rows; nil: all
}

// A blockSource is a block.
type blockSource struct {
	segs          *shelf.Snapshot
	segment, rank uint64
	block         int
	spans         []span // by labels, those of one stream in order
	asked         bool   // its filter has been asked
	handed        bool   // spans may be parts of runs, see sweep.handOver
}

// A span is a run of a stream in a block, or a part of one.
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

// memoryRank is that of the i-th memtable, sealedRank that of its rest once it
// is handed over: which comes, in the order of the search, after what was found
// before.
func memoryRank(i int) uint64 { return firstMemoryRank + 3*uint64(i) + 1 }

func (x *search) sealedRank(i int) uint64 {
	if x.backward {
		return memoryRank(i) - 1
	}
	return memoryRank(i) + 1
}

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
			s = &segmentSource{segs: x.view.segs, rank: x.view.segs.Rank(it.Segment)}
			bySegment[it.Segment] = s
		}
		s.items = append(s.items, sourceItem{it, nil})
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
				name: name, mem: m, rank: memoryRank(i), stream: n,
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
	slices.SortFunc(s.items, func(a, b sourceItem) int { return cmp.Compare(a.Ordinal, b.Ordinal) })
	spans := make([]span, 0, 2*len(s.items))
	handed := false
	for _, it := range s.items {
		n, err := x.names.of(it.Stream)
		if err != nil {
			bad(err)
			continue
		}
		runs, err := s.segs.Runs(it.Item)
		if err != nil {
			bad(err)
			continue
		}
		rows := 0 // in runs before
		for i, r := range runs {
			before := rows
			rows += r.Rows
			if r.MaxTime < x.from || r.MinTime >= x.to || r.Rows <= 0 {
				continue
			}
			sp := span{n, i, r.Block, r.First, r.Rows, r.MinTime, r.MaxTime, r.Raw}
			switch {
			case it.only != nil:
				if handed = true; !sp.narrow(it.only, before) {
					continue
				}
			case whole != nil && whole(n, r.MinTime, r.MaxTime, int64(r.Rows), r.Raw):
				continue
			}
			spans = append(spans, sp)
		}
	}
	// A block is read once, however many streams are in it.
	slices.SortFunc(spans, func(a, b span) int {
		switch {
		case a.block != b.block:
			return cmp.Compare(a.block, b.block)
		case a.name != b.name:
			return strings.Compare(a.order, b.order)
		case a.run != b.run:
			return cmp.Compare(a.run, b.run)
		}
		return cmp.Compare(a.first, b.first)
	})
	id := s.items[0].Segment
	blocks := 0
	for i := range spans {
		if i == 0 || spans[i].block != spans[i-1].block {
			blocks++
		}
	}
	list, sources := make([]candidate, 0, blocks), make([]blockSource, blocks)
	for len(spans) > 0 {
		n := 1
		for n < len(spans) && spans[n].block == spans[0].block {
			n++
		}
		c := candidate{block: &sources[len(list)]}
		*c.block = blockSource{segs: s.segs, segment: id, rank: s.rank, block: spans[0].block, spans: spans[:n:n], handed: handed}
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
		return b.segs.May(b.segment, b.block, needles...)
	})
}
