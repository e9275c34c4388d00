package logstore

import (
	"iter"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/stele-go/stele/logstore/internal/catalog"
	"github.com/stele-go/stele/logstore/timeindex"
)

// A candidate is a part of the view that may have matching entries.
type candidate struct {
	start, end int64 // bounds of its entries' keys
	raw        int64 // estimated bytes
	// skip is how many entries with the key start were yielded already.
	skip int
	// Exactly one of the following is set.
	segment *segmentSource
	group   *blockGroup
	block   *blockSource
	memory  *memorySource
}

// A blockSource is a block.
type blockSource struct {
	segs          *catalog.Snapshot
	segment, rank uint64
	block         int
	spans         []span // by labels, and within a stream in its order
	clipped       bool   // spans may be parts of runs, see scan.switchSealed
}

// A span is a run of a stream in a block, or a part of one.
type span struct {
	*streamLabels
	run         int // of the stream, in its segment
	block       int
	first, rows int
	min, max    int64
	raw         int64
}

// A memorySource is a stream in a memtable. It is read in slices of time, each
// of about as many entries as are wanted at once.
type memorySource struct {
	*streamLabels
	mem      *memtable
	rank     uint64
	stream   uint32
	from, to int64
	step     int64 // of time
	slice    bool  // it is a slice
	// If hasLast, entries up to last were yielded already.
	last    memRow
	hasLast bool
}

// firstMemoryRank is below the ranks of all memtables: entries in memory come
// after those in segments.
const firstMemoryRank = 1 << 63

// memoryRank is the rank of the i-th memtable, sealedRank the rank of its rest
// once it is sealed: in the order of the search, the rest comes after the
// entries already found.
func memoryRank(i int) uint64 { return firstMemoryRank + 3*uint64(i) + 1 }

func (x *search) sealedRank(i int) uint64 {
	if x.backward {
		return memoryRank(i) - 1
	}
	return memoryRank(i) + 1
}

// A summaryFunc is called with the summary of a run of entries, from min to
// max, before they are read, and reports whether that is enough. Several
// goroutines call it.
type summaryFunc func(n *streamLabels, min, max, rows, raw int64) bool

// candidates pushes the candidates in the range of the search. Items of the
// index and memtables for which summary returns true are left out; summary may
// be nil.
func (x *search) candidates(summary summaryFunc, push func(candidate)) error {
	streams, err := x.selector.streams(x.store.labels)
	if err != nil || x.from >= x.to {
		return err
	}
	if err := x.segmentCandidates(streams, summary, push); err != nil {
		return err
	}
	return x.memoryCandidates(streams, summary, push)
}

// segmentCandidates pushes a candidate for each segment that has entries of the
// streams, all if streams is nil.
func (x *search) segmentCandidates(streams *roaring.Bitmap, summary summaryFunc, push func(candidate)) error {
	bySegment := map[uint64]*segmentSource{}
	var n *streamLabels // of the previous item: items of a stream are adjacent
	for it := range x.items(streams) {
		if summary != nil {
			if n == nil || n.stream != it.Stream {
				var err error
				if n, err = x.labels.get(it.Stream); err != nil {
					return err
				}
			}
			if summary(n, it.Min, it.Max, it.Rows, it.Raw) {
				continue
			}
		}
		s := bySegment[it.Segment]
		if s == nil {
			s = &segmentSource{segs: x.view.segs, rank: x.view.segs.Rank(it.Segment)}
			bySegment[it.Segment] = s
		}
		s.items = append(s.items, sourceItem{Item: it})
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
	return nil
}

// items ranges over the items of the index in the range of the search.
func (x *search) items(streams *roaring.Bitmap) iter.Seq[timeindex.Item] {
	index := x.view.segs.Index
	if streams == nil {
		return index.All(x.from, x.to)
	}
	return func(yield func(timeindex.Item) bool) {
		for n := streams.Iterator(); n.HasNext(); {
			for it := range index.Overlapping(n.Next(), x.from, x.to) {
				if !yield(it) {
					return
				}
			}
		}
	}
}

// memoryCandidates pushes a candidate for each of the streams in each memtable.
func (x *search) memoryCandidates(streams *roaring.Bitmap, summary summaryFunc, push func(candidate)) (err error) {
	for i, m := range x.view.mems {
		m.eachStream(func(n uint32, min, max, rows, raw int64) {
			if err != nil || max < x.from || min >= x.to || streams != nil && !streams.Contains(n) {
				return
			}
			var labels *streamLabels
			if labels, err = x.labels.get(n); err != nil {
				return
			}
			if summary != nil && summary(labels, min, max, rows, raw) {
				return
			}
			c := candidate{raw: raw}
			c.start, c.end = x.keys(min, max)
			from, to := x.times(c.start, c.end)
			c.memory = &memorySource{
				streamLabels: labels, mem: m, rank: memoryRank(i), stream: n,
				from: from, to: to, step: x.firstStep(max-min, rows),
			}
			push(c)
		})
	}
	return err
}
