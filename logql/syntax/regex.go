package syntax

import (
	"fmt"
	resyntax "regexp/syntax"
	"strings"
)

// maxProgram bounds the instructions of all regular expressions of a query together: 4
// MiB at 48 bytes each.
const maxProgram = 4 << 20 / 48

// regexCost returns about how many instructions a regular expression has when it is
// compiled. An error is that of the expression.
func regexCost(text string) (int, error) {
	re, err := resyntax.Parse(text, resyntax.Perl)
	if err != nil {
		return 0, err
	}
	return treeCost(re), nil
}

func treeCost(re *resyntax.Regexp) int {
	cost := 1
	switch re.Op {
	case resyntax.OpLiteral:
		cost += len(re.Rune)
	case resyntax.OpCharClass:
		cost += len(re.Rune) / 8 // ranges are kept beside the instruction
	}
	for _, sub := range re.Sub {
		cost += treeCost(sub)
	}
	if re.Op == resyntax.OpRepeat {
		cost *= max(1, re.Min, re.Max)
	}
	return min(cost, 1<<30)
}

// checkRegex returns an error about a regular expression of a query, and counts its cost.
func (p *parser) checkRegex(place Range, text string) *Error {
	cost, err := regexCost(text)
	if err != nil {
		return p.wrong(place, "invalid regular expression: "+strings.TrimPrefix(err.Error(), "error parsing regexp: "), "")
	}
	p.program += cost
	if p.program > maxProgram {
		return p.wrong(place, fmt.Sprintf("regular expressions of the query have %d instructions", p.program), fmt.Sprintf("at most %d: use fewer or smaller repetitions {n,m}", maxProgram))
	}
	return nil
}

// checkNamed returns an error unless a regular expression names what it finds.
func (p *parser) checkNamed(place Range, text string) *Error {
	if err := p.checkRegex(place, text); err != nil {
		return err
	}
	re, err := resyntax.Parse(text, resyntax.Perl)
	if err != nil {
		return p.wrong(place, err.Error(), "")
	}
	named := false
	seen := map[string]bool{}
	for _, name := range re.CapNames() {
		if name == "" {
			continue
		}
		if seen[name] {
			return p.wrong(place, "the group "+name+" is there twice", "names that differ")
		}
		if seen[name] = true; !validName(name) {
			return p.wrong(place, "the group "+name+" is no name of a label", "letters, digits and _")
		}
		named = true
	}
	if !named {
		return p.wrong(place, "the regular expression names no group", "at least one, such as (?P<status>[0-9]+)")
	}
	return nil
}

func validName(s string) bool {
	return s != "" && letter(s[0]) && span(s, 0, word) == len(s)
}
