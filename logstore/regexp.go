package logstore

import (
	"reflect"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"

	"github.com/stele-go/stele/logstore/internal/filter"
)

// The texts that every match of a regular expression contains are found as in
// Cox, Regular Expression Matching with a Trigram Index, 2012: a part of the
// expression either matches one of a few exact texts, which adjacent parts
// extend, or requires what its own parts require.

const (
	maxExact      = 16  // texts that a part may match
	maxExactBytes = 128 // of each
)

// required returns what a match of re requires, and, unless it is empty, a text
// that each match contains byte by byte.
//
// re does not record how it was compiled, and "(ab)+?" is at least one ab for
// regexp.Compile, and perhaps an empty text for regexp.CompilePOSIX. An
// expression whose two readings differ requires nothing.
func required(re *regexp.Regexp) (requirement, []byte) {
	n, literal, perl := requiredAs(re.String(), syntax.Perl)
	m, other, posix := requiredAs(re.String(), syntax.POSIX)
	if !perl || posix && (string(literal) != string(other) || !reflect.DeepEqual(n, m)) {
		return requirement{}, nil
	}
	return n, literal
}

func requiredAs(expr string, flags syntax.Flags) (_ requirement, literal []byte, ok bool) {
	tree, err := syntax.Parse(expr, flags)
	if err != nil {
		return requirement{}, nil, false
	}
	var a analysis
	n := a.requirementOf(a.part(tree))
	if !a.folds {
		literal = []byte(a.longest)
	}
	return n, literal, true
}

// A partMatch is what a part of an expression matches: one of exact, or, if
// that is nil, a text that meets require.
type partMatch struct {
	exact   []string
	require requirement
}

type analysis struct {
	folds   bool   // some part matches in whatever case
	longest string // text that is in each match
	depth   int    // of parts that need not be in a match
}

func (a *analysis) part(re *syntax.Regexp) partMatch {
	switch re.Op {
	case syntax.OpLiteral:
		a.folds = a.folds || re.Flags&syntax.FoldCase != 0
		s := string(re.Rune)
		if strings.ContainsRune(s, utf8.RuneError) || len(s) > maxExactBytes {
			// That rune matches bytes that are not UTF-8, too.
			return partMatch{}
		}
		return partMatch{exact: []string{s}}
	case syntax.OpEmptyMatch, syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText,
		syntax.OpWordBoundary, syntax.OpNoWordBoundary:
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
		return partMatch{exact: append(p.exact, "")}
	case syntax.OpPlus:
		return partMatch{require: a.requirementOf(a.part(re.Sub[0]))}
	case syntax.OpRepeat:
		if re.Min > 0 {
			return partMatch{require: a.requirementOf(a.part(re.Sub[0]))}
		}
	}
	return partMatch{}
}

func (a *analysis) class(re *syntax.Regexp) partMatch {
	var exact []string
	for i := 0; i < len(re.Rune); i += 2 {
		lo, hi := re.Rune[i], re.Rune[i+1]
		if int(hi-lo) >= maxExact-len(exact) || lo <= utf8.RuneError && utf8.RuneError <= hi {
			return partMatch{}
		}
		for r := lo; r <= hi; r++ {
			exact = append(exact, string(r))
		}
	}
	if len(exact) == 0 {
		return partMatch{}
	}
	return partMatch{exact: exact}
}

func (a *analysis) concat(parts []*syntax.Regexp) partMatch {
	var n requirement
	run := []string{""} // what the parts since the last inexact one match
	whole := true
	for _, re := range parts {
		p := a.part(re)
		if longer := product(run, p.exact); longer != nil {
			run = longer
			continue
		}
		whole = false
		n = n.and(a.requirementOf(partMatch{exact: run}))
		if run = p.exact; run == nil {
			n = n.and(p.require)
			run = []string{""}
		}
	}
	if whole {
		return partMatch{exact: run}
	}
	return partMatch{require: n.and(a.requirementOf(partMatch{exact: run}))}
}

func (a *analysis) alternate(parts []*syntax.Regexp) partMatch {
	a.depth++
	defer func() { a.depth-- }()
	var exact []string
	var needs []requirement
	for _, re := range parts {
		p := a.part(re)
		needs = append(needs, a.requirementOf(p))
		if p.exact == nil || len(exact)+len(p.exact) > maxExact {
			for _, rest := range parts[len(needs):] {
				needs = append(needs, a.requirementOf(a.part(rest)))
			}
			return partMatch{require: requireAny(needs...)}
		}
		exact = append(exact, p.exact...)
	}
	return partMatch{exact: exact}
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

// requirementOf returns what a part requires, whatever stands beside it.
func (a *analysis) requirementOf(p partMatch) requirement {
	if p.exact == nil {
		return p.require
	}
	if len(p.exact) == 1 && a.depth == 0 && len(p.exact[0]) > len(a.longest) {
		a.longest = p.exact[0]
	}
	var any []requirement
	for _, s := range p.exact {
		any = append(any, requireAll(filter.Substring([]byte(s))))
	}
	return requireAny(any...)
}
