// Package dfa matches regular expressions of package regexp by an automaton that is
// built while it reads: one table look-up a byte of ASCII, whatever the expression.
//
// It only tells whether a text has a match, exactly as regexp.Match does, also of text
// that is not UTF-8. A state of the automaton is a set of instructions of the program
// that regexp/syntax compiles. Transitions are computed when first taken, and kept in
// bounded memory: an automaton that would need more states is started anew, and one
// that does so too often gives up, since regexp is the faster then.
package dfa

import (
	"encoding/binary"
	"regexp/syntax"
	"unicode/utf8"
)

// MaxBytes bounds the memory of the states of one automaton.
const MaxBytes = 1 << 20

const (
	maxStates   = 1 << 14
	maxClasses  = 1 << 13
	maxProgram  = 1 << 14 // instructions
	minProgress = 16      // bytes that a state must be worth, else the automaton gives up
)

// The transitions that are no states.
const (
	unknown  uint16 = iota // not computed yet, or not of a byte of ASCII
	matched                // a match has been found, whatever follows
	dead                   // no match can follow
	firstOne               // the number of the first state
)

// A Program is a compiled expression. It is not changed once made, and may be used by many
// automata at once.
type Program struct {
	prog     *syntax.Prog
	classes  classes
	anchored bool // a match begins at the beginning of the text
	empty    bool // it has assertions: ^, $, \b
}

// Compile compiles a parsed expression. It returns nil if the expression is too large for an
// automaton.
func Compile(re *syntax.Regexp) *Program {
	prog, err := syntax.Compile(re.Simplify())
	if err != nil || len(prog.Inst) > maxProgram {
		return nil
	}
	p := &Program{prog: prog, classes: newClasses(prog), anchored: prog.StartCond()&syntax.EmptyBeginText != 0}
	for i := range prog.Inst {
		p.empty = p.empty || prog.Inst[i].Op == syntax.InstEmptyWidth
	}
	if p.classes.len() > maxClasses {
		return nil
	}
	return p
}

// A DFA is the automaton of one goroutine.
type DFA struct {
	p     *Program
	start uint16

	// next has 256 transitions a state, by the byte: unknown if it is not of ASCII. Those of
	// other runes are in wide, by the class of the rune: nil for a state that has met none.
	next  []uint16
	wide  [][]uint16
	ends  []uint8 // whether the end of the text makes a match of the state: 0 unknown, 1 no, 2 yes
	sets  [][]uint32
	known map[string]uint16

	set, closed sparse
	stack       []uint32
	key         []byte

	used  int // bytes that the states take
	given int // bytes that grow has allowed for the states
	grow  func(bytes int64) bool
	fresh int // bytes read since the automaton was started anew
	gone  bool
}

const (
	growBytes = 64 << 10 // memory for states that is asked for at once
	setBytes  = 16       // an instruction in both sparse sets
)

// New returns an automaton of p. It asks grow before it takes more memory, and gives up if
// that returns false; a nil grow allows all. Release gives back what has been allowed.
func New(p *Program, grow func(bytes int64) bool) *DFA {
	n := len(p.prog.Inst)
	d := &DFA{p: p, grow: grow}
	if grow != nil && !grow(int64(setBytes*n+growBytes)) {
		d.gone = true
		return d
	}
	d.given = growBytes
	d.set, d.closed = newSparse(n), newSparse(n)
	d.reset()
	return d
}

// Release gives up: it drops the memory of the automaton, and gives it back by a call of grow
// with a number below 0.
func (d *DFA) Release() {
	if d.grow != nil && d.given > 0 {
		d.grow(-int64(setBytes*len(d.p.prog.Inst) + d.given))
	}
	*d = DFA{p: d.p, gone: true}
}

// full reports whether the states may not take more memory.
func (d *DFA) full() bool {
	if d.used > MaxBytes || len(d.ends) >= maxStates {
		return true
	}
	if d.grow == nil || d.used <= d.given {
		return false
	}
	n := max(growBytes, d.used-d.given)
	if !d.grow(int64(n)) {
		return true
	}
	d.given += n
	return false
}

