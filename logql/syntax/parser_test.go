package syntax

import (
	"reflect"
	"strings"
	"testing"
)

// roundTrips are queries and what String makes of them; "" is the query itself.
var roundTrips = []struct{ query, want string }{
	{`{app="api"}`, ""},
	{`{app="api",}`, `{app="api"}`},
	{"{ app = `a\\pi` , env!=\"x\", a=~\"b|c\",d!~\"e.*\" } # the end", `{app="a\\pi", env!="x", a=~"b|c", d!~"e.*"}`},
	{"# first\n{app=\"api\"}\n# then\n|= `a\"b`", `{app="api"} |= "a\"b"`},
	{`({app="api"} |= "a")`, `{app="api"} |= "a"`},
	{`{app="api"} |= "a" or "b" != "c" |~ "d" or "e" !~ "f" |> "<_> g" !> "h <_>"`, ""},
	{`{app="api"} |= ip("10.0.0.0/8") != ip("::1") or "x"`, `{app="api"} |= ip("10.0.0.0/8") != ip("::1") != "x"`},
	{`{app="api"} | a="b", c="d" or e="f"`, `{app="api"} | a="b" and (c="d" or e="f")`},
	{`{app="api"} | a="b" or c="d", e="f"`, `{app="api"} | a="b" or c="d" and e="f"`},
	{`{app="api"} | a="b" and c="d", e="f" or g="h"`, `{app="api"} | a="b" and (c="d" and (e="f" or g="h"))`},
	{`{app="api"} | a="b" or (c="d" or e="f")`, ""},
	{`{über="x", App="y"} | JSON | Level="x" OR b="y" | LINE_FORMAT "z"`, `{über="x", App="y"} | json | Level="x" or b="y" | line_format "z"`},
	{`SUM BY (A) (Rate({app="x"} | UNWRAP Duration(a) [5m] OFFSET 1m)) > BOOL ON (b) GROUP_LEFT (c) VECTOR(1)`, `sum by (A) (rate({app="x"} | unwrap duration(a) [5m] offset 1m)) > bool on (b) group_left (c) vector(1)`},
	{`{app="api"} | json`, ""},
	{`{app="api"} | json a, b="c.d[0]", e="f[\"g\"]"`, ""},
	{`{app="api"} | json a="a"`, `{app="api"} | json a`},
	{`{app="api"} | json != "x" | unpack !~ "y" | decolorize != "z"`, ""},
	{`{app="api"} | logfmt`, ""},
	{`{app="api"} | logfmt --keep-empty --strict a, b="c"`, `{app="api"} | logfmt --strict --keep-empty a, b="c"`},
	{`{app="api"} | pattern "<ip> - <_>" | regexp "(?P<a>.)"`, ""},
	{`{app="api"} | line_format "{{.a}}" | label_format a=b, c="{{.d}}"`, ""},
	{`{app="api"} | drop a, b="c", d!~"e" | keep f, g=~"h"`, ""},
	{`{app="api"} | level="error"`, ""},
	{`{app="api"} | json="x" | line_format>5 | unwrap=3`, `{app="api"} | json="x" | line_format>5 | unwrap==3`},
	{`{app="api"} | (json!="x") | (unwrap!~"x" or a=1)`, `{app="api"} | (json!="x") | (unwrap!~"x" or a==1)`},
	{`{app="api"} | a=1 and b!=2.5 , c>=-3 d<1h30m or e<=20MB`, `{app="api"} | a==1 and (b!=2.5 and (c>=-3 and (d<1h30m or e<=20MB)))`},
	{`{app="api"} | a="b" and (c="d" or e="f")`, ""},
	{`{app="api"} | a="b" and (c="d" and e="f") or (g="h" or i="j")`, ""},
	{`{app="api"} | addr=ip("10.0.0.1-10.0.0.9") or addr!=ip("::/8")`, ""},
	{`{app="api"} | took>1.5s | size>1.5KiB | took>-5m`, ""},
	{`{app="api"} | a=~"b" (c="d")`, `{app="api"} | a=~"b" and c="d"`},

	{`rate({app="api"}[5m])`, ""},
	{`rate({app="api"}[90m])`, `rate({app="api"}[1h30m])`},
	{`rate({app="api"}[1w] offset 1h)`, `rate({app="api"}[1w] offset 1h)`},
	{`rate({app="api"}[5m] offset -5m |= "x" | json)`, `rate({app="api"} |= "x" | json [5m] offset -5m)`},
	{`rate(({app="api"} | json)[5m])`, `rate({app="api"} | json [5m])`},
	{`rate(({app="api"} | json [5m]))`, `rate({app="api"} | json [5m])`},
	{`sum_over_time({app="api"}[5m] | json | unwrap a | __error__="" | b>5 and c="d")`, `sum_over_time({app="api"} | json | unwrap a | __error__="" | b>5 and c="d" [5m])`},
	{`avg_over_time({app="api"} | unwrap duration(a) [5m]) by (b, c)`, ""},
	{`avg_over_time({app="api"} | unwrap duration_seconds(a) [5m]) without ()`, `avg_over_time({app="api"} | unwrap duration(a) [5m]) without ()`},
	{`quantile_over_time(0.99, {app="api"} | unwrap bytes(a) [5m])`, ""},
	{`sum(rate({app="api"}[5m])) by (a, b)`, `sum by (a, b) (rate({app="api"}[5m]))`},
	{`topk without (a) (5, rate({app="api"}[5m]))`, ""},
	{`approx_topk(5, rate({app="api"}[5m]))`, ""},
	{`sort_desc(sum by () (rate({app="api"}[5m])))`, `sort_desc(sum(rate({app="api"}[5m])))`},
	{`label_replace(rate({app="api"}[5m]), "a", "$1", "b", "(.*)")`, ""},
	{`vector(1) or vector(-2.5)`, ""},
	{`-1`, ""}, {`+1`, `1`}, {`0x1f`, `31`}, {`1e3`, `1000`}, {`.5`, `0.5`}, {`1e30`, `1e+30`},
	{`1 + 2 * 3 ^ 4 ^ 5 - 6`, `(1e+308 * 10)`}, {`1 + 2 * 3`, `7`}, {`1/0`, `(0 / 0)`}, {`-2^2`, `4`}, {`1 > 2`, `0`}, {`2 ^ 3 ^ 2`, `512`}, {`7 % 4 - 1_000`, `-997`},
	{`vector(1) + 2 / 0`, `vector(1) + (0 / 0)`}, {`vector(1) + on (a) 1`, `vector(1) + 1`},
	{`vector(1) + vector(2) * vector(3) ^ vector(4) ^ vector(5) - vector(6)`, ""},
	{`(vector(1) + vector(2)) * vector(3)`, ""}, {`vector(1) - (vector(2) - vector(3))`, ""}, {`(vector(1) - vector(2)) - vector(3)`, `vector(1) - vector(2) - vector(3)`},
	{`(vector(2) ^ vector(3)) ^ vector(4)`, ""}, {`vector(2) ^ (vector(3) ^ vector(4))`, `vector(2) ^ vector(3) ^ vector(4)`},
	{`(sum by (namespace, pod) (rate({cluster="production-eu-west"} |= "error" | json | level="error" [5m])) + vector(1)) / sum by (namespace, pod) (rate({cluster="production-eu-west"} |= "error" != "debug" | line_format "{{.a}} and more of the text that makes it a long one" [5m]))`, ""},
	{`vector(1) > bool 2 and vector(3) unless vector(4) or vector(5)`, ""},
	{`vector(1) / on (a) group_left (b) vector(2)`, ""},
	{`vector(1) / ignoring () group_right vector(2)`, `vector(1) / ignoring () group_right () vector(2)`},
	{`vector(1) / on (a) group_left (vector(2))`, `vector(1) / on (a) group_left () vector(2)`},
}

