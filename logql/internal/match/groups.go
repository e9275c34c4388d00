package match

import (
	"bytes"
	"regexp"
	"regexp/syntax"
	"unicode/utf8"
	"unsafe"
)

// A Finder finds the groups of the first match in a text, as regexp.FindSubmatchIndex does,
// in memory that it keeps. It is for one goroutine. It tries one alternative after the other,
// each instruction at each place once: Cox, Regular Expression Matching: the Virtual Machine
// Approach, 2009.
type Finder struct {
	re       *regexp.Regexp
	prog     *syntax.Prog
	prefix   []byte // each match begins with it
	anchored bool   // a match begins at the beginning of the text

	text    []byte
	visited []uint64 // by instruction and place
	stack   []choice
	groups  []int

	grow  func(bytes int64) bool
	given int64 // bytes that grow has allowed
	full  bool  // it has not allowed what the search needs
}

// A choice is where to go on if what was tried fails: at an instruction and a place, or, if
// slot is not below 0, with the next choice once that slot of groups is what it was.
type choice struct{ pc, at, slot int }

const choiceBytes = int64(unsafe.Sizeof(choice{}))

// maxVisited bounds the bits of a search, and by that its choices, of which there may be two
// for each: megabytes. What needs more is left to regexp.
const maxVisited = 1 << 18

// NewFinder returns a Finder of re.
func NewFinder(re *regexp.Regexp) *Finder {
	f := &Finder{re: re, groups: make([]int, 2*re.NumSubexp()+2)}
	tree, err := syntax.Parse(re.String(), syntax.Perl)
	if err != nil {
		return f
	}
	if f.prog, err = syntax.Compile(tree.Simplify()); err != nil {
		f.prog = nil
		return f
	}
	f.anchored = f.prog.StartCond()&syntax.EmptyBeginText != 0
	if !f.anchored {
		prefix, _ := f.prog.Prefix()
		f.prefix = []byte(prefix)
	}
	return f
}

// Clone returns a Finder of the same expression for another goroutine. They share the program,
// which may take megabytes. The clone asks grow before it takes more memory, and leaves a text
// to regexp if that returns false; a nil grow allows all. Release gives back what has been
// allowed.
func (f *Finder) Clone(grow func(bytes int64) bool) *Finder {
	return &Finder{re: f.re, prog: f.prog, prefix: f.prefix, anchored: f.anchored, groups: make([]int, len(f.groups)), grow: grow}
}

// Release drops the memory of the Finder, and gives it back by a call of grow with a number
// below 0.
func (f *Finder) Release() {
	if f.given > 0 {
		f.grow(-f.given)
	}
	f.visited, f.stack, f.given = nil, nil, 0
}

// allowed reports whether the Finder may take more bytes.
func (f *Finder) allowed(bytes int64) bool {
	if f.grow == nil {
		return true
	}
	if !f.grow(bytes) {
		f.full = true
		return false
	}
	f.given += bytes
	return true
}

// Find returns the bounds of the groups, two for each, -1 for one that is in no match; nil
// without a match. They are valid until the next call.
func (f *Finder) Find(text []byte) []int {
	bits := 0
	if f.prog != nil {
		bits = len(f.prog.Inst) * (len(text) + 1)
	}
	if bits == 0 || bits > maxVisited {
		return f.re.FindSubmatchIndex(text)
	}
	f.full = false
	if !f.clear((bits + 63) / 64) {
		return f.re.FindSubmatchIndex(text)
	}
	f.text = text
	defer func() { f.text = nil }()
	for at := 0; at <= len(text); {
		if len(f.prefix) > 0 {
			i := bytes.Index(text[at:], f.prefix)
			if i < 0 {
				return nil
			}
			at += i
		}
		if f.tryAt(at) {
			return f.groups
		}
		if f.full {
			return f.re.FindSubmatchIndex(text)
		}
		if f.anchored {
			return nil
		}
		_, size := utf8.DecodeRune(text[at:])
		at += max(1, size)
	}
	return nil
}

// clear makes f.visited n words, all of them 0. It returns false if it may not take the memory.
func (f *Finder) clear(n int) bool {
	if n <= cap(f.visited) {
		f.visited = f.visited[:n]
		clear(f.visited)
		return true
	}
	more := max(n, 2*cap(f.visited)) - cap(f.visited)
	if !f.allowed(8 * int64(more)) {
		return false
	}
	f.visited = make([]uint64, n, cap(f.visited)+more)
	return true
}

// push adds a choice, unless it may not take the memory.
func (f *Finder) push(c choice) {
	if n := len(f.stack); n == cap(f.stack) {
		more := max(n, 32)
		if !f.allowed(choiceBytes * int64(more)) {
			return
		}
		stack := make([]choice, n, n+more)
		copy(stack, f.stack)
		f.stack = stack
	}
	f.stack = append(f.stack, c)
}

// tryAt looks for a match that begins at a place.
func (f *Finder) tryAt(at int) bool {
	for i := range f.groups {
		f.groups[i] = -1
	}
	f.groups[0] = at
	f.stack = f.stack[:0]
	f.push(choice{f.prog.Start, at, -1})
	for len(f.stack) > 0 && !f.full {
		c := f.stack[len(f.stack)-1]
		f.stack = f.stack[:len(f.stack)-1]
		if c.slot >= 0 {
			f.groups[c.slot] = c.at
			continue
		}
		if f.follow(c.pc, c.at) {
			return true
		}
	}
	return false
}

// follow runs instructions up to a match or to one that fails.
func (f *Finder) follow(pc, at int) bool {
	for !f.full && f.visit(pc, at) {
		in := &f.prog.Inst[pc]
		switch in.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			f.push(choice{int(in.Arg), at, -1})
		case syntax.InstCapture:
			if slot := int(in.Arg); slot < len(f.groups) {
				f.push(choice{0, f.groups[slot], slot})
				f.groups[slot] = at
			}
		case syntax.InstEmptyWidth:
			if syntax.EmptyOp(in.Arg)&^f.context(at) != 0 {
				return false
			}
		case syntax.InstNop:
		case syntax.InstMatch:
			f.groups[1] = at
			return true
		case syntax.InstFail:
			return false
		default:
			size := f.step(in, at)
			if size == 0 {
				return false
			}
			at += size
		}
		pc = int(in.Out)
	}
	return false
}

// visit reports whether an instruction is at a place for the first time.
func (f *Finder) visit(pc, at int) bool {
	n := pc*(len(f.text)+1) + at
	word, bit := &f.visited[n/64], uint64(1)<<(n%64)
	first := *word&bit == 0
	*word |= bit
	return first
}

// step returns the size of the rune at a place if the instruction matches it, else 0.
func (f *Finder) step(in *syntax.Inst, at int) int {
	if at == len(f.text) {
		return 0
	}
	r, size := rune(f.text[at]), 1
	if r >= utf8.RuneSelf {
		r, size = utf8.DecodeRune(f.text[at:])
	}
	matches := true
	switch in.Op {
	case syntax.InstRune1:
		matches = r == in.Rune[0]
	case syntax.InstRuneAnyNotNL:
		matches = r != '\n'
	case syntax.InstRune:
		matches = in.MatchRune(r)
	}
	if !matches {
		return 0
	}
	return size
}

// context returns the assertions that hold at a place.
func (f *Finder) context(at int) syntax.EmptyOp {
	before, after := rune(-1), rune(-1)
	if at > 0 {
		before, _ = utf8.DecodeLastRune(f.text[:at])
	}
	if at < len(f.text) {
		after, _ = utf8.DecodeRune(f.text[at:])
	}
	return syntax.EmptyOpContext(before, after)
}
