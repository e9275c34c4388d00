package logql

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stele-go/stele/logql/internal/pipeline"
	"github.com/stele-go/stele/logql/internal/prefilter"
	"github.com/stele-go/stele/logql/syntax"
	"github.com/stele-go/stele/logstore"
)

// An execution is one request being answered.
type execution struct {
	ctx    context.Context
	cancel context.CancelFunc
	engine *Engine
	source Source
	limits Limits
	r      Request
	expr   syntax.Expr
	began  time.Time

	kept     atomic.Int64 // bytes, see charge
	automata atomic.Int64 // of kept, those of growAutomata
	memos    atomic.Int64 // those of growMemos, beside kept: no charge fails for them
	between  int64        // bytes, see chargeSeries
	read     atomic.Int64 // bytes of blocks and lines, of the parts that have ended

	mu       sync.Mutex
	stats    Stats
	warnings []string
	plan     PlanNode
	names    map[string]map[string]bool // labels of streams by selector and range, see streamHas
	live     bool                       // entries of streams that come later count, too
}

// begin checks a request and starts its clock.
func (e *Engine) begin(ctx context.Context, r Request) (*execution, error) {
	if err := r.check(e.limits); err != nil {
		return nil, err
	}
	return e.start(ctx, r, e.limits.Time)
}

// start is begin without the checks; limit 0 is no limit of time.
func (e *Engine) start(ctx context.Context, r Request, limit time.Duration) (*execution, error) {
	if r.Limit == 0 {
		r.Limit = defaultLines
	}
	expr := r.Expr
	if expr == nil {
		var err error
		if expr, err = syntax.Parse(r.Query); err != nil {
			return nil, err
		}
	}
	return e.begun(ctx, r, expr, limit), nil
}

// begun returns the execution of a request, whose clock starts now.
func (e *Engine) begun(ctx context.Context, r Request, expr syntax.Expr, limit time.Duration) *execution {
	x := &execution{engine: e, source: e.source, limits: e.limits, r: r, expr: expr, began: time.Now(), names: map[string]map[string]bool{}}
	if limit > 0 {
		cause := &LimitError{"Limits.Time", int64(limit), fmt.Sprintf("a query of more than %v", limit)}
		x.ctx, x.cancel = context.WithTimeoutCause(ctx, limit, cause)
	} else {
		x.ctx, x.cancel = context.WithCancel(ctx)
	}
	return x
}

func (x *execution) end() { x.cancel() }

// explainError gives the limit of time as the error, where that has ended the query, those
// of the store as our own, and our own without what the store says of them.
func (x *execution) explainError(err error) error {
	var limit *LimitError
	var pipeline *PipelineError
	switch {
	case errors.As(err, &pipeline):
		return pipeline
	case errors.As(err, &limit):
		return limit
	}
	if errors.Is(err, context.DeadlineExceeded) && errors.As(context.Cause(x.ctx), &limit) {
		return limit
	}
	var store *logstore.LimitError
	if errors.As(err, &store) && store.Limit == "Query.MaxBytes" {
		return &LimitError{"Limits.Bytes", x.limits.Bytes, store.What}
	}
	return err
}

// finish fills in what is known at the end.
func (x *execution) finish(r *Result) {
	x.stats.Took = time.Since(x.began)
	x.stats.Lines = int64(len(r.Lines))
	for i := range r.Series {
		x.stats.Lines += int64(len(r.Series[i].Points))
	}
	r.Stats = x.stats
	if x.r.Explain {
		r.Plan = x.plan.plan()
	}
}

// ask prepares a query of the store, whose stats are summed up by the function that is
// to be called when it has ended.
func (x *execution) ask(q logstore.Query, node *PlanNode) (logstore.Query, func()) {
	q.Tenant, q.Workers = x.r.Tenant, x.limits.Parallel
	if x.limits.Bytes > 0 {
		q.MaxBytes = max(1, x.limits.Bytes-x.read.Load())
	}
	stats := new(logstore.QueryStats)
	q.Stats = stats
	return q, func() {
		x.read.Add(max(stats.StoredBytes, stats.RawBytes))
		x.mu.Lock()
		defer x.mu.Unlock()
		x.stats.Parts++
		addStats(&x.stats.Store, stats)
		if node != nil {
			if node.Store == nil {
				node.Store = new(logstore.QueryStats)
			}
			addStats(node.Store, stats)
		}
	}
}

