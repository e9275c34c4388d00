// Package logql answers queries in LogQL, the query language of Loki, over a log store.
//
//	e := logql.NewEngine(store, logql.Options{})
//	result, err := e.Run(ctx, logql.Request{Query: `{app="api"} |= "timeout"`, Start: from, End: to})
//
// # How a query is answered
//
// Package syntax parses the text to a tree. The planner (plan.go) splits the stages of each
// selector: what the store can test, by its index and on many lines at once, becomes a
// filter of the store (package prefilter); the rest becomes a pipeline, which runs in the
// goroutines of the store that read lines (package pipeline). A log query (logs.go) takes
// lines in the order of their times until it has enough. Range aggregations (leaf.go) are
// computed in one pass over the lines for all steps (package window), or, where lines are
// only counted, from what the store knows of its blocks without reading them (counts.go).
// Where the pipeline is one parser and stages that look at its labels, the store gives the
// fields that these read, a block at a time, in the place of lines (fieldfolder.go): where
// fields are in the lines of a template the parser itself finds out, by a sample line. Range
// aggregations of the bytes of lines read lines, and so do those whose series have all labels
// that a parser finds. Of a log query the store makes the lines that such stages let pass
// (fieldmatcher.go).
// What is made of their series is package matrix.
//
// Request.Explain makes the plan known, with what was read and skipped for each part.
//
// # Errors
//
// A query that is wrong ends with a *syntax.Error, a *RequestError or an *UnsupportedError,
// one that takes too much with a *LimitError, and a metric query over lines that a stage
// could not work with with a *PipelineError. The others are those of the store, and that of
// the context.
package logql

import (
	"context"
	"iter"
	"time"

	"github.com/stele-go/stele/logql/syntax"
	"github.com/stele-go/stele/logstore"
)

// A Source is what queries read: a *logstore.Store.
type Source interface {
	Query(ctx context.Context, q logstore.Query) iter.Seq2[logstore.Result, error]
	Fold(ctx context.Context, q logstore.Query, begin func(charge func(bytes int64) error) logstore.Folder) error
	Aggregate(ctx context.Context, q logstore.Query, a logstore.Aggregation) ([]logstore.Group, error)
	Patterns(ctx context.Context, q logstore.Query, a logstore.PatternAggregation) ([]logstore.PatternGroup, error)
	Labels(ctx context.Context, q logstore.Query) ([]string, error)
	LabelValues(ctx context.Context, name string, q logstore.Query) ([]string, error)
	Series(ctx context.Context, q logstore.Query) ([]logstore.Labels, error)
	Tail(ctx context.Context, q logstore.Query) iter.Seq2[logstore.Result, error]
	Follow(ctx context.Context, q logstore.Query) iter.Seq2[logstore.Result, error]
}

// An Engine answers queries over one Source. Many goroutines may use one.
type Engine struct {
	source Source
	limits Limits
}

// Options are the settings of an engine.
type Options struct {
	Limits Limits
}

// NewEngine returns an engine over source.
func NewEngine(source Source, o Options) *Engine {
	return &Engine{source: source, limits: o.Limits.withDefaults()}
}

// Limits returns the limits of the engine, with the defaults in the place of 0.
func (e *Engine) Limits() Limits { return e.limits }

// Direction is the order of a log query's lines.
type Direction uint8

// The directions.
const (
	Backward Direction = iota // newest first, the default of Loki's API
	Forward                   // oldest first
)

// A Request is a query with its times.
type Request struct {
	Tenant string
	Query  string
	Expr   syntax.Expr // parsed already; nil means parse Query
	// Start and End bound a range query, in nanoseconds since the Unix epoch: lines from
	// Start to before End, moments Start, Start+Step... up to End. An instant query has
	// Instant set, and its moment is End. A log query whose End is Start has no lines.
	Start, End int64
	Step       time.Duration
	Interval   time.Duration // of log queries: at most one line in each; 0 is all
	Instant    bool
	Direction  Direction
	Limit      int // lines; 0 means 100
	Explain    bool
	// Cursors makes Line.Cursor known, and After, unless it is zero, leaves out all up to
	// the line that it names: for Stream.
	Cursors bool
	After   logstore.Cursor
}

// A LabelPair is a name and its value.
type LabelPair struct{ Name, Value string }

// A Line is one line of a log query's result.
type Line struct {
	Time int64
	Text string
	// Stream are all labels of the result, ordered by name: those of the stream, of
	// structured metadata and of parsers. Metadata and Parsed are those of them that are
	// not of the stream's own (for the encoding flag categorize-labels). Lines may share
	// these slices: do not change them.
	Stream, Metadata, Parsed []LabelPair
	Cursor                   logstore.Cursor // with Request.Cursors
}

// A Point is a value at a moment, in nanoseconds.
type Point struct {
	Time  int64
	Value float64
}

// A Series is a row of a metric query's result.
type Series struct {
	Labels []LabelPair
	Points []Point
}

// Kind is the kind of a result.
type Kind uint8

// The kinds.
const (
	Streams Kind = iota // lines, of a log query
	Vector              // series with a value each, of an instant query
	Matrix              // series with values at steps
	Scalar              // a number without labels, of an instant query
)

// A Result is the answer to a Request.
type Result struct {
	Kind     Kind
	Lines    []Line   // of Streams, in the order of Direction
	Series   []Series // of Vector (one point each), Matrix; of Scalar one without labels
	Stats    Stats
	Plan     *Plan // with Request.Explain
	Warnings []string
}

// Stats tell what a query took.
type Stats struct {
	Store logstore.QueryStats // summed up over the parts of the query
	// Parts is how many times the store was asked.
	Parts int
	// Lines is how many lines, or values of series, the result has.
	Lines int64
	// Took is the time from the call to the result, without Queued, which whoever limits
	// how many queries run at once fills in.
	Took, Queued time.Duration
}

// Run answers a request.
func (e *Engine) Run(ctx context.Context, r Request) (*Result, error) {
	x, err := e.begin(ctx, r)
	if err != nil {
		return nil, err
	}
	defer x.end()
	var result *Result
	switch expr := x.expr.(type) {
	case *syntax.LogExpr:
		result, err = x.logs(expr)
	case syntax.MetricExpr:
		result, err = x.metric(expr)
	}
	if err == nil {
		err = x.ctx.Err() // what stages made of the last lines may be of no use
	}
	if err != nil {
		return nil, x.explainError(err)
	}
	x.finish(result)
	return result, nil
}
