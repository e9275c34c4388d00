package logql

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"time"

	"github.com/stele-go/stele/logql/internal/pipeline"
	"github.com/stele-go/stele/logql/syntax"
	"github.com/stele-go/stele/logstore"
)

// logs answers a log query.
func (x *execution) logs(expr *syntax.LogExpr) (*Result, error) {
	if x.r.Instant {
		return nil, &UnsupportedError{"log queries are not supported as an instant query type, please change your query to a range query type"}
	}
	result := &Result{Kind: Streams}
	s, err := x.scan(expr)
	if err != nil {
		return nil, err
	}
	for line, err := range s.lines(x.r.Limit) {
		if err != nil {
			if err = x.tolerate(err); err != nil {
				return nil, err
			}
			continue
		}
		if err := x.charge(int64(len(line.Text)) + lineBytes + s.labels.takeMade()); err != nil {
			return nil, err
		}
		result.Lines = append(result.Lines, line)
		if len(result.Lines) == x.r.Limit {
			break
		}
	}
	result.Warnings = x.warnings
	return result, nil
}

// lineBytes is what a line takes beside its text.
const lineBytes = 160

// tolerate makes a warning of damage that the result can do without, and returns other
// errors.
func (x *execution) tolerate(err error) error {
	var corrupt *logstore.CorruptError
	if !errors.As(err, &corrupt) || errors.Is(err, logstore.ErrReplaying) || errors.Is(err, logstore.ErrIncomplete) || x.ctx.Err() != nil {
		return err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.warnings) < 100 {
		x.warnings = append(x.warnings, "some lines cannot be read: "+err.Error())
	}
	return nil
}

// A scan is a log query as it is asked of the store.
type scan struct {
	x        *execution
	query    logstore.Query
	pipeline *pipeline.Pipeline
	stages   int // that the pipeline still has
	filters  *stageFilters
	node     *PlanNode
	labels   labelSets
}

// scan plans a log query.
func (x *execution) scan(expr *syntax.LogExpr) (*scan, error) {
	if err := x.limits.checkRange(x.r.Start, x.r.End); err != nil {
		return nil, err
	}
	sel, err := selector(x.r.Query, expr.Matchers)
	if err != nil {
		return nil, err
	}
	q := logstore.Query{Selector: sel, From: x.r.Start, To: x.r.End, Order: logstore.Forward, After: x.r.After, Cursors: x.r.Cursors}
	if x.r.Direction == Backward {
		q.Order = logstore.Backward
	}
	split := x.split(q, expr.Stages)
	o := x.pipelineOptions()
	o.AllLabels = true
	p, err := pipeline.Compile(split.Rest, o)
	if err != nil {
		return nil, inQuery(err, x.r.Query)
	}
	filters := &stageFilters{}
	if q.Filter, err = x.stageFilter(q, split, filters); err != nil {
		return nil, inQuery(err, x.r.Query)
	}
	node := x.plan.child(&PlanNode{Name: "lines", Query: expr.String()})
	node.note("streams %s", sel)
	node.split(split)
	if filters.byFields {
		node.note("label filters read fields from columns, and lines where columns have none")
	}
	return &scan{x: x, query: q, pipeline: p, stages: len(split.Rest), filters: filters, node: node}, nil
}

// inQuery gives an error of syntax the text that it is about.
func inQuery(err error, query string) error {
	var wrong *syntax.Error
	if errors.As(err, &wrong) && wrong.Query == "" {
		wrong.Query = query
	}
	return err
}

// lines yields the lines that pass, in order. The caller ends the iteration after limit
// lines; a limit below 0 is none.
func (s *scan) lines(limit int) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		out := s.newLines()
		defer out.run.Release()
		var next int64 // the time from which on a line of the Interval counts
		first := true
		for r, err := range s.results(limit) {
			if err != nil {
				if !yield(Line{}, err) {
					return
				}
				continue
			}
			if !first && s.x.r.Interval > 0 && !due(r.Time, next, s.query.Order) {
				continue
			}
			line, ok := out.of(&r)
			if !ok {
				continue
			}
			first, next = false, after(r.Time, s.x.r.Interval, s.query.Order)
			if s.x.r.Cursors {
				line.Cursor = r.Cursor()
			}
			if !yield(line, nil) {
				return
			}
		}
	}
}

func after(t int64, d time.Duration, order logstore.Order) int64 {
	if order == logstore.Backward {
		return t - int64(d)
	}
	return t + int64(d)
}

func due(t, next int64, order logstore.Order) bool {
	if order == logstore.Backward {
		return t <= next
	}
	return t >= next
}

// firstPage is how many entries are asked for at once with an Interval, which may drop many
// of them; each further page is four times as large, up to lastPage.
const (
	firstPage = 1000
	lastPage  = 1 << 20
)

