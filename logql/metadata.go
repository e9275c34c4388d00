package logql

import (
	"context"
	"errors"
	"slices"

	"github.com/stele-go/stele/logql/syntax"
	"github.com/stele-go/stele/logstore"
)

// A Selection selects streams and times for what is asked about them.
type Selection struct {
	Tenant string
	// Query is a stream selector, such as {app="api"}; "" selects all streams. Where
	// a method says so it may be a log query, of which it takes the lines.
	Query string
	// Start and End are nanoseconds since the Unix epoch: Start <= time < End. End 0
	// means no end.
	Start, End int64
	// Limit bounds the number of results; 0 means the default of the method.
	Limit int
}

// IndexStats count what a selector selects.
type IndexStats struct {
	Streams, Chunks, Bytes, Entries int64
}

// defaultNames is the limit of names, values and series of a Selection without one.
const defaultNames = 100_000

// query returns the store's query for a selection. Of a log query it takes the selector.
func (s Selection) query() (logstore.Query, []syntax.Matcher, error) {
	q := logstore.Query{Tenant: s.Tenant, From: s.Start, To: s.End, Limit: s.Limit}
	switch {
	case s.Start < 0 || s.End < 0 || s.End > 0 && s.End < s.Start:
		return q, nil, &RequestError{"End", "before Start, or below 0"}
	case s.Limit < 0:
		return q, nil, &RequestError{"Limit", "below 0; want 0 (the default) or more"}
	case s.Limit == 0:
		q.Limit = defaultNames
	}
	matchers, err := s.matchers()
	if err != nil {
		return q, nil, err
	}
	q.Selector, err = selector(s.Query, matchers)
	return q, matchers, err
}

func (s Selection) matchers() ([]syntax.Matcher, error) {
	if s.Query == "" {
		return nil, nil
	}
	matchers, err := syntax.ParseMatchers(s.Query)
	if err == nil {
		return matchers, nil
	}
	if log, logErr := syntax.ParseLog(s.Query); logErr == nil {
		return log.Matchers, nil
	}
	return nil, err
}

// partial makes no error of a result that has as much as it may, or all that can be read.
func partial(err error) error {
	var corrupt *logstore.CorruptError
	if errors.Is(err, logstore.ErrMore) {
		return nil
	}
	if errors.As(err, &corrupt) && !errors.Is(err, logstore.ErrReplaying) && !errors.Is(err, logstore.ErrIncomplete) {
		return nil
	}
	return err
}

// Labels returns the names of labels of the selected streams, sorted: the first
// s.Limit of them; 0 means 100,000.
func (e *Engine) Labels(ctx context.Context, s Selection) ([]string, error) {
	q, _, err := s.query()
	if err != nil {
		return nil, err
	}
	names, err := e.source.Labels(ctx, q)
	return names, partial(err)
}

// LabelValues returns the values of a label, sorted, as Labels returns names.
func (e *Engine) LabelValues(ctx context.Context, name string, s Selection) ([]string, error) {
	q, _, err := s.query()
	if err != nil {
		return nil, err
	}
	if name == "" {
		return nil, &RequestError{"Query", "a label without a name"}
	}
	values, err := e.source.LabelValues(ctx, name, q)
	return values, partial(err)
}

// Series returns the labels of the streams that one of selectors selects, ordered; none
// selects all. s.Query is not looked at. It returns the first s.Limit; 0 means 100,000.
func (e *Engine) Series(ctx context.Context, selectors []string, s Selection) ([][]LabelPair, error) {
	if len(selectors) == 0 {
		selectors = []string{""}
	}
	var all []logstore.Labels
	limit := 0
	for _, text := range selectors {
		s.Query = text
		q, _, err := s.query()
		if err != nil {
			return nil, err
		}
		limit = q.Limit
		list, err := e.source.Series(ctx, q)
		if err = partial(err); err != nil {
			return nil, err
		}
		all = append(all, list...)
	}
	if len(selectors) > 1 {
		slices.SortFunc(all, logstore.Labels.Compare)
		all = slices.Compact(all)
	}
	if len(all) > limit {
		all = all[:limit]
	}
	out := make([][]LabelPair, len(all))
	for i, l := range all {
		out[i] = pairs(l)
	}
	return out, nil
}

func pairs(l logstore.Labels) []LabelPair {
	out := make([]LabelPair, 0, l.Len())
	for name, value := range l.All() {
		out = append(out, LabelPair{name, value})
	}
	return out
}

// IndexStats counts the streams, blocks, bytes and entries that a selector selects. It
// reads no line. Entries that are in memory have no block yet.
func (e *Engine) IndexStats(ctx context.Context, s Selection) (IndexStats, error) {
	q, _, err := s.query()
	if err != nil {
		return IndexStats{}, err
	}
	var read logstore.QueryStats
	q.Stats, q.Limit = &read, 0
	groups, err := e.source.Aggregate(ctx, q, logstore.Aggregation{Without: true})
	if err = partial(err); err != nil {
		return IndexStats{}, err
	}
	stats := IndexStats{Streams: int64(len(groups))}
	for i := range groups {
		entries, bytes := groups[i].Total()
		stats.Entries += entries
		stats.Bytes += bytes
	}
	stats.Chunks = read.Blocks.Considered - read.Blocks.Time
	return stats, nil
}
