package logql

import (
	"cmp"
	"context"
	"regexp"
	"slices"
	"strings"
	"time"
	"unsafe"

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
// Those with the most lines come first. What it returns may take Limits.Memory.
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
	var out []PatternSeries
	if err == nil {
		out, err = x.patternSeries(groups, limit)
	}
	if err != nil {
		return nil, x.explainError(err)
	}
	return out, nil
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

// A patternSum is the groups whose patterns and levels are the same.
type patternSum struct {
	PatternSeries
	groups []int
}

// patternSumBytes is about what a patternSum takes beside its text.
const patternSumBytes = 256

// patternSeries adds up the groups whose patterns and levels are the same, and returns up to
// limit of the sums. Of the others it makes no samples.
func (x *execution) patternSeries(groups []logstore.PatternGroup, limit int) ([]PatternSeries, error) {
	sums, err := x.patternSums(groups)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(sums, func(a, b *patternSum) int {
		return cmp.Or(cmp.Compare(b.Total, a.Total), cmp.Compare(a.Pattern, b.Pattern), cmp.Compare(a.Level, b.Level))
	})
	sums = sums[:min(limit, len(sums))]
	out := make([]PatternSeries, 0, len(sums))
	for _, s := range sums {
		if err := x.ctx.Err(); err != nil {
			return nil, err
		}
		if err := x.sampleSum(s, groups); err != nil {
			return nil, err
		}
		out = append(out, s.PatternSeries)
	}
	return out, nil
}

// patternSums returns the sums of groups, without samples.
func (x *execution) patternSums(groups []logstore.PatternGroup) ([]*patternSum, error) {
	type key struct{ pattern, level string }
	var sums []*patternSum
	known := map[key]*patternSum{}
	for i := range groups {
		if err := x.ctx.Err(); err != nil {
			return nil, err
		}
		g := &groups[i]
		k := key{patternFilter(g.Pattern), cmp.Or(g.Labels.Get(detectedLevel), g.Labels.Get(level))}
		s := known[k]
		if s == nil {
			if err := x.charge(patternSumBytes + int64(len(k.pattern)+len(k.level))); err != nil {
				return nil, err
			}
			s = &patternSum{PatternSeries: PatternSeries{Pattern: k.pattern, Level: k.level}}
			known[k] = s
			sums = append(sums, s)
		}
		s.groups = append(s.groups, i)
		for _, b := range g.Buckets {
			s.Total += b.Entries
		}
	}
	return sums, nil
}

// sampleSum makes the samples of a sum.
func (x *execution) sampleSum(s *patternSum, groups []logstore.PatternGroup) error {
	const sampleBytes = int64(unsafe.Sizeof(PatternSample{}))
	n := 0
	for _, i := range s.groups {
		n += len(groups[i].Buckets)
	}
	if err := x.charge(int64(n) * sampleBytes); err != nil {
		return err
	}
	all := make([]PatternSample, 0, n)
	for _, i := range s.groups {
		for _, b := range groups[i].Buckets {
			all = append(all, PatternSample{b.Start, b.Entries})
		}
	}
	if len(s.groups) > 1 {
		all = addSamples(all)
	}
	s.Samples = all
	return x.charge(int64(len(all)-n) * sampleBytes)
}

// addSamples sorts samples by time and adds up those of equal times.
func addSamples(all []PatternSample) []PatternSample {
	slices.SortFunc(all, func(a, b PatternSample) int { return cmp.Compare(a.Time, b.Time) })
	kept := all[:0]
	for _, s := range all {
		if last := len(kept) - 1; last >= 0 && kept[last].Time == s.Time {
			kept[last].Count += s.Count
			continue
		}
		kept = append(kept, s)
	}
	return slices.Clone(kept)
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