// results yields the entries of the store that pass: with an Interval in pages, so that the
// store does not read much more than is needed.
func (s *scan) results(limit int) iter.Seq2[logstore.Result, error] {
	q := s.query
	switch {
	case !s.x.live && q.To <= q.From: // To 0 would be no end for the store
		return func(func(logstore.Result, error) bool) {}
	case limit < 0:
		return s.ask(q)
	}
	if s.x.r.Interval == 0 {
		q.Limit = limit
		return s.ask(q)
	}
	return func(yield func(logstore.Result, error) bool) {
		q.Cursors = true
		for q.Limit = max(firstPage, 4*limit); ; q.Limit *= 4 {
			if q.Limit > lastPage {
				q.Limit = 0
			}
			n := 0
			for r, err := range s.ask(q) {
				if !yield(r, err) {
					return
				}
				if err == nil {
					n++
					q.After = r.Cursor()
				}
			}
			if q.Limit == 0 || n < q.Limit || s.x.ctx.Err() != nil {
				return
			}
		}
	}
}

func (s *scan) ask(q logstore.Query) iter.Seq2[logstore.Result, error] {
	return func(yield func(logstore.Result, error) bool) {
		q, done := s.x.ask(q, s.node)
		defer done()
		defer s.filters.release()
		for r, err := range s.x.source.Query(s.x.ctx, q) {
			if !yield(r, err) {
				return
			}
		}
	}
}

// lineMaker makes Lines of entries.
type lineMaker struct {
	s      *scan
	run    *pipeline.Run
	began  bool
	stream logstore.Labels
	passes bool // lines of the stream may pass
	// Without stages, entries of a stream without metadata have the same labels.
	bare bool
	set  *labelSet
}

func (s *scan) newLines() *lineMaker { return &lineMaker{s: s, run: s.pipeline.NewRun()} }

func (m *lineMaker) of(r *logstore.Result) (Line, bool) {
	if !m.began || r.Labels != m.stream {
		m.began, m.stream, m.set = true, r.Labels, nil
		m.passes = m.run.Stream(r.Labels)
	}
	if !m.passes {
		return Line{}, false
	}
	bare := r.Metadata == logstore.Labels{}
	if m.set != nil && m.s.stages == 0 && bare && m.bare {
		return m.line(r.Time, r.Line), true
	}
	// What a stage makes once the query has ended is of no use.
	if !m.run.Process(r.Time, r.Line, r.Metadata) || m.s.x.ctx.Err() != nil {
		return Line{}, false
	}
	m.bare, m.set = bare, m.s.labels.of(m.run)
	return m.line(r.Time, m.run.Line), true
}

func (m *lineMaker) line(t int64, text []byte) Line {
	return Line{Time: t, Text: string(text), Stream: m.set.all, Metadata: m.set.metadata, Parsed: m.set.parsed}
}

// Stream answers a log query line by line, in constant memory and without Limits.Lines and
// Limits.Time. A Limit of -1 means no limit, and an End of 0 no end. An error that wraps a
// *logstore.CorruptError reports lines that cannot be read, and the iteration goes on; any
// other is the last step.
func (e *Engine) Stream(ctx context.Context, r Request) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		if err := e.stream(ctx, r, yield); err != nil {
			yield(Line{}, err)
		}
	}
}

// stream returns an error that comes before the first line.
func (e *Engine) stream(ctx context.Context, r Request, yield func(Line, error) bool) error {
	limit := r.Limit
	if limit == 0 {
		limit = defaultLines
	}
	r.Limit = 0
	if r.End == 0 {
		r.End = math.MaxInt64
	}
	if err := r.check(e.limits); err != nil {
		return err
	}
	if limit < -1 {
		return &RequestError{"Limit", fmt.Sprintf("%d lines; want -1 (no limit), 0 (%d) or more", limit, defaultLines)}
	}
	x, expr, err := e.startLog(ctx, r, 0)
	if err != nil {
		return err
	}
	defer x.end()
	s, err := x.scan(expr)
	if err != nil {
		return err
	}
	n := 0
	for line, err := range s.lines(limit) {
		if !yield(line, err) {
			return nil
		}
		if err == nil {
			n++
		}
		if n == limit {
			return nil
		}
	}
	return context.Cause(x.ctx)
}

// startLog starts a query that must be one of lines; limit 0 is no limit of time.
func (e *Engine) startLog(ctx context.Context, r Request, limit time.Duration) (*execution, *syntax.LogExpr, error) {
	x, err := e.start(ctx, r, limit)
	if err != nil {
		return nil, nil, err
	}
	expr, ok := x.expr.(*syntax.LogExpr)
	if !ok {
		x.end()
		return nil, nil, &RequestError{"Query", "gives numbers; want one of lines, such as {app=\"api\"}"}
	}
	return x, expr, nil
}
