package logstore

import (
	"reflect"
	"regexp/syntax"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The texts that every match of a regular expression contains are found as in
// Cox, Regular Expression Matching with a Trigram Index, 2012: a part of the
// expression either matches one of a few exact texts, which adjacent parts
// extend, or requires what its own parts require.

const (
	maxExact      = 16  // texts that a part may match
	maxExactBytes = 128 // of each
)

// A regexpNeed is what lines that a regular expression matches have.
type regexpNeed struct {
	need textNeed
	// literal, unless it is empty, is a text that each match has byte by byte.
	literal []byte
	// exact: lines that have what is needed match.
	exact bool
}

// required returns what a match of a regular expression requires.
//
// A regexp.Regexp does not record how it was compiled, and "(ab)+?" is at least one ab for
// regexp.Compile, and perhaps an empty text for regexp.CompilePOSIX. An
// expression whose two readings differ requires nothing.
func required(expr string) regexpNeed {
	n, perl := requiredAs(expr, syntax.Perl)
	other, posix := requiredAs(expr, syntax.POSIX)
	if !perl || posix && !reflect.DeepEqual(n, other) {
		return regexpNeed{}
	}
	return n
}

func requiredAs(expr string, flags syntax.Flags) (n regexpNeed, ok bool) {
	tree, err := syntax.Parse(expr, flags)
	if err != nil {
		return n, false
	}
	var a analysis
	p := a.part(tree)
	n.need = a.needOf(p)
	n.exact = p.exact != nil && !a.asserts && !(a.folds && a.cased)
	if !a.folds {
		n.literal = []byte(a.longest)
	}
	return n, true
}

// A partMatch is what a part of an expression matches: one of exact, in any case if folds,
// or, if that is nil, a text that meets need.
type partMatch struct {
	exact []string
	folds bool
	need  textNeed
}

type analysis struct {
	folds   bool   // some part matches in whatever case
	cased   bool   // some part with letters matches in their case alone
	asserts bool   // some part matches where something else is beside it
	longest string // text that is in each match
	depth   int    // of parts that need not be in a match
}

func (a *analysis) part(re *syntax.Regexp) partMatch {
	switch re.Op {
	case syntax.OpLiteral:
		folds := re.Flags&syntax.FoldCase != 0
		a.folds = a.folds || folds
		s := string(re.Rune)
		if strings.ContainsRune(s, utf8.RuneError) || len(s) > maxExactBytes {
			// That rune matches bytes that are not UTF-8, too.
			return partMatch{}
		}
		a.cased = a.cased || !folds && hasCase(s)
		return partMatch{exact: []string{s}, folds: folds}
	case syntax.OpEmptyMatch:
		return partMatch{exact: []string{""}}
	case syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText,
		syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		a.asserts = true
		return partMatch{exact: []string{""}}
	case syntax.OpCharClass:
		return a.class(re)
	case syntax.OpCapture:
		return a.part(re.Sub[0])
	case syntax.OpConcat:
		return a.concat(re.Sub)
	case syntax.OpAlternate:
		return a.alternate(re.Sub)
	case syntax.OpQuest:
		a.depth++
		p := a.part(re.Sub[0])
		a.depth--
		if p.exact == nil || len(p.exact) == maxExact {
			return partMatch{}
		}
		p.exact = append(p.exact, "")
		return p
	case syntax.OpPlus:
		return partMatch{need: a.needOf(a.part(re.Sub[0]))}
	case syntax.OpRepeat:
		if re.Min > 0 {
			return partMatch{need: a.needOf(a.part(re.Sub[0]))}
		}
	}
	return partMatch{}
}

// hasCase reports whether s has a letter in one of several cases.
func hasCase(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return unicode.SimpleFold(r) != r })
}

func (a *analysis) class(re *syntax.Regexp) partMatch {
	var exact []string
	for i := 0; i < len(re.Rune); i += 2 {
		lo, hi := re.Rune[i], re.Rune[i+1]
		if int(hi-lo) >= maxExact-len(exact) || lo <= utf8.RuneError && utf8.RuneError <= hi {
			return partMatch{}
		}
		for r := lo; r <= hi; r++ {
			a.cased = a.cased || unicode.SimpleFold(r) != r
			exact = append(exact, string(r))
		}
	}
	if len(exact) == 0 {
		return partMatch{}
	}
	return partMatch{exact: exact}
}

func (a *analysis) concat(parts []*syntax.Regexp) partMatch {
	var n []textNeed
	run := partMatch{exact: []string{""}} // what the parts since the last inexact one match
	whole := true
	for _, re := range parts {
		p := a.part(re)
		if longer := product(run.exact, p.exact); longer != nil {
			run = partMatch{exact: longer, folds: run.folds || p.folds}
			continue
		}
		whole = false
		n = append(n, a.needOf(run))
		if run = p; run.exact == nil {
			n = append(n, p.need)
			run = partMatch{exact: []string{""}}
		}
	}
	if whole {
		return run
	}
	return partMatch{need: needAll(append(n, a.needOf(run))...)}
}

func (a *analysis) alternate(parts []*syntax.Regexp) partMatch {
	a.depth++
	defer func() { a.depth-- }()
	var exact []string
	var needs []textNeed
	folds := false
	for _, re := range parts {
		p := a.part(re)
		needs = append(needs, a.needOf(p))
		folds = folds || p.folds
		if p.exact == nil || len(exact)+len(p.exact) > maxExact {
			for _, rest := range parts[len(needs):] {
				needs = append(needs, a.needOf(a.part(rest)))
			}
			return partMatch{need: needAny(needs...)}
		}
		exact = append(exact, p.exact...)
	}
	return partMatch{exact: exact, folds: folds}
}

// product returns each of a followed by each of b, nil if those are too many or
// too long.
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

// needOf returns what a part requires, whatever stands beside it.
func (a *analysis) needOf(p partMatch) textNeed {
	if p.exact == nil {
		return p.need
	}
	if len(p.exact) == 1 && a.depth == 0 && len(p.exact[0]) > len(a.longest) {
		a.longest = p.exact[0]
	}
	var any []textNeed
	for _, s := range p.exact {
		any = append(any, needText(s, p.folds))
	}
	return needAny(any...)
}
