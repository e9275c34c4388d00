package pipeline

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stele-go/stele/logql/syntax"
	"github.com/stele-go/stele/logstore"
)

// TestFieldsAreThoseOfLines compares what a pipeline makes of lines with what it makes of their
// fields, found by template: random templates, and variables that keep the rules.
func TestFieldsAreThoseOfLines(t *testing.T) {
	random := rand.New(rand.NewPCG(11, 12))
	compared, located, refused, numbers := 0, 0, 0, 0
	for range 5000 {
		stages, unwrap, need := randomFieldStages(random)
		p := compileFields(t, stages, unwrap, need)
		streamHas := random.IntN(2) == 0 // a stream has the label a
		f := p.Fields(func(name string) bool { return streamHas && name == "a" })
		if f == nil {
			t.Fatalf("%s: no fields", stages)
		}
		literals := randomTemplate(random)
		template := logstore.NewLineTemplate(literals...)
		plan, ok := f.Locate(template)
		if !ok {
			continue
		}
		located++
		c := fieldComparison{t: t, stages: stages, need: need, fields: f, plan: plan, byLine: p.NewRun(), byField: p.NewRun()}
		for range 12 {
			stream := logstore.MustLabels("app", "s")
			if streamHas && random.IntN(2) == 0 {
				stream = logstore.MustLabels("app", "s", "a", []string{"1", "5", "x"}[random.IntN(3)])
			}
			variables := make([]string, template.Slots())
			for i := range variables {
				variables[i] = randomVariable(random)
			}
			if !keepRules(plan.Rules, variables) {
				refused++
				continue
			}
			compared++
			if c.compare(stream, literals, variables) {
				numbers++
			}
		}
	}
	if located < 1000 || compared < 3000 || refused < 1000 || numbers < 50 {
		t.Errorf("%d templates, %d lines compared, %d by their number, %d refused: the test says too little", located, compared, numbers, refused)
	}
}

// Variables that would change where fields are break a rule, or no field is known by the template.
func TestFieldsKnowWhatChangesThem(t *testing.T) {
	for _, c := range []struct {
		stages, need string
		template     string // with _ for slots
		variables    []string
		located      bool
		kept         bool
	}{
		{"| json", "a", `{"a":_,"b":"_"}`, []string{"5", `"`}, true, true}, // behind the end
		{"| json", "b", `{"a":_,"b":"_"}`, []string{"5", `"`}, true, false},
		{"| json", "b", `{"a":_,"b":"_"}`, []string{"null", "x"}, true, false},
		{"| json", "b", `{"a":_,"b":"_"}`, []string{"true", "x"}, true, true},
		{"| json", "b", `{"a":_,"b":"_"}`, []string{"", "x"}, true, false},
		{"| json", "b", `{"_":5,"b":"_"}`, []string{"x", "x"}, false, false},
		{"| json", "b", `{"b":"\u00_"}`, []string{"41"}, false, false},
		{"| json", "b", `{"b":"\ud83d_\ude00"}`, []string{""}, false, false},
		{"| json", "b", `{"b":"\ud83d\ude00_\u00e9"}`, []string{""}, true, true},
		{"| json b=`b`", "b", `{"b":"\ud83d_\ude00"}`, []string{""}, false, false},
		{"| logfmt", "b", `b="\uDBFF_\ude00"`, []string{""}, false, false},
		{"| json", "a", `{"b":"_"`, []string{"x"}, false, false},
		{"| json", "b", `{"b":"7301964_"}`, []string{"x"}, false, false},
		{"| logfmt", "a", `a=_ b=_`, []string{"", "x a=1"}, true, false},
		{"| logfmt", "a", `a=_ b=_`, []string{"5", "x a=1"}, true, true},
		{"| logfmt", "a", `a=_ a=5`, []string{""}, true, false},
		{"| logfmt", "a", `_=5 a=5`, []string{"x"}, false, false},
		{"| logfmt", "b", `_ a=5`, []string{"x"}, true, true},
		{"| logfmt", "b", `_ a=5`, []string{"b=1"}, true, false},
		{"| logfmt --keep-empty", "b", `_ a=5`, []string{"x"}, false, false},
		{"| logfmt a", "a", `_ a=5`, []string{"x"}, false, false},
		{"| pattern `<a> - <b>`", "a", `x _- y`, []string{""}, true, false},
		{"| pattern `<a> - <b>`", "a", `x_ - y`, []string{"-"}, true, false},
		{"| pattern `<a> - <b>`", "a", `x - _ - y`, []string{"- -"}, true, true},
		{"| pattern `x<a>`", "a", `_`, []string{"x5"}, false, false},
	} {
		p := compileFields(t, c.stages, "", []string{c.need})
		f := p.Fields(func(string) bool { return false })
		literals := bytes.Split([]byte(c.template), []byte("_"))
		plan, ok := f.Locate(logstore.NewLineTemplate(literals...))
		if kept := ok && keepRules(plan.Rules, c.variables); ok != c.located || kept != c.kept {
			t.Errorf("%s by %s: %s with %q: fields are known: %v, rules are kept: %v; want %v, %v", c.stages, c.need, c.template, c.variables, ok, kept, c.located, c.kept)
		}
	}
}

