package pipeline

import (
	"bytes"

	"github.com/stele-go/stele/logql/internal/match"
	"github.com/stele-go/stele/logql/internal/template"
	"github.com/stele-go/stele/logstore"
)

// A Run has the state of one goroutine, and the result of the last line.
type Run struct {
	// Line is what the stages made of the line. Valid until the next Process.
	Line []byte
	// Value is the unwrapped value, if Options.Unwrap is set.
	Value float64

	p    *Pipeline
	time int64
	set  labelSet

	stream   logstore.Labels
	metadata bool   // set has some
	decided  []bool // of steps that all lines of the stream pass
	mayFail  bool   // while Stream decides: a filter before may make an error

	searchers []*match.Searcher
	finders   []*match.Finder
	execs     []*template.Exec
	keys      []keyCache  // of parsers
	captures  [][]byte    // of a pattern
	made      []madeLabel // by label_format
	arena     []byte      // what stages make of the line

	doubtful bool // whether the line has a U+FFFD is known
	dubious  bool
}

// NewRun returns the state of one goroutine.
func (p *Pipeline) NewRun() *Run {
	r := &Run{p: p, decided: make([]bool, len(p.steps)), keys: make([]keyCache, p.parsed)}
	for _, m := range p.matchers {
		r.searchers = append(r.searchers, m.NewSearcher(p.grow))
	}
	for _, f := range p.finders {
		r.finders = append(r.finders, f.Clone(p.grow))
	}
	for _, t := range p.templates {
		r.execs = append(r.execs, t.template.NewExec(environment{r, t.ids}, p.ended))
	}
	r.set.init(p)
	return r
}

// Release gives back the memory that Options.Grow has allowed. The Run may go on, more slowly.
func (r *Run) Release() {
	for _, s := range r.searchers {
		s.Release()
	}
	for _, f := range r.finders {
		f.Release()
	}
}

// maxArena bounds the memory that a Run keeps from one line to the next.
const maxArena = 1 << 20

// Stream begins the lines of a stream. It returns false if no line of the stream can
// pass, whatever it says.
func (r *Run) Stream(labels logstore.Labels) bool {
	r.stream = labels
	r.begin()
	r.mayFail = false
	r.set.setStream(labels)
	r.metadata = false
	for i, s := range r.p.steps {
		r.decided[i] = false
		switch s := s.(type) {
		case *lineFilter, *containsStep, decolorize:
		case *labelFilter:
			switch s.predicate.decide(r) {
			case no:
				return false
			case yes:
				r.decided[i] = true
			}
		default:
			// Later stages see labels that this one has made.
			return r.undecided(i)
		}
	}
	return true
}

func (r *Run) undecided(from int) bool {
	clear(r.decided[from:])
	return true
}

// Process runs the stages over a line, and reports whether it passes.
func (r *Run) Process(time int64, line []byte, metadata logstore.Labels) bool {
	r.prepare(time, line, metadata)
	for i, s := range r.p.steps {
		if !r.decided[i] && !s.run(r) {
			return false
		}
	}
	return r.p.unwrap == nil || r.p.unwrap.run(r)
}

// prepare begins a line with the labels of its stream and its metadata.
func (r *Run) prepare(time int64, line []byte, metadata logstore.Labels) {
	r.Line, r.time, r.doubtful = line, time, false
	if cap(r.arena) > maxArena {
		r.arena = nil
	}
	r.arena = r.arena[:0]
	if r.begin() {
		r.set.setStream(r.stream)
		r.metadata = false
	}
	// They are not compared with those of the line before, which were valid until Process returned.
	if has := metadata.Len() > 0; r.p.reads && (has || r.metadata) {
		r.set.setMetadata(metadata)
		r.metadata = has
	}
}

// begin begins a line. It returns true if the labels of the stream must be set again.
func (r *Run) begin() bool {
	if !r.set.next() {
		return false
	}
	clear(r.keys)
	return true
}

// fail sets the labels of an error. Without details those of an error before stay, as in Loki.
func (r *Run) fail(kind, details []byte) bool {
	r.set.put(errorID, kind)
	if len(details) > 0 {
		r.set.put(detailsID, details)
	}
	return true
}

// failed reports whether the line has an error.
func (r *Run) failed() bool {
	v, _ := r.set.get(errorID)
	return len(v) > 0
}

// make keeps what f appends, for as long as the line is processed.
func (r *Run) make(f func(buf []byte) []byte) []byte {
	was := len(r.arena)
	r.arena = f(r.arena)
	return r.arena[was:len(r.arena):len(r.arena)]
}

var replacement = []byte("\uFFFD")

// clean returns a parsed value as Loki does, with a blank for U+FFFD, which stands for bytes
// that are no text.
func (r *Run) clean(value []byte, made bool) []byte {
	if !r.doubtful {
		r.doubtful, r.dubious = true, bytes.Contains(r.Line, replacement)
	}
	if !r.dubious && !made || !bytes.Contains(value, replacement) {
		return value
	}
	was := len(r.arena)
	for {
		i := bytes.Index(value, replacement)
		if i < 0 {
			break
		}
		r.arena = append(append(r.arena, value[:i]...), ' ')
		value = value[i+len(replacement):]
	}
	r.arena = append(r.arena, value...)
	return r.arena[was:len(r.arena):len(r.arena)]
}
