package pattern

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
)

func TestCaptures(t *testing.T) {
	for _, c := range []struct{ pattern, line, want string }{
		{`<ip> - <user> [<_>] "<method>`, `10.0.0.1 - bob [x] "GET`, "[10.0.0.1 bob x GET]"},
		{`<a> <b>`, "x", "[x]"},
		{`<a> <b>`, "x y z", "[x y z]"},
		{`<a> <b>`, "", "[]"},
		{`x: <a>`, "y: z", "[]"},
		{`<a> y`, "x yz", "[x]"},
		{`<<a>> <b>`, "<x> y", "[x y]"},
	} {
		p, err := Compile(c.pattern)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%s", p.Captures([]byte(c.line), nil)); got != c.want {
			t.Errorf("%s in %q: %s; want %s", c.pattern, c.line, got, c.want)
		}
	}
}

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		pattern, line string
		want          bool
	}{
		{"<_> error <_>", "an error b", true},
		{"<_> error <_>", "an error", false},
		{"<_>error", "errorerror", false},
		{"a <_> b", "a  b", false},
		{"a <_> b", "a x b", true},
		{"a <_> b", "a x b b", false},
		{"a <_>", "xx a b", true},
		{"a", "xx a", true},
		{"a", "a xx", false},
		{"", "x", false},
		{"", "", false},
		{"<_>", "x", true},
		{"<_>", "", false},
	} {
		p, err := CompileFilter(c.pattern)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Match([]byte(c.line)); got != c.want {
			t.Errorf("%s in %q: %v; want %v", c.pattern, c.line, got, c.want)
		}
	}
}

func TestErrors(t *testing.T) {
	for _, text := range []string{"", "abc", "<_>", "<a><b>", "<a> <a>", "<9>"} {
		if _, err := Compile(text); err == nil {
			t.Errorf("Compile(%q): no error", text)
		}
	}
	for _, text := range []string{"<a>", "<_><_>", "x <_> <b>"} {
		if _, err := CompileFilter(text); err == nil {
			t.Errorf("CompileFilter(%q): no error", text)
		}
	}
}

// FuzzPattern puts a line together from what was captured of it.
func FuzzPattern(f *testing.F) {
	f.Add("<a> - <_> [<b>]", []byte("x - y [z] q"))
	f.Add("x<_>y", []byte("axbyz"))
	f.Fuzz(func(t *testing.T, text string, line []byte) {
		if p, err := CompileFilter(text); err == nil && p.Match(line) {
			for _, l := range p.Literals() {
				if !bytes.Contains(line, []byte(l)) {
					t.Fatalf("%q matches %q, which has no %q", text, line, l)
				}
			}
		}
		p, err := Compile(text)
		if err != nil {
			return
		}
		captures := p.Captures(line, nil)
		if len(captures) == 0 {
			return
		}
		var whole [][]byte
		for i, c := range captures {
			whole = append(whole, p.parts[i], c)
		}
		if got := slices.Concat(whole...); !bytes.HasPrefix(line, got) {
			t.Fatalf("%q in %q: %q", text, line, captures)
		}
	})
}