// pipelineOptions returns those that all pipelines of the query have in common.
func (x *execution) pipelineOptions() pipeline.Options {
	return pipeline.Options{Ended: func() bool { return x.ctx.Err() != nil }, Grow: x.growAutomata}
}

// growAutomata reports whether the automata of regular expressions may take more bytes: all
// together a quarter of the query's memory. Without them matching is slower. Bytes below 0 are
// given back.
func (x *execution) growAutomata(bytes int64) bool {
	if bytes < 0 {
		x.automata.Add(bytes)
		x.kept.Add(bytes)
		return true
	}
	if x.automata.Add(bytes) > x.limits.Memory/4 {
		x.automata.Add(-bytes)
		return false
	}
	for {
		kept := x.kept.Load()
		if kept+bytes > x.limits.Memory {
			x.automata.Add(-bytes)
			return false
		}
		if x.kept.CompareAndSwap(kept, kept+bytes) { // no other charge meets bytes that are given back
			return true
		}
	}
}

// growMemos reports whether what is remembered of rows that are alike may take more bytes: all
// together a quarter of the query's memory, and no more than what the rest of the query leaves of
// it. With 0 it reports whether that still holds. Bytes below 0 are given back.
func (x *execution) growMemos(bytes int64) bool {
	memos := x.memos.Add(bytes)
	if bytes < 0 || memos <= x.limits.Memory/4 && x.kept.Load()+memos <= x.limits.Memory {
		return true
	}
	x.memos.Add(-bytes)
	return false
}

func addStats(sum, s *logstore.QueryStats) {
	addParts(&sum.Segments, &s.Segments)
	addParts(&sum.Groups, &s.Groups)
	addParts(&sum.Blocks, &s.Blocks)
	addParts(&sum.Bytes, &s.Bytes)
	addColumns(&sum.Columns, &s.Columns)
	sum.Rereads += s.Rereads
	sum.StoredBytes += s.StoredBytes
	sum.RawBytes += s.RawBytes
	sum.Lines += s.Lines
	sum.Matched += s.Matched
	sum.ByFields += s.ByFields
	sum.Waited += s.Waited
	sum.Parked += s.Parked
}

func addColumns(sum, c *logstore.ColumnStats) {
	sum.Templates += c.Templates
	sum.Known += c.Known
	sum.Opened += c.Opened
	sum.Skipped += c.Skipped
	sum.Rebuilt += c.Rebuilt
}

func addParts(sum, p *logstore.PartStats) {
	sum.Considered += p.Considered
	sum.Time += p.Time
	sum.Streams += p.Streams
	sum.Filter += p.Filter
	sum.Read += p.Read
	sum.Left += p.Left
}

// split tells what the store tests of stages over the lines that q selects.
func (x *execution) split(q logstore.Query, stages []syntax.Stage) prefilter.Split {
	return prefilter.Of(stages, func(label string) bool { return x.streamHas(q, label) }, x.growAutomata)
}

// maxNames bounds the labels that streamHas knows by name.
const maxNames = 10_000

// streamHas reports whether a stream that q selects may have a label. A stream whose first
// entry comes after this call may have it, too: none of its entries was acknowledged before
// the query began.
func (x *execution) streamHas(q logstore.Query, label string) bool {
	if x.live {
		return true
	}
	key := fmt.Sprint(q.From, q.To, q.Selector)
	x.mu.Lock()
	defer x.mu.Unlock()
	names, ok := x.names[key]
	if !ok {
		list, err := x.source.Labels(x.ctx, logstore.Query{Tenant: x.r.Tenant, Selector: q.Selector, From: q.From, To: q.To, Limit: maxNames})
		if err == nil {
			names = map[string]bool{}
			for _, name := range list {
				names[name] = true
			}
		}
		x.names[key] = names
	}
	return names == nil || names[label]
}
