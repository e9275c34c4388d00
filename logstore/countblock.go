package logstore

import (
	"math"
	"math/bits"
	"sort"

	"github.com/stele-go/stele/logstore/internal/segment2"
)

// countable reports whether the rows of the block that the search selects are known by
// their runs and times, and by the filter of the search.
func (l *blockLeaf) countable(r *reading) bool {
	x := r.x
	info := l.in.Info()
	return x.resume == nil && l.part != nil && l.part.runs != nil && !l.window.isCut() && l.in.behind == nil &&
		len(l.in.gone) == 0 && (x.within.isAll() || info.After+1 >= x.within.since && x.within.has(info.Upto))
}

// countBlock counts the entries of a block with keys up to bound. Runs are in the order
// of time, so it looks for the ends of buckets, and at few of the times.
func (c *totalsTask) countBlock(r *reading, l *blockLeaf, bound int64, out *outcome) {
	if err := l.readTimes(r); err != nil {
		out.add(err)
		return
	}
	r.count()
	from, to := r.x.times(l.first, bound)
	for span, rows := range l.spans(r.frame.Runs) {
		if int(span) >= len(l.part.runs) {
			out.add(l.corrupt(errRuns(r.block.Rows(), rows)))
			return
		}
		begin, end, err := l.searchRun(r, rows, from, to)
		if err == nil && begin == end {
			continue
		}
		var g *group
		if err == nil {
			if g, err = r.group(c.groups, l.ref(r, span)); err != nil {
				out.add(err)
				continue
			}
			err = c.countRun(r, l, g, &l.part.runs[span], begin, end)
		}
		if err != nil {
			out.add(err)
			return
		}
	}
}

// readTimes reads of the block no more than its times, mostly: they come first, and have
// checksums of their own. The runs of the frame are those of the index. What is wrong is told
// by readFrame.
func (l *blockLeaf) readTimes(r *reading) error {
	e := l.entry()
	gap := uint64(e.MaxTime-e.MinTime) / uint64(max(1, e.Rows/max(1, e.Runs))) // of two rows of a run
	n := min(e.Bytes, startBytes+int64(e.Rows)*int64(bits.Len64(gap)+noiseBits)/8)
	r.reset(nil)
	ok, err := l.in.ReadStart(r.x.ctx, &r.frame, l.group, l.number, int(n))
	if ok && err == nil {
		if err = r.block.OpenTimes(r.frame.Block); err == nil {
			_, err = r.block.TimesBetween(0, 0)
		}
	}
	if !ok || err != nil || r.block.Rows() != int(e.Rows) {
		return l.readFrame(r)
	}
	l.count(r, n)
	for i := range l.part.runs {
		run := &l.part.runs[i]
		r.frame.Runs = append(r.frame.Runs, segment2.FrameRun{Ordinal: run.Ordinal, First: run.First, Rows: run.Rows, Seq: run.Seq})
	}
	return nil
}

const (
	// startBytes is more than most blocks have before their times.
	startBytes = 1024
	// noiseBits is how many bits more than the gap of two rows most times take.
	noiseBits = 4
)

// countRun counts rows begin to before end of the block, which are of one run.
func (c *totalsTask) countRun(r *reading, l *blockLeaf, g *group, of *segment2.Run, begin, end int) error {
	for begin < end {
		at, err := of.MinTime, error(nil)
		if begin != int(of.First) {
			at, err = r.block.TimeAt(begin)
		}
		start, next := c.bucket(at), end
		if c.step > 0 && start <= math.MaxInt64-c.step && of.MaxTime >= start+c.step && err == nil {
			next, err = r.block.SearchTimes(begin+1, end, start+c.step)
		}
		if err != nil {
			return l.wrapDamage(err)
		}
		i := int64(begin) - int64(of.First)
		if err := c.add(g, start, int64(next-begin), runBytes(of, i, i+int64(next-begin))); err != nil {
			return err
		}
		begin = next
	}
	return nil
}

// runBytes returns how many bytes of lines and metadata some rows of a run have, if all
// have the same: those of all rows add up to the run's.
func runBytes(run *segment2.Run, from, to int64) int64 {
	rows := int64(run.Rows)
	return run.Raw*to/rows - run.Raw*from/rows
}

// searchNear returns the index of the first time at or after t, which is expected near the
// beginning.
func searchNear(times []int64, t int64) int {
	if n := len(times); n == 0 || times[n-1] < t {
		return n
	}
	low, step := 0, 16
	for low+step < len(times) && times[low+step] < t {
		low += step
		step *= 2
	}
	high := min(low+step, len(times))
	return low + sort.Search(high-low, func(i int) bool { return times[low+i] >= t })
}
