package syntax

import (
	"errors"
	"strings"
	"testing"
)

// wrongQueries are queries, where in them the error is (from "<" to ">" of the marks below
// the query), and what it says.
var wrongQueries = []struct{ query, caret, message string }{
	{``, ``, `unexpected end of the query, want a stream selector such as {app="api"}, a function or a number`},
	{`{app="api"`,
		`          ^`, `unexpected end of the query, want "," or "}"`},
	{`{app=api}`,
		`     ^^^`, `unexpected word api, want a text in quotes`},
	{`{app:"api"}`,
		`    ^`, `unexpected ":", want "=", "!=", "=~" or "!~"`},
	{`{app='api'}`,
		`     ^`, `unexpected '\'', want a text in double quotes or backquotes`},
	{`{}`,
		`^^`, `queries require at least one regexp or equality matcher that does not have an empty-compatible value, want for instance app=~".+" or app="api"; app=~".*" does not meet this requirement`},
	{`{app=~".*", env!="x"}`,
		`^^^^^^^^^^^^^^^^^^^^^`, `queries require at least one regexp`},
	{`{app=~"("}`,
		`      ^^^`, "invalid regular expression: missing closing ): `(`"},
	{`{app="x"} |~ "(a{1000}){99}"`,
		`             ^^^^^^^^^^^^^^^`, "invalid regular expression: invalid repeat count"},
	{`{app="x"} |~ "[a-z]{1000}` + strings.Repeat("[a-z]{1000}", 90) + `"`, ``, "regular expressions of the query, compiled, take"},
	{`{app="x"} |= "a`,
		`             ^^`, `text has no end, want a double quote`},
	{"{app=\"x\"} |= `a",
		`             ^^`, "text has no end, want \"`\""},
	{`{app="x"} |= "a\q"`,
		`               ^^^`, `invalid escape in a text`},
	{`{app="x"} |= 5`,
		`             ^`, `unexpected number 5, want a text in quotes or ip(...)`},
	{`{app="x"} |~ ip("1.1.1.1")`,
		`             ^^`, `ip(...) behind |~, want it behind "|=" or "!="`},
	{`{app="x"} |`,
		`           ^`, `unexpected end of the query, want json, logfmt`},
	{`{app="x"} | distinct`,
		`            ^^^^^^^^`, `unknown stage distinct, want json, logfmt`},
	{`{app="x"} | level error`,
		`                  ^^^^^`, `unexpected word error, want an operator such as = behind the label level`},
	{`{app="x"} | level == "error"`,
		`                     ^^^^^^^`, `unexpected text "error", want a number, a duration or a size`},
	{`{app="x"} | level =~ 5`,
		`                     ^`, `unexpected number 5, want a regular expression in quotes`},
	{`{app="x"} | level = foo`,
		`                    ^^^`, `unexpected word foo, want a text in quotes, ip(...), a number, a duration or a size`},
	{`{app="x"} | size > 20XB`,
		`                   ^^^^`, `unexpected "20XB", want a number, a duration such as 1h30m, or a size such as 20MB`},
	{`{app="x"} | (a="b" or c="d"`,
		`                           ^`, `unexpected end of the query, want ")"`},
	{`{app="x"} | logfmt --lenient`,
		`                   ^^^^^^^^^`, `unknown flag --lenient, want --strict or --keep-empty`},
	{`{app="x"} | regexp "(.*)"`,
		`                   ^^^^^^`, `the regular expression names no group, want at least one, such as (?P<status>[0-9]+)`},
	{`{app="x"} | label_format a=b, a=c`,
		`                              ^`, `label_format sets the label a twice`},
	{`{app="x"} | label_format __error__=c`,
		`                         ^^^^^^^^^`, `__error__ cannot be formatted`},
	{`{app="x"} | unwrap took`,
		`            ^^^^^^`, `unwrap in a query of lines, want a function such as sum_over_time(... [5m]) around it`},
	{`{app="x"}[5m]`,
		`         ^`, `a range outside of a function`},
	{"{app=\"x\"}\n  | json\n  | foo",
		"    ^^^", `parse error at line 3, col 5: unknown stage foo`},
	{`rate({app="x"})`,
		`              ^`, `parse error at line 1, col 15: unexpected ")", want a stage, or a range such as [5m]`},
	{`rate({app="x"}[5])`,
		`               ^`, `unexpected number 5, want a duration such as 5m`},
	{`rate({app="x"}[$__auto])`,
		`               ^`, `unexpected '$', want a value: variables are replaced before the query is sent`},
	{`rate({app="x"}[5m:1m])`,
		`                 ^`, `subqueries are not supported`},
	{`rate({app="x"}[0s])`,
		`              ^^^^`, `a range of 0, want a duration above 0`},
	{`rate({app="x"} offset 5m [5m])`,
		`               ^^^^^^`, `unexpected offset, want one offset, behind the range`},
	{`rate by (a) ({app="x"}[5m])`,
		`     ^^`, `a grouping before the argument of rate`},
	{`sum_over_time({app="x"}[5m])`,
		`^^^^^^^^^^^^^`, `invalid aggregation sum_over_time without unwrap`},
	{`count_over_time({app="x"} | unwrap a [5m])`,
		`                          ^^^^^^^^^^`, `invalid aggregation count_over_time with unwrap`},
	{`rate({app="x"}[5m]) by (a)`,
		`                    ^^^^^^`, `grouping not allowed for rate aggregation`},
	{`sum_over_time({app="x"} | unwrap a | json [5m])`,
		`                                     ^^^^`, `unexpected word json behind unwrap`},
	{`sum_over_time({app="x"} | unwrap seconds(a) [5m])`,
		`                                 ^^^^^^^`, `unknown conversion seconds, want duration, duration_seconds or bytes`},
	{`sum({app="x"})`,
		`    ^^^^^^^^^`, `a query of lines where numbers are needed`},
	{`{app="x"} + 1`,
		`^^^^^^^^^`, `operator + behind a query of lines`},
	{`sum(1)`,
		`    ^`, `sum of a number, want series; vector(1) makes one`},
	{`topk(0, vector(1))`,
		`     ^`, `topk of 0 series, want a whole number from 1`},
	{`topk(vector(1))`,
		`     ^^^^^^`, `unexpected word vector, want how many series, and an expression: topk(5, ...)`},
	{`sort(vector(1)) by (a)`,
		`                ^^^^^^`, `sort with a grouping`},
	{`approx_topk by (a) (1, vector(1))`,
		`            ^^^^^^`, `approx_topk with a grouping`},
	{`sum by (a) (vector(1)) by (b)`,
		`                       ^^`, `a second grouping`},
	{`vector(1) and 1`,
		`          ^^^`, `operator and beside a number`},
	{`vector(1) + bool vector(1)`,
		`            ^^^^`, `bool behind +`},
	{`vector(1) and on (a) group_left () vector(1)`,
		`                     ^^^^^^^^^^`, `group_left behind and`},
	{`variants(count_over_time({app="x"}[5m])) of ({app="x"}[5m])`,
		`^^^^^^^^`, `variants is not supported, want one query for each variant`},
	{`absent(vector(1))`,
		`^^^^^^`, `absent is not supported, want absent_over_time`},
	{`foo(vector(1))`,
		`^^^`, `unknown function foo`},
	{`-vector(1)`,
		` ^^^^^^`, `unexpected word vector, want a number behind the sign`},
	{`label_replace(vector(1), "a b", "", "", "")`,
		`                         ^^^^^`, `"a b" is no name of a label`},
	{`1e400`, `^^^^^`, `unexpected "1e400"`},
	{`vector(1) vector(2)`,
		`          ^^^^^^`, `unexpected word vector, want an operator or the end of the query`},
	{"{app=\"\x80\"}\x80", ``, `invalid UTF-8`},
	{strings.Repeat("(", 300), ``, `more than 200 levels of parentheses and functions`},
	{strings.Repeat("(", 300) + `{app="x"}`, ``, `more than 200 levels of parentheses and functions`},
	{`{app="x"} | ` + strings.Repeat("(", 300), ``, `more than 200 levels of parentheses and functions`},
	{`{app="x"}` + strings.Repeat("| json", 6000), ``, `more than 5000 operators, stages and conditions`},
	{`vector(1)` + strings.Repeat("+vector(1)", 6000), ``, `more than 5000 operators, stages and conditions`},
	{strings.Repeat(" ", MaxQuery) + "1", ``, `the query has 131073 bytes, want at most 131072`},
}

