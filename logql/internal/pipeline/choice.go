package pipeline

import (
	"bytes"

	"github.com/stele-go/stele/logql/syntax"
)

// choice is | drop a, b="c" or | keep a, b="c".
type choice struct {
	drop   bool
	labels []chosen
}

type chosen struct {
	matcher matcher
	always  bool // without a condition
}

func (p *Pipeline) compileChoice(labels []syntax.LabelChoice, drop bool) (step, error) {
	c := &choice{drop: drop}
	for _, l := range labels {
		if !l.HasMatcher {
			c.labels = append(c.labels, chosen{matcher{id: p.id(l.Matcher.Name)}, true})
			continue
		}
		m, err := p.compileMatcher(l.Matcher)
		if err != nil {
			return nil, at(l.Place(), err)
		}
		c.labels = append(c.labels, chosen{m, false})
	}
	return c, nil
}

func (s *choice) run(r *Run) bool {
	if s.drop {
		s.dropChosen(r)
		return true
	}
	for _, list := range [][]label{r.set.base, r.set.metadata, r.set.changed} {
		for i := range list {
			if l := &list[i]; l.id > detailsID && r.set.find(l.id) == l && !s.has(r, l) {
				r.set.drop(l.id)
			}
		}
	}
	return true
}

// dropChosen drops labels. An error that is dropped takes its details with it.
func (s *choice) dropChosen(r *Run) {
	for i := range s.labels {
		c := &s.labels[i]
		value, ok := r.set.get(c.matcher.id)
		if !ok || !c.always && !c.matcher.matches(r, value) {
			continue
		}
		r.set.drop(c.matcher.id)
		if c.matcher.id == errorID {
			r.set.drop(detailsID)
		}
	}
}

func (s *choice) has(r *Run, l *label) bool {
	for i := range s.labels {
		if c := &s.labels[i]; c.matcher.id == l.id && (c.always || c.matcher.matches(r, l.value)) {
			return true
		}
	}
	return false
}

// decolorize cuts out the sequences that colour a terminal.
type decolorize struct{}

func (decolorize) run(r *Run) bool {
	line := r.Line
	i := escapeSequence(line)
	if i < 0 {
		return true
	}
	r.Line = r.make(func(buf []byte) []byte {
		for i >= 0 {
			buf = append(buf, line[:i]...)
			n := sequenceLen(line[i:])
			if n == 0 {
				n = 1
				buf = append(buf, line[i])
			}
			line = line[i+n:]
			i = escapeSequence(line)
		}
		return append(buf, line...)
	})
	return true
}

// escapeSequence returns the index of the first ESC, or of CSI, U+009B, -1 if there is none.
func escapeSequence(line []byte) int {
	i := bytes.IndexByte(line, 0x1b)
	j := bytes.IndexByte(line, 0x9b)
	for j > 0 && line[j-1] != 0xc2 {
		next := bytes.IndexByte(line[j+1:], 0x9b)
		if next < 0 {
			j = -1
			break
		}
		j += 1 + next
	}
	if j > 0 && (i < 0 || j-1 < i) {
		return j - 1
	}
	return i
}

// sequenceLen returns the length of the sequence at the beginning of b, 0 if there is none: the
// introducer, any of []()#;? and then either words parted by ; and a BEL, or numbers
// parted by ; and a final character.
func sequenceLen(b []byte) int {
	start := 1
	if b[0] == 0xc2 {
		start = 2
	}
	for start < len(b) && bytes.IndexByte([]byte("[]()#;?"), b[start]) >= 0 {
		start++
	}
	i := start
	for i < len(b) && (isDigit(b[i]) || b[i]|0x20 >= 'a' && b[i]|0x20 <= 'z' || b[i] == ';') {
		i++
	}
	if i < len(b) && b[i] == 7 {
		return i + 1
	}
	i = numbersEnd(b, start)
	// The numbers may give back digits: a digit is a final character, too.
	for ; i >= start; i-- {
		if i < len(b) && isFinal(b[i]) {
			return i + 1
		}
	}
	return 0
}

// numbersEnd returns the index behind numbers of up to four digits.
func numbersEnd(b []byte, i int) int {
	digits := 0
	for start := i; i < len(b); i++ {
		switch {
		case isDigit(b[i]) && digits < 4:
			digits++
		case b[i] == ';' && i > start:
			digits = 0
		default:
			return i
		}
	}
	return i
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isFinal(c byte) bool {
	switch {
	case isDigit(c), c >= 'A' && c <= 'P', c >= 'f' && c <= 'n', c == 'q', c == 'r', c == 't', c == 'y':
		return true
	}
	return c == 'R' || c == 'Z' || c == 'c' || c == '=' || c == '>' || c == '<' || c == '~'
}
