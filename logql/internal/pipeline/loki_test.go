package pipeline

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stele-go/stele/logql/syntax"
	"github.com/stele-go/stele/logstore"
)

// An answer is what Loki 3.7.8 made of a line. testdata/loki.jsonl has one in each line.
type answer struct {
	Line, Stages     string
	Metadata, Stream map[string]string
	Labels           map[string]string // nil if the line does not pass
	Out              *string           // the line, if it is another one
	Value            string            // of unwrap
	Error            string            // of the query
	Fails            string            // the error of a line, which ends a metric query
}

const staysInLoki = "in Loki the details stay if another label of the line has changed"

// differences are answers that we give otherwise, by line and stages.
var differences = map[string]string{
	`q | json | __error_details__=~"Value.*"`:                                   "Loki's filters do not see __error_details__",
	`q | json | __error__="JSONParserErr" | label_format __error_details__="x"`: "in Loki label_format does not reach __error_details__",
	"a=1 | logfmt | logfmt z=\"a\"":                                             "Loki's second parser does not see what the first one has found",
	"q | json | label_format __error_details__=\"x\"":                           "in Loki label_format does not reach __error_details__",
	"a=abc b=1 | logfmt | a > 5 | drop __error__":                               staysInLoki,
	"q | json | drop __error__, app":                                            staysInLoki,
	"q | json | drop app, __error__":                                            staysInLoki,
	`{"a":tru} | json a="a" | drop __error__`:                                   staysInLoki,
	"a=1 =2 | logfmt --strict | drop __error__":                                 staysInLoki,
	"a=1 b=z | logfmt | b > 5 | drop __error__":                                 staysInLoki,
	"a=1 b=z | logfmt | b > 5 | drop __error__ | a=1":                           staysInLoki,
	"a=1 b=z | logfmt | b > 5s | drop __error__":                                staysInLoki,
	`{"__error__":"x","__line__":"y","__name__":"z"} | json`:                    "",
}

func TestAnswersOfLoki(t *testing.T) { checkFile(t, "testdata/loki.jsonl") }

func TestTemplatesOfLoki(t *testing.T) { checkFile(t, "testdata/templates.jsonl") }

func checkFile(t *testing.T, name string) {
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		var a answer
		if err := json.Unmarshal(lines.Bytes(), &a); err != nil {
			t.Fatal(err)
		}
		t.Run(strconv.Itoa(n), func(t *testing.T) { check(t, a) })
	}
}

func check(t *testing.T, a answer) {
	if why, ok := differences[a.Line+" "+a.Stages]; ok {
		t.Skip("differs: " + why)
	}
	p, stages, err := compileText(a.Stages, Options{AllLabels: true})
	if a.Error != "" {
		if err == nil {
			t.Errorf("%s: no error; Loki says %s", a.Stages, a.Error)
		}
		return
	}
	if err != nil {
		t.Fatalf("%s: %v", stages, err)
	}
	r := p.NewRun()
	// The second line shows what the first one leaves behind.
	for range 2 {
		labels := map[string]string(nil)
		if r.Stream(labelsOf(a.Stream)) && r.Process(1, []byte(a.Line), labelsOf(a.Metadata)) {
			labels = result(r)
		}
		compareAnswer(t, a, r, labels)
	}
}

func compareAnswer(t *testing.T, a answer, r *Run, labels map[string]string) {
	t.Helper()
	if a.Fails != "" {
		if labels["__error__"] != a.Fails {
			t.Errorf("%q %s: %v; want %s", a.Line, a.Stages, labels, a.Fails)
		}
		return
	}
	if (labels == nil) != (a.Labels == nil) || !maps.Equal(labels, a.Labels) {
		t.Errorf("%q %s:\n got %v\nwant %v", a.Line, a.Stages, labels, a.Labels)
		return
	}
	if labels == nil {
		return
	}
	want := a.Line
	if a.Out != nil {
		want = *a.Out
	}
	if string(r.Line) != want && a.Value == "" {
		t.Errorf("%q %s: line %q; want %q", a.Line, a.Stages, r.Line, want)
	}
	if got := strconv.FormatFloat(r.Value, 'f', -1, 64); a.Value != "" && got != a.Value {
		t.Errorf("%q %s: value %s; want %s", a.Line, a.Stages, got, a.Value)
	}
}

func result(r *Run) map[string]string {
	m := map[string]string{}
	r.Each(func(name string, value []byte, _ LabelClass) { m[name] = string(value) })
	return m
}

// compileText compiles stages as a query has them, with an unwrap at the end.
func compileText(stages string, o Options) (*Pipeline, string, error) {
	query := `{s="x"} ` + stages
	if strings.Contains(stages, "| unwrap ") {
		query = fmt.Sprintf("sum_over_time(%s [1m])", query)
	}
	x, err := syntax.Parse(query)
	if err != nil {
		return nil, query, err
	}
	log, ok := x.(*syntax.LogExpr)
	if m, isRange := x.(*syntax.RangeAggregation); isRange {
		log, ok, o.Unwrap = m.Log, true, m.Unwrap
	}
	if !ok {
		return nil, query, fmt.Errorf("%s is no query of lines", query)
	}
	p, err := Compile(log.Stages, o)
	return p, query, err
}

func labelsOf(m map[string]string) logstore.Labels {
	var all []logstore.Label
	for n, v := range m {
		all = append(all, logstore.Label{Name: n, Value: v})
	}
	l, err := logstore.NewLabels(all...)
	if err != nil {
		panic(err)
	}
	return l
}
