package logstore

import "github.com/stele-go/stele/logstore/internal/segment2"

// totalsTask counts entries by group and bucket.
type totalsTask struct {
	x            *search
	step, offset int64
	groups       *grouping
}

func newTotalsTask(x *search, a Aggregation) *totalsTask {
	return &totalsTask{x, int64(a.Step), int64(a.Offset), newGrouping(a, &x.sums)}
}

// bucket returns the start of the bucket of a time.
func (c *totalsTask) bucket(time int64) int64 {
	if c.step == 0 {
		return c.x.start
	}
	if time < c.offset {
		return c.offset - c.step
	}
	return time - (time-c.offset)%c.step
}

// add adds to a bucket of a group.
func (c *totalsTask) add(g *group, start, entries, bytes int64) error {
	if c.x.noLines {
		bytes = 0
	}
	return g.add(c.groups.memory, start, entries, bytes)
}

// within reports whether all entries with times from min to max are counted, in
// one bucket.
func (c *totalsTask) within(min, max int64) bool {
	return c.x.filter == nil && min >= c.x.from && max < c.x.to && c.bucket(min) == c.bucket(max)
}

func (c *totalsTask) whole(r *reading, st streamRef, t rowTotals) (bool, error) {
	if !c.within(t.min, t.max) {
		return false, nil
	}
	g, err := r.group(c.groups, st)
	if err == nil {
		err = c.add(g, c.bucket(t.min), t.rows, t.raw)
	}
	return true, err
}

func (c *totalsTask) wholeStreams(r *reading, in *searched, low, high uint32, t rowTotals) (bool, error) {
	if !c.within(t.min, t.max) || c.groups.each() && low < high {
		return false, nil
	}
	// An error is told by the streams that have it.
	one, err := r.group(c.groups, streamRef{in: in, ordinal: high})
	if err != nil {
		return false, nil
	}
	if !c.groups.single() {
		for ordinal := low; ordinal < high; ordinal++ {
			if other, err := r.group(c.groups, streamRef{in: in, ordinal: ordinal}); other != one || err != nil {
				return false, nil
			}
		}
	}
	return true, c.add(one, c.bucket(t.min), t.rows, t.raw)
}

func (c *totalsTask) wholeSegment(_ *reading, in *searched, t rowTotals, fail func(error)) bool {
	if in.streams != nil || !c.groups.single() || !c.within(t.min, t.max) {
		return false
	}
	g, err := c.groups.of("")
	if err == nil {
		err = c.add(g, c.bucket(t.min), t.rows, t.raw)
	}
	fail(err)
	return true
}

func (*totalsTask) yields() bool { return false }

func (c *totalsTask) visit(r *reading, l leaf, bound int64, _ allotment, out *outcome) {
	if b, ok := l.(*blockLeaf); ok && b.countable(r) {
		switch {
		case c.x.filter == nil:
			c.countBlock(r, b, bound, out)
			return
		case c.countsMatches() && b.entry().Codec == segment2.CodecColumns:
			c.countMatches(r, b, bound, out)
			return
		}
	}
	mode := timesOnly
	if c.x.filter != nil {
		mode = unordered
	}
	rest, err := l.pick(r, bound, mode)
	if err != nil {
		out.add(err)
		return
	}
	if rest != nil {
		out.more = append(out.more, rest)
	}
	// Entries of one stream and one bucket are mostly adjacent.
	var g *group
	last := int32(-1)
	for picks := r.picks; len(picks) > 0; {
		span, start := picks[0].span, c.bucket(picks[0].time)
		n := 1
		for n < len(picks) && picks[n].span == span && c.bucket(picks[n].time) == start {
			n++
		}
		if span != last {
			g, err = r.group(c.groups, l.ref(r, span))
			out.add(err)
			last = span
		}
		if err == nil {
			var bytes int64
			if !c.x.noLines {
				bytes, err = l.bytes(r, picks[:n])
			}
			if err == nil {
				err = c.add(g, start, int64(n), bytes)
			}
			out.add(err)
		}
		picks = picks[n:]
	}
}
