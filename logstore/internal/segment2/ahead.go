package segment2

import (
	"context"
	"slices"
	"sync"

	"github.com/RoaringBitmap/roaring/v2"
)

// An ahead reads the parts that a caller asks for in order, of a segment that is far
// away: those that lie together are one read, and the next read is under way while
// these are decoded. It is for one goroutine. A part that it does not have is read
// alone, and so is one whose range could not be read: damage of one loses no other.
type ahead struct {
	ctx    context.Context // of the reads
	cancel context.CancelFunc
	src    Source
	cache  lender // or nil
	most   int64  // bytes of a range
	reads  sync.WaitGroup
	lanes  []*lane

	ordered   bool            // parts of streams are asked for in their order
	streams   *roaring.Bitmap // if ordered: which; nil: all
	low, high uint32          // ordinals between which they are
	begun     [numOrdered]bool
}

// A lane is ranges that are read in their order. At most two of them are in memory.
type lane struct {
	ranges byteRanges
	begun  []*rangeRead // by range; nil: not yet, or no more
	used   int          // the range that was used last
	// anyOrder: ranges are used in any order, are few, and none is read ahead.
	anyOrder bool
}

// A rangeRead is the read of a range.
type rangeRead struct {
	byteRange
	done chan struct{}
	err  error // once done is closed
}

// A lender is a Cache that lends its memory to what is read ahead.
type lender interface {
	// Lendable returns how many bytes it could lend now.
	Lendable() int64
	// Lend takes n bytes of its memory, or reports false; -n gives them back.
	Lend(n int64) bool
}

// Kinds of parts that are asked for in the order of streams.
const (
	frameParts = iota // labels
	streamParts
	numOrdered
)

// readAheadShare is how many ranges may be read ahead in the memory that a cache lends,
// as other queries read ahead too.
const readAheadShare = 4

// inOrder returns an index whose parts are read ahead where they are wanted, until stop
// is called. It is x if the source is near.
func (x *index2) inOrder(ctx context.Context) *index2 {
	if x.viewer != nil || x.alone {
		return x
	}
	a := &ahead{src: x.src, most: MaxRead}
	if c, ok := x.cache.(lender); ok {
		a.cache, a.most = c, min(MaxRead, c.Lendable()/readAheadShare)
	}
	if a.most < minRange {
		return x
	}
	a.ctx, a.cancel = context.WithCancel(ctx)
	a.src = Within(a.ctx, x.src)
	with := *x
	with.ahead = a
	return &with
}

func (x *index2) InOrder(ctx context.Context, streams *roaring.Bitmap, low, high uint32) (Index, func()) {
	with := x.inOrder(ctx)
	if with == x {
		return x, nil
	}
	with.wantSections(TypeLabels, TypeStreams)
	with.ahead.ordered, with.ahead.streams, with.ahead.low, with.ahead.high = true, streams, low, high
	return with, with.stop
}

// begins reports whether parts of a kind are asked for in the order of streams, and now
// for the first time.
func (x *index2) begins(kind int) bool {
	a := x.ahead
	if a == nil || !a.ordered || a.begun[kind] {
		return false
	}
	a.begun[kind] = true
	return true
}

// stop ends what inOrder has begun.
func (x *index2) stop() {
	a := x.ahead
	if a == nil {
		return
	}
	a.cancel()
	a.reads.Wait()
	for _, l := range a.lanes {
		for i := range l.begun {
			a.drop(l, i)
		}
	}
	a.lanes = nil
}

// add adds a lane of ranges, if there are some.
func (a *ahead) add(ranges byteRanges, anyOrder bool) {
	if len(ranges) > 0 {
		a.lanes = append(a.lanes, &lane{ranges: ranges, begun: make([]*rangeRead, len(ranges)), anyOrder: anyOrder})
	}
}

