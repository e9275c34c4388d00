package catalog

import (
	"cmp"
	"math"
	"time"

	"github.com/stele-go/stele/logstore/internal/segment2"
)

// # Which segments are compacted
//
// Neighbours by position, without a gap between them and of one log, never into more than
// SegmentSize bytes, nor into more than SegmentSpan from the first entry to the
// last or, if one of them spans more, as one with old entries does, that span.
// Small results, of at most a sixteenth of SegmentSize, may span SmallSpan: so the
// segments of a store that gets few lines a day do not grow in number by the day.
// There are four reasons to compact neighbours:
//
//	tier   together they have at least growth times the bytes of the largest
//	full   together they have at least half of SegmentSize, none of them has,
//	       and the next segment would be too much
//	long   together they span at least half of the span that they may have, none
//	       of them does, and the next segment would be too long after the first
//	small  together they have at least half of what a small result may have, none
//	       of them has, and with the next segment they would be no small result,
//	       and too long
//
// So each byte is written again at most
//
//	log(SegmentSize / size first published) / log(growth) + 3
//
// times: by a tier it comes into a segment that is growth times larger, and it
// comes into a full, a long and a small one only once each. (O'Neil et al., The Log-Structured
// Merge-Tree, 1996, has the argument.) A small segment at the end waits for
// others and is not compacted into a large one before it each time.
//
// And few segments remain: fewer than growth adjacent ones have the same tier and
// day, as more would be compacted.
const growth = 4

// A candidate is a segment as the policy sees it.
type candidate struct {
	positions positions
	size      int64
	min, max  int64 // times of the first and last entry
	log       [16]byte
	tables    int // streams of a segment of version 1: its table of them is read whole
	streams   int
	// excluded segments are not compacted: they are damaged, or an attempt
	// failed, or the file that they were salvaged from is not yet in quarantine.
	excluded bool
}

// limits bound compactions.
type limits struct {
	size  int64
	span  time.Duration
	small time.Duration // the span of a small result
	count int           // of segments in one compaction
	// tables bounds the streams of the tables of version 1, unless there are two
	// segments only.
	tables int
	// memory bounds the bytes of memory, unless there are fewMerged segments only; 0 is
	// no bound.
	memory int64
}

// fewMerged is how many segments are compacted whatever their streams take: with fewer
// than growth, a tier would never be worth it.
const fewMerged = growth + 2

// fits reports whether a merge has the memory for a window.
func (l limits) fits(w window) bool {
	n := w.to - w.from
	if l.memory == 0 || n <= fewMerged {
		return true
	}
	return int64(n)*segment2.MergeSourceBytes+segment2.MergeStreamBytes*w.streams+segment2.MergedStreamBytes*int64(w.mostStreams) <= l.memory
}

// smallSize is the largest size of a small result.
func (l limits) smallSize() int64 { return l.size / 16 }

// spanOf returns how much time a result of that size may span.
func (l limits) spanOf(size int64) int64 {
	if size <= l.smallSize() {
		return int64(max(l.span, l.small))
	}
	return int64(l.span)
}

// A window is neighbours that may be compacted, and the result of that.
type window struct {
	from, to int // of a list: [from, to)
	size     int64
	largest  int64
	min, max int64
	longest  int64    // span of time of the longest
	log      [16]byte // of those segments whose log is known; else 0
	tables   int
	// streams counts each in each segment, mostStreams is the most that one has.
	streams     int64
	mostStreams int
}

func newWindow(list []candidate, i int) window {
	c := list[i]
	return window{from: i, to: i + 1, size: c.size, largest: c.size, min: c.min, max: c.max, longest: length(c.min, c.max), log: c.log, tables: c.tables, streams: int64(c.streams), mostStreams: c.streams}
}

// length returns the time from the first entry to the last, without overflow.
func length(first, last int64) int64 {
	if d := last - first; d >= 0 {
		return d
	}
	return math.MaxInt64
}

// grown returns the window with the next segment, if that is allowed. Else long
// reports that it would span too much time, full that it would be too large.
func (w window) grown(list []candidate, l limits) (next window, ok, full, long bool) {
	if w.to == len(list) || w.to-w.from == l.count {
		return w, false, false, false
	}
	c, last := list[w.to], list[w.to-1]
	if c.excluded || last.excluded || c.positions.after != last.positions.upto {
		return w, false, false, false
	}
	if otherLogs(w.log, c.log) || w.tables+c.tables > l.tables && w.to-w.from > 1 {
		return w, false, false, false
	}
	next = window{
		from: w.from, to: w.to + 1,
		size: w.size + c.size, largest: max(w.largest, c.size),
		min: min(w.min, c.min), max: max(w.max, c.max),
		longest: max(w.longest, length(c.min, c.max)),
		log:     cmp.Or(w.log, c.log), tables: w.tables + c.tables,
		streams: w.streams + int64(c.streams), mostStreams: max(w.mostStreams, c.streams),
	}
	if !l.fits(next) {
		return w, false, false, false
	}
	full = next.size > l.size
	long = length(next.min, next.max) > max(l.spanOf(next.size), next.longest)
	return next, !full && !long, full, long
}

// otherLogs reports whether two logs are known and differ: the positions of one
// mean nothing in the other.
func otherLogs(a, b [16]byte) bool { return a != b && a != [16]byte{} && b != [16]byte{} }

// isLong reports whether w is worth compacting where the next would be too long.
func (w window) isLong(l limits) bool {
	half := l.spanOf(w.size) / 2
	return length(w.min, w.max) >= half && w.longest < half
}

// isSmall reports whether w is worth compacting because its result is small and
// that of next, which would span too long, is not.
func (w window) isSmall(next window, l limits) bool {
	small := l.smallSize()
	return next.size > small && w.size <= small && w.size >= small/2 && w.largest < small/2
}

// pick returns the neighbours to compact next: the largest window for which
// there is a reason, as its bytes would be written anyway, and its smaller
// segments are then written once instead of several times. list is by position.
func pick(list []candidate, l limits) (best window, ok bool) {
	for i := range list {
		w := newWindow(list, i)
		for {
			next, grows, full, long := w.grown(list, l)
			worth := w.size/growth >= w.largest ||
				full && w.size >= l.size/2 && w.largest < l.size/2 ||
				long && w.isLong(l) || long && w.isSmall(next, l)
			if worth && w.to-w.from > 1 && (!ok || w.size > best.size) {
				best, ok = w, true
			}
			if !grows {
				break
			}
			w = next
		}
	}
	return best, ok
}

// pack returns the first neighbours that the limits allow to be compacted, as
// many as possible.
func pack(list []candidate, l limits) (w window, ok bool) {
	for i := 0; i < len(list); i = w.to {
		w = newWindow(list, i)
		for {
			next, grows, _, _ := w.grown(list, l)
			if !grows {
				break
			}
			w = next
		}
		if w.to-w.from > 1 {
			return w, true
		}
	}
	return w, false
}
