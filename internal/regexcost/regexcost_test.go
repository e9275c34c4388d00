package regexcost

import (
	"errors"
	"fmt"
	"io/fs"
	"regexp/syntax"
	"strings"
	"testing"
)

// large returns a regular expression of n thousand instructions.
func large(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "|%c.{999}", rune(0x100+i))
	}
	return b.String()[1:]
}

// The size of a program is known before it is compiled.
func TestOf(t *testing.T) {
	for _, expr := range []string{
		"", "a", "abc", "a|b|cd", "(a|b)*", "a+b?c*", "[a-f]+x", ".*", "(?:ab){3}", "(?:ab){2,5}", "(?:ab){0,2}", "(?:ab){3,}", "(?:a*){0,}",
		"(?i)hello", `\pL{20}x`, "((x{10}){10}){10}", "^a$|\\bword\\b", "a{0}b", large(20), "pod-[0-9]{5}-(abc|def|abd)",
	} {
		tree, err := syntax.Parse(expr, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		n := Of(tree).Instructions
		prog, err := syntax.Compile(tree.Simplify())
		if err != nil {
			t.Fatal(err)
		}
		if got := int64(len(prog.Inst)) - 2; got > n+1 || got < n/3 { // without those of the beginning and the end
			t.Errorf("%.40q compiles to %d instructions; %d expected", expr, got, n)
		}
	}
}

func TestCheck(t *testing.T) {
	if size, err := Check("pattern of x", large(10), syntax.Perl, Max); err != nil || size.Bytes() < 10*1000*40 {
		t.Errorf("%d bytes, %v", size.Bytes(), err)
	}
	_, err := Check("pattern of x", large(2500), syntax.Perl, Max)
	if !errors.Is(err, fs.ErrInvalid) || !strings.HasPrefix(err.Error(), "pattern of x, compiled: ") || len(err.Error()) > 200 {
		t.Errorf("%.300v", err)
	}
	if _, err := Check("pattern of x", "a)|(b", syntax.Perl, Max); err == nil || errors.Is(err, fs.ErrInvalid) {
		t.Errorf("a wrong expression: %v", err)
	}
	tree, _ := syntax.Parse(`(a|b|c|d){900}[a-z0-9]{900}`, syntax.Perl)
	if !Of(tree).HasLargeSecond() {
		t.Error("its second form is not large")
	}
}
