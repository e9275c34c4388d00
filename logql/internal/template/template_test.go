package template

import (
	"errors"
	"strings"
	"testing"
	"text/template"
)

// A line is the Env of a test.
type line struct {
	fields []string
	labels map[string]string
	text   string
}

func (l *line) Field(i int) []byte {
	if v, ok := l.labels[l.fields[i]]; ok {
		return []byte(v)
	}
	return nil
}

func (l *line) All(f func(name string, value []byte)) {
	for n, v := range l.labels {
		f(n, []byte(v))
	}
}

func (l *line) Line() []byte { return []byte(l.text) }
func (l *line) Time() int64  { return 1614834367_000000000 }

func execute(t testing.TB, text string, limit int, labels map[string]string) (string, error) {
	t.Helper()
	c, err := Compile("line", text, limit)
	if err != nil {
		t.Fatal(err)
	}
	names, _ := c.Fields()
	out, err := c.NewExec(&line{names, labels, "the line"}, nil).Append([]byte("before "))
	rest, ok := strings.CutPrefix(string(out), "before ")
	if !ok {
		t.Fatalf("%s: what was in the buffer is lost: %q", text, out)
	}
	return rest, err
}

func TestExecute(t *testing.T) {
	labels := map[string]string{"a": "x", "b": "y z", "n": "2"}
	for text, want := range map[string]string{
		"":                                    "",
		"{{.a}}-{{.b}} {{.nope}}!":            "x-y z !",
		" {{- .a -}} ":                        "x",
		"{{__line__}}/{{ __line__ | upper }}": "the line/THE LINE",
		"{{/* c */}}{{.a}}":                   "x",
		"{{if .a}}{{.b}}{{end}}":              "y z",
		"{{range $k, $v := .}}{{$k}}{{$v}};{{end}}":       "ax;by z;n2;",
		"{{__timestamp__ | date `2006`}}":                 "2021",
		"{{$.a}}{{with .b}}[{{.}}]{{end}}":                "x[y z]",
		"{{define `q`}}<{{.a}}>{{end}}{{template `q` .}}": "<x>",
		"{{printf `%03d` (int .n)}}":                      "002",
	} {
		if got, err := execute(t, text, 1<<20, labels); err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", text, got, err, want)
		}
	}
}

func TestFields(t *testing.T) {
	for text, want := range map[string]string{
		"{{.a}}{{.b}}{{.a}}": "a b", "{{upper .a}}": "a", "{{if .a}}{{.b}}{{else}}{{.c}}{{end}}": "a b c", "{{.}}": "*", "{{$.a}}": "a", "{{$}}": "*",
		"{{with .a}}{{len .}}{{end}}": "*a", "{{(fromJson .j).k}}": "j", "{{template `x` .}}{{define `x`}}{{.z}}{{end}}": "*z", "{{range fromJson .a}}{{$.b}}{{end}}": "a b",
	} {
		c, err := Compile("line", text, 100)
		if err != nil {
			t.Fatal(err)
		}
		names, all := c.Fields()
		got := strings.Join(names, " ")
		if all {
			got = "*" + got
		}
		if got != want {
			t.Errorf("%s: %s; want %s", text, got, want)
		}
	}
}

