package logql

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"github.com/stele-go/stele/logql/internal/drain"
	"github.com/stele-go/stele/logql/syntax"
	"github.com/stele-go/stele/logstore"
)

// A PatternsRequest asks for the patterns of lines.
type PatternsRequest struct {
	Selection               // Limit 0 means 300 patterns
	Step      time.Duration // of samples; 0 means a 60th of the range, but at least 10 s
}

// A PatternSeries is a pattern, and about how many lines had it in each step.
type PatternSeries struct {
	Pattern string
	Level   string // the value of the label detected_level or level; "" without
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
	patternLines     = 20_000 // that are looked at, and one of each step where these are more
	leastPatternStep = 10 * time.Second
)

// Patterns mines the patterns of a sample of the selected lines, up to 20,000 and at least one of
// each step, spread evenly over the steps. The counts of lines are those of the sample, scaled up
// by how many lines of each step pass: exact ones for a selector alone and for filters. Those with
// the most lines come first.
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
	m := patternMiner{miner: drain.New(drain.Options{Patterns: 2 * limit}), series: map[patternKey]map[int64]float64{}}
	if err = m.mine(x, expr, r); err == nil {
		err = x.ctx.Err() // lines may be missing
	}
	if err != nil {
		return nil, x.explainError(err)
	}
	out := m.result()
	return out[:min(limit, len(out))], nil
}

type patternKey struct {
	id    int
	level string
}

type patternText struct{ pattern, level string }

type patternMiner struct {
	miner  *drain.Miner
	series map[patternKey]map[int64]float64
}

// mine takes lines of each step.
func (m *patternMiner) mine(x *execution, expr *syntax.LogExpr, r PatternsRequest) error {
	s, err := x.scan(expr)
	if err != nil {
		return err
	}
	counts, err := s.stepCounts(r)
	if err != nil {
		return err
	}
	each := max(patternLines/max(len(counts), 1), 1)
	for _, b := range counts {
		s.query.From, s.query.To = max(b.Start, r.Start), min(b.Start+int64(r.Step), r.End)
		if err := m.step(s, b, each); err != nil {
			return err
		}
	}
	return nil
}

// stepCounts counts the lines that pass in each step that has any. Without a filter it
// reads none.
func (s *scan) stepCounts(r PatternsRequest) ([]logstore.Bucket, error) {
	q := logstore.Query{Selector: s.query.Selector, Filter: s.query.Filter, From: r.Start, To: r.End}
	q, done := s.x.ask(q, s.node)
	defer done()
	groups, err := s.x.source.Aggregate(s.x.ctx, q, logstore.Aggregation{Step: r.Step, Offset: time.Duration(r.Start % int64(r.Step)), NoBytes: true})
	if err = partial(err); err != nil || len(groups) == 0 {
		return nil, err
	}
	return groups[0].Buckets, nil
}

// step takes up to n lines of a step, and adds the counts of their patterns.
func (m *patternMiner) step(s *scan, b logstore.Bucket, n int) error {
	found := map[patternKey]float64{}
	lines := 0
	for line, err := range s.lines(n) {
		if err != nil {
			if err = s.x.tolerate(err); err != nil {
				return err
			}
			continue
		}
		if p := m.miner.Add(line.Text); p != nil {
			found[patternKey{p.ID, levelOf(line.Stream)}]++
		}
		if lines++; lines == n {
			break
		}
	}
	scale := 1.0
	if lines == n {
		scale = float64(b.Entries) / float64(lines)
	}
	for key, count := range found {
		if m.series[key] == nil {
			m.series[key] = map[int64]float64{}
		}
		m.series[key][b.Start] += count * scale
	}
	return nil
}

func levelOf(labels []LabelPair) string {
	level := ""
	for _, l := range labels {
		switch l.Name {
		case "detected_level":
			return l.Value
		case "level":
			level = l.Value
		}
	}
	return level
}

// texts adds up the series whose patterns have become the same text: patterns that began
// with different words end with the same ones, where only these differed.
func (m *patternMiner) texts() map[patternText]map[int64]float64 {
	patterns := m.miner.Patterns()
	sums := make(map[patternText]map[int64]float64, len(m.series))
	for key, counts := range m.series {
		text := patternText{patterns[key.id].String(), key.level}
		if sums[text] == nil {
			sums[text] = counts
			continue
		}
		for t, n := range counts {
			sums[text][t] += n
		}
	}
	return sums
}

// result returns the series, those with the most lines first.
func (m *patternMiner) result() []PatternSeries {
	out := make([]PatternSeries, 0, len(m.series))
	for text, counts := range m.texts() {
		s := PatternSeries{Pattern: text.pattern, Level: text.level}
		for t, n := range counts {
			count := int64(math.Round(n))
			s.Total += count
			s.Samples = append(s.Samples, PatternSample{t, count})
		}
		slices.SortFunc(s.Samples, func(a, b PatternSample) int { return cmp.Compare(a.Time, b.Time) })
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b PatternSeries) int {
		return cmp.Or(cmp.Compare(b.Total, a.Total), cmp.Compare(a.Pattern, b.Pattern), cmp.Compare(a.Level, b.Level))
	})
	return out
}
