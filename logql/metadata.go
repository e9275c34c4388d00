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

// look starts a request about streams, which has Limits.Time and Limits.Bytes as queries do.
func (e *Engine) look(ctx context.Context, tenant string) *execution {
	return e.begun(ctx, Request{Tenant: tenant}, nil, e.limits.Time)
}

// Labels returns the names of labels of the selected streams, sorted: the first
// s.Limit of them; 0 means 100,000.
func (e *Engine) Labels(ctx context.Context, s Selection) ([]string, error) {
	x := e.look(ctx, s.Tenant)
	defer x.end()
	return x.labels(s)
}

func (x *execution) labels(s Selection) ([]string, error) {
	q, _, err := s.query()
	if err != nil {
		return nil, err
	}
	q, done := x.ask(q, nil)
	defer done()
	names, err := x.source.Labels(x.ctx, q)
	return names, x.explainError(partial(err))
}

// LabelValues returns the values of a label, sorted, as Labels returns names.
func (e *Engine) LabelValues(ctx context.Context, name string, s Selection) ([]string, error) {
	x := e.look(ctx, s.Tenant)
	defer x.end()
	return x.labelValues(name, s)
}

func (x *execution) labelValues(name string, s Selection) ([]string, error) {
	q, _, err := s.query()
	if err != nil {
		return nil, err
	}
	if name == "" {
		return nil, &RequestError{"Query", "a label without a name"}
	}
	q, done := x.ask(q, nil)
	defer done()
	values, err := x.source.LabelValues(x.ctx, name, q)
	return values, x.explainError(partial(err))
}

// Series returns the labels of the streams that one of selectors selects, ordered; none
// selects all. s.Query is not looked at. It returns the first s.Limit; 0 means 100,000.
func (e *Engine) Series(ctx context.Context, selectors []string, s Selection) ([][]LabelPair, error) {
	if len(selectors) == 0 {
		selectors = []string{""}
	}
	x := e.look(ctx, s.Tenant)
	defer x.end()
	var all []logstore.Labels
	for _, text := range selectors {
		s.Query = text
		list, limit, err := x.series(s)
		if err != nil {
			return nil, err
		}
		if len(all) == 0 {
			all = list
			continue
		}
		// All that are kept are those of one selector: many may select the same streams.
		all = append(all, list...)
		slices.SortFunc(all, logstore.Labels.Compare)
		all = slices.Compact(all)
		all = slices.Clip(all[:min(limit, len(all))])
	}
	out := make([][]LabelPair, len(all))
	for i, l := range all {
		out[i] = pairs(l)
	}
	return out, nil
}

func (x *execution) series(s Selection) (list []logstore.Labels, limit int, err error) {
	q, _, err := s.query()
	if err != nil {
		return nil, 0, err
	}
	q, done := x.ask(q, nil)
	defer done()
	list, err = x.source.Series(x.ctx, q)
	return list, q.Limit, x.explainError(partial(err))
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
	x := e.look(ctx, s.Tenant)
	defer x.end()
	q.Limit = 0
	q, done := x.ask(q, nil)
	groups, err := x.source.Aggregate(x.ctx, q, logstore.Aggregation{Without: true})
	done()
	if err = partial(err); err != nil {
		return IndexStats{}, x.explainError(err)
	}
	stats := IndexStats{Streams: int64(len(groups))}
	for i := range groups {
		entries, bytes := groups[i].Total()
		stats.Entries += entries
		stats.Bytes += bytes
	}
	blocks := &x.stats.Store.Blocks
	stats.Chunks = blocks.Considered - blocks.Time
	return stats, nil
}
