package logstore

import (
	"math"
	"math/bits"
	"sort"
	"unsafe"
)

// Lines of blocks of CodecColumns are counted without being made. Where all is in one bucket
// of one group, the table of a block may be enough, which the index has, or the columns of
// some templates; elsewhere the rows that match are bits, and each run counts its own.

// A countedRows is a part of a run that is counted: rows of the block from first up to, and not
// including, end.
type countedRows struct {
	span       int32
	first, end int
}

const countedBytes = int64(unsafe.Sizeof(countedRows{}))

// countsMatches reports whether the task counts entries that the filter matches, and not
// their bytes, and what their lines and metadata say is all that the filter asks.
func (c *totalsTask) countsMatches() bool {
	return c.x.noLines && c.x.filter != nil && c.x.lines != nil && c.x.filter.begin == nil
}

// takeBlock counts a block that was not read, of which so many rows match. It returns false
// if that is not all that must be known.
func (c *totalsTask) takeBlock(r *reading, l *blockLeaf, rows int64) bool {
	if !c.countsMatches() || !l.countable(r) || !c.inOneBucket(l, c.x.from, c.x.to) {
		return false
	}
	g := c.groupOf(r, l)
	if g == nil || c.addMatches(g, l, rows) != nil {
		return false // reading the block ends with the error
	}
	r.stats.Lines += int64(l.entry().Rows)
	r.stats.Matched += rows
	return true
}

// addMatches counts n entries of a block in the bucket of its first.
func (c *totalsTask) addMatches(g *group, l *blockLeaf, n int64) error {
	if n == 0 {
		return nil
	}
	return c.add(g, c.bucket(l.entry().MinTime), n, 0)
}

// inOneBucket reports whether all times of a block are in [from, to), and in one bucket.
func (c *totalsTask) inOneBucket(l *blockLeaf, from, to int64) bool {
	e := l.entry()
	return e.MinTime >= from && e.MaxTime < to && c.bucket(e.MinTime) == c.bucket(e.MaxTime)
}

// groupOf returns the group of all streams of a block, nil if there are several, some are
// not to be read, or labels cannot be read.
func (c *totalsTask) groupOf(r *reading, l *blockLeaf) (all *group) {
	if len(l.part.only) != len(l.part.runs) {
		return nil
	}
	for i := range l.part.runs {
		g, err := r.group(c.groups, streamRef{in: l.in, ordinal: l.part.runs[i].Ordinal})
		if err != nil || i > 0 && g != all {
			return nil
		}
		all = g
		if c.groups.single() {
			break
		}
	}
	return all
}

// countMatches counts the entries of a block of columns that the filter matches and that
// have keys up to bound. It makes the lines of those of which columns do not tell.
func (c *totalsTask) countMatches(r *reading, l *blockLeaf, bound int64, out *outcome) {
	if err := l.openFrame(r); err != nil {
		out.add(err)
		return
	}
	from, to := r.x.times(l.first, bound)
	whole := c.inOneBucket(l, from, to)
	if whole {
		if g := c.groupOf(r, l); g != nil {
			n, ok, err := r.block.Count(r.templates.plan)
			if err != nil {
				out.add(l.wrapDamage(err))
				return
			}
			if ok {
				r.stats.Lines += int64(r.block.Rows())
				r.stats.Matched += int64(n)
				out.add(c.addMatches(g, l, int64(n)))
				return
			}
		}
	}
	var times []int64 // nil: all rows are in the bucket of the first
	if !whole {
		var err error
		if times, err = r.block.Times(); err != nil {
			out.add(l.wrapDamage(err))
			return
		}
	}
	if err := c.countRows(r, l, times, from, to, out); err != nil {
		out.add(err)
	}
}

