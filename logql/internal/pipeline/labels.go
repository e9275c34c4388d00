package pipeline

import (
	"strings"

	"github.com/stele-go/stele/logstore"
)

// LabelClass tells where a label of the result is from.
type LabelClass uint8

const (
	FromStream LabelClass = iota
	FromMetadata
	FromParser // parsed, formatted, __error__
)

const extractedSuffix = "_extracted"

// maxNames bounds the names that a Run has met: those of a hostile stream of lines are all
// different.
const maxNames = 1 << 13

// A label is a value of the name with an id.
type label struct {
	id    int32
	class LabelClass
	value []byte
}

// A name is what a labelSet knows of a name. Of base, metadata and at the last one that is set
// has the label.
type name struct {
	text      string
	extracted int32  // the id of the name with the suffix, -1 if not known yet
	base      int32  // 1 + index in labelSet.base
	metadata  int32  // 1 + index in labelSet.metadata
	line      uint32 // the line that has changed the label
	at        int32  // index in labelSet.changed; -1 if dropped
	parsed    uint32 // the line of which a parser has set the label
	needed    bool   // somebody reads it
}

// A labelSet has the labels of a line: those of its stream, of its metadata, and what stages have
// changed.
type labelSet struct {
	p       *Pipeline
	names   []name
	ids     map[string]int32
	line    uint32
	missing int // needed labels that no parser has found

	base, metadata, changed []label

	sorted []*label // for Each
	key    keyLabels
}

func (s *labelSet) init(p *Pipeline) {
	s.p = p
	s.names = make([]name, 0, len(p.names)+16)
	s.ids = make(map[string]int32, len(p.names)+16)
	for _, n := range p.names {
		s.id(n)
	}
	for n := range p.needs {
		s.names[s.id(n)].needed = true
		if from, ok := strings.CutSuffix(n, extractedSuffix); ok {
			s.id(from)
		}
	}
	s.line = 1
}

// id returns the id of a name.
func (s *labelSet) id(text string) int32 {
	if id, ok := s.ids[text]; ok {
		return id
	}
	id := int32(len(s.names))
	text = strings.Clone(text)
	s.names = append(s.names, name{text: text, extracted: -1, needed: s.p.all})
	s.ids[text] = id
	return id
}

// extractedID returns the id of a name with the suffix.
func (s *labelSet) extractedID(id int32) int32 {
	if s.names[id].extracted < 0 {
		// id may move names.
		x := s.id(s.names[id].text + extractedSuffix)
		s.names[id].extracted = x
	}
	return s.names[id].extracted
}

// next begins a line. It returns true if ids have changed: those of names that the query does not
// name are no more.
func (s *labelSet) next() (renewed bool) {
	s.changed = s.changed[:0]
	s.missing = len(s.p.needs)
	s.line++
	if len(s.names) < maxNames && s.line != 0 {
		return false
	}
	s.base, s.metadata, s.key = s.base[:0], s.metadata[:0], keyLabels{}
	s.init(s.p)
	return true
}

func (s *labelSet) setStream(labels logstore.Labels) {
	for _, l := range s.base {
		s.names[l.id].base = 0
	}
	s.base = s.base[:0]
	for n, v := range labels.All() {
		id := s.id(n)
		s.base = append(s.base, label{id, FromStream, []byte(v)})
		s.names[id].base = int32(len(s.base))
	}
	// Names of metadata depend on those of the stream.
	s.setMetadata(logstore.Labels{})
}

func (s *labelSet) setMetadata(labels logstore.Labels) {
	for _, l := range s.metadata {
		s.names[l.id].metadata = 0
	}
	s.metadata = s.metadata[:0]
	for n, v := range labels.All() {
		id := s.id(n)
		if s.names[id].base > 0 {
			id = s.extractedID(id)
		}
		s.metadata = append(s.metadata, label{id, FromMetadata, append(s.spare(), v...)})
		s.names[id].metadata = int32(len(s.metadata))
	}
}

// spare returns the memory of the value that the next label of metadata had.
func (s *labelSet) spare() []byte {
	if n := len(s.metadata); n < cap(s.metadata) {
		return s.metadata[: n+1 : n+1][n].value[:0]
	}
	return nil
}

// find returns a label, nil if the line has none of the id.
func (s *labelSet) find(id int32) *label {
	n := &s.names[id]
	switch {
	case n.line == s.line:
		if n.at < 0 {
			return nil
		}
		return &s.changed[n.at]
	case n.metadata > 0:
		return &s.metadata[n.metadata-1]
	case n.base > 0:
		return &s.base[n.base-1]
	}
	return nil
}

func (s *labelSet) get(id int32) ([]byte, bool) {
	if l := s.find(id); l != nil {
		return l.value, true
	}
	return nil, false
}

// put sets a label.
func (s *labelSet) put(id int32, value []byte) {
	n := &s.names[id]
	if n.line == s.line && n.at >= 0 {
		s.changed[n.at].value = value
		return
	}
	n.line, n.at = s.line, int32(len(s.changed))
	s.changed = append(s.changed, label{id, FromParser, value})
}

// drop removes a label.
func (s *labelSet) drop(id int32) {
	n := &s.names[id]
	n.line, n.at = s.line, -1
}

// target returns the id under which a parser sets a label: another one if the stream or the
// metadata have that label.
func (s *labelSet) target(id int32) int32 {
	n := &s.names[id]
	if n.base > 0 || n.metadata > 0 && n.line != s.line {
		return s.extractedID(id)
	}
	return id
}

// open reports whether a parser may set the label of an id: somebody reads it, and it has not
// been set yet.
func (s *labelSet) open(id int32) bool { return s.names[id].needed && s.unset(id) }

// unset reports whether no stage has set the label. As in Loki a label that a parser has set
// counts as set once it is dropped or renamed, too.
func (s *labelSet) unset(id int32) bool {
	n := &s.names[id]
	return n.parsed != s.line && (n.line != s.line || n.at < 0)
}

// parse sets a label for a parser.
func (s *labelSet) parse(id int32, value []byte) {
	s.put(id, value)
	s.names[id].parsed = s.line
}

// found sets a label that a parser has found. It returns false if no other one is needed.
func (s *labelSet) found(id int32, value []byte) bool {
	s.parse(id, value)
	s.missing--
	return s.p.all || s.missing > 0
}

// sort fills s.sorted with the labels of the line, by name.
func (s *labelSet) sort() {
	s.sorted = s.sorted[:0]
	for i := range s.base {
		s.sortIn(&s.base[i])
	}
	for i := range s.metadata {
		s.sortIn(&s.metadata[i])
	}
	for i := range s.changed {
		s.sortIn(&s.changed[i])
	}
}

func (s *labelSet) sortIn(l *label) {
	if s.find(l.id) != l {
		return
	}
	text := s.names[l.id].text
	s.sorted = append(s.sorted, l)
	i := len(s.sorted) - 1
	for ; i > 0 && s.names[s.sorted[i-1].id].text > text; i-- {
		s.sorted[i] = s.sorted[i-1]
	}
	s.sorted[i] = l
}
