package logstore

import (
	"cmp"
	"context"
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
	partial, err := s.scanAll(ctx, q, func(x *search) task {
		c.x = x
		return &c
	})
	if err != nil {
		return nil, err
	}
	return c.result(), partial
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

// whole counts a run that lies within the range and within one bucket.
func (c *counter) whole(n *streamLabels, min, max, rows, raw int64) bool {
	if c.x.filter != nil || min < c.x.from || max >= c.x.to || c.bucket(min) != c.bucket(max) {
		return false
	}
	c.add(n, c.bucket(min), rows, raw)
	return true
}

func (c *counter) visit(r *reading, l leaf, bound, _ int64, out *outcome) {
	mode := timesOnly
	if c.x.filter != nil {
		mode = withLines
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
	var labels *streamLabels
	last := int32(-1)
	for picks := r.picks; len(picks) > 0; {
		span, start := picks[0].span, c.bucket(picks[0].time)
		n := 1
		for n < len(picks) && picks[n].span == span && c.bucket(picks[n].time) == start {
			n++
		}
		if span != last {
			labels, _, err = l.stream(r, span)
			out.add(err)
			last = span
		}
		if err == nil {
			var bytes int64
			if bytes, err = l.bytes(r, picks[:n]); err == nil {
				c.add(labels, start, int64(n), bytes)
			}
			out.add(err)
		}
		picks = picks[n:]
	}
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