// countRows counts the rows with times in [from, to) that the filter matches. Errors of
// labels go to out.
func (c *totalsTask) countRows(r *reading, l *blockLeaf, times []int64, from, to int64, out *outcome) error {
	if err := l.rangesOf(r, times, from, to); err != nil {
		return err
	}
	found, ok, err := r.block.Search(r.templates.plan)
	if err != nil || !ok {
		return l.wrapDamage(err)
	}
	r.matching = append(r.matching[:0], found.Sure...)
	r.pickUnsure(found.May, times)
	r.count()
	unsure := len(r.picks)
	if unsure > 0 {
		if err := l.rebuildPicks(r); err != nil {
			return err
		}
		if err := r.match(l); err != nil {
			return err
		}
		for _, p := range r.picks {
			r.matching[p.row/64] |= 1 << (p.row % 64)
		}
	}
	r.stats.Lines -= int64(unsure)
	r.stats.Matched -= int64(len(r.picks))
	for _, rows := range r.ranges {
		r.stats.Lines += int64(rows.end - rows.first)
		n := countBits(r.matching, rows.first, rows.end)
		if n == 0 {
			continue
		}
		r.stats.Matched += int64(n)
		g, err := r.group(c.groups, l.ref(r, rows.span))
		if err != nil {
			out.add(err)
			continue
		}
		if err := c.countRange(g, l, r.matching, times, rows, n); err != nil {
			return err
		}
	}
	return nil
}

// countRange adds the n rows of a range whose bits are set, bucket by bucket.
func (c *totalsTask) countRange(g *group, l *blockLeaf, matching []uint64, times []int64, rows countedRows, n int) error {
	if times == nil {
		return c.addMatches(g, l, int64(n))
	}
	for at := rows.first; at < rows.end && n > 0; {
		start, end := c.bucket(times[at]), rows.end
		if c.step > 0 && start <= math.MaxInt64-c.step {
			end = at + searchNear(times[at:end], start+c.step)
		}
		if some := countBits(matching, at, end); some > 0 {
			if err := c.add(g, start, int64(some), 0); err != nil {
				return err
			}
			n -= some
		}
		at = end
	}
	return nil
}

// rangesOf sets r.ranges to the rows of each run with times in [from, to), all rows if times
// is nil.
func (l *blockLeaf) rangesOf(r *reading, times []int64, from, to int64) error {
	r.ranges = r.ranges[:0]
	all := uint64(r.block.Rows())
	for span, rows := range l.spans(r.frame.Runs) {
		if uint64(rows.first)+uint64(rows.rows) > all {
			return l.corrupt(errRuns(int(all), rows))
		}
		first := int(rows.first)
		end := first + int(rows.rows)
		if times != nil {
			run := times[first:end]
			begin := sort.Search(len(run), func(i int) bool { return run[i] >= from })
			first, end = first+begin, first+begin+searchNear(run[begin:], to)
		}
		if first < end {
			r.ranges = append(r.ranges, countedRows{span, first, end})
		}
	}
	return nil
}

// pickUnsure picks those rows of the ranges that may match and are not in r.matching.
func (r *reading) pickUnsure(may []uint64, times []int64) {
	for _, rows := range r.ranges {
		for w := rows.first / 64; w <= (rows.end-1)/64; w++ {
			for left := bitsWithin(may[w]&^r.matching[w], w, rows.first, rows.end); left != 0; left &= left - 1 {
				row := 64*w + bits.TrailingZeros64(left)
				p := pick{span: rows.span, row: int32(row)}
				if times != nil {
					p.time = times[row]
				}
				r.picks = append(r.picks, p)
			}
		}
	}
}

// bitsWithin returns those bits of word w that are of rows first to end, which is not
// included.
func bitsWithin(word uint64, w, first, end int) uint64 {
	if from := first - 64*w; from > 0 {
		word &= ^uint64(0) << from
	}
	if rest := end - 64*w; rest < 64 {
		word &= 1<<rest - 1
	}
	return word
}

// countBits returns how many rows from first to end, which is not included, have their bits
// set.
func countBits(words []uint64, first, end int) (n int) {
	if first == end {
		return 0
	}
	for w := first / 64; w <= (end-1)/64; w++ {
		n += bits.OnesCount64(bitsWithin(words[w], w, first, end))
	}
	return n
}