func TestRoundTrip(t *testing.T) {
	for _, c := range roundTrips {
		e, err := Parse(c.query)
		if err != nil {
			t.Errorf("%s\n%v\n%s", c.query, err, err.(*Error).Caret())
			continue
		}
		want := c.want
		if want == "" {
			want = c.query
		}
		if got := e.String(); got != want {
			t.Errorf("%s\n got %s\nwant %s", c.query, got, want)
		}
		sameAgain(t, e, e.String())
		sameAgain(t, e, Format(e))
		checkPlaces(t, c.query, e)
	}
}

// sameAgain parses what was printed of e: it must be the same tree.
func sameAgain(t *testing.T, e Expr, printed string) {
	t.Helper()
	again, err := Parse(printed)
	if err != nil {
		t.Errorf("%s\nprinted of %#v: %v", printed, e, err)
		return
	}
	if a, b := dump(e), dump(again); a != b {
		t.Errorf("%s\nis another tree than it was printed of:\n%s\n%s", printed, a, b)
	}
}

// dump writes a tree without its places.
func dump(x any) string {
	var b strings.Builder
	dumpValue(&b, reflect.ValueOf(x))
	return b.String()
}

func dumpValue(b *strings.Builder, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			b.WriteString("nil")
			return
		}
		dumpValue(b, v.Elem())
	case reflect.Struct:
		b.WriteString(v.Type().Name() + "{")
		for i := range v.NumField() {
			if v.Type().Field(i).Name != "Range" {
				dumpValue(b, v.Field(i))
				b.WriteByte(' ')
			}
		}
		b.WriteByte('}')
	case reflect.Slice:
		b.WriteByte('[')
		for i := range v.Len() {
			dumpValue(b, v.Index(i))
			b.WriteByte(' ')
		}
		b.WriteByte(']')
	case reflect.String:
		b.WriteString(strings.ToValidUTF8(v.String(), "?") + "\x00")
	case reflect.Float64:
		b.WriteString(FormatNumber(v.Float()))
	case reflect.Bool:
		if v.Bool() {
			b.WriteString("true")
		}
	case reflect.Int, reflect.Int64:
		b.WriteString(FormatNumber(float64(v.Int())))
	default:
		b.WriteString(FormatNumber(float64(v.Uint())))
	}
}

// checkPlaces checks that nodes lie within the node that has them, and are not empty.
func checkPlaces(t *testing.T, query string, e Expr) {
	t.Helper()
	walk(reflect.ValueOf(e), Range{0, len(query)}, func(r, outer Range, v reflect.Value) {
		if r.Start < outer.Start || r.End > outer.End || r.Start >= r.End {
			t.Errorf("%s: %s is at %v, in %v", query, v.Type(), r, outer)
		}
	})
}

func walk(v reflect.Value, outer Range, f func(r, outer Range, v reflect.Value)) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			walk(v.Elem(), outer, f)
		}
	case reflect.Slice:
		for i := range v.Len() {
			walk(v.Index(i), outer, f)
		}
	case reflect.Struct:
		if r := v.FieldByName("Range"); r.IsValid() {
			f(r.Interface().(Range), outer, v)
			outer = r.Interface().(Range)
		}
		for i := range v.NumField() {
			if v.Type().Field(i).Name != "Range" {
				walk(v.Field(i), outer, f)
			}
		}
	}
}
