package logstore

import (
	"math"
	"regexp"
	"regexp/syntax"

	"github.com/stele-go/stele/internal/setting"
)

// maxProgram bounds the memory of the compiled regular expression of a Matcher, and
// maxDeletionProgram that of one of a Deletion, which stays for as long as that is
// pending. Package regexp accepts 128 MiB, which 23 KB of text can ask for.
const (
	maxProgram         = 4 << 20
	maxDeletionProgram = 256 << 10
)

// checkProgram returns the size of the regular expression of a matcher, or an error for a
// wrong one, and for one that takes more than most bytes.
func (m Matcher) checkProgram(most int64) (programSize, error) {
	tree, err := syntax.Parse(m.Value, syntax.Perl)
	if err != nil {
		return programSize{}, m.wrong(err)
	}
	size := programSizeOf(tree)
	if n := size.bytes(); n > most {
		err = setting.Wrong("logstore: regular expression of "+m.Name+", compiled", setting.Bytes(n), "at most %d", most)
	}
	return size, err
}

// program compiles the regular expression of a matcher, within most bytes. Package
// regexp keeps a second form of most anchored expressions, which is faster and may be
// much larger, as its instructions share no runes: a lean program has none.
func (m Matcher) program(most int64, lean bool) (*regexp.Regexp, error) {
	// On its own first: "a)|(b" must not become valid within the parentheses.
	size, err := m.checkProgram(most)
	if err != nil {
		return nil, err
	}
	expr := `\A(?s:` + m.Value + `)\z`
	if lean || size.copied > maxCopies || size.branches*size.copied > maxMerged {
		expr = `()` + expr // so it does not begin with an anchor
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		return nil, m.wrong(err)
	}
	return re, nil
}

// Bounds of the second form, which has up to 6 bytes for each of these runes.
const (
	maxCopies = 1 << 12 // of all instructions
	maxMerged = 1 << 18 // of the instructions that branch, each of which has those behind it
)

// A programSize says what an expression compiles to.
type programSize struct {
	instructions, branches int64
	runes                  int64 // of literals and classes
	copied                 int64 // of instructions: a repeated part has its runes as often
	nodes                  int64 // of the syntax tree, which instructions keep for their runes
}

// bytes returns about the memory of a lean program.
func (p programSize) bytes() int64 {
	// An instruction has 40 bytes, and their slice some room.
	const fixed, instruction, ofRune, node = 1 << 10, 48, 4, 180
	return fixed + p.instructions*instruction + p.runes*ofRune + p.nodes*node
}

// programSizeOf returns the size of a program without compiling it. The parser bounds
// repeats, so that nothing overflows.
func programSizeOf(re *syntax.Regexp) (p programSize) {
	for _, sub := range re.Sub {
		s := programSizeOf(sub)
		p.instructions += s.instructions
		p.branches += s.branches
		p.runes += s.runes
		p.copied += s.copied
		p.nodes += s.nodes
	}
	switch re.Op {
	case syntax.OpLiteral:
		n := int64(len(re.Rune))
		p = programSize{instructions: n, runes: n, copied: n, nodes: 1}
	case syntax.OpCharClass:
		n := int64(len(re.Rune))
		p = programSize{runes: n, copied: n, nodes: 1}
	case syntax.OpCapture:
		p.instructions += 2
	case syntax.OpStar:
		p = p.branch(2)
	case syntax.OpPlus, syntax.OpQuest:
		p = p.branch(1)
	case syntax.OpAlternate:
		p = p.branch(int64(len(re.Sub) - 1))
	case syntax.OpRepeat:
		least, most := int64(re.Min), int64(re.Max)
		switch {
		case most >= 0:
			p = p.times(most).branch(most - least)
		case least == 0:
			p = p.branch(2)
		default:
			p = p.times(least).branch(1)
		}
	}
	p.instructions = max(p.instructions, 1)
	return p
}

func (p programSize) branch(n int64) programSize {
	p.instructions, p.branches = p.instructions+n, p.branches+n
	return p
}

func (p programSize) times(n int64) programSize {
	p.instructions, p.branches, p.copied = p.instructions*n, p.branches*n, p.copied*n
	return p
}

// compileLean is compile for what is kept for long: see program. It takes any expression
// that package regexp accepts.
func (sel Selector) compileLean() (Selector, error) {
	lean := make(Selector, len(sel))
	for i, m := range sel {
		m.re = nil
		if err := m.check(); err != nil {
			return nil, err
		}
		if m.Op >= Matches {
			var err error
			if m.re, err = m.program(math.MaxInt64, true); err != nil {
				return nil, err
			}
		}
		lean[i] = m
	}
	return lean, nil
}