// What reads more of lines than the fields of one parser reads lines.
func TestFieldsOfOthers(t *testing.T) {
	for _, stages := range []string{"", "| level=`x`", "| json | logfmt", "| json | line_format `x`", "| json | label_format b=a", "| regexp `(?P<a>x)`", "| unpack", "| json | a_extracted=`1`",
		"| decolorize | json", "| logfmt a, a=\"b\""} {
		if f := compileFields(t, stages, "", []string{"a"}).Fields(func(string) bool { return false }); f != nil {
			t.Errorf("%s: %d fields; want none known", stages, f.Len())
		}
	}
	log, err := syntax.ParseLog("{app=`s`} | json")
	if err != nil {
		t.Fatal(err)
	}
	if p, err := Compile(log.Stages, Options{AllLabels: true}); err != nil || p.Fields(func(string) bool { return false }) != nil {
		t.Errorf("the fields of a parser of which all labels are read: %v", err)
	}
}

// Streams with different labels have different keys also if there are more names than a Run keeps.
func TestStreamKeyOfManyNames(t *testing.T) {
	log, err := syntax.ParseLog("{app=`s`} | json a=`x`")
	if err != nil {
		t.Fatal(err)
	}
	p, err := Compile(log.Stages, Options{AllLabels: true})
	if err != nil {
		t.Fatal(err)
	}
	r := p.NewRun()
	keys := map[string]int{}
	for i := range maxNames + 100 {
		r.Stream(logstore.MustLabels(fmt.Sprint("n", i), "v"))
		key := string(r.AppendStreamKey(nil))
		if other, ok := keys[key]; ok {
			t.Fatalf("the streams %d and %d have the same key %q", other, i, key)
		}
		keys[key] = i
	}
}

func compileFields(t testing.TB, stages, unwrap string, need []string) *Pipeline {
	t.Helper()
	log, err := syntax.ParseLog(`{app="s"} ` + stages)
	if err != nil {
		t.Fatalf("%s: %v", stages, err)
	}
	o := Options{Need: need}
	if unwrap != "" {
		o.Unwrap = &syntax.Unwrap{Label: unwrap}
	}
	p, err := Compile(log.Stages, o)
	if err != nil {
		t.Fatalf("%s: %v", stages, err)
	}
	return p
}

type fieldComparison struct {
	t               *testing.T
	stages          string
	need            []string
	fields          *Fields
	plan            logstore.FieldPlan
	byLine, byField *Run
}

