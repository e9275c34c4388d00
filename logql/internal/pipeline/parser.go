package pipeline

import (
	"bytes"
	"regexp"

	"github.com/stele-go/stele/logql/internal/jsonscan"
	"github.com/stele-go/stele/logql/internal/logfmt"
	"github.com/stele-go/stele/logql/internal/pattern"
)

// extractedLabel are the ids of a label and of the same with the suffix, -1 if it is left out.
type extractedLabel struct{ id, extracted int32 }

// target returns the id under which the label is set.
func (l extractedLabel) target(r *Run) int32 {
	if r.set.target(l.id) != l.id {
		return l.extracted
	}
	return l.id
}

// setFirst sets the label unless it has been set.
func (l extractedLabel) setFirst(r *Run, value []byte) {
	if l.id < 0 {
		return
	}
	if id := l.target(r); r.set.unset(id) {
		r.set.parse(id, value)
		if r.set.names[id].needed {
			r.set.missing--
		}
	}
}

// setMissing makes the label of a field that the line has not, an empty one, unless there is
// such a label.
func (l extractedLabel) setMissing(r *Run) {
	if r.set.find(l.id) == nil {
		r.set.parse(l.id, nil)
	}
}

// regexpStep is | regexp "(?P<status>[0-9]+)".
type regexpStep struct {
	search int // where a Run has the Searcher
	find   int // and the Finder
	groups []int
	labels []extractedLabel
}

func compileRegexp(text string) (*regexp.Regexp, error) { return regexp.Compile(text) }

func (s *regexpStep) run(r *Run) bool {
	// The automaton is the faster to tell that a line does not match.
	if !r.searchers[s.search].Match(r.Line) {
		return true
	}
	at := r.finders[s.find].Find(r.Line)
	if at == nil {
		return true
	}
	for i, g := range s.groups {
		var value []byte
		if from := at[2*g]; from >= 0 {
			value = r.Line[from:at[2*g+1]]
		}
		s.labels[i].setFirst(r, value)
	}
	return true
}

// patternStep is | pattern "<ip> - <_>".
type patternStep struct {
	pattern *pattern.Pattern
	labels  []extractedLabel
}

func (s *patternStep) run(r *Run) bool {
	r.captures = s.pattern.Captures(r.Line, r.captures[:0])
	for i, value := range r.captures {
		s.labels[i].setFirst(r, value)
	}
	return true
}

// logfmtFields is | logfmt with extractions.
type logfmtFields struct {
	logfmtStep
	keys   [][]byte
	labels []extractedLabel
	names  [][]byte // of labels
}

func (s *logfmtFields) run(r *Run) bool {
	for _, l := range s.labels {
		if l.target(r) == l.id {
			r.set.parse(l.id, nil)
		}
	}
	var scan logfmt.Scanner
	var pair logfmt.Pair
	for scan.Init(r.Line); ; {
		if !scan.Next(&pair) {
			if !s.resume(r, &scan) {
				return true
			}
			continue
		}
		s.extract(r, &pair)
	}
}

// extract sets the labels that are made of a pair. As in Loki a key that none is made of, but that
// has the name of one, is that one.
func (s *logfmtFields) extract(r *Run, pair *logfmt.Pair) {
	found := false
	for i, key := range s.keys {
		if sameKey(pair.Key, key) {
			r.set.parse(s.labels[i].target(r), r.textValue(pair))
			found = true
		}
	}
	for i := 0; !found && i < len(s.names); i++ {
		if sameKey(pair.Key, s.names[i]) {
			r.set.parse(s.labels[i].target(r), r.textValue(pair))
		}
	}
}

// textValue is logfmtValue of what is text, and nothing of what is not.
func (r *Run) textValue(p *logfmt.Pair) []byte {
	raw := p.Value
	if p.Escaped {
		raw = r.make(func(buf []byte) []byte { return logfmt.AppendUnescaped(buf, p.Value) })
	}
	if bytes.Contains(raw, replacement) {
		return nil
	}
	return raw
}

// sameKey reports whether a key of a line is made to a label of the name key.
func sameKey(raw, key []byte) bool {
	if string(raw) == string(key) {
		return true
	}
	if c := raw[0]; c != key[0] && c|0x20 >= 'a' && c|0x20 <= 'z' {
		return false
	}
	if len(raw) < len(key) || len(raw) > 3*len(key)+8 {
		return false
	}
	var buf [256]byte
	return string(appendName(buf[:0], raw, true)) == string(key)
}

// unpack is | unpack.
type unpack struct{}

var (
	notObject = []byte("expecting json object(6), but it is not")
	entryKey  = "_entry"
)

func (unpack) run(r *Run) bool {
	if len(r.Line) == 0 {
		return true
	}
	if r.Line[0] != '{' {
		return r.fail(jsonFailed, notObject)
	}
	var scan jsonscan.Scanner
	var f jsonscan.Field
	// Labels are set only if there is an entry, and the line is sound.
	var entry jsonscan.Value
	found := false
	for scan.Init(r.Line); scan.Next(&f); {
		if string(f.Key) == entryKey && f.Value.Kind == jsonscan.String {
			entry, found = f.Value, true
		}
	}
	if scan.Err() != nil {
		return r.failJSON(scan.Err())
	}
	if !found {
		return true
	}
	first := len(r.set.changed)
	for scan.Init(r.Line); scan.Next(&f); {
		if f.Value.Kind == jsonscan.String && string(f.Key) != entryKey {
			unpackField(r, &f, first)
		}
	}
	r.Line = r.jsonValue(entry)
	return true
}

// unpackField sets a label, unless a stage before has, also if it is dropped since: changed labels
// from first on are of this one.
func unpackField(r *Run, f *jsonscan.Field, first int) {
	name := r.keyName(f, "")
	if name == "" {
		return // Loki makes a label without a name, which its own responses cannot have
	}
	id := r.set.target(r.set.id(name))
	n := &r.set.names[id]
	if set := n.line == r.set.line && n.at >= 0; set && int(n.at) < first || !set && n.parsed == r.set.line {
		return
	}
	r.set.parse(id, r.jsonValue(f.Value))
}
