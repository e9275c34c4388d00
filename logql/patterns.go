package logql

import (
	"cmp"
	"context"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/stele-go/stele/logql/syntax"
	"github.com/stele-go/stele/logstore"
)

// A PatternsRequest asks for the patterns of lines.
type PatternsRequest struct {
	Selection               // Limit 0 means 300 patterns
	Step      time.Duration // of samples; 0 means a 60th of the range, but at least 10 s
}

// A PatternSeries is a pattern, and how many lines had it in each step.
type PatternSeries struct {
	Pattern string // as a filter |> has it
	Level   string // the value of the label detected_level or level, also in metadata; "" without
	Total   int64
	Samples []PatternSample // by time, without those of 0
}

// A PatternSample is how many lines had a pattern in the step that begins at Time.
type PatternSample struct {
	Time  int64 // nanoseconds since the Unix epoch
	Count int64
}

const (
	defaultPatterns  = 300
	leastPatternStep = 10 * time.Second
)

// Patterns counts the selected lines by their patterns, which the store knows of them; see
// logstore.Store.Patterns. Stages may drop lines; what they make of a line does not count.
// Those with the most lines come first.
func (e *Engine) Patterns(ctx context.Context, r PatternsRequest) ([]PatternSeries, error) {
	if r.End <= r.Start {
		return nil, &RequestError{"End", "not after Start"}
	}
	if r.Step <= 0 {
		r.Step = max(time.Duration(r.End-r.Start)/60, leastPatternStep)
	}
	if steps := (r.End - r.Start) / int64(r.Step); steps >= int64(e.limits.Steps) {
		return nil, &LimitError{"Limits.Steps", int64(e.limits.Steps), "the steps of patterns: make the step longer"}
	}
	expr, err := r.log()
	if err != nil {
		return nil, err
	}
	limit := r.Limit
	if limit <= 0 {
		limit = defaultPatterns
	}
	x, err := e.begin(ctx, Request{Tenant: r.Tenant, Query: r.Query, Expr: expr, Start: r.Start, End: r.End})
	if err != nil {
		return nil, err
	}
	defer x.end()
	groups, err := x.patterns(expr, r)
	if err == nil {
		err = x.ctx.Err() // lines may be missing
	}
	if err != nil {
		return nil, x.explainError(err)
	}
	out := patternSeries(groups)
	return out[:min(limit, len(out))], nil
}

// The labels that tell the level of a line, the first one before the other.
const detectedLevel, level = "detected_level", "level"

// patterns asks the store.
func (x *execution) patterns(expr *syntax.LogExpr, r PatternsRequest) ([]logstore.PatternGroup, error) {
	s, err := x.scan(expr)
	if err != nil {
		return nil, err
	}
	defer s.filters.release()
	q, done := x.ask(s.query, s.node)
	defer done()
	groups, err := x.source.Patterns(x.ctx, q, logstore.PatternAggregation{
		By: []string{detectedLevel, level}, Step: r.Step, Offset: time.Duration(r.Start % int64(r.Step)),
	})
	if err != nil {
		err = x.tolerate(err)
	}
	return groups, err
}

// patternSeries adds up the groups whose patterns and levels are the same.
func patternSeries(groups []logstore.PatternGroup) []PatternSeries {
	type key struct{ pattern, level string }
	counts := map[key]map[int64]int64{}
	for i := range groups {
		g := &groups[i]
		k := key{patternFilter(g.Pattern), cmp.Or(g.Labels.Get(detectedLevel), g.Labels.Get(level))}
		if counts[k] == nil {
			counts[k] = make(map[int64]int64, len(g.Buckets))
		}
		for _, b := range g.Buckets {
			counts[k][b.Start] += b.Entries
		}
	}
	out := make([]PatternSeries, 0, len(counts))
	for k, samples := range counts {
		s := PatternSeries{Pattern: k.pattern, Level: k.level, Samples: make([]PatternSample, 0, len(samples))}
		for t, n := range samples {
			s.Total += n
			s.Samples = append(s.Samples, PatternSample{t, n})
		}
		slices.SortFunc(s.Samples, func(a, b PatternSample) int { return cmp.Compare(a.Time, b.Time) })
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b PatternSeries) int {
		return cmp.Or(cmp.Compare(b.Total, a.Total), cmp.Compare(a.Pattern, b.Pattern), cmp.Compare(a.Level, b.Level))
	})
	return out
}

const capture = "<_>"

// named is what a filter |> takes for a capture with a name, which it refuses.
var named = regexp.MustCompile(`<[a-zA-Z_][a-zA-Z0-9_]*>`)

// patternFilter returns a pattern of the store as a filter |> has it: <name> in a line is a
// capture there, and between two captures is a text.
func patternFilter(pattern string) string {
	pattern = named.ReplaceAllLiteralString(pattern, capture)
	for strings.Contains(pattern, capture+capture) {
		pattern = strings.ReplaceAll(pattern, capture+capture, capture)
	}
	return pattern
}
