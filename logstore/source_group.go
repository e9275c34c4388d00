package logstore

import (
	"cmp"
	"math"
	"runtime"
	"slices"

	"github.com/stele-go/stele/logstore/internal/segment2"
)

// A groupBranch is a group of blocks of a segment. It opens into blocks, with a
// limit in slices of keys: the later ones are not read once the limit is
// reached. Blocks that their filters rule out are left out.
type groupBranch struct {
	extent
	in     *searched
	number int
	step   int64 // of keys, of the next slice
	again  bool  // see searched.again

	// After the first slice:
	group  *segment2.Group
	leaves []*blockLeaf // of later slices, by first key; nil: not opened yet
}

// yieldBlocks is how many filters are tested between two calls of the scheduler,
// which may run appends.
const yieldBlocks = 16

func (g *groupBranch) open(r *reading, bound int64, fail func(error)) []source {
	if g.again {
		defer r.uncount()
	}
	if g.group == nil && !g.load(r, fail) {
		return nil
	}
	slice := g.leaves
	g.leaves = nil
	if g.step < math.MaxInt64-max(g.first, 0) {
		until := g.first + g.step
		n, _ := slices.BinarySearchFunc(slice, until, func(l *blockLeaf, until int64) int { return cmp.Compare(l.first, until) })
		slice, g.leaves = slice[:n], slice[n:]
		g.step = min(g.step, math.MaxInt64/sliceGrowth) * sliceGrowth
	}
	size := int64(0)
	for _, l := range slice {
		size += l.size
	}
	list := g.matching(r, slice, bound, fail)
	if len(g.leaves) > 0 && g.leaves[0].first <= bound {
		g.first, g.size = g.leaves[0].first, max(1, g.size-size)
		list = append(list, g)
	}
	return list
}

// load makes the leaves of the group. It reports whether there are some.
func (g *groupBranch) load(r *reading, fail func(error)) bool {
	x, in := r.x, g.in
	group, err := in.Group(x.ctx, g.number)
	failLost(err, fail)
	if group == nil {
		return false
	}
	g.group = group
	r.stats.Groups.Read++
	count, bytes := &r.stats.Blocks, &r.stats.Bytes
	count.Considered += int64(len(group.Blocks))
	var chosen []int
	for i := range group.Blocks {
		if err := r.ended(); err != nil {
			fail(err)
			return false
		}
		switch b := &group.Blocks[i]; {
		case b.MaxTime < x.from || b.MinTime >= x.to || in.behind.after(x, b.MinTime, b.MaxTime):
			count.Time++
			bytes.Time += int64(b.Raw)
		case !in.hasStreams(b.Low, b.High) || in.whole(r, b.Low, b.High, rowTotals{b.MinTime, b.MaxTime, int64(b.Rows), int64(b.Raw)}, fail):
			count.Streams++
			bytes.Streams += int64(b.Raw)
		default:
			chosen = append(chosen, i)
		}
	}
	var runs segment2.Runs
	if r.totals != nil && in.clips == nil && len(chosen) > 0 {
		low, high := uint32(math.MaxUint32), uint32(0)
		for _, at := range chosen {
			low, high = min(low, group.Blocks[at].Low), max(high, group.Blocks[at].High)
		}
		defer r.inOrder(in, low, high)()
		runs, err = in.Runs(x.ctx, g.number)
		failLost(err, fail)
	}
	leaves := make([]blockLeaf, len(chosen))
	for i, at := range chosen {
		if err := r.ended(); err != nil {
			fail(err)
			return false
		}
		b, l := &group.Blocks[at], &leaves[i]
		l.in, l.group, l.number = in, group, group.First+at
		l.first, l.last = x.keys(b.MinTime, b.MaxTime)
		l.seen, l.first = in.wasRead(l.first), in.behind.first(x, l.first)
		l.size, l.order = in.share(int64(b.Raw), b.Low, b.High), g.order
		if in.clips != nil && !l.setClips(x, in.clips[l.number]) || runs != nil && !l.setRuns(r, runs.Of(l.number), b, fail) {
			count.Streams++
			bytes.Streams += int64(b.Raw)
			continue
		}
		g.leaves = append(g.leaves, l)
	}
	slices.SortFunc(g.leaves, func(a, b *blockLeaf) int { return cmp.Compare(a.first, b.first) })
	return len(g.leaves) > 0
}

// setRuns offers the runs of the block to the task, and reports whether the
// block must be read. Runs that do not cover the block tell nothing.
func (l *blockLeaf) setRuns(r *reading, runs segment2.Runs, b *segment2.Block, fail func(error)) bool {
	x, rows := r.x, uint32(0)
	for i := range runs {
		rows += runs[i].Rows
	}
	if rows != b.Rows {
		return true
	}
	part := &blockPart{runs: runs}
	for i := range runs {
		run := &runs[i]
		if run.MaxTime < x.from || run.MinTime >= x.to || !l.in.has(run.Ordinal) {
			continue
		}
		some, all := l.in.lacks(x, run.Ordinal, run.MinTime, run.MaxTime)
		if !all && (some || !r.whole(streamRef{in: l.in, ordinal: run.Ordinal}, rowTotals{run.MinTime, run.MaxTime, int64(run.Rows), run.Raw}, fail)) {
			part.only = append(part.only, int32(i))
		}
	}
	l.part = part
	return len(part.only) > 0
}

// matching returns the leaves that begin by bound and whose filters do not rule
// them out.
func (g *groupBranch) matching(r *reading, leaves []*blockLeaf, bound int64, fail func(error)) (list []source) {
	x := r.x
	list = make([]source, 0, len(leaves)+1)
	asker := newBlockAsker(r, g)
	counter, _ := r.totals.(blockCounter)
	if x.needsFilters(g.group) {
		filters, err := g.in.Filters(x.ctx, g.group)
		if err != nil {
			fail(err)
			return list
		}
		defer filters.Release()
		asker.filters = filters
	}
	for i, l := range leaves {
		if l.first > bound || r.halted.Load() {
			break
		}
		known, err := asker.of(l)
		if err != nil {
			// The block may be intact though what is known of it is not.
			if _, damaged := asDamage(err); !damaged {
				fail(err)
				return nil
			}
			known = blockVerdict{may: true}
		}
		switch {
		case !known.may:
			r.stats.Blocks.Filter++
			r.stats.Bytes.Filter += int64(l.entry().Raw)
		case known.exact && counter != nil && counter.takeBlock(r, l, known.rows):
			r.stats.Blocks.Streams++
			r.stats.Bytes.Streams += int64(l.entry().Raw)
		default:
			list = append(list, l)
		}
		if (i+1)%yieldBlocks == 0 {
			runtime.Gosched()
		}
	}
	return list
}
