package logstore

import (
	"regexp"
	"regexp/syntax"
	"slices"
	"testing"

	"github.com/stele-go/stele/logstore/internal/filter"
	"github.com/stele-go/stele/logstore/internal/segment2"
	"github.com/stele-go/stele/logstore/internal/template"
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func metadataIs(op MatchOp, value string) Filter {
	return must(MetadataMatches(Matcher{Name: "trace", Op: op, Value: value}))
}

func TestFilters(t *testing.T) {
	yes := Contains("a")
	for _, c := range []struct {
		name string
		f    Filter
		line string
		meta Labels
		want bool
	}{
		{"contains", Contains("b c"), "ab cd", Labels{}, true},
		{"contains, other case", Contains("B"), "abc", Labels{}, false},
		{"contains nothing", Contains(""), "", Labels{}, true},
		{"fold", ContainsFold("TIMEOUT"), "a TimeOut", Labels{}, true},
		{"fold, Kelvin", ContainsFold("5\u212a"), "5k", Labels{}, true},
		{"fold, absent", ContainsFold("x"), "abc", Labels{}, false},
		{"word", Word("ab"), "x ab-c", Labels{}, true},
		{"word in a word", Word("ab"), "xab abx", Labels{}, false},
		{"word, Chinese", Word("超时"), "连接超时了", Labels{}, true},
		{"regexp", Regexp(regexp.MustCompile(`user=\d+ `)), "a user=12 b", Labels{}, true},
		{"regexp, not there", Regexp(regexp.MustCompile(`user=\d+ `)), "user=x user", Labels{}, false},
		{"regexp, in whatever case", Regexp(regexp.MustCompile(`(?i)user=\d`)), "USER=1", Labels{}, true},
		{"metadata", metadataIs(Equal, "t1"), "", MustLabels("trace", "t1"), true},
		{"metadata, another name", metadataIs(Equal, "t1"), "", MustLabels("span", "t1"), false},
		{"metadata, without", metadataIs(Equal, ""), "", Labels{}, true},
		{"metadata, expression", metadataIs(Matches, "t[0-9]"), "", MustLabels("a", "b", "trace", "t7"), true},
		{"metadata, not", metadataIs(NotMatches, "t."), "", MustLabels("trace", "t1"), false},
		{"not", Not(yes), "b", Labels{}, true},
		{"all", All(yes, Contains("b")), "a", Labels{}, false},
		{"all of none", All(), "", Labels{}, true},
		{"any", Any(Contains("x"), yes), "a", Labels{}, true},
		{"any of none", Any(), "a", Labels{}, false},
		{"line func", LineFunc(func(line []byte) bool { return string(line) == "v" }), "v", MustLabels("k", "v"), true},
		{"func", Func(func(line []byte, md Labels) bool { return md.Get("k") == string(line) }), "v", MustLabels("k", "v"), true},
	} {
		if got := c.f.Match([]byte(c.line), c.meta); got != c.want {
			t.Errorf("%s: Match(%q, %v) = %v", c.name, c.line, c.meta, got)
		}
	}
}

// Metadata of a damaged file may be anything.
func FuzzMetadataValue(f *testing.F) {
	f.Add([]byte(MustLabels("trace", "t1", "a", "b").enc), "trace")
	f.Add([]byte{5, 'a'}, "a")
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 2}, "x")
	f.Fuzz(func(t *testing.T, enc []byte, name string) {
		got := metadataValue(enc, name)
		if l, err := parseLabels(string(enc)); err == nil && name != "" && got != l.Get(name) {
			t.Errorf("%q of %v is %q", name, l, got)
		}
		Func(func([]byte, Labels) bool { return true }).compiled().match(nil, enc)
	})
}

