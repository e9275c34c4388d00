package cli

import (
	"strings"
	"testing"
)

func TestGlob(t *testing.T) {
	for _, c := range []struct{ pattern, yes, no string }{
		{"*.go", "a.go .go", "a/b.go a.goo"},
		{"a/*.go", "a/b.go", "a/b/c.go a.go"},
		{"**/*.go", "a.go a/b.go a/b/c.go", "a.c"},
		{"a/**", "a/b a/b/c", "a b/a/c"},
		{"a/**/z", "a/z a/b/z a/b/c/z", "a/zz"},
		{"a?c", "abc", "a/c ac"},
		{"[a-c]x", "ax cx", "dx /x"},
		{"[!a]x", "bx", "ax /x"},
		{"{a,b/c}.go", "a.go b/c.go", "c.go"},
		{`a\*b`, "a*b", "axb"},
		{"a.b+(c)", "a.b+(c)", "aXb+(c)"},
	} {
		g, err := parseGlob("--include", c.pattern)
		if err != nil {
			t.Errorf("%s: %v", c.pattern, err)
			continue
		}
		for _, name := range strings.Fields(c.yes) {
			if !g.match(name) {
				t.Errorf("%s does not match %s", c.pattern, name)
			}
		}
		for _, name := range strings.Fields(c.no) {
			if g.match(name) {
				t.Errorf("%s matches %s", c.pattern, name)
			}
		}
	}
	for _, bad := range []string{"[", "[]", "a[b", "{a"} {
		if _, err := parseGlob("--include", bad); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
}
