// Package logql answers queries in LogQL, the query language of Loki, over a log store.
package logql

import (
	"context"
	"errors"
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
	Labels(ctx context.Context, q logstore.Query) ([]string, error)
	LabelValues(ctx context.Context, name string, q logstore.Query) ([]string, error)
	Series(ctx context.Context, q logstore.Query) ([]logstore.Labels, error)
	Tail(ctx context.Context, q logstore.Query) iter.Seq2[logstore.Result, error]
}

// Limits bound each query. 0 means the default that the field names.
type Limits struct {
	Lines    int           // that a log query may ask for; 0 means 5,000
	Series   int           // of a metric query's result, and of each of its parts; 0 means 500... by the owner
	Steps    int           // moments of a metric query; 0 means 11,000
	Bytes    int64         // of blocks and lines read; 0 means no limit
	Memory   int64         // bytes that a query's result and sums may take; 0 means 64 MiB
	Time     time.Duration // of a query; 0 means a minute
	MaxRange time.Duration // of a query's selector; 0 means no limit
	Parallel int           // goroutines of a query; 0 means those of the store
}

// An Engine answers queries over one Source. Many goroutines may use one.
type Engine struct{}

// Options are the settings of an engine.
type Options struct {
	Limits Limits
}

// NewEngine returns an engine over source.
func NewEngine(source Source, o Options) *Engine { return &Engine{} }

// Direction is the order of a log query's lines.
type Direction uint8

const (
	Backward Direction = iota // newest first, the default of Loki's API
	Forward
)

// A Request is a query with its times.
type Request struct {
	Tenant string
	Query  string
	Expr   syntax.Expr // parsed already; nil means parse Query
	// Start and End bound a range query, in nanoseconds since the Unix epoch: lines from
	// Start to before End, moments Start, Start+Step... up to End. An instant query has
	// Instant set, and its moment is End.
	Start, End int64
	Step       time.Duration
	Interval   time.Duration // of log queries: at most one line of a stream in each; 0 is all
	Instant    bool
	Direction  Direction
	Limit      int // lines; 0 means 100
	Explain    bool
}

// A LabelPair is a name and its value.
type LabelPair struct{ Name, Value string }

// A Line is one line of a log query's result.
type Line struct {
	Time int64
	Text string
	// Stream are all labels of the result, ordered by name: those of the stream, of
	// structured metadata and of parsers. Metadata and Parsed are those of them that are not of the
	// stream's own (for the encoding flag categorize-labels).
	Stream, Metadata, Parsed []LabelPair
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

const (
	Streams Kind = iota
	Vector
	Matrix
	Scalar
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
	// ... by the owner
	Took, Queued time.Duration
}

// A Plan says what a query does, in a tree.
type Plan struct {
	Text string
}

// Run answers a request.
func (e *Engine) Run(ctx context.Context, r Request) (*Result, error) {
	return nil, errors.New("not built yet")
}

// Stream answers a log query line by line, in constant memory, without Request.Limit if that
// is -1: for export.
func (e *Engine) Stream(ctx context.Context, r Request) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) { yield(Line{}, errors.New("not built yet")) }
}

// Tail yields new lines of a log query as they are acknowledged. A step may have a *logstore.LaggedError.
func (e *Engine) Tail(ctx context.Context, r Request) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) { yield(Line{}, errors.New("not built yet")) }
}
