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

	outlines    map[string]uint32 // the numbers of those of lines without a template
	outlineText []string          // by number
}

// maxOutlines bounds the lines without a template that have patterns of their own.
const maxOutlines = 4 << 10

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
	return &patternGroups{memory: memory, labels: map[string]*patternLabels{}, groups: map[patternKey]*patternGroup{}, outlines: map[string]uint32{}}
}

// outline returns the number of the outline of a line; see template.Parser.AppendOutline. ok
// is false if it is new and there are many: they may not take the memory of other patterns.
func (g *patternGroups) outline(text []byte) (number uint32, ok bool, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if number, ok = g.outlines[string(text)]; ok {
		return number, true, nil
	}
	if len(g.outlineText) == maxOutlines || g.memory.used.Load() > g.memory.pool.sumBytes/2 {
		return 0, false, nil
	}
	if err := g.memory.charge(int64(len(text)) + 64); err != nil {
		return 0, false, err
	}
	number = uint32(len(g.outlineText))
	g.outlineText = append(g.outlineText, string(text))
	g.outlines[g.outlineText[number]] = number
	return number, true, nil
}

// takesOutlines reports whether a line may get an outline that no line before it has.
func (g *patternGroups) takesOutlines() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.outlineText) < maxOutlines
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
	return g.ofText(labels, text)
}

// ofOutline returns the group of the lines with an outline. The error is that of its memory.
func (g *patternGroups) ofOutline(labels *patternLabels, number uint32) (*patternGroup, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.ofText(labels, g.outlineText[number])
}

// ofText returns the group of a pattern. mu is held.
func (g *patternGroups) ofText(labels *patternLabels, text string) (*patternGroup, error) {
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

// patternSlot stands in a pattern for what differs.
const patternSlot = "<_>"

// patternText returns the literals of a template with <_> for what is between two of them.
func patternText(t template.Template) string {
	b := make([]byte, 0, len(t.Text())+len(patternSlot)*t.Slots())
	for i := range t.Slots() + 1 {
		literal := t.Literal(i)
		if i == 1 || i > 1 && len(t.Literal(i-1)) > 0 {
			b = append(b, patternSlot...)
		}
		b = append(b, literal...)
	}
	return string(b)
}