// passes reports whether a block with the lines may have a match of f.
func passes(f Filter, lines ...string) bool {
	var b filter.Builder
	for _, l := range lines {
		b.Add([]byte(l))
	}
	fl := b.Append(nil)
	ok, err := f.compiled().require.mayMatch(func(needles ...filter.Needle) (bool, error) {
		for _, n := range needles {
			if !filter.May(fl, n) {
				return false, nil
			}
		}
		return true, nil
	})
	return ok && err == nil
}

func TestNeeds(t *testing.T) {
	expr := func(s string) Filter { return Regexp(regexp.MustCompile(s)) }
	for _, c := range []struct {
		name string
		f    Filter
		// Texts that let a block pass, and one that does not; "" if every text
		// does.
		pass []string
		not  string
	}{
		{"contains", Contains(" refused by "), []string{"refused by"}, "accepted by"},
		{"fold", ContainsFold("=REFUSED="), []string{"Refused"}, "accepted"},
		{"word", Word("4711"), []string{"id 4711"}, "id 47110"},
		{"all", All(Word("one"), Word("two")), []string{"one two"}, "one"},
		{"any", Any(Word("one"), Word("two")), []string{"one", "two"}, "three"},
		{"any with something unknown", Any(Word("one"), Contains("=")), []string{"one", "three"}, ""},
		{"any in all", All(Word("zero"), Any(Word("one"), Word("two"))), []string{"zero two"}, "zero three"},
		{"all in any", Any(All(Word("a"), Word("b")), Word("c")), []string{"a b", "c"}, "a"},
		{"not", Not(Word("one")), []string{"two"}, ""},
		{"metadata", metadataIs(Equal, "t1"), []string{"t1"}, "t2"},
		{"metadata, a choice", metadataIs(Matches, "t1|t2"), []string{"t1", "t2"}, "t3"},
		{"metadata, or none", metadataIs(Matches, "t1|"), []string{"t1", "t3"}, ""},
		{"metadata, not", metadataIs(NotEqual, "t1"), []string{"t1", "t2"}, ""},
		{"literal", expr(` refused (by|from) .*server `), []string{"refused by the server"}, "refused to the server"},
		{"parts", expr(`(user) logged\d+ in `), []string{"user logged 7 in"}, "nothing"},
		{"choice", expr(`( one | two ).`), []string{"one", "two"}, "three"},
		{"choice with a star", expr(` one .* two | three `), []string{"one two", "three"}, "one"},
		{"optional", expr(` one ( two )?`), []string{"one"}, "two"},
		{"repeated", expr(`( one )+`), []string{"one"}, "two"},
		{"at least once", expr(`( one ){1,3}`), []string{"one"}, "two"},
		{"perhaps not", expr(`( one ){0,3}`), []string{"two"}, ""},
		{"any case", expr(`(?i) REFUSED `), []string{"refused"}, "accepted"},
		{"class", expr(` [ab]c `), []string{"ac", "bc"}, "cc"},
		{"inside a word", expr(`me`), []string{"timeout"}, ""},
	} {
		for _, text := range c.pass {
			if !passes(c.f, "some", text, "other") {
				t.Errorf("%s: a block with %q is left out", c.name, text)
			}
		}
		if c.not == "" {
			if !c.f.compiled().require.empty() {
				t.Errorf("%s: it needs something", c.name)
			}
		} else if passes(c.f, c.not) {
			t.Errorf("%s: a block with %q passes", c.name, c.not)
		}
	}
}

func TestRequiredLiteral(t *testing.T) {
	for expr, want := range map[string]string{
		`took \d+ms for user=42`: "ms for user=42",
		`abc`:                    "abc",
		`(?i)abc \d`:             "",
		`a|b`:                    "",
		`(abc|abd)+x`:            "x",
		`x?yz*`:                  "",
		`(longer)?.short`:        "short",
		`a(?:b.c)?de.`:           "de",
		`.*`:                     "",
		"a\ufffd":                "",
	} {
		if got := required(expr).literal; string(got) != want {
			t.Errorf("%s: %q, not %q", expr, got, want)
		}
	}
}