func (d *DFA) reset() {
	d.next, d.wide, d.ends, d.sets = d.next[:0], d.wide[:0], d.ends[:0], d.sets[:0]
	d.known = make(map[string]uint16)
	d.used, d.fresh = 0, 0
	for range firstOne {
		d.addState(nil)
	}
	d.set.clear()
	d.set.add(uint32(d.p.prog.Start))
	d.start = d.stateOf(before{text: true})
}

// before tells what is before the place of a state.
type before struct {
	text    bool // nothing
	newline bool
	word    bool // [0-9A-Za-z_]
}

func (b before) rune() rune {
	switch {
	case b.text:
		return -1
	case b.newline:
		return '\n'
	case b.word:
		return 'a'
	}
	return ' '
}

// Match reports whether text has a match. It returns ok false once the automaton has given
// up: it needs more states than it is worth.
func (d *DFA) Match(text []byte) (match, ok bool) {
	if d.gone {
		return false, false
	}
	s := d.start
	if s < firstOne {
		return s == matched, true
	}
	d.fresh += len(text)
	for i := 0; i < len(text); {
		row := (*[256]uint16)(d.next[int(s)<<8:])
		n := row[text[i]]
		if n >= firstOne {
			i++
			if n == s {
				// The next transition does not depend on this one, so that a processor
				// takes several at once.
				for i < len(text) && row[text[i]] == n {
					i++
				}
			}
			s = n
			continue
		}
		n, size := d.step(s, text[i:])
		switch {
		case n == matched:
			return true, true
		case n == dead:
			return false, true
		case d.gone:
			return false, false
		}
		s = n
		i += size
	}
	return d.atEnd(s), true
}

// step takes the transition of the first rune of text.
func (d *DFA) step(s uint16, text []byte) (n uint16, size int) {
	r, size := rune(text[0]), 1
	if r >= utf8.RuneSelf {
		r, size = utf8.DecodeRune(text)
		return d.stepWide(s, d.p.classes.search(r)), size
	}
	if n := d.next[int(s)<<8|int(r)]; n != unknown {
		return n, 1
	}
	n, renewed := d.compute(s, d.p.classes.of(r))
	if !renewed {
		d.next[int(s)<<8|int(r)] = n
	}
	return n, 1
}

// stepWide takes the transition of a rune that is not of ASCII.
func (d *DFA) stepWide(s uint16, class int) uint16 {
	if d.wide[s] == nil {
		d.wide[s] = make([]uint16, d.p.classes.len())
		d.used += 2 * d.p.classes.len()
	}
	n := d.wide[s][class]
	if n == unknown {
		var renewed bool
		if n, renewed = d.compute(s, class); !renewed {
			d.wide[s][class] = n
		}
	}
	return n
}

// compute returns the state that follows s with a rune of class, and whether the automaton
// has been started anew, so that s is no more.
func (d *DFA) compute(s uint16, class int) (n uint16, renewed bool) {
	r := d.p.classes.starts[class]
	if d.close(s, r) {
		return matched, false
	}
	d.set.clear()
	for _, pc := range d.closed.dense {
		in := &d.p.prog.Inst[pc]
		switch in.Op {
		case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
			if matchRune(in, r) {
				d.set.add(in.Out)
			}
		}
	}
	if !d.p.anchored {
		d.set.add(uint32(d.p.prog.Start))
	}
	if len(d.set.dense) == 0 {
		return dead, false
	}
	if d.full() {
		d.renew()
		renewed = true
	}
	return d.stateOf(before{newline: r == '\n', word: syntax.IsWordChar(r)}), renewed
}

func matchRune(in *syntax.Inst, r rune) bool {
	switch in.Op {
	case syntax.InstRuneAny:
		return true
	case syntax.InstRuneAnyNotNL:
		return r != '\n'
	}
	return in.MatchRune(r)
}

