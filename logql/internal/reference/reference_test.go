package reference

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stele-go/stele/logql/syntax"
)

// differences are queries that Loki answers otherwise, with the reason.
var differences = map[string]string{
	`{app="sparse"} | label_format env="", host="{{.host}}-{{.env}}"`:                             "a label that was made empty has the value of the stream in templates",
	`{app="worker"} | decolorize |= "INFO job"`:                                                   "Loki filters before it takes the colours away",
	`sum(count_over_time({app="api", env="dev"} | json [1h]))`:                                    "Loki does not parse lines whose labels nobody asks for",
	`sum by (__error__) (count_over_time({app="api", env="dev"} | json | __error__!="" [1h]))`:    "errors may be asked for",
	`label_replace(sum by (app) (count_over_time({env="prod"}[1h])), "app", "same", "app", ".*")`: "the order of series that become the same",
}

type answer struct {
	Query, Kind    string
	Start, End     int64
	Step, Interval int64
	Limit          int
	Direction      string
	Status         int
	Type           string
	Result         json.RawMessage
}

// TestAnswersOfLoki compares with what Loki answered over the same data: the reference must
// be right for the random tests to mean something.
func TestAnswersOfLoki(t *testing.T) {
	var entries []Entry
	for _, e := range readLines[struct {
		Entry
		Stream, Metadata Labels
	}](t, "data.jsonl") {
		e.Entry.Stream, e.Entry.Metadata = e.Stream, e.Metadata
		entries = append(entries, e.Entry)
	}
	slices.SortStableFunc(entries, func(a, b Entry) int { return cmp.Compare(a.Time, b.Time) })
	asked := 0
	for _, a := range readLines[answer](t, "answers.jsonl") {
		e, err := syntax.Parse(a.Query)
		if err != nil || a.Interval != 0 {
			continue
		}
		got, err := ask(e, a, entries)
		if errors.Is(err, ErrUnsupported) || got == nil && err == nil {
			continue
		}
		asked++
		if a.Status != 200 {
			if err == nil && a.Status == 500 {
				t.Errorf("%s\nis answered", a.Query)
			}
			continue
		}
		if err != nil {
			if differences[a.Query] == "" {
				t.Errorf("%s\n%v", a.Query, err)
			}
			continue
		}
		want := wanted(t, a)
		for _, key := range slices.Sorted(maps.Keys(merge(got, want))) {
			if !slices.EqualFunc(got[key], want[key], same) && differences[a.Query] == "" {
				g, w := got[key], want[key]
				for len(g) > 0 && len(w) > 0 && same(g[0], w[0]) {
					g, w = g[1:], w[1:]
				}
				t.Errorf("%s\n%s\n got %.300q\nwant %.300q", a.Query, key, g, w)
			}
		}
	}
	t.Log(asked)
	if asked < 300 {
		t.Errorf("only %d queries were compared", asked)
	}
}

func merge(a, b map[string][]string) map[string][]string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// ask returns what is found for each set of labels; nil if the order decides.
func ask(e syntax.Expr, a answer, entries []Entry) (map[string][]string, error) {
	got := map[string][]string{}
	if log, ok := e.(*syntax.LogExpr); ok {
		lines, err := Lines(log, entries, a.Start, a.End, a.Direction != "forward", a.Limit)
		for _, l := range lines {
			delete(l.Labels, "__error_details__")
			got[l.Labels.Key()] = append(got[l.Labels.Key()], fmt.Sprint(l.Time, " ", l.Text))
		}
		return got, err
	}
	if strings.Contains(a.Query, "topk") || strings.Contains(a.Query, "bottomk") {
		return nil, nil
	}
	start, end, step := a.End, a.End, int64(1)
	if a.Kind == "range" {
		step = a.Step
		start = a.Start / step * step
		end = (a.End + step - 1) / step * step
	}
	for at := start; at <= end; at += step {
		samples, _, err := Values(e.(syntax.MetricExpr), entries, at)
		if err != nil {
			return nil, err
		}
		for _, s := range samples {
			got[s.Labels.Key()] = append(got[s.Labels.Key()], fmt.Sprint(at/1e6, " ", s.Value))
		}
	}
	return got, nil
}

func same(a, b string) bool {
	ta, va, _ := strings.Cut(a, " ")
	tb, vb, _ := strings.Cut(b, " ")
	x, errX := strconv.ParseFloat(va, 64)
	y, errY := strconv.ParseFloat(vb, 64)
	return a == b || errX == nil && errY == nil && ta == tb && math.Abs(x-y) <= 1e-9*math.Abs(x)+1e-12
}

func wanted(t *testing.T, a answer) map[string][]string {
	want := map[string][]string{}
	if a.Type == "scalar" {
		var v [2]any
		if err := json.Unmarshal(a.Result, &v); err != nil {
			t.Fatal(err)
		}
		want[""] = []string{fmt.Sprint(a.End/1e6, " ", v[1])}
		return want
	}
	var rows []struct {
		Stream, Metric Labels
		Values         [][2]any
		Value          *[2]any
	}
	if err := json.Unmarshal(a.Result, &rows); err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		if r.Stream != nil {
			delete(r.Stream, "__error_details__")
		}
		key := merged(r.Stream, r.Metric).Key()
		if r.Value != nil {
			r.Values = append(r.Values, *r.Value)
		}
		for _, v := range r.Values {
			when := fmt.Sprint(v[0])
			if seconds, ok := v[0].(float64); ok {
				when = fmt.Sprint(int64(math.Round(seconds * 1000)))
			}
			want[key] = append(want[key], when+" "+fmt.Sprint(v[1]))
		}
	}
	return want
}

func merged(a, b Labels) Labels {
	if a == nil {
		return b
	}
	return a
}

func readLines[T any](t *testing.T, name string) (rows []T) {
	t.Helper()
	f, err := os.Open(filepath.Join("..", "..", "testdata", "loki", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s := bufio.NewScanner(f)
	s.Buffer(nil, 16<<20)
	for s.Scan() {
		var row T
		if err := json.Unmarshal(s.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	return rows
}
