package logstore

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stele-go/stele/internal/setting"
)

// A Bucket counts the entries, and their bytes, from Start for one step.
type Bucket struct {
	Start   int64
	Entries int64
	// Bytes counts lines and encoded metadata. Without a filter no line is
	// read: if only part of a run in a block belongs to the bucket, the bytes
	// of the run are divided evenly among its entries. The sum over all buckets
	// is exact, except for runs cut by From or To.
	Bytes int64
}

// A StreamCount is the non-empty buckets of a stream, by time.
type StreamCount struct {
	Labels  Labels
	Buckets []Bucket
}

// Count counts the entries that Query would find without Limit and Order, for
// each stream, in buckets of step that begin at multiples of it. Step 0 means
// one bucket, whose Start is q.From. Without a filter it reads no line, and
// runs within one bucket are counted from the index. Streams are ordered by
// their labels.
//
// If some entries cannot be read, the others are counted, and the error wraps a
// *CorruptError for each damaged place. During replay it wraps ErrReplaying.
// These are the only errors that come with counts.
func (s *Store) Count(ctx context.Context, q Query, step time.Duration) ([]StreamCount, error) {
	counts, err := s.count(ctx, q, step)
	if err != nil {
		err = s.opError("count in", err)
	}
	return counts, err
}

func (s *Store) count(ctx context.Context, q Query, step time.Duration) ([]StreamCount, error) {
	if step < 0 {
		return nil, setting.Wrong("logstore: Count: step", step, "0 (one bucket) or more")
	}
	q.Limit, q.Order = 0, Forward
	c := counter{step: int64(step), tallies: map[*streamLabels]*tally{}}
	partial, err := s.scanAll(ctx, q, func(x *search) (summaryFunc, scanJob) {
		c.x = x
		return c.summary, c.candidate
	})
	if err != nil {
		return nil, err
	}
	return c.result(), partial
}

// A scanJob handles one candidate that must be read. It returns what is left of
// it.
type scanJob func(w *reading, c candidate) (rest []candidate, err error)

// scanAll scans all that q selects, in no order. partial joins the errors of
// entries that could not be read.
func (s *Store) scanAll(ctx context.Context, q Query, begin func(*search) (summaryFunc, scanJob)) (partial, err error) {
	x, err := s.search(ctx, q)
	if err != nil {
		return nil, err
	}
	whole, job := begin(x)
	w := newScan(x)
	defer w.end()
	w.summary = whole
	w.job = func(scr *reading, c candidate, _, _ int64) (out outcome) {
		var err error
		out.more, err = job(scr, c)
		out.add(err)
		return out
	}
	if err := w.begin(); err != nil {
		return nil, err
	}
	var bad []error
	err = w.waitAll(func(_ Result, err error) bool {
		bad = append(bad, err)
		return true
	})
	if err != nil {
		return nil, err
	}
	if x.view.partial != nil {
		bad = append(bad, x.view.partial)
	}
	return errors.Join(bad...), nil
}

// A counter is one Count.
type counter struct {
	x    *search
	step int64

	mu      sync.Mutex
	tallies map[*streamLabels]*tally
}

// A tally is the buckets of one stream, in no order.
type tally struct {
	buckets []Bucket
	at      map[int64]int
	last    int // index of the bucket that was added to last
}

func (t *tally) add(start, entries, bytes int64) {
	if t.last >= len(t.buckets) || t.buckets[t.last].Start != start {
		i, ok := t.at[start]
		if !ok {
			i = len(t.buckets)
			t.at[start] = i
			t.buckets = append(t.buckets, Bucket{Start: start})
		}
		t.last = i
	}
	t.buckets[t.last].Entries += entries
	t.buckets[t.last].Bytes += bytes
}

// bucket returns the start of the bucket of a time.
func (c *counter) bucket(time int64) int64 {
	if c.step == 0 {
		return c.x.from
	}
	return time - time%c.step
}

func (c *counter) add(n *streamLabels, start, entries, bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.tallies[n]
	if t == nil {
		t = &tally{at: map[int64]int{}}
		c.tallies[n] = t
	}
	t.add(start, entries, bytes)
}

// summary counts a run that lies within the range and within one bucket.
func (c *counter) summary(n *streamLabels, min, max, rows, raw int64) bool {
	if c.x.filter != nil || min < c.x.from || max >= c.x.to || c.bucket(min) != c.bucket(max) {
		return false
	}
	c.add(n, c.bucket(min), rows, raw)
	return true
}

func (c *counter) candidate(w *reading, can candidate) (rest []candidate, err error) {
	of := func(int32) *streamLabels { return can.memory.streamLabels }
	bytes := func(p pick) int64 { return int64(len(w.line(p)) + len(w.meta(p))) }
	if can.memory != nil {
		_, r, more, err := c.x.scanMemory(w, can, maxKey)
		if err != nil {
			return nil, err
		}
		if more {
			rest = append(rest, r)
		}
	} else {
		mode := withLines
		if c.x.filter == nil && !can.block.clipped {
			mode = timesOnly
			bytes = func(p pick) int64 { return can.block.spans[p.span].share(p.row) }
		}
		if err := c.x.scanBlock(w, can, maxKey, mode); err != nil {
			return nil, err
		}
		of = func(i int32) *streamLabels { return can.block.spans[i].streamLabels }
	}
	// Entries of one stream and one bucket are mostly adjacent.
	for picks := w.picks; len(picks) > 0; {
		span, start := picks[0].span, c.bucket(picks[0].time)
		n, sum := 0, int64(0)
		for ; n < len(picks) && picks[n].span == span && c.bucket(picks[n].time) == start; n++ {
			sum += bytes(picks[n])
		}
		c.add(of(span), start, int64(n), sum)
		picks = picks[n:]
	}
	return rest, nil
}

// share returns the part of a row in the bytes of a span. The parts of all rows
// add up to the span's.
func (s span) share(row int32) int64 {
	i, n := int64(row)-int64(s.first), int64(s.rows)
	return s.raw*(i+1)/n - s.raw*i/n
}

func (c *counter) result() []StreamCount {
	names := make([]*streamLabels, 0, len(c.tallies))
	for n := range c.tallies {
		names = append(names, n)
	}
	slices.SortFunc(names, func(a, b *streamLabels) int { return strings.Compare(a.sortKey, b.sortKey) })
	counts := make([]StreamCount, len(names))
	for i, n := range names {
		buckets := c.tallies[n].buckets
		slices.SortFunc(buckets, func(a, b Bucket) int { return cmp.Compare(a.Start, b.Start) })
		counts[i] = StreamCount{n.labels, buckets}
	}
	return counts
}
