package logstore

import (
	"sync"
	"unsafe"

	"github.com/stele-go/stele/logstore/internal/template"
)

// patternGroups has what Patterns counts. Many goroutines may use it at once.
type patternGroups struct {
	memory *allowance

	mu     sync.Mutex
	labels map[string]*patternLabels
	groups map[patternKey]*patternGroup
	list   []*patternGroup // as they came
}

// patternLabels are the labels that groups share.
type patternLabels struct{ enc string }

type patternKey struct {
	labels *patternLabels
	text   string
}

// A patternGroup is the entries of a pattern with the same labels.
type patternGroup struct {
	labels *patternLabels
	text   string
	counts group
}

// patternGroupMemory is about the memory of a group beside its text and its buckets: itself,
// its places in a map and in a list, and in the result.
const patternGroupMemory = int64(unsafe.Sizeof(patternGroup{})+unsafe.Sizeof(PatternGroup{})) + 48 + 8 + 48

func newPatternGroups(memory *allowance) *patternGroups {
	return &patternGroups{memory: memory, labels: map[string]*patternLabels{}, groups: map[patternKey]*patternGroup{}}
}

// labelsOf returns the labels with an encoding. The error is that of their memory.
func (g *patternGroups) labelsOf(enc []byte) (*patternLabels, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if known := g.labels[string(enc)]; known != nil {
		return known, nil
	}
	if err := g.memory.charge(int64(len(enc)) + 64); err != nil {
		return nil, err
	}
	l := &patternLabels{string(enc)}
	g.labels[l.enc] = l
	return l, nil
}

// of returns the group of the lines of a template. The error is that of its memory.
func (g *patternGroups) of(labels *patternLabels, t template.Template) (*patternGroup, error) {
	text := patternText(t)
	g.mu.Lock()
	defer g.mu.Unlock()
	k := patternKey{labels, text}
	if known := g.groups[k]; known != nil {
		return known, nil
	}
	if err := g.memory.charge(patternGroupMemory + int64(len(text))); err != nil {
		return nil, err
	}
	added := &patternGroup{labels: labels, text: text}
	g.groups[k] = added
	g.list = append(g.list, added)
	return added, nil
}

// patternText returns the literals of a template with <_> for what is between two of them.
func patternText(t template.Template) string {
	const slot = "<_>"
	b := make([]byte, 0, len(t.Text())+len(slot)*t.Slots())
	for i := range t.Slots() + 1 {
		literal := t.Literal(i)
		if i == 1 || i > 1 && len(t.Literal(i-1)) > 0 {
			b = append(b, slot...)
		}
		b = append(b, literal...)
	}
	return string(b)
}
