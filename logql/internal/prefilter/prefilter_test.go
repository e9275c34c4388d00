package prefilter

import (
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/stele-go/stele/logql/syntax"
	"github.com/stele-go/stele/logstore"
)

func lineFilter(op syntax.LineOp, texts ...string) *syntax.LineFilter {
	f := &syntax.LineFilter{Op: op}
	for _, t := range texts {
		f.Texts = append(f.Texts, syntax.LineText{Text: t})
	}
	return f
}

func textFilter(name string, op syntax.MatchOp, value string) *syntax.LabelFilter {
	return &syntax.LabelFilter{Predicate: &syntax.TextPredicate{Matcher: syntax.Matcher{Name: name, Op: op, Value: value}}}
}

func numberFilter(name string, op syntax.CompareOp, value float64) *syntax.LabelFilter {
	return &syntax.LabelFilter{Predicate: &syntax.NumberPredicate{Name: name, Op: op, Value: value}}
}

func TestOf(t *testing.T) {
	json := &syntax.JSON{}
	for _, c := range []struct {
		name          string
		stages        []syntax.Stage
		exact, needed []string
		rest          int
	}{
		{"none", nil, nil, nil, 0},
		{"contains", []syntax.Stage{lineFilter(syntax.LineContains, "a"), lineFilter(syntax.LineNotContains, "b", "c")},
			[]string{`contains "a"`, `not (contains "b" or contains "c")`}, nil, 0},
		{"every line", []syntax.Stage{lineFilter(syntax.LineContains, "")}, nil, nil, 0},
		{"alternation", []syntax.Stage{lineFilter(syntax.LineMatches, ".*(timeout|refused).*")},
			[]string{`(contains "timeout" or contains "refused")`}, nil, 0},
		{"case", []syntax.Stage{lineFilter(syntax.LineMatches, "(?i)error")}, []string{`contains "ERROR" in any case`}, nil, 0},
		{"literals", []syntax.Stage{lineFilter(syntax.LineMatches, `(timeout|refused|denied) *[a-z]*[0-9]+`)},
			[]string{`(contains "timeout" or contains "refused" or contains "denied") and matches "(timeout|refused|denied) *[a-z]*[0-9]+"`}, nil, 0},
		{"no literal", []syntax.Stage{lineFilter(syntax.LineMatches, `[0-9]+\.[0-9]+`)}, []string{`matches "[0-9]+\\.[0-9]+"`}, nil, 0},
		{"no expression", []syntax.Stage{lineFilter(syntax.LineMatches, `a(`)}, nil, nil, 1},
		{"case and digits", []syntax.Stage{lineFilter(syntax.LineMatches, `(?i)error [0-9]+`)},
			[]string{`contains "error " in any case and matches "(?i)error [0-9]+"`}, nil, 0},
		{"negative", []syntax.Stage{lineFilter(syntax.LineNotMatches, `a[0-9]+b`)}, []string{`not matches "a[0-9]+b"`}, nil, 0},
		{"negative literal", []syntax.Stage{lineFilter(syntax.LineNotMatches, `abc|def`)}, []string{`not (contains "abc" or contains "def")`}, nil, 0},
		{"not UTF-8", []syntax.Stage{lineFilter(syntax.LineMatches, "a\uFFFD")}, []string{"matches \"a\uFFFD\""}, nil, 0},
		{"pattern", []syntax.Stage{lineFilter(syntax.LinePattern, "GET <_> took <_>")}, nil, []string{`contains "GET " and contains " took "`}, 1},
		{"line changed", []syntax.Stage{&syntax.LineFormat{}, lineFilter(syntax.LineContains, "a")}, nil, nil, 2},
		{"behind a parser", []syntax.Stage{json, lineFilter(syntax.LineContains, "a")}, []string{`contains "a"`}, nil, 1},
		{"json text", []syntax.Stage{json, textFilter("status", syntax.Equal, "500")}, nil,
			[]string{`(metadata has status="500" or has the word "500" or has the word "500" with escapes)`}, 2},
		{"json number", []syntax.Stage{json, numberFilter("status", syntax.CompareGreaterOrEqual, 500)}, nil,
			[]string{`(has a number "status" >= 500 or metadata has status!="")`}, 2},
		{"logfmt number", []syntax.Stage{&syntax.Logfmt{}, numberFilter("status", syntax.CompareLess, 5)}, nil,
			[]string{`(has a number "status" < 5 or metadata has status!="")`}, 2},
		{"joined name", []syntax.Stage{json, numberFilter("http_status", syntax.CompareGreater, 5)}, nil,
			[]string{`(has a number "http_status" > 5 or metadata has http_status!="")`}, 2},
		{"name of another name", []syntax.Stage{json, numberFilter("status_extracted", syntax.CompareGreater, 5)}, nil, nil, 2},
		{"short end of a name", []syntax.Stage{json, numberFilter("a_", syntax.CompareGreater, 5)}, nil, nil, 2},
		{"duration", []syntax.Stage{&syntax.Logfmt{}, &syntax.LabelFilter{Predicate: &syntax.DurationPredicate{Name: "took", Op: syntax.CompareGreater, Value: time.Second}}}, nil,
			[]string{`(has a duration "took" > 1s or metadata has took!="")`}, 2},
		{"size", []syntax.Stage{&syntax.Logfmt{}, &syntax.LabelFilter{Predicate: &syntax.BytesPredicate{Name: "size", Op: syntax.CompareLess, Value: 1000}}}, nil,
			[]string{`(has a size "size" < 1000 bytes or metadata has size!="")`}, 2},
		{"expression of a label", []syntax.Stage{&syntax.Pattern{}, textFilter("path", syntax.Matches, "/api/.*/orders/[0-9]+")}, nil,
			[]string{`(metadata has path!="" or contains "api") and (metadata has path!="" or contains "orders")`}, 2},
		{"expression that a missing label matches", []syntax.Stage{&syntax.Pattern{}, textFilter("path", syntax.Matches, "(orders.*)?")}, nil, nil, 2},
		{"of the stream", []syntax.Stage{json, textFilter("app", syntax.Equal, "api")}, nil, nil, 2},
		{"metadata", []syntax.Stage{textFilter("trace", syntax.Equal, "abc")}, nil, []string{`metadata has trace="abc"`}, 1},
		{"of the stream and metadata", []syntax.Stage{textFilter("app_extracted", syntax.Equal, "a")}, nil,
			[]string{`(metadata has app_extracted="a" or metadata has app="a")`}, 1},
		{"formatted", []syntax.Stage{json, &syntax.LabelFormat{Items: []syntax.LabelFormatItem{{Name: "x"}}}, textFilter("x", syntax.Equal, "1")}, nil, nil, 3},
		{"empty", []syntax.Stage{json, textFilter("x", syntax.Matches, "|a")}, nil, nil, 2},
		{"part", []syntax.Stage{&syntax.Pattern{}, textFilter("path", syntax.Equal, "/a/orders")}, nil,
			[]string{`(metadata has path="/a/orders" or contains "orders")`}, 2},
	} {
		s := Of(c.stages, func(label string) bool { return label == "app" }, nil)
		if !slices.Equal(s.Exact, c.exact) || !slices.Equal(s.Needed, c.needed) || len(s.Rest) != c.rest {
			t.Errorf("%s: exact %q, needed %q, %d stages left; want %q, %q, %d", c.name, s.Exact, s.Needed, len(s.Rest), c.exact, c.needed, c.rest)
		}
		if (s.Filter != nil) != (len(s.Exact)+len(s.Needed) > 0) {
			t.Errorf("%s: filter %v", c.name, s.Filter)
		}
	}
}

