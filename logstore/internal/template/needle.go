package template

import (
	"bytes"
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/stele-go/stele/logstore/internal/filter"
)

// maxNeedle bounds the bytes of a needle of which it is known where in a template they
// may be. Of a longer one, lines with the first of its bytes are candidates.
const maxNeedle = 512

// A Needle is a text that lines are searched for. It is immutable, and safe for concurrent
// use.
type Needle struct {
	kind NeedleKind
	all  []byte
	text []byte // the first bytes of all
	// blind: nothing is known of what may have it.
	blind bool
	edges func() *edges
	// within is what the filter of a block has if a variable has the needle.
	within filter.Needle
}

// A NeedleKind is how a Needle is compared.
type NeedleKind uint8

const (
	// Bytes: a line has the text.
	Bytes NeedleKind = iota
	// Folded: a line has the text under Unicode case folding, as filter.ContainsFold
	// defines it.
	Folded
	// Word: a line has the text as a whole word, as filter.HasWord defines it.
	Word
)

// NewNeedle returns the needle of a text, which it keeps.
func NewNeedle(text []byte, kind NeedleKind) *Needle {
	n := &Needle{kind: kind, all: text, text: text}
	if len(text) > maxNeedle {
		n.text = text[:maxNeedle:maxNeedle]
	}
	// Under folding, bytes that are no rune are equal to the same bytes inside of one.
	n.blind = kind == Folded && (!utf8.Valid(text) || len(text) > maxNeedle)
	n.within = filter.Substring(n.text).OfVariables() // of all that is searched for
	if kind == Word && !n.cut() {
		n.within = filter.Word(text).OfVariables()
	}
	n.edges = sync.OnceValue(func() *edges { return newEdges(n) })
	return n
}

// Text returns the text. The caller must not change it.
func (n *Needle) Text() []byte { return n.all }

// Kind returns how the text is compared.
func (n *Needle) Kind() NeedleKind { return n.kind }

// cut reports whether only the first bytes of the text are searched for.
func (n *Needle) cut() bool { return len(n.text) < len(n.all) }

// exact reports whether a line that meets the conditions of an Answer has the needle.
func (n *Needle) exact() bool { return n.kind != Word && !n.blind && !n.cut() }

// meet compares a literal with the needle from an offset on, until one of them ends. It
// returns the offset behind what is equal, the length of the needle if that ends in the
// literal or with it; ok is false if they differ before.
func (n *Needle) meet(literal []byte, at int) (end int, ok bool) {
	rest := n.text[at:]
	if n.kind == Folded {
		size, ok := meetFold(literal, rest)
		return at + size, ok
	}
	if len(literal) < len(rest) {
		return at + len(literal), string(rest[:len(literal)]) == string(literal)
	}
	return len(n.text), string(literal[:len(rest)]) == string(rest)
}

// An Op is how a variable is compared.
type Op uint8

const (
	HasText Op = iota // it contains the text
	HasPrefix
	HasSuffix
	IsEqual
	HasMatch // it has a match of the automaton
)

// A Condition is on the variable in one slot.
type Condition struct {
	Slot int
	Op   Op
	Fold bool // under Unicode case folding
	Text []byte
	// Automaton is that of HasMatch. Text, which is not empty, is its own then.
	Automaton *Automaton
}

// condition returns the condition on variables that have the needle.
func (n *Needle) condition() Condition {
	return Condition{Op: HasText, Fold: n.kind == Folded && hasCase(n.text), Text: n.text}
}

// Bounds are what is known of all variables in a slot.
type Bounds struct {
	Min, Max int // bytes of a variable
	Bytes    ByteSet
}

// A ByteSet is a set of bytes: bit b&63 of word b>>6 is byte b.
type ByteSet [4]uint64

// Has reports whether the set has a byte.
func (s *ByteSet) Has(b byte) bool { return s[b>>6]>>(b&63)&1 != 0 }

// Add adds a byte.
func (s *ByteSet) Add(b byte) { s[b>>6] |= 1 << (b & 63) }

// allow reports whether a variable within the bounds may meet a condition.
func (b *Bounds) allow(c *Condition) bool {
	if c.Fold {
		return true
	}
	if len(c.Text) > b.Max || c.Op == IsEqual && len(c.Text) < b.Min {
		return false
	}
	for _, x := range c.Text {
		if !b.Bytes.Has(x) {
			return false
		}
	}
	return true
}

// A Verdict tells which lines of a template match.
type Verdict uint8

const (
	Never  Verdict = iota // no line
	Maybe                 // it depends on the variables
	Always                // every line
)

// An Answer tells which lines of a template have a needle.
type Answer struct {
	Verdict Verdict
	// If Verdict is Maybe, a line has the needle if the variable of one slot has it, or
	// if all conditions of one of Across are met.
	//
	// Every: any line may have it; Across is nil.
	Across [][]Condition
	Every  bool
	// full: there are more alternatives than fit, perhaps fewer with bounds.
	full bool
}

const (
	maxAcross = 64      // of an Answer
	maxWork   = 1 << 16 // comparisons for an Answer
)