// FuzzNeeds compares the needles of a filter with its matches: a block with a
// matching line is never ruled out.
func FuzzNeeds(f *testing.F) {
	f.Add("time(out)?", "a timeout")
	f.Add("(?i)ſtraße|K", "STRASSE k")
	f.Add("(a|bc){2,3}[x-z]+", "bcax")
	f.Add(`\bfoo\b|^$`, "foo bar")
	f.Add("连接.时", "连接超时")
	f.Add("a\ufffdb c", "a\xffb c")
	f.Add("a(b|c?d.e)f g(h|i) j", "acdxef gh j")
	f.Fuzz(func(t *testing.T, expr, line string) {
		filters := []Filter{Contains(expr), ContainsFold(expr), Word(expr)}
		if len(expr) < 1000 {
			if re, err := regexp.Compile(expr); err == nil {
				filters = append(filters, Regexp(re))
				if got, want := filters[3].Match([]byte(line), Labels{}), re.MatchString(line); got != want {
					t.Fatalf("%q wants %q: %v", expr, line, got)
				}
			}
		}
		for i, fl := range filters {
			if fl.Match([]byte(line), Labels{}) && !passes(fl, line) {
				t.Errorf("filter %d of %q wants %q, and its block is left out", i, expr, line)
			}
			checkLineTest(t, fl, line)
			checkLineTest(t, Any(Not(fl), Func(func([]byte, Labels) bool { return false })), line)
		}
		if len(filters) == 4 && filters[3].Match([]byte(line), Labels{}) && !passes(All(filters[3], Any(filters[3], Not(filters[3]))), line) {
			t.Errorf("%q wants %q, and its block is left out", expr, line)
		}
	})
}

// checkLineTest compares what is known of a line by a template of it alone, and by that of
// any line, with whether it matches.
func checkLineTest(t *testing.T, f Filter, line string) {
	t.Helper()
	var d template.Dictionary
	d.Add(template.New([]byte(line)))
	d.Add(template.Plain)
	p := template.NewPlan(template.NewQuery(f.compiled().lineTest()), &d)
	for id := range uint32(d.Len()) {
		switch v, want := p.Verdict(id), f.Match([]byte(line), Labels{}); {
		case want && v == template.Never, !want && v == template.Always:
			t.Errorf("template %d of %q has verdict %v; want match %v", id, line, v, want)
		}
	}
}

func TestMatcher(t *testing.T) {
	for _, c := range []struct {
		op    MatchOp
		value string
		meets []string
		not   []string
	}{
		{Equal, "a", []string{"a"}, []string{"", "b", "aa"}},
		{Equal, "", []string{""}, []string{"a"}},
		{NotEqual, "a", []string{"", "b"}, []string{"a"}},
		{Matches, "a|b", []string{"a", "b"}, []string{"", "ab", "xa"}},
		{Matches, "a.c", []string{"abc", "a\nc"}, []string{"xabc", "abcx", ""}},
		{Matches, "", []string{""}, []string{"a"}},
		{Matches, "a|", []string{"", "a"}, []string{"b"}},
		{Matches, "(?i)Ab", []string{"ab", "AB"}, []string{"b"}},
		{Matches, "^a$", []string{"a"}, []string{"a\n"}},
		{Matches, "(?m)^a$.*", []string{"a\nb"}, []string{"b\na"}},
		{NotMatches, "a.*", []string{"", "b"}, []string{"a", "ab"}},
	} {
		m := must(Match("x", c.op, c.value))
		for _, v := range c.meets {
			if !m.matches(v) {
				t.Errorf("%v does not take %q", m, v)
			}
		}
		for _, v := range c.not {
			if m.matches(v) {
				t.Errorf("%v takes %q", m, v)
			}
		}
	}
	for _, bad := range []string{"(", "a)|(b", "["} {
		if _, err := Match("x", Matches, bad); err == nil {
			t.Errorf("%q is an expression", bad)
		}
	}
}

