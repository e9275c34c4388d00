package logstore

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync/atomic"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/stele-go/stele/logstore/internal/catalog"
	"github.com/stele-go/stele/logstore/internal/segment2"
)

// A segmentBranch is a segment. It opens into groups of blocks.
type segmentBranch struct {
	extent
	in *searched
}

// A searched is a segment in a search. Its branches and leaves share it.
type searched struct {
	catalog.Segment
	streams *roaring.Bitmap // ordinals of the streams to be read; nil: all
	gone    []goneRows      // rows not to be read

	// handed is set if a memtable of the view was sealed into the segment.
	handed bool
	parts  []sealedPart   // the rows to be read, if not nil, until they are clips
	clips  map[int][]clip // the rows to be read, if not nil, by block
	behind *takenRow      // if not nil, only rows behind it are read
	// again is set in a search that was parked: what begins at a key below seen was
	// read before, and is not counted again.
	again bool
	seen  int64

	last atomic.Pointer[segment2.Chunk] // the one that labels used last

	templates searchedTemplates
}

const (
	// With a limit, a group yields its blocks by slices of keys. The first slices
	// of a segment have about firstRows entries, or limitSlices times the limit, if
	// that is more; each slice of a group spans sliceGrowth times the keys of the
	// previous one.
	firstRows   = 1 << 14
	limitSlices = 4
	sliceGrowth = 4
)

// segmentSources pushes the segments that may have entries of the search, by what
// is known of them without reading. Which streams of a segment are selected is
// found out when it is opened.
func (x *search) segmentSources(push func(source)) {
	count := &x.stats.Segments
	for seg := range x.view.segs.Segments() {
		info := seg.Info()
		count.Considered++
		x.stats.Bytes.Considered += info.Raw
		if info.MaxTime < x.from || info.MinTime >= x.to {
			count.Time++
			x.stats.Bytes.Time += info.Raw
			continue
		}
		if !x.maySelect(seg) {
			count.Streams++
			x.stats.Bytes.Streams += info.Raw
			continue
		}
		push(newSegmentBranch(x, seg, nil))
	}
}

// segmentSourcesBehind pushes those of segmentSources that have entries behind a row,
// which may be nil. They have been counted.
func (x *search) segmentSourcesBehind(behind *takenRow, seen int64, push func(source)) {
	for seg := range x.view.segs.Segments() {
		info := seg.Info()
		if info.MaxTime < x.from || info.MinTime >= x.to || behind.after(x, info.MinTime, info.MaxTime) || !x.maySelect(seg) {
			continue
		}
		b := newSegmentBranch(x, seg, behind)
		b.in.again, b.in.seen = true, seen
		push(b)
	}
}

// maySelect reports whether a segment may have entries of the search, whatever their
// times. It reads nothing.
func (x *search) maySelect(seg catalog.Segment) bool {
	info := seg.Info()
	return x.within.meets(&info) && seg.MaySelect(x.tenant, x.conditions)
}

func newSegmentBranch(x *search, seg catalog.Segment, behind *takenRow) *segmentBranch {
	info := seg.Info()
	b := &segmentBranch{in: &searched{Segment: seg, gone: x.goneIn(seg), behind: behind}}
	b.order, b.size = seg.Rank(), info.Raw
	b.first, b.last = x.keys(info.MinTime, info.MaxTime)
	b.first = behind.first(x, b.first)
	return b
}

func (b *segmentBranch) segment() (in *searched, rank uint64) { return b.in, b.order }

