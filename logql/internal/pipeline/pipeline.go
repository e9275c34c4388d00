// Package pipeline runs the stages of a query over lines. Stages are compiled once;
// nothing is allocated per line in the steady state.
package pipeline

import (
	"github.com/stele-go/stele/logql/internal/match"
	"github.com/stele-go/stele/logql/syntax"
)

// Options say what is made of the lines that pass.
type Options struct {
	// Unwrap, unless nil, makes Run.Value known.
	Unwrap *syntax.Unwrap
	// Need are the labels that the caller reads from the result; AllLabels means that it
	// reads every label. Parsers leave out what neither the caller nor a stage needs. As
	// in Loki, those that read json or logfmt stop once they have found all that is needed,
	// and so may miss an error behind it; with nothing needed they do not begin.
	// __error__ and __error_details__ can be read in any case; who needs to know of all
	// errors names them here.
	Need      []string
	AllLabels bool
	// MaxLine bounds the bytes of a line or a label that a template makes; 0 means 1 MiB.
	MaxLine int
	// Ended, unless nil, reports that nobody wants the result any more: templates, which may
	// run long for a line, ask it, and make nothing from then on. Grow is that of dfa.New,
	// for what regular expressions keep; many goroutines may call it at once.
	Ended func() bool
	Grow  func(bytes int64) bool
}

// A Pipeline is compiled stages. Many goroutines may use one at once, each by a Run of its own.
type Pipeline struct {
	steps  []step
	unwrap *unwrap
	static bool
	reads  bool // stages or the caller read labels, so those of metadata are looked at
	all    bool // Options.AllLabels

	// names are the labels that the query names, by their id. Those of needs are all that
	// anybody reads, unless all is set.
	names  []string
	ids    map[string]int32
	needs  map[string]int // how many times each is named to be read
	parsed int            // steps that keep the keys that they have met

	matchers  []*match.Matcher
	finders   []*match.Finder // of which each Run has clones
	templates []boundTemplate
	maxLine   int
	ended     func() bool
	grow      func(bytes int64) bool
}

// A step is a compiled stage.
type step interface {
	// run returns false if the line does not pass.
	run(r *Run) bool
}

// The labels of errors have the first two ids.
const (
	errorID int32 = iota
	detailsID
)

const (
	errorName   = "__error__"
	detailsName = "__error_details__"
)

// The values of __error__.
var (
	jsonFailed     = []byte("JSONParserErr")
	logfmtFailed   = []byte("LogfmtParserErr")
	filterFailed   = []byte("LabelFilterErr")
	unwrapFailed   = []byte("SampleExtractionErr")
	templateFailed = []byte("TemplateFormatErr")
)

// Static reports that the labels of every line that passes are those of its stream: no stage
// changes labels, and metadata are not asked for. Then a caller needs AppendKey once a stream.
func (p *Pipeline) Static() bool { return p.static }

// id returns the id of a label that the query names.
func (p *Pipeline) id(name string) int32 {
	if id, ok := p.ids[name]; ok {
		return id
	}
	id := int32(len(p.names))
	p.names = append(p.names, name)
	p.ids[name] = id
	return id
}

// need is id of a label whose value is read.
func (p *Pipeline) need(name string) int32 {
	p.needs[name]++
	p.reads = true
	return p.id(name)
}

// matcher keeps m, and returns where a Run has its Searcher.
func (p *Pipeline) matcher(m *match.Matcher) int {
	p.matchers = append(p.matchers, m)
	return len(p.matchers) - 1
}