// compare reports whether the line has a number of which nothing else is asked.
func (c *fieldComparison) compare(stream logstore.Labels, literals [][]byte, variables []string) bool {
	c.t.Helper()
	line := lineOf(literals, variables)
	values := make([][]byte, len(c.plan.Fields))
	for i, f := range c.plan.Fields {
		if f.Absent {
			continue
		}
		values[i] = []byte{}
		for _, p := range f.Pieces {
			if p.Text == nil {
				p.Text = []byte(variables[p.Slot])
			}
			values[i] = append(values[i], p.Text...)
		}
	}
	want := c.byLine.Stream(stream) && c.byLine.Process(1, line, logstore.Labels{})
	got := c.byField.Stream(stream) && c.byField.ProcessFields(c.fields, values)
	if want != got || got && (describeRun(c.byLine, c.need) != describeRun(c.byField, c.need)) {
		c.t.Fatalf("%s by %q: of %q of stream %v, from %q: %v %s; want %v %s", c.stages, c.need, line, stream, values,
			got, describeRun(c.byField, c.need), want, describeRun(c.byLine, c.need))
	}
	i := c.fields.Number()
	if i < 0 || values[i] == nil || c.byField.StreamHas(c.fields) {
		return false
	}
	v := c.fields.unwrap.number(values[i])
	if !IsNumber(v) {
		return false
	}
	if got && fmt.Sprint(v) != fmt.Sprint(c.byLine.Value) {
		c.t.Fatalf("%s: of %q of stream %v, from %q: number %v; want %v", c.stages, line, stream, values, v, c.byLine.Value)
	}
	// Another number makes no other difference.
	c.byField.Value = 0
	labels := describeRun(c.byField, c.need)
	values[i] = []byte("77")
	other := c.byField.ProcessFields(c.fields, values)
	c.byField.Value = 0
	if other != got || got && describeRun(c.byField, c.need) != labels {
		c.t.Fatalf("%s by %q: of %q of stream %v: with another number %v %s; want %v %s", c.stages, c.need, line, stream,
			other, describeRun(c.byField, c.need), got, labels)
	}
	return got
}

func describeRun(r *Run, need []string) string {
	text := fmt.Sprint(r.Value)
	for _, name := range append([]string{"__error__"}, need...) {
		v, ok := r.Get(name)
		text += fmt.Sprintf(" %s=%q,%v", name, v, ok)
	}
	return text
}

func lineOf(literals [][]byte, variables []string) []byte {
	var line []byte
	for i, l := range literals {
		line = append(line, l...)
		if i < len(variables) {
			line = append(line, variables[i]...)
		}
	}
	return line
}

func keepRules(rules []*logstore.SlotRule, variables []string) bool {
	for i, rule := range rules {
		if rule == nil {
			continue
		}
		ask := variables[i] == ""
		for _, c := range []byte(variables[i]) {
			if rule.Forbidden.Has(c) {
				return false
			}
			ask = ask || rule.Doubtful.Has(c)
		}
		if ask && rule.Check != nil && !rule.Check([]byte(variables[i])) {
			return false
		}
	}
	return true
}

func randomFieldStages(random *rand.Rand) (stages, unwrap string, need []string) {
	pick := func(list ...string) string { return list[random.IntN(len(list))] }
	parser := pick("| json", "| json", "| json", "| logfmt", "| logfmt", "| logfmt --strict", "| logfmt --keep-empty", `| json a="b.c", n="a"`, `| json a="l[1]", b="a"`, `| json a="b"`, `| json n="a", n="b"`, `| json a_extracted="b", a="a"`,
		`| pattern "<a> <a_extracted>"`, `| logfmt a, n="b"`, `| logfmt --strict n="a"`, `| pattern "<a> - <b>"`, `| pattern "{<a>:<n>,<b>}"`, `| pattern "<_>a=<a> <b>"`, `| pattern "a=<a>=<n>"`)
	filters := []string{"", "", "| a=`1`", "| a>=5", "| n<=1e3", "| b!=`x` and a=~`[a-z0-9]*`", "| drop a", "| keep a, app", "| drop b=`1`", "| a=`1` or __error__!=``", "| b_c=`x`", "| n=`5` | a!=`7`"}
	stages = pick("", "", "| app=`s` ", "| drop app ", "| a!=`1` ") + parser
	for range random.IntN(3) {
		stages += " " + pick(filters...)
	}
	if random.IntN(2) == 0 {
		unwrap = pick("n", "a")
		if strings.Contains(parser, "a_extracted") {
			unwrap = pick("a", "a_extracted")
		}
	}
	need = []string{}
	for _, name := range []string{"a", "b", "n", "b_c", "app", "__error__"} {
		if random.IntN(4) == 0 {
			need = append(need, name)
		}
	}
	return stages, unwrap, need
}

