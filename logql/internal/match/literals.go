package match

import (
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// What texts a match must contain is found as in Cox, Regular Expression Matching with a
// Trigram Index, 2012: a part of an expression matches one of a few exact texts, which
// those beside it extend, or it requires what its own parts require.

const (
	maxExact      = 64  // texts that a part may match
	maxExactBytes = 256 // of each
	maxClass      = 8   // runes of a class, each of which is a text of its own
)

// A part is what a part of an expression matches: one of exact, or if that is nil a text that
// has one of each of requires.
type part struct {
	exact    []string
	requires [][]string
}

// requirements returns what p requires, whatever stands beside it.
func (p part) requirements() [][]string {
	if p.exact == nil {
		return p.requires
	}
	if slices.Contains(p.exact, "") {
		return nil
	}
	return [][]string{p.exact}
}

func analyse(re *syntax.Regexp) part {
	switch re.Op {
	case syntax.OpLiteral:
		return literal(re)
	case syntax.OpEmptyMatch:
		return part{exact: []string{""}}
	case syntax.OpCharClass:
		return class(re)
	case syntax.OpCapture:
		return analyse(re.Sub[0])
	case syntax.OpConcat:
		return concat(re.Sub)
	case syntax.OpAlternate:
		return alternate(re.Sub)
	case syntax.OpQuest:
		p := analyse(re.Sub[0])
		if p.exact == nil || len(p.exact) == maxExact {
			return part{}
		}
		return part{exact: append(slices.Clip(p.exact), "")}
	case syntax.OpPlus:
		return part{requires: analyse(re.Sub[0]).requirements()}
	case syntax.OpRepeat:
		if re.Min > 0 {
			return part{requires: analyse(re.Sub[0]).requirements()}
		}
	}
	return part{}
}

// literal is exact in whatever case it matches, as long as those are few.
func literal(re *syntax.Regexp) part {
	if len(re.Rune) > maxExactBytes/utf8.UTFMax || slices.Contains(re.Rune, utf8.RuneError) {
		// That rune matches bytes that are not UTF-8, too.
		return part{}
	}
	if re.Flags&syntax.FoldCase == 0 {
		return part{exact: []string{string(re.Rune)}}
	}
	all := []string{""}
	for _, r := range re.Rune {
		if all = product(all, folds(r)); all == nil {
			return part{requires: foldedWindow(re.Rune)}
		}
	}
	return part{exact: all}
}

// folds returns r in each case.
func folds(r rune) []string {
	all := []string{string(r)}
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		all = append(all, string(f))
	}
	return all
}

// foldedWindow returns the longest run of runes that has few enough cases.
func foldedWindow(runes []rune) [][]string {
	var best []string
	longest := 0
	for i := range runes {
		all := []string{""}
		for j, r := range runes[i:] {
			if all = product(all, folds(r)); all == nil || len(all) > 16 {
				break
			}
			if j+1 > longest {
				best, longest = all, j+1
			}
		}
	}
	if longest == 0 {
		return nil
	}
	return [][]string{best}
}

func class(re *syntax.Regexp) part {
	var exact []string
	for i := 0; i+1 < len(re.Rune); i += 2 {
		lo, hi := re.Rune[i], re.Rune[i+1]
		if int(hi-lo) >= maxClass-len(exact) || lo <= utf8.RuneError && utf8.RuneError <= hi {
			return part{}
		}
		for r := lo; r <= hi; r++ {
			exact = append(exact, string(r))
		}
	}
	if len(exact) == 0 {
		return part{}
	}
	return part{exact: exact}
}

func concat(subs []*syntax.Regexp) part {
	var requires [][]string
	run := []string{""} // what the parts since the last inexact one match
	whole := true
	for _, re := range subs {
		if assertion(re.Op) {
			// It matches no text, and so what stands on its sides is still one run.
			whole = false
			continue
		}
		p := analyse(re)
		if longer := product(run, p.exact); longer != nil {
			run = longer
			continue
		}
		whole = false
		requires = append(requires, part{exact: run}.requirements()...)
		if run = p.exact; run == nil {
			requires = append(requires, p.requires...)
			run = []string{""}
		}
	}
	if whole {
		return part{exact: run}
	}
	return part{requires: append(requires, part{exact: run}.requirements()...)}
}

func assertion(op syntax.Op) bool {
	switch op {
	case syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText, syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return true
	}
	return false
}

func alternate(subs []*syntax.Regexp) part {
	var exact, any []string
	isExact, isFree := true, false
	for _, re := range subs {
		p := analyse(re)
		isExact = isExact && p.exact != nil
		exact = append(exact, p.exact...)
		clause := best(p.requirements())
		isFree = isFree || clause == nil
		any = append(any, clause...)
	}
	switch {
	case isExact && len(exact) <= maxExact:
		return part{exact: exact}
	case isFree || len(any) > maxExact:
		return part{}
	}
	return part{requires: [][]string{any}}
}

// best returns the requirement that the fewest lines meet: that whose shortest text is the
// longest. It returns nil if there is none.
func best(clauses [][]string) []string {
	var found []string
	for _, c := range clauses {
		if len(c) > 0 && (found == nil || shortest(c) > shortest(found) || shortest(c) == shortest(found) && len(c) < len(found)) {
			found = c
		}
	}
	return found
}

func shortest(texts []string) int {
	n := len(texts[0])
	for _, t := range texts {
		n = min(n, len(t))
	}
	return n
}

// product returns each of a followed by each of b, nil if those are too many or too long.
func product(a, b []string) []string {
	if b == nil || len(a)*len(b) > maxExact {
		return nil
	}
	var all []string
	for _, x := range a {
		for _, y := range b {
			if len(x)+len(y) > maxExactBytes {
				return nil
			}
			all = append(all, x+y)
		}
	}
	return all
}

// withoutSuperfluous drops texts that contain another one.
func withoutSuperfluous(texts []string) []string {
	var kept []string
	for i, t := range texts {
		superfluous := false
		for j, other := range texts {
			superfluous = superfluous || i != j && strings.Contains(t, other) && (t != other || j < i)
		}
		if !superfluous {
			kept = append(kept, t)
		}
	}
	return kept
}
