package syntax

import (
	"fmt"
	resyntax "regexp/syntax"
	"strings"

	"github.com/stele-go/stele/internal/regexcost"
)

// checkRegex returns an error about a regular expression of a query, and counts what it takes
// when it is compiled.
func (p *parser) checkRegex(place Range, text string) *Error {
	tree, err := resyntax.Parse(text, resyntax.Perl)
	if err != nil {
		return p.wrong(place, "invalid regular expression: "+strings.TrimPrefix(err.Error(), "error parsing regexp: "), "")
	}
	p.program += regexcost.Of(tree).Bytes()
	if p.program > regexcost.Max {
		return p.wrong(place, fmt.Sprintf("regular expressions of the query, compiled, take %d bytes", p.program), fmt.Sprintf("at most %d: use fewer or smaller repetitions {n,m}", regexcost.Max))
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