func TestErrors(t *testing.T) {
	for _, c := range wrongQueries {
		_, err := Parse(c.query)
		e := (*Error)(nil)
		if !errors.As(err, &e) {
			t.Errorf("%.80s: %v, not an *Error", c.query, err)
			continue
		}
		if !strings.Contains(e.Error(), c.message) || strings.Contains(e.Error(), "\n") {
			t.Errorf("%.80s\n got %s\nwant %s", c.query, e, c.message)
		}
		line, caret, _ := strings.Cut(e.Caret(), "\n")
		if c.caret != "" && caret != c.caret {
			t.Errorf("%s\n got %s\nwant %s", line, caret, c.caret)
		}
	}
}

func TestCaretOfLongLine(t *testing.T) {
	e := &Error{Query: strings.Repeat("ä", 100) + "\tfoo" + strings.Repeat("b", 100), Range: Range{201, 204}, Msg: "wrong"}
	want := "..." + strings.Repeat("ä", 59) + " foo" + strings.Repeat("b", 57) + "...\n" + strings.Repeat(" ", 63) + "^^^"
	if got := e.Caret(); got != want {
		t.Errorf("\n%s\nwant\n%s", got, want)
	}
	if got := e.Error(); got != "parse error at line 1, col 102: wrong" {
		t.Error(got)
	}
	if got := Errorf(Range{1, 2}, "no %d", 5); got.Error() != "parse error: no 5" || got.Caret() != "" || got.In("abc").Caret() != "abc\n ^" {
		t.Error(got, got.In("abc"))
	}
}

func TestParseKinds(t *testing.T) {
	if _, err := ParseLog(`vector(1)`); err == nil || !strings.Contains(err.Error(), "the query gives numbers") {
		t.Error(err)
	}
	if _, err := ParseMetric(`{app="x"}`); err == nil || !strings.Contains(err.Error(), "the query gives lines") {
		t.Error(err)
	}
	for _, query := range []string{`{}`, `{app=""}`, `{app!="x", b=~".*"}`} {
		m, err := ParseMatchers(query)
		if err != nil || len(m) != strings.Count(query, `"`)/2 {
			t.Error(query, m, err)
		}
	}
	if _, err := ParseMatchers(`{app="x"} |= "a"`); err == nil {
		t.Error("ParseMatchers accepts a filter")
	}
}
