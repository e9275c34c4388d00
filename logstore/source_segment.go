package logstore

import (
	"cmp"
	"iter"
	"math"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/stele-go/stele/logstore/internal/catalog"
	"github.com/stele-go/stele/logstore/internal/segment"
	"github.com/stele-go/stele/logstore/timeindex"
)

// A segment has tens of thousands of blocks, and a query reads few of them. So
// they do not all become sources. With a limit, the segment is divided into
// slices of time, and the later ones are not read once the limit is reached.
// With a filter, blocks are put into groups, and of each group only the blocks
// that their filters do not rule out become sources.

// A segmentBranch is the items of the time index of one segment.
type segmentBranch struct {
	extent
	segs  *catalog.Snapshot
	items []sourceItem

	ready bool  // the fields below, and those of items, are set
	next  int64 // runs with lower keys are sources already
	step  int64 // of keys, of the next slice
}

type sourceItem struct {
	timeindex.Item
	only *rowRange // the rows to read; nil: all

	name *streamLabels
	runs []segment.Run
}

// A runRef is a run of a segment that is searched.
type runRef struct{ block, item, run int32 }

const (
	// A first slice has firstRows entries, or limitSlices times the limit, if
	// that is more; each slice spans sliceGrowth times the time of the previous
	// one.
	firstRows   = 1 << 14
	limitSlices = 4
	sliceGrowth = 4
)

// segmentSources pushes a source for each segment that has entries of the
// streams, all if streams is nil.
func segmentSources(x *search, streams *roaring.Bitmap, totals summarizer, push func(source)) error {
	bySegment := map[uint64]*segmentBranch{}
	var n *streamLabels // of the previous item: items of a stream are adjacent
	for it := range itemsOf(x, streams) {
		if totals != nil {
			if n == nil || n.stream != it.Stream {
				var err error
				if n, err = x.labels.get(it.Stream); err != nil {
					return err
				}
			}
			if totals.whole(n, it.Min, it.Max, it.Rows, it.Raw) {
				continue
			}
		}
		s := bySegment[it.Segment]
		if s == nil {
			s = newSegmentBranch(x.view.segs, x.view.segs.Rank(it.Segment))
			bySegment[it.Segment] = s
		}
		s.add(x, sourceItem{Item: it}, it.Min, it.Max, it.Raw)
	}
	for _, s := range bySegment {
		push(s)
	}
	return nil
}

