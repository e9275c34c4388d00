package pipeline

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stele-go/stele/logql/syntax"
	"github.com/stele-go/stele/logstore"
)

// TestParsersEndEarly has what Loki answers to sum by (need) of lines that are broken behind what is
// needed.
func TestParsersEndEarly(t *testing.T) {
	const broken = `{"a":"1","b":2, bad`
	for _, c := range []struct {
		stages string
		need   []string
		fails  bool
		a      string
	}{
		{"| json", []string{"a"}, false, "1"},
		{"| json", []string{"b"}, false, ""},
		{"| json", []string{"q"}, true, ""},
		{"| json", []string{}, false, ""},
		{"| json", []string{"a", "app"}, true, "1"},
		{"| json", []string{"a", "__error__"}, true, "1"},
		{`| json | a="1"`, []string{"a"}, false, "1"},
		{`| json | a="1"`, []string{"b"}, false, "1"},
		{`| json | line_format "{{.a}}"`, []string{"a"}, false, "1"},
		{`| json | label_format x=a`, []string{"x"}, true, ""},
		{`| json | drop b`, []string{"a"}, false, "1"},
		{`| json | unwrap b`, []string{}, false, ""},
	} {
		p, _, err := compileText(c.stages, Options{Need: c.need})
		if err != nil {
			t.Fatal(err)
		}
		r := p.NewRun()
		r.Stream(logstore.MustLabels("app", "s"))
		if !r.Process(1, []byte(broken), logstore.Labels{}) {
			t.Errorf("%s by %v: the line does not pass", c.stages, c.need)
		}
		a, _ := r.Get("a")
		if _, fails := r.Get("__error__"); fails != c.fails || string(a) != c.a {
			t.Errorf("%s by %v: a %q, an error: %v; want %q, %v", c.stages, c.need, a, fails, c.a, c.fails)
		}
	}
}

// TestNeededLabelsAreTheSame compares what is read of a line with what would be, were all read.
func TestNeededLabelsAreTheSame(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	names := []string{"a", "b", "o_a", "o_b", "o_o_a", "app", "app_extracted", "m", "m_extracted", "_9", "x_y"}
	for range 1000 {
		stages := randomStages(random)
		need := names[random.IntN(len(names))]
		some, _, err := compileText(stages, Options{Need: []string{need}})
		if err != nil {
			t.Fatalf("%s: %v", stages, err)
		}
		every, _, err := compileText(stages, Options{AllLabels: true})
		if err != nil {
			t.Fatal(err)
		}
		x, y := some.NewRun(), every.NewRun()
		for range 4 {
			stream, metadata := randomLabels(random, "app"), randomLabels(random, "m", "app", "a")
			passesX, passesY := x.Stream(stream), y.Stream(stream)
			for range 3 {
				line := randomLine(random)
				gotX, gotY := passesX && x.Process(1, line, metadata), passesY && y.Process(1, line, metadata)
				if _, failed := y.Get("__error__"); failed && gotY {
					continue // of which x need not know
				}
				a, okA := x.Get(need)
				b, okB := y.Get(need)
				if gotX != gotY || gotX && (okA != okB || string(a) != string(b) || string(x.Line) != string(y.Line)) {
					t.Fatalf("%s by %s: %s of %v with %v: %v %q; want %v %q", stages, need, line, stream, metadata, gotX, a, gotY, b)
				}
			}
		}
	}
}

func randomStages(random *rand.Rand) string {
	all := []string{
		"| json", "| logfmt", "| logfmt --keep-empty", `| json a="o.a", z="b"`, `| logfmt b, z="a"`, `| pattern "<a>:<_>"`, `| regexp "(?P<b>[0-9]+)"`, `| a="1"`, `| b!="x"`,
		`| app="s" or o_a="2"`, "| drop a", `| keep a, app, m, o_a="1"`, `| label_format a=b`, `| label_format q="{{.a}}/{{.app_extracted}}"`, `| line_format "{{.a}} {{.b}}"`, `|= "1"`, "| unpack",
		`| label_format app="new"`, "| drop app, m",
	}
	var b strings.Builder
	for range 1 + random.IntN(3) {
		fmt.Fprint(&b, " ", all[random.IntN(len(all))])
	}
	return b.String()
}

func randomLabels(random *rand.Rand, names ...string) logstore.Labels {
	var all []string
	for _, n := range names {
		if random.IntN(2) == 0 {
			all = append(all, n, []string{"s", "1"}[random.IntN(2)])
		}
	}
	return logstore.MustLabels(all...)
}

func randomLine(random *rand.Rand) []byte {
	keys := []string{"a", "b", "app", "m", "9", "x.y", "app_extracted"}
	var b strings.Builder
	if random.IntN(3) == 0 {
		for range random.IntN(5) {
			fmt.Fprintf(&b, "%s=%s ", keys[random.IntN(5)], []string{"1", `"x y"`, "", "2"}[random.IntN(4)])
		}
		return []byte(b.String())
	}
	writeObject(&b, random, keys, 0)
	return []byte(b.String())
}

