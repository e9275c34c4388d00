package logql

import (
	"context"
	"errors"
	"time"
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

// A VolumeRequest asks for the bytes of streams.
type VolumeRequest struct {
	Selection // Limit 0 means 100 series, those with the most bytes
	// Step is that of VolumeRange; 0 means one step.
	Step time.Duration
	// Labels are those by which volumes are told; none means those that the selector names.
	Labels []string
	// ByName tells the volume of each name of a label (Loki's aggregateBy=labels), else
	// that of each combination of values (series).
	ByName bool
}

// A DetectedLabel is a label of streams.
type DetectedLabel struct {
	Name        string
	Cardinality int64 // how many values it has
}

// A FieldsRequest asks for the fields of lines.
type FieldsRequest struct {
	Selection     // Query may be a log query; Limit 0 means 1,000 fields or values
	Lines     int // that are looked at, the newest ones; 0 means 1,000
}

// A DetectedField is a label that lines have by their metadata, or would get by a parser.
type DetectedField struct {
	Label       string
	Type        string // string, int, float, boolean, duration or bytes
	Cardinality int64
	Parsers     []string // json, logfmt; none if it is from metadata or the query's own stages
	JSONPath    []string // of json
}

// A PatternsRequest asks for the patterns of lines.
type PatternsRequest struct {
	Selection
	Step time.Duration // of samples; 0 means a 60th of the range, but at least 10 s
}

// A PatternSeries is a pattern, and how many lines had it in each step.
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

var errNotBuilt = errors.New("not built yet")

// Limits returns the limits of the engine, with the defaults in the place of 0.
func (e *Engine) Limits() Limits { return Limits{} }

// Labels returns the names of labels of the selected streams, sorted.
func (e *Engine) Labels(ctx context.Context, s Selection) ([]string, error) { return nil, errNotBuilt }

// LabelValues returns the values of a label, sorted.
func (e *Engine) LabelValues(ctx context.Context, name string, s Selection) ([]string, error) {
	return nil, errNotBuilt
}

// Series returns the labels of the streams that one of selectors selects, ordered; none
// selects all. s.Query is not looked at.
func (e *Engine) Series(ctx context.Context, selectors []string, s Selection) ([][]LabelPair, error) {
	return nil, errNotBuilt
}

// IndexStats counts the streams, blocks, bytes and entries that a selector selects.
func (e *Engine) IndexStats(ctx context.Context, s Selection) (IndexStats, error) {
	return IndexStats{}, errNotBuilt
}

// Volume returns a Vector of bytes at the time End, the largest first.
func (e *Engine) Volume(ctx context.Context, r VolumeRequest) (*Result, error) {
	return nil, errNotBuilt
}

// VolumeRange returns a Matrix of bytes in each step.
func (e *Engine) VolumeRange(ctx context.Context, r VolumeRequest) (*Result, error) {
	return nil, errNotBuilt
}

// DetectedLabels returns the labels of the selected streams with their cardinality,
// without those of which all values are IDs.
func (e *Engine) DetectedLabels(ctx context.Context, s Selection) ([]DetectedLabel, error) {
	return nil, errNotBuilt
}

// DetectedFields returns the fields of a sample of the lines of a log query.
func (e *Engine) DetectedFields(ctx context.Context, r FieldsRequest) ([]DetectedField, error) {
	return nil, errNotBuilt
}

// DetectedFieldValues returns the values of one field in a sample of the lines of a log query.
func (e *Engine) DetectedFieldValues(ctx context.Context, name string, r FieldsRequest) ([]string, error) {
	return nil, errNotBuilt
}

// Patterns mines the patterns of a sample of the selected lines.
func (e *Engine) Patterns(ctx context.Context, r PatternsRequest) ([]PatternSeries, error) {
	return nil, errNotBuilt
}