func TestMatcherLiterals(t *testing.T) {
	for expr, want := range map[string][]string{
		"a": {"a"}, "a|b": {"a", "b"}, "(a|b)c": {"ac", "bc"}, "a?": {"", "a"}, "[ab]": {"a", "b"}, "": {""}, "h[12]|h3": {"h1", "h2", "h3"},
		"a.*": nil, "a+": nil, "(?i)a": nil, "^a": nil, ".": nil,
	} {
		got, only := must(Match("x", Matches, expr)).literals()
		if only != (want != nil) || only && !slices.Equal(got, want) {
			t.Errorf("%q: %q, %v", expr, got, only)
		}
	}
}

// FuzzSelector compares the streams that a selector selects in memory and in
// segments with those whose labels it matches.
func FuzzSelector(f *testing.F) {
	for _, s := range []string{"a", "", "a|b", "a|", ".+", ".*", "[ab]c?", "(?i)A", "^a", "a|b.*", "(?s)."} {
		for op := range uint8(4) {
			f.Add(op, s, op/2*2+1-op%2, "x")
		}
	}
	x := newTestLabels()
	var all []Labels
	for _, app := range []string{"", "a", "b", "ac", "x", "A", "\n"} {
		for _, host := range []string{"", "x", "y"} {
			l := MustLabels("app", app, "host", host)
			all = append(all, l)
			x.Add(0, l.enc)
		}
	}
	f.Fuzz(func(t *testing.T, op1 uint8, value1 string, op2 uint8, value2 string) {
		sel, err := Selector{{Name: "app", Op: MatchOp(op1 % 4), Value: value1}, {Name: "host", Op: MatchOp(op2 % 4), Value: value2}}.compile()
		if err != nil {
			if _, ok := err.(*syntax.Error); ok {
				t.Errorf("%v does not say which matcher", err)
			}
			return
		}
		set, m := sel.streams(x, 0), segment2.NewMatcher(sel.conditions())
		for _, l := range all {
			n, _ := x.Find(0, l.enc)
			if got, want := set.Contains(n), sel.matches(l); got != want || m.Meets(l.enc) != want {
				t.Errorf("%v takes %v: %v by the index, %v by conditions, %v by its labels", sel, l, got, m.Meets(l.enc), want)
			}
		}
	})
}

// An expression compiled by CompilePOSIX may match another part of the line.
func TestRequiredPOSIX(t *testing.T) {
	expr := `user(4711)+?x`
	perl, posix := regexp.MustCompile(expr), regexp.MustCompilePOSIX(expr)
	line := []byte("userx")
	if perl.Match(line) || !posix.Match(line) {
		t.Fatal("both mean the same: this tests nothing")
	}
	if !Regexp(posix).Match(line, Labels{}) {
		t.Error("the line is not found")
	}
	if n := required(posix.String()).need; !n.nothing() {
		t.Errorf("it needs %v", n)
	}
	for _, both := range []string{`connection (refused|reset)`, `a.+?timeout`, `time.*out`, `\d+ of timeouts in`} {
		if n := required(both).need; n.nothing() {
			t.Errorf("%s needs nothing", both)
		}
	}
}

// Of literals that begin at one place, a longer one may go beyond the line.
func TestLiteralsThatBeginAlike(t *testing.T) {
	s, err := Open(t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	batch := Batch{{MustLabels("app", "a"), []Entry{{Time: 1, Line: []byte("xa")}, {Time: 2, Line: []byte("b")}}}}
	if err := s.Append(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	if err := s.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, err := range s.Query(t.Context(), Query{Filter: Any(Contains("a\xffb"), Contains("a"))}) {
		if err != nil {
			t.Fatal(err)
		}
		found++
	}
	if found != 1 {
		t.Errorf("%d entries, want 1", found)
	}
}