// In returns which lines of a template have the needle. bounds, unless nil, returns those
// of a slot. For a needle of kind Word, and one of more than 512 bytes, lines that meet the
// conditions are candidates: all lines that have the needle meet them, others may.
func (n *Needle) In(t Template, bounds func(slot int) *Bounds) Answer {
	if len(n.all) == 0 {
		return Answer{Verdict: Always}
	}
	if t.Slots() == 0 {
		if n.inLine(t.Text()) {
			return Answer{Verdict: Always}
		}
		return Answer{}
	}
	if n.blind || n.kind == Folded && !wholeRunes(t) {
		return Answer{Verdict: Maybe, Every: true}
	}
	s := seeker{n: n, t: t, bounds: bounds}
	for i := range t.Slots() + 1 {
		s.literal(i)
		if i < t.Slots() {
			s.through(i, 0, HasSuffix)
		}
		if s.always || s.work > maxWork {
			break
		}
	}
	switch {
	case s.always:
		return Answer{Verdict: Always}
	case s.every, s.work > maxWork:
		return Answer{Verdict: Maybe, Every: true, full: !s.every}
	}
	return Answer{Verdict: Maybe, Across: s.out}
}

// inLine reports whether a line has the needle.
func (n *Needle) inLine(line []byte) bool {
	switch n.kind {
	case Folded:
		return filter.ContainsFold(line, n.all)
	case Word:
		return filter.HasWord(line, n.all, false)
	}
	return bytes.Contains(line, n.all)
}

// A seeker finds where a needle may be in lines of a template: each place is where it
// begins, in a literal or in a slot, and what each slot has of it.
type seeker struct {
	n      *Needle
	t      Template
	bounds func(slot int) *Bounds

	met    []Condition // by the slots since the needle began
	out    [][]Condition
	always bool
	every  bool
	work   int
}

// literal finds needles that begin in literal i.
func (s *seeker) literal(i int) {
	l := s.t.Literal(i)
	if s.within(i, l); s.always {
		return
	}
	if i == s.t.Slots() {
		return
	}
	longest := len(s.n.text) - 1
	if s.n.kind == Folded {
		longest *= utf8.UTFMax
	}
	for p := max(0, len(l)-longest); p < len(l); p++ {
		s.work++
		if end, ok := s.n.meet(l[p:], 0); ok && end < len(s.n.text) && !s.splits(l, p) {
			s.walk(i, end)
		}
	}
}

// within finds needles that are in literal i, which is l.
func (s *seeker) within(i int, l []byte) {
	switch {
	case s.n.kind == Folded:
		s.always = filter.ContainsFold(l, s.n.text)
	case s.n.kind == Bytes:
		s.always = bytes.Contains(l, s.n.all)
		s.every = s.every || s.n.cut() && bytes.Contains(l, s.n.text)
	case s.n.cut():
		s.every = s.every || bytes.Contains(l, s.n.text)
	default:
		s.word(i, l)
	}
}

// word is within for a needle that is a word. Where the bytes beside it are not known, or
// not of ASCII, it may be there.
func (s *seeker) word(i int, l []byte) {
	size := len(s.n.text)
	for at := 0; !s.always; at++ {
		p := bytes.Index(l[at:], s.n.text)
		if p < 0 {
			return
		}
		at += p
		if end := at + size; !splits(l, at) && !splits(l, end) {
			s.every = true
			s.always = (at > 0 && isASCII(l[at-1:at+1]) || at == 0 && i == 0) &&
				(end < len(l) && isASCII(l[end-1:end+1]) || end == len(l) && i == s.t.Slots())
		}
	}
}

// splits reports whether an offset of a literal is between two letters or digits, for a
// needle that may not begin or end there.
func (s *seeker) splits(l []byte, at int) bool {
	return s.n.kind == Word && splits(l, at)
}

// walk goes on in slot i, where the needle has been found up to an offset.
func (s *seeker) walk(i, at int) {
	s.with(Condition{Slot: i, Op: HasPrefix, Text: s.n.text[at:]}, s.add)
	s.through(i, at, IsEqual)
}

// through finds where the needle, that has been found up to an offset, may leave slot i.
func (s *seeker) through(i, at int, op Op) {
	next, text := s.t.Literal(i+1), s.n.text
	if len(next) == 0 && i+1 == s.t.Slots() {
		return
	}
	end := at
	if op == HasSuffix { // an empty one: the needle begins behind the slot
		end += s.n.step(at)
	}
	for ; end < len(text) && s.work <= maxWork; end += s.n.step(end) {
		if len(next) > 0 && s.n.kind != Folded {
			skip := bytes.IndexByte(text[end:], next[0])
			if skip < 0 {
				return
			}
			end += skip
		}
		s.work++
		if behind, ok := s.n.meet(next, end); ok {
			s.with(Condition{Slot: i, Op: op, Text: text[at:end]}, func() { s.behind(i+1, end, behind) })
		}
	}
}

// behind goes on behind literal i, which has the needle from one offset to another.
func (s *seeker) behind(i, from, at int) {
	switch {
	case at == len(s.n.text):
		if s.n.cut() || !s.splits(s.t.Literal(i), at-from) {
			s.add()
		}
	case i < s.t.Slots():
		s.walk(i, at)
	}
}

// with calls f with one more condition, unless it cannot be met.
func (s *seeker) with(c Condition, f func()) {
	s.work++
	c.Fold = s.n.kind == Folded && hasCase(c.Text)
	if s.bounds != nil && !s.bounds(c.Slot).allow(&c) {
		return
	}
	s.met = append(s.met, c)
	f()
	s.met = s.met[:len(s.met)-1]
}

// add adds an alternative: the conditions are met.
func (s *seeker) add() {
	if len(s.out) == maxAcross {
		s.work = maxWork + 1
		return
	}
	s.out = append(s.out, slices.Clone(s.met))
}

// step returns the bytes of the needle at an offset that are not split between a slot and
// what is beside it.
func (n *Needle) step(at int) int {
	if n.kind != Folded {
		return 1
	}
	_, size := utf8.DecodeRune(n.text[at:])
	return size
}
