package template

import (
	"math/bits"
	"regexp/syntax"
	"unicode/utf8"
)

// An Automaton tells of parts of lines whether lines with them match a regular expression. It
// is immutable, and safe for concurrent use.
type Automaton struct {
	match func(text []byte) bool
	name  []byte
	steps []automatonStep
	start states
	// local: what is beside a match does not matter.
	local bool
	// alike: all digits are the same to it.
	alike bool
}

// An automatonStep is a state that a rune leads on from.
type automatonStep struct {
	bytes ByteSet // of ASCII; and all others, if some rune may lead on that is not of ASCII
	inst  *syntax.Inst
	next  states
}

const maxSteps = 256

// states are those that an automaton may be in.
type states struct {
	bits  [maxSteps / 64]uint64
	match bool
}

func (s *states) join(t *states) (grown bool) {
	for i, w := range t.bits {
		grown = grown || w&^s.bits[i] != 0
		s.bits[i] |= w
	}
	grown = grown || t.match && !s.match
	s.match = s.match || t.match
	return grown
}

// maxExpr bounds the expressions of automata, in bytes.
const maxExpr = 4 << 10

// newAutomaton returns the automaton of a regular expression, nil if it is too large, or if
// it is not known how the expression was compiled: regexp.Compile and regexp.CompilePOSIX
// read some differently.
func newAutomaton(expr string, match func(text []byte) bool) *Automaton {
	if len(expr) > maxExpr {
		return nil
	}
	tree, err := syntax.Parse(expr, syntax.Perl)
	if err != nil || stepsOf(tree) > maxSteps {
		return nil
	}
	if other, err := syntax.Parse(expr, syntax.POSIX); err == nil && (stepsOf(other) > maxSteps || other.Simplify().String() != tree.Simplify().String()) {
		return nil
	}
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil || len(prog.Inst) > maxSteps {
		return nil
	}
	a := &Automaton{match: match, name: []byte(expr + " "), local: true, alike: true}
	number := make([]int, len(prog.Inst))
	for i := range prog.Inst {
		inst := &prog.Inst[i]
		switch inst.Op {
		case syntax.InstEmptyWidth:
			a.local = false
		case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
			number[i] = len(a.steps)
			a.steps = append(a.steps, newStep(inst))
		}
	}
	for i := range a.steps {
		s := &a.steps[i]
		s.next = closure(prog, number, s.inst.Out)
		digits := s.bytes[0] >> '0' & (1<<10 - 1)
		a.alike = a.alike && (digits == 0 || digits == 1<<10-1)
	}
	a.start = closure(prog, number, uint32(prog.Start))
	return a
}

// stepsOf returns how many instructions an expression has at least, or if those are more than
// maxSteps, some number above. A repetition is a few bytes of text, and up to a thousand times
// what it repeats once it is simplified.
func stepsOf(re *syntax.Regexp) int {
	n := 0
	for _, sub := range re.Sub {
		if n += stepsOf(sub); n > maxSteps {
			break
		}
	}
	switch re.Op {
	case syntax.OpLiteral:
		n += len(re.Rune)
	case syntax.OpCapture:
		n += 2
	case syntax.OpEmptyMatch, syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL,
		syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText, syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		n++
	case syntax.OpRepeat:
		if re.Sub[0].Op != syntax.OpEmptyMatch { // else it is not repeated
			n *= max(re.Min, re.Max)
		}
	}
	return min(n, maxSteps+1)
}

func newStep(inst *syntax.Inst) automatonStep {
	s := automatonStep{inst: inst}
	for b := range byte(utf8.RuneSelf) {
		if accepts(inst, rune(b)) {
			s.bytes.Add(b)
		}
	}
	wide := inst.Op == syntax.InstRuneAny || inst.Op == syntax.InstRuneAnyNotNL || syntax.Flags(inst.Arg)&syntax.FoldCase != 0
	for _, r := range inst.Rune {
		wide = wide || r >= utf8.RuneSelf
	}
	if wide {
		s.bytes[2], s.bytes[3] = ^uint64(0), ^uint64(0)
	}
	return s
}

func accepts(inst *syntax.Inst, r rune) bool {
	switch inst.Op {
	case syntax.InstRuneAny:
		return true
	case syntax.InstRuneAnyNotNL:
		return r != '\n'
	}
	return inst.MatchRune(r)
}

// closure returns the states that an instruction leads to without a rune. Assertions are
// taken to hold.
func closure(prog *syntax.Prog, number []int, pc uint32) (s states) {
	seen := make([]bool, len(prog.Inst))
	var visit func(pc uint32)
	visit = func(pc uint32) {
		if seen[pc] {
			return
		}
		seen[pc] = true
		switch inst := &prog.Inst[pc]; inst.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			visit(inst.Out)
			visit(inst.Arg)
		case syntax.InstCapture, syntax.InstNop, syntax.InstEmptyWidth:
			visit(inst.Out)
		case syntax.InstMatch:
			s.match = true
		case syntax.InstFail:
		default:
			s.bits[number[pc]/64] |= 1 << (number[pc] % 64)
		}
	}
	visit(pc)
	return s
}

// Match reports whether a text has a match.
func (a *Automaton) Match(text []byte) bool { return a.match(text) }

// DigitsAlike reports whether all digits are the same to the expression.
func (a *Automaton) DigitsAlike() bool { return a.alike }

// inLiteral reports whether each line of a template has a match within a literal.
func (a *Automaton) inLiteral(t Template) bool {
	if !a.local || !wholeRunes(t) {
		return false
	}
	for i := range t.Slots() + 1 {
		if a.match(t.Literal(i)) {
			return true
		}
	}
	return false
}

// A Walk tells whether texts may have a match of an automaton, of which parts are known and
// of others the bytes that they may have.
type Walk struct {
	a   *Automaton
	now states
	// May reports whether there may be a match so far.
	May bool
}

// Begin begins with an empty text.
func (w *Walk) Begin(a *Automaton) { w.a, w.now, w.May = a, a.start, a.start.match }

// Text goes on with a text.
func (w *Walk) Text(p []byte) {
	for len(p) > 0 && !w.May {
		if b := p[0]; b < utf8.RuneSelf {
			w.step(func(s *automatonStep) bool { return s.bytes.Has(b) })
			p = p[1:]
			continue
		}
		r, size := utf8.DecodeRune(p)
		w.step(func(s *automatonStep) bool { return accepts(s.inst, r) })
		p = p[size:]
	}
}

// Place goes on with one of the bytes of a set, which are of ASCII, or with any number of
// bytes of a set, which may be none.
func (w *Walk) Place(set ByteSet, many bool) {
	meets := func(s *automatonStep) bool {
		return s.bytes[0]&set[0]|s.bytes[1]&set[1]|s.bytes[2]&set[2]|s.bytes[3]&set[3] != 0
	}
	if !many {
		w.step(meets)
		return
	}
	for before := w.now; !w.May; before = w.now {
		w.step(meets)
		if w.now.join(&before); w.now == before {
			return
		}
	}
}

// step goes on with a rune that leads on from some states. A match may begin anywhere.
func (w *Walk) step(leads func(s *automatonStep) bool) {
	next := w.a.start
	for i, word := range w.now.bits {
		for ; word != 0; word &= word - 1 {
			if s := &w.a.steps[64*i+bits.TrailingZeros64(word)]; leads(s) {
				next.join(&s.next)
			}
		}
	}
	w.now, w.May = next, w.May || next.match
}
