package logstore

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/stele-go/stele/internal/setting"
)

// An Aggregation says which entries Aggregate counts together. The zero value
// counts all that the query selects in one bucket.
type Aggregation struct {
	// By names labels: streams that have the same values of these are one group,
	// a missing label having the value "". With Without, a group is the streams
	// that have the same labels apart from these; without names, that is each
	// stream by itself.
	By      []string
	Without bool
	// Step is the length of a bucket. Buckets begin at multiples of it, or Offset
	// later: 0 <= Offset < Step. Step 0 means one bucket, whose Start is
	// Query.From.
	Step, Offset time.Duration
	// NoBytes leaves Bucket.Bytes 0. With a filter that saves reading: where a block of
	// CodecColumns has enough in its templates and variables to tell which lines match, they
	// are counted without the lines. Top refuses it.
	NoBytes bool
	// Top, if not 0, keeps the Top groups with the most bytes, and orders them by
	// bytes, the largest first.
	Top int
}

// A Group is what Aggregate counted together.
type Group struct {
	// Labels are those that all streams of the group share by Aggregation.By.
	Labels Labels
	// Buckets are the non-empty ones, by time.
	Buckets []Bucket
}

// Total returns the sums of all buckets.
func (g *Group) Total() (entries, bytes int64) {
	for i := range g.Buckets {
		entries += g.Buckets[i].Entries
		bytes += g.Buckets[i].Bytes
	}
	return entries, bytes
}

// A Bucket counts the entries, and their bytes, from Start for one step.
type Bucket struct {
	// Start is in nanoseconds since the Unix epoch. It is below 0 if a step with
	// an offset begins before.
	Start   int64
	Entries int64
	// Bytes counts lines and encoded metadata. Without a filter no line is
	// read: if only part of a run in a block belongs to the bucket, the bytes
	// of the run are divided evenly among its entries. The sum over all buckets
	// is exact, except for runs cut by From or To. It is 0 with Aggregation.NoBytes.
	Bytes int64
}

// Aggregate counts the entries that Query would find without Limit and Order,
// by groups of streams and in buckets of time. Groups are ordered by their
// labels, unless Aggregation.Top is set. With a filter it reads lines, or with
// Aggregation.NoBytes what of them the filter needs. Without
// one it reads none, and what lies within one bucket is counted from the index:
// a whole segment, if all its streams are one group, or else a stream of a
// segment, or a run of a block. So it tells the volume of each value of a label
// at a low price.
//
// What it keeps in memory is the groups with their buckets, whatever the number
// of streams and of segments: about 170 bytes and its labels a group with one
// bucket, and 24 bytes each further one. They may take an eighth of Options.Memory.
// The error is a *LimitError, without counts, where they would take more, and
// ErrBusy where other queries leave less.
//
// If some entries cannot be read, the others are counted, and the error wraps a
// *CorruptError for each damaged place. During replay it wraps ErrReplaying, and
// ErrIncomplete where Query ends with that. These are the only errors that come
// with counts.
func (s *Store) Aggregate(ctx context.Context, q Query, a Aggregation) ([]Group, error) {
	if err := a.check(); err != nil {
		return nil, err
	}
	groups, err := s.aggregate(ctx, q, a)
	if err != nil {
		err = s.opError("aggregate in", err)
	}
	return groups, err
}

// Count is Aggregate with each stream as a group, in buckets of step.
func (s *Store) Count(ctx context.Context, q Query, step time.Duration) ([]Group, error) {
	if step < 0 {
		return nil, setting.Wrong("logstore: Count: step", step, "0 (one bucket) or more")
	}
	groups, err := s.aggregate(ctx, q, Aggregation{Without: true, Step: step})
	if err != nil {
		err = s.opError("count in", err)
	}
	return groups, err
}

// check returns an error for the first wrong field.
func (a *Aggregation) check() error {
	if slices.Contains(a.By, "") {
		return setting.Wrong("logstore: Aggregation.By", a.By, "names of labels, none of them empty")
	}
	if a.Offset != 0 && (a.Offset < 0 || a.Offset >= a.Step) {
		return setting.Wrong("logstore: Aggregation.Offset", a.Offset, "0 or more, and less than Aggregation.Step, %v", a.Step)
	}
	if a.NoBytes && a.Top != 0 {
		return setting.Wrong("logstore: Aggregation.NoBytes", true, "false with Aggregation.Top, %d, which orders groups by bytes", a.Top)
	}
	return cmp.Or(setting.AtLeast("logstore: Aggregation.Step", a.Step, 0), setting.AtLeast("logstore: Aggregation.Top", a.Top, 0))
}

func (s *Store) aggregate(ctx context.Context, q Query, a Aggregation) ([]Group, error) {
	q.Limit, q.Order = 0, Forward
	var c *totalsTask
	partial, err := s.scanAll(ctx, q, func(x *search) task {
		x.noLines = a.NoBytes
		c = newTotalsTask(x, a)
		return c
	})
	if err != nil {
		return nil, err
	}
	groups, err := c.groups.result(ctx, a.Top)
	if err != nil {
		return nil, err
	}
	return groups, partial
}

// top returns the n groups with the most bytes, in this order. Of groups with as
// many bytes, those that come first in the list stay. The error is the cause of ctx.
func top(ctx context.Context, groups []Group, n int) ([]Group, error) {
	type sized struct {
		bytes int64
		at    int
	}
	list := make([]sized, len(groups))
	for i := range groups {
		_, bytes := groups[i].Total()
		list[i] = sized{bytes, i}
	}
	err := sortFunc(ctx, list, func(a, b sized) int { return cmp.Or(cmp.Compare(b.bytes, a.bytes), cmp.Compare(a.at, b.at)) })
	if err != nil {
		return nil, err
	}
	kept := make([]Group, min(n, len(list)))
	for i := range kept {
		kept[i] = groups[list[i].at]
	}
	return kept, nil
}