// Conditions of expressions never rule out a match, and exact ones have no others.
func TestRegexpNeeds(t *testing.T) {
	lines := []string{"", "a", "abc", "ABC", "aBc", "axbc", "bc", "ab", "aab", "abab", "a\nb", "foo bar", "foobar", "barfoo", "k", "\u212a", "\xff", "x1y2", "timeout 5"}
	for _, text := range []string{"abc", "(?i)abc", "a|b", "a.c", ".*a.*", "a+", "(ab)+", "(ab){2}", "a{1,3}b", "[ab]c", "(a|)b", "foo|bar", "foo.*bar",
		"^a", "a$", `\ba`, "(?i)k", "x[0-9]y", "", ".*", "(foo|bar) *", "a?bc", "(?s)a.b", "[^a]", "a||b", ".*foo|bar.*", "ti(meo|x)ut"} {
		re := regexp.MustCompile("(?s:" + text + ")")
		c, exact := new(splitter).regexpNeeds(text)
		if c == nil && !exact {
			continue
		}
		for _, l := range lines {
			met := c == nil || c.filter().Match([]byte(l), logstore.Labels{})
			if match := re.MatchString(l); match && !met || exact && met && !match {
				t.Errorf("%q needs %v, exact %v; line %q: match %v, condition %v", text, c, exact, l, match, met)
			}
		}
	}
}

func TestField(t *testing.T) {
	for _, c := range []struct {
		line      string
		json      bool
		want      bool
		keepEmpty bool
	}{
		{line: `{"status":200}`, json: true, want: false},
		{line: `{"status":500}`, json: true, want: true},
		{line: `{"status" : 499 ,"a":1}`, json: true, want: false},
		{line: `{"status":"200"}`, json: true, want: false},
		{line: `{"status":"500"}`, json: true, want: true},
		{line: `{"status":"2x"}`, json: true, want: true}, // an error, which passes
		{line: `{"st\u0061tus":200}`, json: true, want: true},
		{line: `{"http_status":900}`, json: true, want: false},
		{line: `{"a":"status","status":3}`, json: true, want: false},
		{line: `{"a":{"status":700},"status":3}`, json: true, want: true},
		{line: `{"status":2e9}`, json: true, want: true},
		{line: `{"statu":900}`, json: true, want: false},
		{line: `a=1 status=499 b=2`, json: false, want: false},
		{line: `a=1 status=500 b=2`, json: false, want: true},
		{line: `status=4.5e3`, json: false, want: true},
		{line: `status="700"`, json: false, want: true},
		{line: `status foo=1`},
		{line: `status`},
		{line: `status foo=1`, want: true, keepEmpty: true},
		{line: `foo=1 status`, want: true, keepEmpty: true},
		{line: `xstatus=700`, json: false, want: false},
		{line: `status=12`, json: false, want: false},
	} {
		f := field{key: "status", op: syntax.CompareGreaterOrEqual, value: 500, json: c.json, keepEmpty: c.keepEmpty}
		if got := f.may([]byte(c.line), []byte(f.key)); got != c.want {
			t.Errorf("%s: %v, want %v", c.line, got, c.want)
		}
	}
}
