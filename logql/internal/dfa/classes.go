package dfa

import (
	"regexp/syntax"
	"slices"
	"unicode"
)

// classes divide the runes into ranges that a program treats alike: the runes of class i
// are those from starts[i] to before starts[i+1].
type classes struct {
	starts []rune
	ascii  [128]uint16
}

// newClasses returns the classes of a program.
func newClasses(prog *syntax.Prog) classes {
	starts := []rune{0}
	cut := func(lo, hi rune) { starts = append(starts, lo, hi+1) }
	for i := range prog.Inst {
		switch in := &prog.Inst[i]; in.Op {
		case syntax.InstRune, syntax.InstRune1:
			if len(in.Rune) == 1 {
				cutFolds(in, cut)
				continue
			}
			for j := 0; j+1 < len(in.Rune); j += 2 {
				cut(in.Rune[j], in.Rune[j+1])
			}
		case syntax.InstRuneAnyNotNL:
			cut('\n', '\n')
		case syntax.InstEmptyWidth:
			cut('\n', '\n')
			cut('0', '9')
			cut('A', 'Z')
			cut('_', '_')
			cut('a', 'z')
		}
	}
	slices.Sort(starts)
	starts = slices.Compact(starts)
	for starts[len(starts)-1] > unicode.MaxRune {
		starts = starts[:len(starts)-1]
	}
	c := classes{starts: starts}
	for i := range c.ascii {
		c.ascii[i] = uint16(c.search(rune(i)))
	}
	return c
}

// cutFolds cuts out the rune of an instruction, and those that it folds to.
func cutFolds(in *syntax.Inst, cut func(lo, hi rune)) {
	first := in.Rune[0]
	cut(first, first)
	if syntax.Flags(in.Arg)&syntax.FoldCase == 0 {
		return
	}
	for r := unicode.SimpleFold(first); r != first; r = unicode.SimpleFold(r) {
		cut(r, r)
	}
}

func (c *classes) len() int { return len(c.starts) }

// of returns the class of a rune.
func (c *classes) of(r rune) int {
	if r < 128 {
		return int(c.ascii[r])
	}
	return c.search(r)
}

func (c *classes) search(r rune) int {
	i, found := slices.BinarySearch(c.starts, r)
	if !found {
		i--
	}
	return i
}
