package match

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

func TestKinds(t *testing.T) {
	for _, c := range []struct {
		pattern  string
		exact    []string
		requires [][]string
	}{
		{"", []string{""}, nil},
		{".*", []string{""}, nil},
		{"error", []string{"error"}, [][]string{{"error"}}},
		{".*error.*", []string{"error"}, [][]string{{"error"}}},
		{"timeout|refused", []string{"timeout", "refused"}, [][]string{{"timeout", "refused"}}},
		{"a|ab", []string{"a"}, [][]string{{"a", "ab"}}},
		{"(?i)no", []string{"NO", "No", "nO", "no"}, [][]string{{"NO", "No", "nO", "no"}}},
		{"^error", nil, [][]string{{"error"}}},
		{`(timeout|refused) *\d+`, nil, [][]string{{"timeout", "refused"}}},
		{`a+b`, nil, [][]string{{"a"}, {"b"}}},
		{`\d+`, nil, nil},
		{`x|[ab]`, []string{"a", "b", "x"}, [][]string{{"a", "b", "x"}}},
		{`foo\.bar`, []string{"foo.bar"}, [][]string{{"foo.bar"}}},
	} {
		m, err := Compile(c.pattern)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(m.Exact(), c.exact) || !slices.EqualFunc(m.Requires(), c.requires, slices.Equal) {
			t.Errorf("%q: exact %q, requires %q; want %q, %q", c.pattern, m.Exact(), m.Requires(), c.exact, c.requires)
		}
	}
}

var patterns = []string{
	"", "a", ".*a.*", "a|b", "(?i)timeout", "(?i)sk", "^a", "a$", "(a|b)c", "(foo|bar|x*)baz", "x?y?", "(x?y?)z", "a.b", "^(a|b)$", "a*?b+?", "(?:ab)+?",
	"ab{2,3}c", "(ab|c)|", "(ab|c|)d", "[ab]c[de]", "a\\b", "(^a|b$)c?", "aa|ab|ac|ad|ae|af|ag|ah", "(?i:ER)ror", "(ab|[a-z]+)9", "straße", "(?i)STRASSE1",
	"(a(b|c)|d)e|f", "\uFFFD", ".", "(.*)+a", "((a*)b)*c?",
}

var texts = []string{"", "a", "b", "xax", "ac", "bc", "TimeOut", "ſk", "SK", "barbaz", "baz", "z", "yz", "a\nb", "abbc", "abc", "d", "abd", "be", "ace", "ag", "ERror", "x9", "f", "de", "\xff"}

func TestMatchIsRegexp(t *testing.T) {
	for _, p := range patterns {
		check(t, p, texts)
	}
}

func check(t *testing.T, pattern string, texts []string) {
	t.Helper()
	m, err := Compile(pattern)
	if err != nil {
		t.Fatal(err)
	}
	w, err := CompileWhole(pattern)
	if err != nil {
		t.Fatal(err)
	}
	re, rw := regexp.MustCompile(pattern), regexp.MustCompile("^(?:"+pattern+")$")
	s := m.NewSearcher(nil)
	for _, text := range texts {
		b, want := []byte(text), re.MatchString(text)
		if got := m.Match(b); got != want || s.Match(b) != want {
			t.Errorf("%q in %q: %v; want %v", pattern, text, got, want)
		}
		if got := w.Match(b); got != rw.MatchString(text) {
			t.Errorf("%q is all of %q: %v", pattern, text, got)
		}
		if want && !meets(m, text) {
			t.Errorf("%q in %q matches without what it requires: %q", pattern, text, m.Requires())
		}
		if m.Exact() != nil && want != slices.ContainsFunc(m.Exact(), func(e string) bool { return strings.Contains(text, e) }) {
			t.Errorf("%q in %q is not exactly %q", pattern, text, m.Exact())
		}
	}
}

func meets(m *Matcher, text string) bool {
	for _, clause := range m.Requires() {
		if !slices.ContainsFunc(clause, func(e string) bool { return strings.Contains(text, e) }) {
			return false
		}
	}
	return true
}

func TestCompileError(t *testing.T) {
	for _, p := range []string{"(", "a)(b", "a{2000}", "\\"} {
		if _, err := Compile(p); err == nil {
			t.Errorf("Compile(%q): no error", p)
		}
		if _, err := CompileWhole(p); err == nil {
			t.Errorf("CompileWhole(%q): no error", p)
		}
	}
}

func FuzzMatch(f *testing.F) {
	for i, p := range patterns {
		f.Add(p, texts[i%len(texts)], texts[i*5%len(texts)])
	}
	f.Fuzz(func(t *testing.T, pattern, a, b string) {
		if _, err := regexp.Compile(pattern); err != nil || len(pattern) > 100 {
			t.Skip()
		}
		check(t, pattern, []string{a, b, a + b, b + a})
	})
}

func BenchmarkMatch(b *testing.B) {
	line := []byte("081109 204005 35 INFO dfs.FSNamesystem: BLOCK* NameSystem.addStoredBlock: blockMap updated: 10.251.73.220:50010 is added to blk_7128370237687728475 size 67108864")
	for _, pattern := range []string{"timeout", "timeout|refused|denied", "(?i)timeout", "(timeout|refused|denied) *[a-z]*[0-9]+", `\d+\.\d+\.\d+\.\d+`} {
		m, err := Compile(pattern)
		if err != nil {
			b.Fatal(err)
		}
		s, re := m.NewSearcher(nil), regexp.MustCompile(pattern)
		b.Run("by=match/"+pattern, func(b *testing.B) {
			for b.Loop() {
				s.Match(line)
			}
		})
		b.Run("by=regexp/"+pattern, func(b *testing.B) {
			for b.Loop() {
				re.Match(line)
			}
		})
	}
}

func TestManyGoroutines(t *testing.T) {
	m, err := Compile(`(a|b)+\d+ \w+z`)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for i := range 500 {
				want := i%2 == 0
				if line := fmt.Sprintf("x ab%d %sz", i, strings.Repeat("w", i%2^1)); m.Match([]byte(line)) != want {
					t.Errorf("%s: %v; want %v", line, !want, want)
				}
			}
		})
	}
	all.Wait()
}