// randomTemplate returns the literals of a line whose variables may be anywhere.
func randomTemplate(random *rand.Rand) [][]byte {
	pick := func(list ...string) string { return list[random.IntN(len(list))] }
	const slot = "\x00"
	var line string
	text := func() string {
		return pick(slot, slot, "x", "x"+slot, slot+"y", slot+" "+slot, `say \"`+slot+`\"`, `\`+slot, `\u00`+slot, `\ud83d`+slot+`\ude00`, `tab\t`+slot, "\uFFFD"+slot, "\xef"+slot, "", "5", slot+slot)
	}
	switch random.IntN(4) {
	case 0:
		key := func() string { return pick("a", "b", "n", "c", "a b", "k"+slot, slot, `\u0061`, "a", "n") }
		var value func(depth int) string
		value = func(depth int) string {
			if depth > 0 && random.IntN(4) == 0 {
				return pick(`{"c":`+value(depth-1)+`,"d":`+value(0)+`}`, `[1,`+value(depth-1)+`,"q"]`, "{}")
			}
			return pick(slot, slot, `"`+text()+`"`, `"`+text()+`"`, "-"+slot, "1"+slot, slot+".5", "1."+slot, "null", "true", `"x"`, "5", "1e"+slot)
		}
		var pairs []string
		for range random.IntN(5) {
			pairs = append(pairs, `"`+key()+`"`+pick(":", ":", ": ")+value(2))
		}
		line = pick("", "", "", " ") + "{" + strings.Join(pairs, pick(",", ", ")) + "}" + pick("", "", "", " ", slot, " tail", `{"a":`+slot+`}`)
	case 1:
		var pairs []string
		for range random.IntN(6) {
			pairs = append(pairs, pick("a", "b", "n", "a", "c", "b.c", slot)+pick("=", "=", "=", "", " ")+pick(slot, slot, `"`+text()+`"`, "x", "1"+slot, slot+"ms", "", `"q"`))
		}
		line = strings.Join(pairs, " ")
	case 2: // lines of which each variable is a field
		line = pick(`{"a":_,"b":_,"n":_}`, `{"b":_,"a":"_","n":"_"}`, `a=_ b=_ n=_`, `_ _`, `a=_=_`, `{_:_,_`)
		line = strings.ReplaceAll(line, "_", slot)
	default:
		for range 1 + random.IntN(6) {
			line += pick(slot, slot, "a=", " - ", " ", "-", " ", "x", "{", ":", ",", "}", "=", slot+" ")
		}
	}
	return bytes.Split([]byte(line), []byte(slot))
}

func randomVariable(random *rand.Rand) string {
	list := []string{"", "", "", "a", "b", "n", "x a=1", "x b=5", "a", "-", "0", "1", "5", "7", "500", "007", "1e5", "-0", "-3", "1.5", ".5", "true", "false", "null", "x", "abc", "a b", "a=1", `"`, `\`, `\"`, `x","a":"1`, `1,"a":5`, "}", "]", "{", "1s",
		"\xff", "\x80", "\uFFFD", "\xbf\xbd", "é", "\x00", "\t", "\n", " ", "-", "+1", ":", ",", "NaN", "1_0", "a=", "=", "12345678901234567890123", "7301964", "00001"}
	return list[random.IntN(len(list))]
}
