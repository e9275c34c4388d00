package logstore

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/stele-go/stele/logstore/internal/catalog"
	"github.com/stele-go/stele/logstore/internal/segment2"
)

// A rowRange is consecutive rows of a stream in a segment, [first, end) of all
// its rows there, with times from min to max.
type rowRange struct {
	first, end int
	min, max   int64
}

// A sealedPart is rows of a stream in a memtable that was sealed.
type sealedPart struct {
	ordinal uint32 // of the stream in the segment
	rowRange
	raw int64 // about their bytes of lines and metadata
}

// A clip is rows of a run of a block.
type clip struct {
	run         int32
	first, rows uint32 // of the block
	min, max    int64
	raw         int64
}

// sealedPartBytes is about the memory of a sealedPart, or of its clips.
const sealedPartBytes = 96

// segment returns the segment that the memtable was sealed into.
func (t *sealedMemtable) segment() (catalog.Segment, error) {
	for seg := range t.segs.Segments() {
		if seg.Rank() == t.rank {
			return seg, nil
		}
	}
	return catalog.Segment{}, fmt.Errorf("the segment after position %d is not in its snapshot", t.rank)
}

// newPartsBranch returns the rows that the parts name in the segment that their
// memtable was sealed into, with the rank order. It reads nothing.
func newPartsBranch(x *search, seg catalog.Segment, order uint64, parts []sealedPart) *segmentBranch {
	b := &segmentBranch{in: &searched{Segment: seg, handed: true, parts: parts, gone: x.goneIn(seg)}}
	b.extent = extent{math.MaxInt64, math.MinInt64, 0, order}
	for _, p := range parts {
		first, last := x.keys(p.min, p.max)
		b.first, b.last, b.size = min(b.first, first), max(b.last, last), b.size+p.raw
	}
	return b
}

// newRestBranch returns what the search selects of the segment that a memtable was
// sealed into, with the rank order: behind a row, unless that is nil. It reads
// nothing.
func newRestBranch(x *search, seg catalog.Segment, order uint64, behind *takenRow) *segmentBranch {
	info := seg.Info()
	b := &segmentBranch{in: &searched{Segment: seg, handed: true, behind: behind, gone: x.goneIn(seg)}}
	b.size, b.order = info.Raw, order
	b.first, b.last = x.keys(info.MinTime, info.MaxTime)
	b.first = behind.first(x, b.first)
	return b
}

// clip sets the streams and the clips that the parts stand for, and forgets the
// parts. It reports whether there are some.
func (in *searched) clip(x *search, zones []segment2.Zone, fail func(error)) bool {
	parts := map[uint32][]rowRange{}
	in.streams, in.clips = roaring.New(), map[int][]clip{}
	for _, p := range in.parts {
		parts[p.ordinal] = append(parts[p.ordinal], p.rowRange)
		in.streams.Add(p.ordinal)
	}
	in.parts = nil
	runs := map[uint32][]numberedRun{}
	for i, z := range zones {
		if !in.hasStreams(z.Low, z.High) {
			continue
		}
		list, err := in.Runs(x.ctx, i)
		failLost(err, fail)
		number := int32(0)
		for j, run := range list {
			if number++; j == 0 || list[j-1].Block != run.Block {
				number = 0
			}
			if in.has(run.Ordinal) {
				runs[run.Ordinal] = append(runs[run.Ordinal], numberedRun{run, number})
			}
		}
	}
	for ordinal, ranges := range parts {
		in.clipRuns(runs[ordinal], ranges)
	}
	for _, clips := range in.clips {
		slices.SortFunc(clips, func(a, b clip) int { return cmp.Or(cmp.Compare(a.run, b.run), cmp.Compare(a.first, b.first)) })
	}
	return len(in.clips) > 0
}

// A numberedRun is a run with its number in its block.
type numberedRun struct {
	segment2.Run
	number int32
}

// clipRuns cuts all runs of a stream to ranges of its rows.
func (in *searched) clipRuns(runs []numberedRun, ranges []rowRange) {
	slices.SortFunc(runs, func(a, b numberedRun) int { return cmp.Compare(a.Seq, b.Seq) })
	before := 0 // rows of the runs before
	for _, run := range runs {
		rows := int(run.Rows)
		for _, t := range ranges {
			from, to := max(before, t.first), min(before+rows, t.end)
			if from >= to {
				continue
			}
			block := int(run.Block)
			in.clips[block] = append(in.clips[block], clip{
				run: run.number, first: run.First + uint32(from-before), rows: uint32(to - from),
				min: max(run.MinTime, t.min), max: min(run.MaxTime, t.max),
				raw: int64(float64(run.Raw) * float64(to-from) / float64(rows)),
			})
		}
		before += rows
	}
}

// setClips sets the rows to be read, and reports whether there are some.
func (l *blockLeaf) setClips(x *search, clips []clip) bool {
	if len(clips) == 0 {
		return false
	}
	l.part = &blockPart{clips: clips}
	l.first, l.last, l.size = math.MaxInt64, math.MinInt64, 0
	for _, c := range clips {
		first, last := x.keys(c.min, c.max)
		l.first, l.last, l.size = min(l.first, first), max(l.last, last), l.size+c.raw
	}
	return true
}
