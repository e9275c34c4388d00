package logql

import (
	"context"
	"iter"

	"github.com/stele-go/stele/logstore"
)

// Tail yields new lines of a log query as they are acknowledged, until ctx is done. A step
// may have a *logstore.LaggedError, if the caller is too slow; the iteration goes on.
//
// With a Start, lines from then on come first, those behind r.After, in the order of
// their times: see History. Then come all that are acknowledged later, none of them twice,
// and a slow caller misses none.
func (e *Engine) Tail(ctx context.Context, r Request) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		if err := e.tail(ctx, r, yield); err != nil {
			yield(Line{}, err)
		}
	}
}

// tail returns an error that comes before the first line.
func (e *Engine) tail(ctx context.Context, r Request, yield func(Line, error) bool) error {
	q := logstore.Query{Tenant: r.Tenant, From: r.Start, After: r.After}
	if r.Start <= 0 {
		q.After = logstore.Cursor{}
	}
	r, err := r.tail(e.limits)
	if err != nil {
		return err
	}
	x, expr, err := e.startLog(ctx, r, 0)
	if err != nil {
		return err
	}
	defer x.end()
	x.live = true
	s, err := x.scan(expr)
	if err != nil {
		return err
	}
	s.filters.endless = true
	q.Selector, q.Filter = s.query.Selector, s.query.Filter
	lines := x.source.Tail
	if q.From > 0 {
		lines = x.source.Follow
	}
	out := s.newLines()
	for entry, err := range lines(x.ctx, q) {
		if err != nil {
			if !yield(Line{}, err) {
				return nil
			}
			continue
		}
		if line, ok := out.of(&entry); ok && !yield(line, nil) {
			return nil
		}
	}
	return nil
}

// tail returns the request as a tail looks at it.
func (r Request) tail(l Limits) (Request, error) {
	r.End, r.Interval, r.Instant, r.After = max(r.Start, r.End), 0, false, logstore.Cursor{}
	err := r.check(l)
	r.End = 0
	return r, err
}

// History looks where the history of a tail begins: the newest r.Limit lines from r.Start
// on, or all if there are fewer. It returns the Cursor that r.After of Tail is to be, and
// how many lines there are behind it now. It is a query within the Limits, and Limits.Time
// among them.
func (e *Engine) History(ctx context.Context, r Request) (after logstore.Cursor, lines int, err error) {
	r, err = r.tail(e.limits)
	if err != nil {
		return after, 0, err
	}
	r.Cursors, r.Direction = true, Backward
	x, expr, err := e.startLog(ctx, r, e.limits.Time)
	if err != nil {
		return after, 0, err
	}
	defer x.end()
	x.live = true
	s, err := x.scan(expr)
	if err != nil {
		return after, 0, err
	}
	for line, err := range s.lines(x.r.Limit + 1) {
		if err != nil {
			if err = x.tolerate(err); err != nil {
				return after, 0, x.explainError(err)
			}
			continue
		}
		if lines == x.r.Limit {
			return line.Cursor, lines, nil
		}
		lines++
	}
	if err := x.ctx.Err(); err != nil { // lines may be missing
		return after, 0, x.explainError(err)
	}
	return after, lines, nil
}
