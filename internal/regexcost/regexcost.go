// Package regexcost tells what a regular expression costs before it is compiled. Package
// regexp accepts 128 MiB of compiled program, which 23 KB of text can ask for: who
// takes expressions from others needs a bound of their own.
package regexcost

import (
	"regexp/syntax"

	"github.com/stele-go/stele/internal/setting"
)

// Max bounds the memory of the expressions of one query, in bytes: enough for
// thousands of words, and for repeats such as `x{1000}`.
const Max = 4 << 20

// A Size says what an expression compiles to.
type Size struct {
	Instructions int64
	Branches     int64 // of the instructions, those that branch
	Runes        int64 // of literals and classes
	// Copied are the runes of all instructions: a repeated part has its runes as often.
	Copied int64
	Nodes  int64 // of the syntax tree, which instructions keep for their runes
}

// Bytes returns about the memory of the program, without the second form that package
// regexp keeps of some anchored expressions.
func (s Size) Bytes() int64 {
	// An instruction has 40 bytes, and their slice some room.
	const fixed, instruction, ofRune, node = 1 << 10, 48, 4, 180
	return fixed + s.Instructions*instruction + s.Runes*ofRune + s.Nodes*node
}

// Bounds of the second form, which has up to 6 bytes for each of these runes.
const (
	maxCopies = 1 << 12 // of all instructions
	maxMerged = 1 << 18 // of the instructions that branch, each of which has those behind it
)

// HasLargeSecond reports whether the second form that package regexp keeps of an
// expression that begins with an anchor may be much larger than the first one.
func (s Size) HasLargeSecond() bool {
	return s.Copied > maxCopies || s.Branches*s.Copied > maxMerged
}

// Check parses an expression and returns its size; an error names what it belongs to. The
// error is that of the parser, or one for which errors.Is(err, fs.ErrInvalid) holds, if it
// takes more than most bytes. The parser bounds the depth of the expression.
func Check(name, expr string, flags syntax.Flags, most int64) (Size, error) {
	tree, err := syntax.Parse(expr, flags)
	if err != nil {
		return Size{}, err
	}
	size := Of(tree)
	if n := size.Bytes(); n > most {
		err = setting.Wrong(name+", compiled", setting.Bytes(n), "at most %d", most)
	}
	return size, err
}

// Of returns the size of a parsed expression, which is not simplified. The parser bounds
// repeats, so that nothing overflows.
func Of(re *syntax.Regexp) (p Size) {
	for _, sub := range re.Sub {
		s := Of(sub)
		p.Instructions += s.Instructions
		p.Branches += s.Branches
		p.Runes += s.Runes
		p.Copied += s.Copied
		p.Nodes += s.Nodes
	}
	switch re.Op {
	case syntax.OpLiteral:
		n := int64(len(re.Rune))
		p = Size{Instructions: n, Runes: n, Copied: n, Nodes: 1}
	case syntax.OpCharClass:
		n := int64(len(re.Rune))
		p = Size{Runes: n, Copied: n, Nodes: 1}
	case syntax.OpCapture:
		p.Instructions += 2
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
	p.Instructions = max(p.Instructions, 1)
	return p
}

func (s Size) branch(n int64) Size {
	s.Instructions, s.Branches = s.Instructions+n, s.Branches+n
	return s
}

func (s Size) times(n int64) Size {
	s.Instructions, s.Branches, s.Copied = s.Instructions*n, s.Branches*n, s.Copied*n
	return s
}
