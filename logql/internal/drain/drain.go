// Package drain finds the patterns of log lines: lines that differ in few words are of one
// pattern, which has <_> in the place of those words.
//
// It is the method of He, Zhu, Zheng and Lyu, "Drain: An Online Log Parsing Approach with
// Fixed Depth Tree" (2017). A tree leads from the number of words of a line and its first
// words to a short list of patterns; the line joins the one that it is most like, or
// begins a new one. Words with a digit are taken for variable from the start.
package drain

import (
	"strconv"
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
	blanks   []string // before each word but the first, where it is "", and behind the last one
}

// A Pattern is what lines have in common.
type Pattern struct {
	ID     int // its index in Patterns
	Lines  int64
	words  []string
	blanks []string // as those of Miner; Variable where lines differ
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
		best = &Pattern{ID: len(m.patterns), words: copyWords(words), blanks: copyWords(m.blanks)}
		m.patterns = append(m.patterns, best)
		leaf.patterns = append(leaf.patterns, best)
	}
	best.join(words, m.blanks)
	return best
}

// Patterns returns the patterns, in the order in which they came.
func (m *Miner) Patterns() []*Pattern { return m.patterns }

// split returns the words of a line, variable ones as Variable, and keeps its blanks.
func (m *Miner) split(line string) []string {
	m.words, m.blanks = m.words[:0], m.blanks[:0]
	end := 0 // of the word before
	for word := range strings.FieldsSeq(line) {
		begin := end + strings.Index(line[end:], word)
		if len(m.words) == 0 { // before its first text a filter lets anything pass
			end = begin
		}
		m.blanks = append(m.blanks, line[end:begin])
		end = begin + len(word)
		if len(m.words) == m.o.Words {
			m.words = append(m.words, Variable)
			end = len(line)
			break
		}
		m.words = append(m.words, generalize(word))
	}
	m.blanks = append(m.blanks, line[end:])
	return m.words
}

// generalize replaces the parts of a word that have digits, and those that are a name between
// < and >, which would be a capture. What is between = , : ; and quotes, brackets and
// slashes is a part of its own.
func generalize(word string) string {
	if !strings.ContainsAny(word, "0123456789<") {
		return word
	}
	var b strings.Builder
	start := 0
	for i := 0; i <= len(word); i++ {
		if i < len(word) && !isEdge(word[i]) {
			continue
		}
		named := start > 0 && word[start-1] == '<' && i < len(word) && word[i] == '>'
		if part := word[start:i]; !strings.ContainsAny(part, "0123456789") && !(named && isName(part)) {
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

// isName reports whether <part> is a capture, for a part without digits.
func isName(part string) bool {
	for i := range len(part) {
		if c := part[i]; c != '_' && (c|0x20 < 'a' || c|0x20 > 'z') {
			return false
		}
	}
	return part != ""
}

func isEdge(c byte) bool { return strings.IndexByte(`=,:;"'()[]{}<>/|?&`, c) >= 0 }

// leaf returns where the patterns of lines with such words are.
func (m *Miner) leaf(words []string) *node {
	n := child(&m.root, lengthKey(len(words), m.blanks[len(words)] != ""))
	for i := range min(depth, len(words)) {
		key := words[i]
		if n.children[key] == nil && len(n.children) >= maxChildren {
			key = Variable
		}
		n = child(&n.children, key)
	}
	return n
}

// lengthKey tells lines with blanks at their end apart: a capture takes at least one.
func lengthKey(n int, blank bool) string {
	if blank {
		n = -n
	}
	return strconv.Itoa(n)
}

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

func (p *Pattern) join(words, blanks []string) {
	p.Lines++
	differ(p.words, words)
	differ(p.blanks, blanks)
}

// differ makes Variable of what a line has otherwise.
func differ(texts, others []string) {
	for i, t := range texts {
		if t != others[i] {
			texts[i] = Variable
		}
	}
}

// String returns the pattern as a line filter |> has it. Captures have something between
// them there: of variable words in a row, and the blanks between them, one is left.
func (p *Pattern) String() string {
	var b strings.Builder
	blank := ""
	write := func(text string) {
		if text == "" {
			return
		}
		open := strings.HasSuffix(b.String(), Variable)
		switch {
		case open && strings.HasPrefix(text, Variable):
			text = text[len(Variable):]
		default:
			b.WriteString(blank)
		}
		blank = ""
		b.WriteString(text)
	}
	for i, w := range p.words {
		if p.blanks[i] == Variable {
			write(Variable)
		} else {
			blank += p.blanks[i]
		}
		write(w)
	}
	if last := p.blanks[len(p.words)]; last == Variable {
		write(Variable)
	} else {
		b.WriteString(last)
	}
	return b.String()
}