// open returns the groups that may have entries in the range.
func (b *segmentBranch) open(r *reading, bound int64, fail func(error)) []source {
	x, in := r.x, b.in
	bytes := &r.stats.Bytes
	if first, _ := x.keys(in.Info().MinTime, in.Info().MaxTime); in.wasRead(first) {
		defer r.uncount()
	}
	if in.handed { // it is not of the view
		r.stats.Segments.Considered++
		bytes.Considered += in.Info().Raw
	}
	if in.parts == nil && !in.choose(r, fail) {
		r.stats.Segments.Streams++
		bytes.Streams += in.Info().Raw
		return nil
	}
	zones, err := in.Zones(x.ctx)
	failLost(err, fail)
	count := &r.stats.Groups
	count.Considered += int64(len(zones))
	r.stats.Segments.Read++
	if in.parts != nil {
		if !in.clip(x, zones, fail) {
			return nil
		}
		in.findGone(x, fail)
	}
	var list []source
	rows := int64(0)
	for i := range zones {
		z := &zones[i]
		if z.MaxTime < x.from || z.MinTime >= x.to {
			count.Time++
			bytes.Time += z.Raw
			continue
		}
		if !in.hasStreams(z.Low, z.High) || in.whole(r, z.Low, z.High, rowTotals{z.MinTime, z.MaxTime, z.Rows, z.Raw}, fail) {
			count.Streams++
			bytes.Streams += z.Raw
			continue
		}
		g := &groupBranch{in: in, number: i}
		g.first, g.last = x.keys(z.MinTime, z.MaxTime)
		g.again = in.wasRead(g.first)
		g.first, g.last = max(g.first, b.first), min(g.last, b.last)
		if g.first > bound || g.first > g.last {
			continue
		}
		g.size, g.order = in.share(z.Raw, z.Low, z.High), b.order
		rows += in.share(z.Rows, z.Low, z.High)
		list = append(list, g)
	}
	step := b.firstStep(x, rows)
	for _, g := range list {
		g.(*groupBranch).step = step
	}
	return list
}

// choose sets the streams to be read, and reports whether there are some.
func (in *searched) choose(r *reading, fail func(error)) bool {
	streams, err := in.Select(r.x.ctx, r.x.tenant, r.x.conditions)
	failLost(err, fail)
	in.streams = streams
	if streams != nil && streams.IsEmpty() {
		return false
	}
	in.findGone(r.x, fail)
	if r.totals == nil {
		return true
	}
	info := in.Info()
	defer r.inOrder(in, 0, uint32(info.Streams-1))()
	if len(in.gone) == 0 && r.totals.wholeSegment(r, in, rowTotals{info.MinTime, info.MaxTime, info.Rows, info.Raw}, fail) {
		return false
	}
	if in.haveOneRun(r.x) {
		return true
	}
	in.streams = in.notWhole(r, fail)
	return !in.streams.IsEmpty()
}

// haveOneRun reports whether nearly all streams have one run: the table of streams
// has no totals of these.
func (in *searched) haveOneRun(x *search) bool {
	zones, err := in.Zones(x.ctx) // what is lost is told where they are opened
	runs, streams := 0, in.Info().Streams
	for i := range zones {
		runs += zones[i].Runs
	}
	return err == nil && in.Info().Version > 1 && runs < streams+streams/8
}

// whole offers totals of all entries that the streams between two ordinals have in
// a part of the segment to the task. It reports whether the part need not be read:
// also if that failed.
func (in *searched) whole(r *reading, low, high uint32, t rowTotals, fail func(error)) bool {
	if r.totals == nil || in.clips != nil || len(in.gone) > 0 || !in.hasAll(low, high) {
		return false
	}
	whole, err := r.totals.wholeStreams(r, in, low, high, t)
	if err != nil {
		fail(err)
	}
	return whole || err != nil
}

// wasRead reports whether what begins at a key was read before the search was parked.
func (in *searched) wasRead(first int64) bool { return in.again && first < in.seen }

// firstStep returns the range of keys of a first slice where all groups have so
// many rows.
func (b *segmentBranch) firstStep(x *search, rows int64) int64 {
	want := max(firstRows, limitSlices*int64(x.limit))
	if !x.tracksTop() || rows <= want {
		return math.MaxInt64
	}
	return int64(float64(b.last-b.first)/float64(rows)*float64(want)) + 1
}

// failLost passes the error of an index to fail, unless the index could make up
// for the damage.
func failLost(err error, fail func(error)) {
	if bad, ok := errors.AsType[*segment2.CorruptError](err); err != nil && !(ok && bad.Rebuilt) {
		fail(err)
	}
}

// hasStreams reports whether streams between two ordinals are to be read.
func (in *searched) hasStreams(low, high uint32) bool {
	if in.streams == nil {
		return true
	}
	next := in.streams.NextValue(low)
	return next >= 0 && next <= int64(high)
}

// hasAll reports whether all streams between two ordinals are to be read.
func (in *searched) hasAll(low, high uint32) bool {
	if in.streams == nil {
		return true
	}
	n := in.streams.Rank(high)
	if low > 0 {
		n -= in.streams.Rank(low - 1)
	}
	return n == uint64(high-low)+1
}