// readAhead returns n bytes at off, or nil if they are to be read alone. They are valid
// until the next call.
func (x *index2) readAhead(ctx context.Context, off, n int64) []byte {
	a := x.ahead
	if a == nil {
		return nil
	}
	for _, l := range a.lanes {
		i := l.ranges.find(off, n)
		if i < l.used {
			continue // none, or one that was passed
		}
		for ; !l.anyOrder && l.used < i; l.used++ {
			a.drop(l, l.used)
		}
		r := a.begin(l, i)
		if r == nil {
			return nil
		}
		if i++; i < len(l.ranges) && !l.anyOrder {
			a.begin(l, i)
		}
		select {
		case <-r.done:
		case <-ctx.Done():
			return nil
		}
		if r.err != nil {
			return nil
		}
		return r.at(off, n)
	}
	return nil
}

// begin begins the read of a range of a lane, unless that was done. It returns nil if
// there is no memory for it.
func (a *ahead) begin(l *lane, i int) *rangeRead {
	if r := l.begun[i]; r != nil {
		return r
	}
	r := &rangeRead{byteRange: l.ranges[i], done: make(chan struct{})}
	if a.cache != nil && !a.cache.Lend(r.end-r.off) {
		return nil
	}
	l.begun[i] = r
	a.reads.Go(func() {
		defer close(r.done)
		r.err = r.read(a.src)
	})
	return r
}

// drop gives back the memory of a range.
func (a *ahead) drop(l *lane, i int) {
	r := l.begun[i]
	if r == nil {
		return
	}
	l.begun[i] = nil
	if a.cache != nil {
		a.cache.Lend(r.off - r.end)
	}
}

// wantSections reads sections that are small at once, with the table of their parts and
// with others beside them, and of others the table.
func (x *index2) wantSections(kinds ...Type) {
	a := x.ahead
	if a == nil {
		return
	}
	var l byteRanges
	for i := range x.card.sections {
		s := &x.card.sections[i]
		switch {
		case s.instance != 0 || !slices.Contains(kinds, s.kind):
		case s.bytes <= min(readBeside, a.most):
			l.want(s.off, s.bytes, a.most)
		default:
			if off, n := s.partTable(); s.flags&flagParts != 0 && n <= a.most {
				l.want(off, n, a.most)
			}
		}
	}
	a.add(l, true)
}

// wantParts reads parts of a section ahead, whose numbers begin behind the first skip
// ones.
func (x *index2) wantParts(ctx context.Context, kind Type, skip int, numbers []int) error {
	s := x.card.section(kind)
	if x.ahead == nil || s == nil {
		return nil
	}
	table, err := x.parts(ctx, s)
	if err != nil {
		return unlessCorrupt(err) // the caller finds the damage where it needs a part
	}
	var l byteRanges
	for _, n := range numbers {
		if n += skip; n < len(table) && !x.isAhead(table[n].off, int64(table[n].bytes)) {
			l.want(table[n].off, int64(table[n].bytes), x.ahead.most)
		}
	}
	x.ahead.add(l, false)
	return nil
}

// isAhead reports whether n bytes at off are read ahead.
func (x *index2) isAhead(off, n int64) bool {
	return x.ahead != nil && slices.ContainsFunc(x.ahead.lanes, func(l *lane) bool { return l.ranges.find(off, n) >= l.used })
}

// wantFrames reads label frames ahead.
func (x *index2) wantFrames(d directory, chunks []int) {
	if x.ahead == nil {
		return
	}
	var l byteRanges
	for _, c := range chunks {
		l.want(d[c].off, d[c].bytes(), x.ahead.most)
	}
	x.ahead.add(l, false)
}

// beginFrames reads the labels ahead that a caller asks for in order.
func (x *index2) beginFrames(d directory) {
	if x.begins(frameParts) {
		x.wantFrames(d, d.chunksOf(x.ahead.streams, x.ahead.low, x.ahead.high))
	}
}

// beginStreams reads the parts of the table of streams ahead that a caller asks for in
// order.
func (x *index2) beginStreams(ctx context.Context) error {
	if !x.begins(streamParts) {
		return nil
	}
	a := x.ahead
	var numbers []int
	for n := a.low / PartStreams; n <= a.high/PartStreams; n++ {
		if a.streams != nil {
			next := a.streams.NextValue(max(a.low, n*PartStreams))
			if next < 0 || next > int64(a.high) {
				break
			}
			n = uint32(next) / PartStreams
		}
		numbers = append(numbers, int(n))
	}
	return x.wantParts(ctx, TypeStreams, 0, numbers)
}