// renew starts the automaton anew, or gives up. It keeps d.set.
func (d *DFA) renew() {
	if d.fresh < minProgress*len(d.ends) {
		d.gone = true
	}
	kept := append([]uint32(nil), d.set.dense...)
	d.reset()
	d.set.clear()
	for _, pc := range kept {
		d.set.add(pc)
	}
}

// close fills d.closed with the instructions that s reaches before rune next, or the end of
// the text if that is -1. It reports whether one of them is a match.
func (d *DFA) close(s uint16, next rune) bool {
	set := d.sets[s]
	b := unpack(set[0])
	d.closed.clear()
	return d.reach(set[1:], syntax.EmptyOpContext(b.rune(), next))
}

// reach adds to d.closed what pcs reach under the given assertions.
func (d *DFA) reach(pcs []uint32, met syntax.EmptyOp) bool {
	d.stack = append(d.stack[:0], pcs...)
	match := false
	for len(d.stack) > 0 {
		pc := d.stack[len(d.stack)-1]
		d.stack = d.stack[:len(d.stack)-1]
		if !d.closed.add(pc) {
			continue
		}
		switch in := &d.p.prog.Inst[pc]; in.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			d.stack = append(d.stack, in.Out, in.Arg)
		case syntax.InstCapture, syntax.InstNop:
			d.stack = append(d.stack, in.Out)
		case syntax.InstEmptyWidth:
			if syntax.EmptyOp(in.Arg)&^met == 0 {
				d.stack = append(d.stack, in.Out)
			}
		case syntax.InstMatch:
			match = true
		}
	}
	return match
}

// stateOf returns the state of d.set, matched if it is a match whatever follows.
func (d *DFA) stateOf(b before) uint16 {
	d.closed.clear()
	if d.reach(d.set.dense, 0) {
		return matched
	}
	if !d.p.empty {
		b = before{}
	}
	// Instructions are kept as reached without assertions, those that do nothing left out:
	// equal states are found the sooner.
	d.key = binary.LittleEndian.AppendUint32(d.key[:0], pack(b))
	for pc := range d.p.prog.Inst {
		if d.closed.has(uint32(pc)) && d.keeps(pc) {
			d.key = binary.LittleEndian.AppendUint32(d.key, uint32(pc))
		}
	}
	if len(d.key) == 4 {
		return dead
	}
	if n, ok := d.known[string(d.key)]; ok {
		return n
	}
	set := make([]uint32, 0, len(d.key)/4)
	for k := d.key; len(k) > 0; k = k[4:] {
		set = append(set, binary.LittleEndian.Uint32(k))
	}
	n := d.addState(set)
	d.known[string(d.key)] = n
	return n
}

func (d *DFA) keeps(pc int) bool {
	switch d.p.prog.Inst[pc].Op {
	case syntax.InstAlt, syntax.InstAltMatch, syntax.InstCapture, syntax.InstNop, syntax.InstFail:
		return false
	}
	return true
}

func (d *DFA) addState(set []uint32) uint16 {
	n := uint16(len(d.ends))
	d.sets = append(d.sets, set)
	d.ends = append(d.ends, 0)
	d.next = append(d.next, make([]uint16, 256)...)
	d.wide = append(d.wide, nil)
	d.used += 2*256 + 12*len(set) + 128 // the set is also a key of known
	return n
}

// atEnd reports whether the end of the text makes a match of s.
func (d *DFA) atEnd(s uint16) bool {
	if !d.p.empty {
		return false
	}
	if d.ends[s] == 0 {
		d.ends[s] = 1
		if d.close(s, -1) {
			d.ends[s] = 2
		}
	}
	return d.ends[s] == 2
}

func pack(b before) uint32 {
	n := uint32(0)
	for i, set := range []bool{b.text, b.newline, b.word} {
		if set {
			n |= 1 << i
		}
	}
	return n
}

func unpack(n uint32) before { return before{text: n&1 != 0, newline: n&2 != 0, word: n&4 != 0} }