// has reports whether a stream is to be read.
func (in *searched) has(ordinal uint32) bool {
	return in.streams == nil || in.streams.Contains(ordinal)
}

// next returns the first ordinal from one on that is to be read, or -1.
func (in *searched) next(from int64) int64 {
	if from >= int64(in.Info().Streams) {
		return -1
	}
	if in.streams == nil {
		return from
	}
	return in.streams.NextValue(uint32(from))
}

// share returns about which part of n belongs to the streams to be read, where
// all streams between two ordinals have n.
func (in *searched) share(n int64, low, high uint32) int64 {
	if in.streams == nil || high < low {
		return n
	}
	chosen := in.streams.Rank(high)
	if low > 0 {
		chosen -= in.streams.Rank(low - 1)
	}
	return max(1, int64(float64(n)*float64(chosen)/float64(high-low+1)))
}

// notWhole offers the totals of the streams to the task, and returns those that
// it needs more of.
func (in *searched) notWhole(r *reading, fail func(error)) *roaring.Bitmap {
	x, more := r.x, roaring.New()
	for part := 0; part*segment2.PartStreams < in.Info().Streams && !r.halted.Load(); part++ {
		low := uint32(part * segment2.PartStreams)
		if !in.hasStreams(low, low+segment2.PartStreams-1) {
			continue
		}
		p, err := r.segment(in).Streams(x.ctx, part)
		failLost(err, fail)
		if p == nil { // the runs may tell
			in.addStreams(more, low)
			continue
		}
		for i := range p.Streams {
			t, ordinal := &p.Streams[i], p.First+uint32(i)
			if !in.has(ordinal) {
				continue
			}
			if t.Rows > 0 {
				if t.MaxTime < x.from || t.MinTime >= x.to {
					continue
				}
				some, all := in.lacks(x, ordinal, t.MinTime, t.MaxTime)
				if all || !some && r.whole(streamRef{in: in, ordinal: ordinal}, rowTotals{t.MinTime, t.MaxTime, t.Rows, t.Raw}, fail) {
					continue
				}
			}
			more.Add(ordinal)
		}
		runtime.Gosched()
	}
	return more
}

// addStreams adds the streams to be read of a part of the table of streams.
func (in *searched) addStreams(to *roaring.Bitmap, low uint32) {
	end := min(low+segment2.PartStreams, uint32(in.Info().Streams))
	for ordinal := low; ordinal < end; ordinal++ {
		if in.has(ordinal) {
			to.Add(ordinal)
		}
	}
}

// chunk returns the encoded labels of the streams of the chunk that has one.
func (in *searched) chunk(r *reading, ordinal uint32) (*segment2.Chunk, error) {
	seg := r.segment(in)
	n, err := seg.ChunkOf(r.x.ctx, ordinal)
	if err != nil {
		return nil, err
	}
	c, err := seg.Labels(r.x.ctx, n)
	failLost(err, func(error) { c = nil })
	if c == nil {
		return nil, err
	}
	for i, enc := range c.Labels {
		if err := in.checkLabels(c.First+uint32(i), enc); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// checkLabels returns an error for wrong labels in a segment of version 1: those of
// later ones were checked before they were written.
func (in *searched) checkLabels(ordinal uint32, enc string) error {
	if in.Info().Version > 1 {
		return nil
	}
	_, err := streamLabelsOf(in.Path(), int(ordinal), enc)
	return err
}

// labels returns the encoded labels of a stream of the segment. They share memory with
// those of others: a caller that keeps them clones them.
func (in *searched) labels(x *search, ordinal uint32) (string, error) {
	c := in.last.Load()
	if c == nil || ordinal-c.First >= uint32(len(c.Labels)) {
		n, err := in.ChunkOf(x.ctx, ordinal)
		if err != nil {
			return "", err
		}
		c, err = in.Labels(x.ctx, n)
		failLost(err, func(error) { c = nil })
		if c == nil {
			return "", err
		}
		in.last.Store(c)
	}
	enc := c.Of(ordinal)
	if in.checkLabels(ordinal, enc) != nil {
		return "", &CorruptError{in.Path(), 0, fmt.Sprintf("stream %d: %v", ordinal, ErrLabels)}
	}
	return enc, nil
}
