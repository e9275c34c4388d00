package logql

import (
	"context"
	"iter"

	"github.com/stele-go/stele/logstore"
)

// Tail yields new lines of a log query as they are acknowledged, until ctx is done. A step
// may have a *logstore.LaggedError, if the caller is too slow; the iteration goes on.
//
// With a Start, lines from then on come first: the newest Limit of them, in the order of
// their times. Then come all that are acknowledged later, none of them twice, and a slow
// caller misses none.
func (e *Engine) Tail(ctx context.Context, r Request) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		if err := e.tail(ctx, r, yield); err != nil {
			yield(Line{}, err)
		}
	}
}

// tail returns an error that comes before the first line.
func (e *Engine) tail(ctx context.Context, r Request, yield func(Line, error) bool) error {
	history := r.Start > 0
	r.End, r.Interval, r.Instant, r.After = max(r.Start, r.End), 0, false, logstore.Cursor{}
	if err := r.check(e.limits); err != nil {
		return err
	}
	r.End = 0
	var lines iter.Seq2[logstore.Result, error]
	if history {
		r.Cursors, r.Direction = true, Backward
	}
	x, expr, err := e.startLog(ctx, r)
	if err != nil {
		return err
	}
	defer x.end()
	x.live = true
	s, err := x.scan(expr)
	if err != nil {
		return err
	}
	if history {
		if lines, err = s.follow(); err != nil {
			return err
		}
	} else {
		lines = x.source.Tail(x.ctx, logstore.Query{Tenant: r.Tenant, Selector: s.query.Selector, Filter: s.query.Filter})
	}
	out := s.newLines()
	for entry, err := range lines {
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

// follow looks where the newest Limit lines begin, and follows the store from there.
func (s *scan) follow() (iter.Seq2[logstore.Result, error], error) {
	q := logstore.Query{Tenant: s.x.r.Tenant, Selector: s.query.Selector, Filter: s.query.Filter, From: s.x.r.Start}
	n := 0
	for line, err := range s.lines(s.x.r.Limit + 1) {
		if err != nil {
			if err = s.x.tolerate(err); err != nil {
				return nil, err
			}
			continue
		}
		if n++; n > s.x.r.Limit {
			q.After = line.Cursor
			break
		}
	}
	return s.x.source.Follow(s.x.ctx, q), nil
}