// TestBombs are templates that would make gigabytes, or never end.
func TestBombs(t *testing.T) {
	long := strings.Repeat("x", 10_000)
	labels := map[string]string{"a": long, "b": strings.Repeat(`"<\`, 1000)}
	for _, text := range []string{
		"{{repeat 1000000000 .a}}", "{{repeat 1000 .a | repeat 1000 | repeat 1000}}", "{{range 1000000000}}{{end}}", "{{range $i := 1000000000}}x{{end}}",
		"{{define `x`}}{{template `x` .}}{{end}}{{template `x` .}}", "{{range 10000}}{{range 10000}}{{end}}{{end}}",
		"{{printf `%1000000d%1000000d` 1 2}}", "{{printf `%*d%*d` 1000000 1 1000000 1}}", "{{.a | replace `x` .a}}", "{{Replace .a `` .a -1}}", "{{regexReplaceAllLiteral `x` .a .a}}",
		"{{regexReplaceAll `(x)` .a `" + strings.Repeat("$1", 200) + "`}}",
		"{{indent 1000000000 .a}}", "{{nindent 2000000 .a}}", "{{alignLeft 1000000000 .a}}", "{{alignRight 1000000000 .a}}",
		"{{.b" + strings.Repeat("|js", 40) + "}}", "{{.b" + strings.Repeat("|html", 4000) + "}}", "{{.b" + strings.Repeat("|urlencode", 400) + "}}", "{{.b" + strings.Repeat("|b64enc", 60) + "}}",
		"{{.a}}" + strings.Repeat("{{.a}}", 200), strings.Repeat("{{print .a .a .a .a}}", 500), strings.Repeat("{{if .a | upper}}{{end}}", 2000),
		"{{range 9000}}{{$x := upper $.a}}{{end}}", "{{range 9000}}{{$x := fromJson $.a}}{{end}}", "{{range 9000}}{{$x := $.a | count `x`}}{{end}}", "{{range 9000}}{{$x := trimAll `y` $.a}}{{end}}",
	} {
		out, err := execute(t, text, 1<<20, labels)
		if err == nil || out != "" {
			t.Errorf("%.60s: %d bytes, %v; want an error", text, len(out), err)
		}
	}
}

func TestExecCanBeUsedAfterAnError(t *testing.T) {
	c, err := Compile("line", "{{div 6 (int .n)}}", 100)
	if err != nil {
		t.Fatal(err)
	}
	l := &line{[]string{"n"}, map[string]string{"n": "0"}, ""}
	e := c.NewExec(l, nil)
	if _, err := e.Append(nil); err == nil || !errors.As(err, new(template.ExecError)) {
		t.Errorf("6/0: %v; want an ExecError", err)
	}
	l.labels["n"] = "3"
	if out, err := e.Append(nil); err != nil || string(out) != "2" {
		t.Errorf("6/3: %q, %v; want 2", out, err)
	}
}

// FuzzJoin compares templates that only join with text/template.
func FuzzJoin(f *testing.F) {
	f.Add("{{.a}} x {{- .b -}} y {{.c}}", "1", "<2>")
	f.Fuzz(func(t *testing.T, text, a, b string) {
		c, err := Compile("line", text, 1<<20)
		if err != nil || !c.simple {
			t.Skip()
		}
		labels := map[string]string{"a": a, "b": b}
		got, err := execute(t, text, 1<<20, labels)
		if err != nil {
			t.Skip()
		}
		var want strings.Builder
		std := template.Must(template.New("line").Option("missingkey=zero").Funcs(template.FuncMap{"__line__": func() string { return "the line" }}).Funcs((&Exec{}).functions()).
			Funcs(template.FuncMap{"__line__": func() string { return "the line" }}).Parse(text))
		if err := std.Execute(&want, labels); err != nil || got != want.String() {
			t.Fatalf("%s: %q; want %q, %v", text, got, want.String(), err)
		}
	})
}

// FuzzExecute looks for templates that panic, or do not end.
func FuzzExecute(f *testing.F) {
	f.Add("{{range $i, $e := fromJson .a}}{{$e | printf `%v`}}{{end}}{{.b | substr 1 2}}", "[1,2]", "xyz")
	f.Fuzz(func(t *testing.T, text, a, b string) {
		c, err := Compile("line", text, 1<<16)
		if err != nil {
			t.Skip()
		}
		names, _ := c.Fields()
		out, err := c.NewExec(&line{names, map[string]string{"a": a, "b": b}, "l"}, nil).Append(nil)
		if err == nil && len(out) > 1<<16 {
			t.Fatalf("%d bytes", len(out))
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	labels := map[string]string{"a": "x", "b": "y z"}
	for name, text := range map[string]string{"joined": "{{.a}}: {{.b}}", "functions": "{{.a | upper}}: {{.b}}"} {
		b.Run(name, func(b *testing.B) {
			c, err := Compile("line", text, 1000)
			if err != nil {
				b.Fatal(err)
			}
			names, _ := c.Fields()
			e := c.NewExec(&line{names, labels, ""}, nil)
			var buf []byte
			for b.Loop() {
				if buf, err = e.Append(buf[:0]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
