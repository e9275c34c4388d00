package logstore

import (
	"cmp"
	"math"
	"runtime"
	"slices"

	"github.com/stele-go/stele/logstore/internal/catalog"
	"github.com/stele-go/stele/logstore/internal/filter"
	"github.com/stele-go/stele/logstore/internal/segment"
	"github.com/stele-go/stele/logstore/timeindex"
)

// A segment has tens of thousands of blocks, and a query reads few of them. So
// they do not all become candidates. With a limit, the segment is divided into
// slices of time, and the later ones are not read once the limit is reached.
// With a filter, blocks are put into groups, and of each group only the blocks
// that their filters do not rule out become candidates.

// A segmentSource is the items of the time index of one segment. One goroutine
// at a time uses it.
type segmentSource struct {
	segs  *catalog.Snapshot
	rank  uint64
	items []sourceItem

	ready bool  // the fields below, and those of items, are set
	next  int64 // runs with lower keys are candidates already
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

// A blockGroup is blocks whose filters are to be tested.
type blockGroup struct {
	of   *segmentSource
	refs []runRef // refs of a block are adjacent
}

const (
	// groupBlocks is the number of blocks of a group.
	groupBlocks = 256
	// yieldBlocks is how many of them are tested between two calls of the
	// scheduler, which may run appends.
	yieldBlocks = 16
	// A first slice has firstRows entries, or limitSlices times the limit, if
	// that is more; each slice spans sliceGrowth times the time of the previous
	// one.
	firstRows   = 1 << 14
	limitSlices = 4
	sliceGrowth = 4
)

// prepare loads the runs of all items. Items whose runs cannot be read are left
// out, and their errors are passed to bad.
func (s *segmentSource) prepare(x *search, bad func(error)) {
	s.ready, s.next = true, math.MinInt64
	kept := s.items[:0]
	for _, it := range s.items {
		var err error
		if it.name, err = x.labels.get(it.Stream); err == nil {
			it.runs, err = s.segs.Runs(it.Item)
		}
		if err != nil {
			bad(err)
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

// firstSlice returns the range of keys of the first slice of a candidate.
func (s *scan) firstSlice(c candidate) int64 {
	if s.top == nil {
		return math.MaxInt64
	}
	rows := int64(0)
	for _, it := range c.segment.items {
		rows += it.Rows
	}
	want := max(firstRows, limitSlices*int64(s.x.limit))
	if rows <= want {
		return math.MaxInt64
	}
	return int64(float64(c.end-c.start)/float64(rows)*float64(want)) + 1
}

// expand returns the blocks, or groups of them, of the next slice of a segment,
// and what is left of it.
func (s *scan) expand(c candidate, bound int64, bad func(error)) []candidate {
	x, src := s.x, c.segment
	if !src.ready {
		src.prepare(x, bad)
		src.step = s.firstSlice(c)
	}
	until := int64(math.MaxInt64) // end of the slice; no key is as high
	if src.step < math.MaxInt64-max(c.start, 0) {
		until = c.start + src.step
	}
	slice := s.runsUntil(src, until)
	src.next = until
	if src.step < math.MaxInt64/sliceGrowth {
		src.step *= sliceGrowth
	} else {
		src.step = math.MaxInt64
	}
	var list []candidate
	if refs := slice.byBlock(); x.require.empty() {
		list = src.blocks(x, refs)
	} else {
		list = src.groups(x, refs)
	}
	if slice.rest <= bound && slice.rest < math.MaxInt64 {
		c.start, c.raw = slice.rest, max(1, c.raw-slice.raw)
		list = append(list, c)
	}
	return list
}

// A runSlice is the runs of a segment in a slice of keys.
type runSlice struct {
	refs      []runRef
	low, high int32 // the lowest and the highest block of refs
	raw       int64 // bytes of the runs
	rest      int64 // the lowest key behind the slice, or MaxInt64
}

// runsUntil returns the runs whose keys begin from src.next to before until.
// Runs that s.summary handles are left out.
func (s *scan) runsUntil(src *segmentSource, until int64) runSlice {
	t := runSlice{low: math.MaxInt32, high: -1, rest: math.MaxInt64}
	for i := range src.items {
		it := &src.items[i]
		rows := 0 // in the runs before
		for j := range it.runs {
			r := &it.runs[j]
			before := rows
			rows += r.Rows
			start, ok := it.startKey(s.x, r, before)
			if !ok || start < src.next {
				continue
			}
			if start >= until {
				t.rest = min(t.rest, start)
				continue
			}
			if it.only == nil && s.summary != nil && s.summary(it.name, r.MinTime, r.MaxTime, int64(r.Rows), r.Raw) {
				continue
			}
			b := int32(r.Block)
			t.refs = append(t.refs, runRef{b, int32(i), int32(j)})
			t.low, t.high, t.raw = min(t.low, b), max(t.high, b), t.raw+r.Raw
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

// blocks makes a candidate of each block.
func (s *segmentSource) blocks(x *search, refs []runRef) []candidate {
	spans := make([]span, 0, len(refs))
	var list []candidate
	for len(refs) > 0 {
		var block []runRef
		block, refs = nextBlock(refs)
		var c candidate
		c, spans = s.candidate(x, block, spans)
		list = append(list, c)
	}
	return list
}

// candidate makes one of the runs of a block. It appends their spans to spans.
func (s *segmentSource) candidate(x *search, refs []runRef, spans []span) (candidate, []span) {
	b := &blockSource{segs: s.segs, segment: s.items[0].Segment, rank: s.rank, block: int(refs[0].block)}
	c := candidate{start: math.MaxInt64, end: math.MinInt64, block: b}
	first := len(spans)
	for _, ref := range refs {
		it := &s.items[ref.item]
		r := &it.runs[ref.run]
		sp := span{it.name, int(ref.run), r.Block, r.First, r.Rows, r.MinTime, r.MaxTime, r.Raw}
		if it.only != nil {
			before := 0
			for i := range ref.run {
				before += it.runs[i].Rows
			}
			b.clipped = true
			sp.clip(it.only, before)
		}
		start, end := x.keys(sp.min, sp.max)
		c.start, c.end = min(c.start, start), max(c.end, end)
		c.raw += sp.raw
		spans = append(spans, sp)
	}
	b.spans = spans[first:len(spans):len(spans)]
	return c, spans
}

// groups makes candidates of groups of blocks.
func (s *segmentSource) groups(x *search, refs []runRef) []candidate {
	var list []candidate
	for len(refs) > 0 {
		c := candidate{start: math.MaxInt64, end: math.MinInt64}
		rest := refs
		for n := 0; n < groupBlocks && len(rest) > 0; n++ {
			var block []runRef
			block, rest = nextBlock(rest)
			for _, ref := range block {
				r := &s.items[ref.item].runs[ref.run]
				start, end := x.keys(r.MinTime, r.MaxTime)
				c.start, c.end = min(c.start, start), max(c.end, end)
				c.raw += r.Raw
			}
		}
		c.group = &blockGroup{s, refs[:len(refs)-len(rest)]}
		list = append(list, c)
		refs = rest
	}
	return list
}

// filterGroup returns the blocks of a group that may match and begin by bound.
func (s *scan) filterGroup(g *blockGroup, bound int64, bad func(error)) (list []candidate) {
	refs := g.refs
	for n := 1; len(refs) > 0 && !s.halted.Load(); n++ {
		var block []runRef
		block, refs = nextBlock(refs)
		ok, err := s.x.mayMatch(g.of, int(block[0].block))
		if err != nil {
			// The block may be intact though its filter is not.
			if _, damaged := asDamage(err); !damaged {
				bad(err)
				return nil
			}
			ok = true
		}
		if ok {
			c, _ := g.of.candidate(s.x, block, make([]span, 0, len(block)))
			if c.start <= bound {
				list = append(list, c)
			}
		}
		if n%yieldBlocks == 0 {
			runtime.Gosched()
		}
	}
	return list
}

// mayMatch reports whether the filter of a block does not rule it out.
func (x *search) mayMatch(s *segmentSource, block int) (bool, error) {
	return x.require.mayMatch(func(needles ...filter.Needle) (bool, error) {
		return s.segs.May(s.items[0].Segment, block, needles...)
	})
}
