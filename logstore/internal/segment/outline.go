package segment

import (
	"context"
	"math"

	"github.com/stele-go/stele/logstore/internal/segment2"
)

// An outline has what the table of blocks does not tell of them. It is made
// from the lists of the streams, and where one is damaged, from the blocks' own.
type outline struct {
	spans []blockSpan
	zones []segment2.Zone
	err   error // damage that was found
}

// A blockSpan bounds the entries of a block.
type blockSpan struct {
	minTime, maxTime int64
	low, high        uint32 // ordinals
}

func (b *blockSpan) add(ordinal uint32, from, to int64) {
	b.minTime, b.maxTime = min(b.minTime, from), max(b.maxTime, to)
	b.low, b.high = min(b.low, ordinal), max(b.high, ordinal)
}

var noSpan = blockSpan{math.MaxInt64, math.MinInt64, math.MaxUint32, 0}

// loadOutline returns the outline. Damage comes with it.
func (x *index1) loadOutline(ctx context.Context, t *tables) (*outline, error) {
	if o := t.outline.Load(); o != nil {
		return o, o.err
	}
	o := &outline{spans: make([]blockSpan, t.count)}
	for i := range o.spans {
		o.spans[i] = noSpan
	}
	var found damage
	rows := make([]uint32, t.count) // in the lists
	err := x.eachList(ctx, t, 0, len(t.streams), found.note, func(stream int, list []seqRun) {
		for _, r := range list {
			o.spans[r.Block].add(uint32(stream), r.MinTime, r.MaxTime)
			rows[r.Block] += uint32(r.Rows)
		}
	})
	if err != nil {
		return nil, err
	}
	for b := range o.spans {
		if rows[b] == t.blockEntry(b).rows {
			continue
		}
		found.note(x.missing(b))
		runs, err := x.ownRuns(nil, t, b)
		if err != nil && !isCorrupt(err) {
			return nil, err
		}
		if err != nil { // it may have anything
			o.spans[b] = blockSpan{x.s.footer.info.MinTime, x.s.footer.info.MaxTime, 0, uint32(max(len(t.streams), 1) - 1)}
			found.lost = true
			continue
		}
		o.spans[b] = noSpan
		for _, r := range runs {
			o.spans[b].add(r.Ordinal, r.MinTime, r.MaxTime)
		}
	}
	o.err = found.result()
	o.group(t)
	if !t.outline.CompareAndSwap(nil, o) {
		o = t.outline.Load()
	}
	return o, o.err
}

// group puts the blocks into groups.
func (o *outline) group(t *tables) {
	for b, span := range o.spans {
		entry := t.blockEntry(b)
		last := len(o.zones) - 1
		if last < 0 || o.zones[last].Blocks == segment2.GroupBlocks || int64(o.zones[last].Runs)+int64(entry.runs) > segment2.GroupRuns {
			o.zones = append(o.zones, segment2.Zone{First: b, MinTime: span.minTime, MaxTime: span.maxTime, Low: span.low, High: span.high})
			last++
		}
		z := &o.zones[last]
		z.Blocks++
		z.MinTime, z.MaxTime = min(z.MinTime, span.minTime), max(z.MaxTime, span.maxTime)
		z.Low, z.High = min(z.Low, span.low), max(z.High, span.high)
		z.Runs += int(entry.runs)
		z.Rows += int64(entry.rows)
		z.Raw += int64(entry.raw)
	}
}

// A damage is what was found damaged while a result was made.
type damage struct {
	first *segment2.CorruptError
	lost  bool // the result is not complete
}

// note records an error that is a *segment2.CorruptError.
func (d *damage) note(err error) {
	if bad, ok := err.(*segment2.CorruptError); ok && d.first == nil {
		d.first = bad
	}
}

// result returns the first damage, marked as rebuilt unless something is lost.
func (d *damage) result() error {
	if d.first == nil {
		return nil
	}
	bad := *d.first
	bad.Rebuilt = !d.lost
	return &bad
}

// eachList calls f with the list of each stream from from to before to; a list
// is valid during the call. Damaged lists are left out, and passed to bad.
func (x *index1) eachList(ctx context.Context, t *tables, from, to int, bad func(error), f func(stream int, list []seqRun)) error {
	if t.lists != nil {
		for i := from; i < to; i++ {
			f(i, t.lists[i])
		}
		return nil
	}
	var list []seqRun
	for from < to {
		if err := ctx.Err(); err != nil {
			return err
		}
		// Lists follow each other: read some at once.
		off, n, end := t.streams[from].off, int64(t.streams[from].size), from+1
		for end < to && n+int64(t.streams[end].size) <= groupSize {
			n += int64(t.streams[end].size)
			end++
		}
		err := x.s.view(off, n, -1, func(p []byte) error {
			for ; from < end; from++ {
				size := t.streams[from].size
				var err error
				if list, err = x.s.parseListOf(list[:0], t, from, p[:size]); err != nil {
					bad(err)
				} else {
					f(from, list)
				}
				p = p[size:]
			}
			return nil
		})
		if err != nil && !isCorrupt(err) {
			return err
		}
		if err != nil {
			bad(err)
		}
		from = end
	}
	return nil
}

func (x *index1) missing(block int) error {
	return corrupt(x.s.src, x.s.footer.index, block, "%v", errRuns)
}

// ownRuns appends the runs of a block's own list.
func (x *index1) ownRuns(dst segment2.Runs, t *tables, block int) (segment2.Runs, error) {
	entry := t.blockEntry(block)
	buf := getBuffer(0)
	defer buf.put()
	if err := buf.read(x.s.src, frameHeaderSize+int64(entry.list), entry.off, block); err != nil {
		return dst, err
	}
	r, err := x.s.readList(buf.p, t, block)
	if err != nil {
		return dst, err
	}
	runs := dst
	for r.next() {
		runs = append(runs, r.run)
	}
	if err := r.end(entry); err != nil {
		return dst, corrupt(x.s.src, entry.off+frameHeaderSize, block, "%v", err)
	}
	return runs, nil
}

// indexRuns appends the runs of a block by the lists of the streams, which must
// cover it.
func (x *index1) indexRuns(ctx context.Context, dst segment2.Runs, t *tables, block int) (segment2.Runs, error) {
	o, err := x.loadOutline(ctx, t)
	if o == nil {
		return dst, err
	}
	runs, rows := dst, uint32(0)
	span := o.spans[block]
	err = x.eachList(ctx, t, int(span.low), int(span.high)+1, func(error) {}, func(stream int, list []seqRun) {
		for _, r := range list {
			if r.Block == block {
				runs = append(runs, indexRun(stream, r))
				rows += uint32(r.Rows)
			}
		}
	})
	if err == nil && rows != t.blockEntry(block).rows {
		err = x.missing(block)
	}
	if err != nil {
		return dst, err
	}
	sortRuns(runs[len(dst):])
	return runs, nil
}
