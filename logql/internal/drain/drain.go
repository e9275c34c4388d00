// Package drain finds the patterns of log lines: lines that differ in few words are of one
// pattern, which has <_> in the place of those words.
//
// It is the method of He, Zhu, Zheng and Lyu, "Drain: An Online Log Parsing Approach with
// Fixed Depth Tree" (2017). A tree leads from the number of words of a line and its first
// words to a short list of patterns; the line joins the one that it is most like, or
// begins a new one. Words with a digit are taken for variable from the start.
package drain

import (
	"strings"
)

// Options bound a Miner. The zero value is right for most.
type Options struct {
	Patterns int     // that are kept; 0 means 300. Lines that are like none of them are then left out
	Words    int     // of a line; 0 means 80. Longer lines are cut
	Like     float64 // which part of the words of a line and a pattern must be equal; 0 means 0.4
}

// A Miner finds patterns. The zero value is of no use, see New. One goroutine uses it.
type Miner struct {
	o        Options
	root     map[string]*node
	patterns []*Pattern
	words    []string
}

// A Pattern is what lines have in common.
type Pattern struct {
	ID    int // its index in Patterns
	Lines int64
	words []string
}

// Variable stands for a part of a line that differs.
const Variable = "<_>"

const depth = 2 // words that the tree looks at

type node struct {
	children map[string]*node
	patterns []*Pattern
}

// maxChildren bounds the words of a node that lead to nodes of their own.
const maxChildren = 100

// New returns a miner without patterns.
func New(o Options) *Miner {
	if o.Patterns <= 0 {
		o.Patterns = 300
	}
	if o.Words <= 0 {
		o.Words = 80
	}
	if o.Like <= 0 {
		o.Like = 0.4
	}
	return &Miner{o: o, root: map[string]*node{}}
}

// Add adds a line and returns its pattern, nil if there is no room for another one.
func (m *Miner) Add(line string) *Pattern {
	words := m.split(line)
	if len(words) == 0 {
		return nil
	}
	leaf := m.leaf(words)
	best, same := (*Pattern)(nil), -1
	for _, p := range leaf.patterns {
		if n := p.common(words); n > same {
			best, same = p, n
		}
	}
	if best == nil || float64(same) < m.o.Like*float64(len(words)) {
		if len(m.patterns) == m.o.Patterns {
			return nil
		}
		best = &Pattern{ID: len(m.patterns), words: copyWords(words)}
		m.patterns = append(m.patterns, best)
		leaf.patterns = append(leaf.patterns, best)
	}
	best.join(words)
	return best
}

// Patterns returns the patterns, in the order in which they came.
func (m *Miner) Patterns() []*Pattern { return m.patterns }

// split returns the words of a line, variable ones as Variable.
func (m *Miner) split(line string) []string {
	m.words = m.words[:0]
	for word := range strings.FieldsSeq(line) {
		if len(m.words) == m.o.Words {
			m.words = append(m.words, Variable)
			break
		}
		m.words = append(m.words, generalize(word))
	}
	return m.words
}

// generalize replaces the parts of a word that have digits. What is between = , : ; and
// quotes, brackets and slashes is a part of its own.
func generalize(word string) string {
	if !strings.ContainsAny(word, "0123456789") {
		return word
	}
	var b strings.Builder
	start := 0
	for i := 0; i <= len(word); i++ {
		if i < len(word) && !isEdge(word[i]) {
			continue
		}
		if part := word[start:i]; !strings.ContainsAny(part, "0123456789") {
			b.WriteString(part)
		} else if !strings.HasSuffix(b.String(), Variable) {
			b.WriteString(Variable)
		}
		if i < len(word) {
			b.WriteByte(word[i])
		}
		start = i + 1
	}
	return b.String()
}

func isEdge(c byte) bool { return strings.IndexByte(`=,:;"'()[]{}<>/|?&`, c) >= 0 }

// leaf returns where the patterns of lines with such words are.
func (m *Miner) leaf(words []string) *node {
	n := child(&m.root, lengthKey(len(words)))
	for i := range min(depth, len(words)) {
		key := words[i]
		if n.children[key] == nil && len(n.children) >= maxChildren {
			key = Variable
		}
		n = child(&n.children, key)
	}
	return n
}

func lengthKey(n int) string { return string(rune(n)) }

func child(list *map[string]*node, key string) *node {
	if *list == nil {
		*list = map[string]*node{}
	}
	n := (*list)[key]
	if n == nil {
		n = &node{}
		(*list)[strings.Clone(key)] = n
	}
	return n
}

func copyWords(words []string) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = strings.Clone(w)
	}
	return out
}

// common counts the words that a pattern and a line have in common.
func (p *Pattern) common(words []string) int {
	n := 0
	for i, w := range p.words {
		if w == words[i] {
			n++
		}
	}
	return n
}

func (p *Pattern) join(words []string) {
	p.Lines++
	for i, w := range p.words {
		if w != words[i] {
			p.words[i] = Variable
		}
	}
}

// String returns the pattern as a line filter |> has it.
func (p *Pattern) String() string {
	var b strings.Builder
	last := ""
	for _, w := range p.words {
		if w == Variable && last == Variable {
			continue // two captures need something between them
		}
		if last != "" {
			b.WriteByte(' ')
		}
		b.WriteString(w)
		last = w
	}
	return b.String()
}
