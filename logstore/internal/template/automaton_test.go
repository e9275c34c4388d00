package template

import (
	"regexp"
	"regexp/syntax"
	"strings"
	"testing"

	"github.com/stele-go/stele/internal/filetest"
)

// An expression that is too large for an automaton is not compiled to find that out: a
// thousand times a part of some KB takes a hundred megabytes.
func TestNewAutomatonOfLargeExpression(t *testing.T) {
	for _, expr := range []string{
		"(?:" + strings.Repeat("x.", 1500) + "){1000}",
		"(?:" + strings.Repeat("x.", 1500) + "){900,}",
		"(?:" + strings.Repeat("(?:x.){10}", 250) + "){0,100}",
		"(?:" + strings.Repeat("^", 3000) + "){1000}",
		"(?:" + strings.Repeat("()", 1500) + "){1000}",
		"(?:" + strings.Repeat("(?:)", 1000) + "x){1000}",
		"(?:" + strings.Repeat("(?:)?", 800) + "x){1000}",
		strings.Repeat("[[:word:]]", 1<<10),
	} {
		var a *Automaton
		if took := filetest.Allocated(func() { a = newAutomaton(expr, nil) }); a != nil || took > 16<<20 {
			t.Errorf("%.40s: an automaton: %v; %d bytes; want none, and less than 16 MiB", expr, a != nil, took)
		}
	}
}

// What an expression is known to need before it is compiled is no more than it does need.
func TestStepsOf(t *testing.T) {
	for _, expr := range []string{
		"", "a", "abc", "a*", "(ab)+?c", "(?:a{3}){4}", "(a|b|cd)e", "a{0}b", "a{0,3}", "(a{2,5}){0,4}", "x{7,}", "[0-9]{1,3}\\.", "^a$", "\\bab\\B", "(?:^|x)y", ".", "(?s).", "(?i)error [a-z]+",
		"abc|abd|xyz", "(?:^){4}", "(?:a*){3}", "(?:a?){2,3}", "[a-c]|d|ef", "(?:)", "[^\\x00-\\x{10FFFF}]", "a(?:^^)*b", "(?:){9}", "(?:a|b){5,9}|c", "(?:()){4}", "(?:x(?:)){4}", "((a))|(b)", "(?:(?:)?y){3}", "a||b", "(|a){3}",
	} {
		for _, flags := range []syntax.Flags{syntax.Perl, syntax.POSIX} {
			tree, err := syntax.Parse(expr, flags)
			if err != nil {
				continue
			}
			prog, err := syntax.Compile(tree.Simplify())
			if err != nil {
				t.Fatal(err)
			}
			if n := stepsOf(tree); n > len(prog.Inst) {
				t.Errorf("%q: %d instructions; want no more than %d", expr, n, len(prog.Inst))
			}
		}
	}
	for expr, large := range map[string]bool{"[a-z]{200}": false, "[a-z]{254}": false, "[a-z]{257}": true, "(?:[a-z][0-9]){128}x": true, strings.Repeat("a.", 120): false} {
		if a := newAutomaton(expr, regexp.MustCompile(expr).Match); (a == nil) != large {
			t.Errorf("%.40s: an automaton: %v; want %v", expr, a != nil, !large)
		}
	}
}
