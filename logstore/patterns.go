package logstore

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/stele-go/stele/internal/setting"
)

// A PatternAggregation says which entries Patterns counts together.
type PatternAggregation struct {
	// By names labels: entries are counted together that have the same values of these, of
	// their stream or, where that lacks one, in their metadata. A missing label has the
	// value "".
	By []string
	// Step is the length of a bucket. Buckets begin at multiples of it, or Offset
	// later: 0 <= Offset < Step. Step 0 means one bucket, whose Start is
	// Query.From.
	Step, Offset time.Duration
}

// A PatternGroup is how many entries have lines of a pattern.
type PatternGroup struct {
	// Labels are those that PatternAggregation.By names.
	Labels Labels
	// Pattern is what the lines have in common, with <_> in place of what differs. A line
	// that shares too little with others for that has a pattern of its own: <_> is in
	// place of each token with a digit, and of what is behind the first 512 bytes. If there
	// are thousands of such patterns, or they take half of the memory, other lines have <_>.
	Pattern string
	// Buckets are the non-empty ones, by time. Their Bytes are 0.
	Buckets []Bucket
}

// total returns how many entries all buckets have.
func (g *PatternGroup) total() int64 {
	n := int64(0)
	for i := range g.Buckets {
		n += g.Buckets[i].Entries
	}
	return n
}

// Patterns counts the entries that Query would find without Limit and Order by the
// patterns of their lines. Those with the most entries come first.
//
// A line in a block of CodecColumns has the pattern of its template, which was found when
// it was sealed. Without a filter no such line is read: what lies within one bucket is
// counted from the index if By is empty, and the rest from the times of a block and the
// templates of its rows. Of such a block those lines are read of which there were too
// few for a template. Lines of CodecLines, and those that are not sealed yet, are read, and
// their patterns are found as sealing would find them.
//
// Templates with the same text are one pattern, from whatever segments they are. A template
// that has a word where another one has a slot is a pattern of its own, so that each entry
// is counted once: lines of one kind may have two patterns if the first of them were too few
// to tell what varies.
//
// What it keeps in memory is the patterns, each with its buckets, of 24 bytes. As the groups of
// Aggregate, they may take an eighth of Options.Memory. Errors are those of Aggregate.
func (s *Store) Patterns(ctx context.Context, q Query, a PatternAggregation) ([]PatternGroup, error) {
	if err := a.check(); err != nil {
		return nil, err
	}
	groups, err := s.countPatterns(ctx, q, a)
	if err != nil {
		err = s.opError("count patterns in", err)
	}
	return groups, err
}

// check returns an error for the first wrong field.
func (a *PatternAggregation) check() error {
	if slices.Contains(a.By, "") {
		return setting.Wrong("logstore: PatternAggregation.By", a.By, "names of labels, none of them empty")
	}
	if a.Offset != 0 && (a.Offset < 0 || a.Offset >= a.Step) {
		return setting.Wrong("logstore: PatternAggregation.Offset", a.Offset, "0 or more, and less than PatternAggregation.Step, %v", a.Step)
	}
	return setting.AtLeast("logstore: PatternAggregation.Step", a.Step, 0)
}

func (s *Store) countPatterns(ctx context.Context, q Query, a PatternAggregation) ([]PatternGroup, error) {
	q.Limit, q.Order = 0, Forward
	var t *patternsTask
	partial, err := s.scanAll(ctx, q, func(x *search) task {
		t = newPatternsTask(x, a)
		return t
	})
	if err != nil {
		return nil, err
	}
	groups, err := t.groups.result(ctx)
	if err != nil {
		return nil, err
	}
	return groups, partial
}

// result returns the groups with entries.
func (g *patternGroups) result(ctx context.Context) ([]PatternGroup, error) {
	type sized struct {
		entries int64
		sortKey []byte // of the labels
		at      int
	}
	list := make([]PatternGroup, 0, len(g.list))
	order := make([]sized, 0, len(g.list))
	keys := map[string][]byte{}
	for i, one := range g.list {
		if i%checkCompares == 0 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if len(one.counts.buckets) == 0 {
			continue
		}
		one.counts.merge()
		out := PatternGroup{Labels{one.labels.enc}, one.text, one.counts.buckets}
		key, ok := keys[one.labels.enc]
		if !ok {
			key = out.Labels.appendSortKey(nil)
			keys[one.labels.enc] = key
		}
		order = append(order, sized{out.total(), key, len(list)})
		list = append(list, out)
	}
	err := sortFunc(ctx, order, func(a, b sized) int {
		return cmp.Or(cmp.Compare(b.entries, a.entries), strings.Compare(list[a.at].Pattern, list[b.at].Pattern), bytes.Compare(a.sortKey, b.sortKey))
	})
	if err != nil {
		return nil, err
	}
	sorted := make([]PatternGroup, len(list))
	for i, o := range order {
		sorted[i] = list[o.at]
	}
	return sorted, nil
}
