package logstore

import (
	"math"
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
	times, err := l.readOnlyTimes(r)
	if err != nil {
		out.add(err)
		return
	}
	r.count()
	from, to := r.x.times(l.first, bound)
	for span, rows := range l.spans(r.frame.Runs) {
		if uint64(rows.first)+uint64(rows.rows) > uint64(len(times)) || int(span) >= len(l.part.runs) {
			out.add(l.corrupt(errRuns(len(times), rows)))
			return
		}
		run := times[rows.first : rows.first+rows.rows]
		begin := sort.Search(len(run), func(i int) bool { return run[i] >= from })
		end := begin + searchNear(run[begin:], to)
		if begin == end {
			continue
		}
		g, err := r.group(c.groups, l.ref(r, span))
		if err != nil {
			out.add(err)
			continue
		}
		if err := c.countRun(g, l.part, span, rows.first, run, begin, end); err != nil {
			out.add(err)
			return
		}
	}
}

// readOnlyTimes is readTimes that reads no more of the block, mostly: times come first,
// and have checksums of their own. The runs of the frame are those of the index. What is
// wrong is told by readTimes.
func (l *blockLeaf) readOnlyTimes(r *reading) (times []int64, err error) {
	e := l.entry()
	n := 128 + 4*int64(e.Rows) // mostly
	if e.Codec == segment2.CodecColumns {
		n += 1024 + int64(e.Rows)/4 // the table and the head
	}
	if n > e.Bytes/2 {
		return l.readTimes(r)
	}
	r.reset(nil)
	ok, err := l.in.ReadStart(r.x.ctx, &r.frame, l.group, l.number, int(n))
	if !ok || err != nil {
		return l.readTimes(r)
	}
	if times, err = r.block.TimesOf(r.frame.Block); err != nil || len(times) != int(e.Rows) {
		return l.readTimes(r)
	}
	l.count(r, n)
	for i := range l.part.runs {
		run := &l.part.runs[i]
		r.frame.Runs = append(r.frame.Runs, segment2.FrameRun{Ordinal: run.Ordinal, First: run.First, Rows: run.Rows, Seq: run.Seq})
	}
	return times, nil
}

// countRun counts rows begin to before end of a run that begins with row first of its
// block.
func (c *totalsTask) countRun(g *group, part *blockPart, span int32, first uint32, run []int64, begin, end int) error {
	of := &part.runs[span]
	skipped := int64(first) - int64(of.First)
	for begin < end {
		start := c.bucket(run[begin])
		n := end - begin
		if c.step > 0 && start <= math.MaxInt64-c.step {
			n = searchNear(run[begin:end], start+c.step)
		}
		at := skipped + int64(begin)
		if err := c.add(g, start, int64(n), runBytes(of, at, at+int64(n))); err != nil {
			return err
		}
		begin += n
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