// itemsOf ranges over the items of the index in the range of the search.
func itemsOf(x *search, streams *roaring.Bitmap) iter.Seq[timeindex.Item] {
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

// newSegmentBranch returns a branch without items.
func newSegmentBranch(segs *catalog.Snapshot, rank uint64) *segmentBranch {
	s := &segmentBranch{segs: segs}
	s.extent = extent{math.MaxInt64, math.MinInt64, 0, rank}
	return s
}

// add adds an item with times from min_ to max_.
func (s *segmentBranch) add(x *search, it sourceItem, min_, max_, raw int64) {
	s.items = append(s.items, it)
	first, last := x.keys(min_, max_)
	s.first, s.last, s.size = min(s.first, first), max(s.last, last), s.size+raw
}

// open returns the blocks, or groups of them, of the next slice, and the branch
// itself if there is more.
func (s *segmentBranch) open(r *reading, bound int64, fail func(error)) []source {
	x := r.x
	if !s.ready {
		s.prepare(x, fail)
		s.step = s.firstStep(x)
	}
	until := int64(math.MaxInt64) // end of the slice; no key is as high
	if s.step < math.MaxInt64-max(s.first, 0) {
		until = s.first + s.step
	}
	slice := s.runsUntil(r, until)
	s.next = until
	if s.step < math.MaxInt64/sliceGrowth {
		s.step *= sliceGrowth
	} else {
		s.step = math.MaxInt64
	}
	var list []source
	if refs := slice.byBlock(); x.require.empty() {
		list = s.blocks(x, refs)
	} else {
		list = s.groups(x, refs)
	}
	if slice.rest <= bound && slice.rest < math.MaxInt64 {
		s.first, s.size = slice.rest, max(1, s.size-slice.raw)
		list = append(list, s)
	}
	return list
}

// prepare loads the runs of all items. Items whose runs cannot be read are left
// out, and their errors are passed to fail.
func (s *segmentBranch) prepare(x *search, fail func(error)) {
	s.ready, s.next = true, math.MinInt64
	kept := s.items[:0]
	for _, it := range s.items {
		var err error
		if it.name, err = x.labels.get(it.Stream); err == nil {
			it.runs, err = s.segs.Runs(it.Item)
		}
		if err != nil {
			fail(err)
			continue
		}
		kept = append(kept, it)
	}
	clear(s.items[len(kept):])
	s.items = kept
	// Spans of a block come in this order.
	slices.SortFunc(s.items, func(a, b sourceItem) int {
		if a.name != b.name {
			return cmp.Compare(a.name.sortKey, b.name.sortKey)
		}
		return cmp.Compare(a.only.start(), b.only.start())
	})
}

func (t *rowRange) start() int {
	if t == nil {
		return 0
	}
	return t.first
}

// firstStep returns the range of keys of the first slice.
func (s *segmentBranch) firstStep(x *search) int64 {
	if !x.tracksTop() {
		return math.MaxInt64
	}
	rows := int64(0)
	for i := range s.items {
		rows += s.items[i].Rows
	}
	want := max(firstRows, limitSlices*int64(x.limit))
	if rows <= want {
		return math.MaxInt64
	}
	return int64(float64(s.last-s.first)/float64(rows)*float64(want)) + 1
}

// A runSlice is the runs of a segment in a slice of keys.
type runSlice struct {
	refs      []runRef
	low, high int32 // the lowest and the highest block of refs
	raw       int64 // bytes of the runs
	rest      int64 // the lowest key behind the slice, or MaxInt64
}

// runsUntil returns the runs whose keys begin from s.next to before until. Runs
// whose totals are enough for the task are left out.
func (s *segmentBranch) runsUntil(r *reading, until int64) runSlice {
	t := runSlice{low: math.MaxInt32, high: -1, rest: math.MaxInt64}
	for i := range s.items {
		it := &s.items[i]
		rows := 0 // in the runs before
		for j := range it.runs {
			run := &it.runs[j]
			before := rows
			rows += run.Rows
			start, ok := it.startKey(r.x, run, before)
			if !ok || start < s.next {
				continue
			}
			if start >= until {
				t.rest = min(t.rest, start)
				continue
			}
			if it.only == nil && r.totals != nil && r.totals.whole(it.name, run.MinTime, run.MaxTime, int64(run.Rows), run.Raw) {
				continue
			}
			b := int32(run.Block)
			t.refs = append(t.refs, runRef{b, int32(i), int32(j)})
			t.low, t.high, t.raw = min(t.low, b), max(t.high, b), t.raw+run.Raw
		}
	}
	return t
}

// startKey returns the key at which the rows to be read of a run begin. before
// rows of the stream precede the run. ok is false if there are no such rows.
func (it *sourceItem) startKey(x *search, r *segment.Run, before int) (start int64, ok bool) {
	if r.MaxTime < x.from || r.MinTime >= x.to || r.Rows <= 0 {
		return 0, false
	}
	from, to := r.MinTime, r.MaxTime
	if it.only != nil {
		sp := span{rows: r.Rows, first: r.First, min: from, max: to}
		if !sp.clip(it.only, before) {
			return 0, false
		}
		from, to = sp.min, sp.max
	}
	start, _ = x.keys(from, to)
	return start, true
}

// byBlock returns the refs by block. Those of one block keep their order.
func (t *runSlice) byBlock() []runRef {
	if len(t.refs) < 2 {
		return t.refs
	}
	at := make([]int32, int(t.high-t.low)+2) // where those of a block begin
	for _, r := range t.refs {
		at[r.block-t.low+1]++
	}
	for i := 1; i < len(at); i++ {
		at[i] += at[i-1]
	}
	sorted := make([]runRef, len(t.refs))
	for _, r := range t.refs {
		sorted[at[r.block-t.low]] = r
		at[r.block-t.low]++
	}
	return sorted
}

// nextBlock returns the refs of the first block, and the others.
func nextBlock(refs []runRef) (block, rest []runRef) {
	n := 1
	for n < len(refs) && refs[n].block == refs[0].block {
		n++
	}
	return refs[:n], refs[n:]
}

// blocks makes a leaf of each block.
func (s *segmentBranch) blocks(x *search, refs []runRef) []source {
	spans := make([]span, 0, len(refs))
	var list []source
	for len(refs) > 0 {
		var block []runRef
		block, refs = nextBlock(refs)
		var l *blockLeaf
		l, spans = s.block(x, block, spans)
		list = append(list, l)
	}
	return list
}

// block makes a leaf of the runs of a block. It appends their spans to spans.
func (s *segmentBranch) block(x *search, refs []runRef, spans []span) (*blockLeaf, []span) {
	l := &blockLeaf{segs: s.segs, segment: s.items[0].Segment, number: int(refs[0].block)}
	l.extent = extent{math.MaxInt64, math.MinInt64, 0, s.order}
	begin := len(spans)
	for _, ref := range refs {
		it := &s.items[ref.item]
		r := &it.runs[ref.run]
		sp := span{it.name, int(ref.run), r.First, r.Rows, r.MinTime, r.MaxTime, r.Raw}
		if it.only != nil {
			before := 0
			for i := range ref.run {
				before += it.runs[i].Rows
			}
			l.clipped = true
			sp.clip(it.only, before)
		}
		first, last := x.keys(sp.min, sp.max)
		l.first, l.last, l.size = min(l.first, first), max(l.last, last), l.size+sp.raw
		spans = append(spans, sp)
	}
	l.spans = spans[begin:len(spans):len(spans)]
	return l, spans
}

// groups makes groups of blocks.
func (s *segmentBranch) groups(x *search, refs []runRef) []source {
	var list []source
	for len(refs) > 0 {
		g := &groupBranch{of: s}
		g.extent = extent{math.MaxInt64, math.MinInt64, 0, s.order}
		rest := refs
		for n := 0; n < groupBlocks && len(rest) > 0; n++ {
			var block []runRef
			block, rest = nextBlock(rest)
			for _, ref := range block {
				r := &s.items[ref.item].runs[ref.run]
				first, last := x.keys(r.MinTime, r.MaxTime)
				g.first, g.last, g.size = min(g.first, first), max(g.last, last), g.size+r.Raw
			}
		}
		g.refs = refs[:len(refs)-len(rest)]
		list = append(list, g)
		refs = rest
	}
	return list
}
