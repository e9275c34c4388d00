// Package pipeline runs the stages of a query over lines. Stages are compiled once;
// nothing is allocated per line in the steady state.
package pipeline

import (
	"errors"

	"github.com/stele-go/stele/logql/syntax"
	"github.com/stele-go/stele/logstore"
)

// Options say what is made of the lines that pass.
type Options struct {
	// Unwrap, unless nil, makes Run.Value known.
	Unwrap *syntax.Unwrap
	// Need are the labels that the caller reads from the result; AllLabels means that it
	// reads every label. Parsers may leave out what neither the caller nor a later stage needs.
	Need      []string
	AllLabels bool
	// Times makes the time of an entry known to the templates; Process then gets it.
	MaxLine int // bytes of a line that a stage makes; 0 means 1 MiB
}

// A Pipeline is compiled stages. Many goroutines may use one at once, each by a Run of its own.
type Pipeline struct{}

// Compile compiles stages. Errors name the stage, with its place in the query (*syntax.Error).
func Compile(stages []syntax.Stage, o Options) (*Pipeline, error) {
	return nil, errors.New("not built yet")
}

// NewRun returns the state of one goroutine.
func (p *Pipeline) NewRun() *Run { return &Run{} }

// A Run has the state of one goroutine, and the result of the last line.
type Run struct {
	// Line is what the stages made of the line. Valid until the next Process.
	Line []byte
	// Value is the unwrapped value, if Options.Unwrap is set.
	Value float64
}

// Stream begins the lines of a stream. It returns false if no line of the stream can
// pass, whatever it says.
func (r *Run) Stream(labels logstore.Labels) bool { return false }

// Process runs the stages over a line, and reports whether it passes.
func (r *Run) Process(time int64, line []byte, metadata logstore.Labels) bool { return false }

// LabelClass tells where a label of the result is from.
type LabelClass uint8

const (
	FromStream LabelClass = iota
	FromMetadata
	FromParser // parsed, formatted, __error__
)

// Get returns a label of the last line.
func (r *Run) Get(name string) (value []byte, ok bool) { return nil, false }

// Each calls f with each label of the last line, ordered by name. With an error of a stage
// that includes __error__ and __error_details__. Values are valid until the next Process.
func (r *Run) Each(f func(name string, value []byte, class LabelClass)) {}

// AppendKey appends to buf bytes that are equal exactly for lines whose results have the same
// labels, of those that by (grouping nil: all; Without: all others) selects.
func (r *Run) AppendKey(buf []byte, grouping *syntax.Grouping) []byte { return nil }

// Static reports that the labels of every line that passes are those of its stream: no stage
// changes labels, and metadata are not asked for. Then a caller needs AppendKey once a stream.
func (p *Pipeline) Static() bool { return false }