func writeObject(b *strings.Builder, random *rand.Rand, keys []string, depth int) {
	b.WriteByte('{')
	for i := range random.IntN(5) {
		if i > 0 {
			b.WriteByte(',')
		}
		if depth < 2 && random.IntN(3) == 0 {
			b.WriteString(`"o":`)
			writeObject(b, random, keys, depth+1)
			continue
		}
		fmt.Fprintf(b, "%q:%s", keys[random.IntN(len(keys))], []string{"1", `"x\u0079"`, `""`, "null", "[1]", `"2"`}[random.IntN(6)])
	}
	b.WriteByte('}')
}

func TestStreamDecides(t *testing.T) {
	for _, c := range []struct {
		stages string
		want   bool
	}{
		{`| app="s"`, true}, {`| app="t"`, false}, {`| nope="t"`, true}, {`| app="t" or nope="x"`, true}, {`| app="t" and nope="x"`, false}, {`|= "x" | app="t"`, false},
		{`| json | app="t"`, true}, {`| n > 5`, false}, {`| n > 2`, true}, {`| app > 2`, true}, {`| label_format app="t" | app="s"`, true},
	} {
		p, _, err := compileText(c.stages, Options{Need: []string{}})
		if err != nil {
			t.Fatal(err)
		}
		if got := p.NewRun().Stream(logstore.MustLabels("app", "s", "n", "3")); got != c.want {
			t.Errorf("%s: %v; want %v", c.stages, got, c.want)
		}
	}
}

func TestKeys(t *testing.T) {
	p, _, err := compileText("| logfmt --keep-empty", Options{AllLabels: true})
	if err != nil {
		t.Fatal(err)
	}
	r := p.NewRun()
	r.Stream(logstore.MustLabels("app", "s"))
	key := func(line string, g *syntax.Grouping) string {
		r.Process(1, []byte(line), logstore.Labels{})
		return string(r.AppendKey(nil, g))
	}
	by, without := &syntax.Grouping{Labels: []string{"a", "q"}}, &syntax.Grouping{Labels: []string{"a"}, Without: true}
	for _, c := range []struct {
		a, b string
		g    *syntax.Grouping
		same bool
	}{
		{"a=1 b=2", "b=2 a=1", nil, true}, {"a=1 b=2", "a=1 b=3", nil, false}, {"a=1", "a=1 b=", nil, false}, {"a=1 b=2", "a=1 b=3", by, true}, {"a=1", "a=2", by, false},
		{"a=", "b=1", by, false}, {"a=1 b=2", "a=2 b=2", without, true}, {"b=2", "b=3", without, false}, {"ab=c", "a=bc", nil, false},
	} {
		if same := key(c.a, c.g) == key(c.b, c.g); same != c.same {
			t.Errorf("%s and %s by %v: the same key: %v", c.a, c.b, c.g, same)
		}
	}
}

func TestHostileNames(t *testing.T) {
	for _, stages := range []string{"| json", "| logfmt", "| unpack"} {
		p, _, err := compileText(stages, Options{AllLabels: true})
		if err != nil {
			t.Fatal(err)
		}
		r := p.NewRun()
		r.Stream(logstore.MustLabels("app", "s"))
		for i := range 20_000 {
			line := fmt.Sprintf(`{"k%d":"v","_entry":"x"}`, i)
			if stages == "| logfmt" {
				line = fmt.Sprintf("k%d=v", i)
			}
			if !r.Process(1, []byte(line), logstore.MustLabels(fmt.Sprintf("m%d", i), "w")) {
				t.Fatal("the line does not pass")
			}
			labels := result(r)
			if labels[fmt.Sprintf("k%d", i)] != "v" || labels["app"] != "s" || labels[fmt.Sprintf("m%d", i)] != "w" || len(labels)+len(labels["_entry"]) > 5 {
				t.Fatalf("%s: %v", line, labels)
			}
			if len(r.set.names) > maxNames+100 || len(r.set.ids) > maxNames+100 {
				t.Fatalf("%d names are kept; want at most %d", len(r.set.names), maxNames)
			}
		}
	}
}

func TestDeepObjects(t *testing.T) {
	p, _, err := compileText("| json", Options{AllLabels: true})
	if err != nil {
		t.Fatal(err)
	}
	r := p.NewRun()
	r.Stream(logstore.Labels{})
	line := strings.Repeat(`{"a":`, 10_000) + "1" + strings.Repeat("}", 10_000)
	if r.Process(1, []byte(line), logstore.Labels{}); result(r)["__error__"] != "JSONParserErr" {
		t.Errorf("an object in 10,000 others: %v; want an error", result(r))
	}
}
