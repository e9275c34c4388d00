package logql

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/logstore"
)

// An answer is a query, how it was asked, and what Loki said: see peers/cmd/lokitable.
type answer struct {
	Query, Kind    string
	Start, End     int64
	Step, Interval int64
	Limit          int
	Direction      string
	Status         int
	Error, Type    string
	Result         json.RawMessage
}

// A difference is a query that is answered unlike Loki.
type difference struct{ Query, Reason string }

// readDifferences returns the reasons of testdata/loki/differences.jsonl by query.
func readDifferences(t testing.TB) map[string]string {
	t.Helper()
	reasons := make(map[string]string)
	for _, d := range readLines[difference](t, "differences.jsonl") {
		reasons[d.Query] = d.Reason
	}
	return reasons
}

// TestAnswers compares answers with those that Loki gave over the same data.
func TestAnswers(t *testing.T) {
	e := NewEngine(lokiStore(t), Options{})
	differences, seen := readDifferences(t), make(map[string]bool)
	for i, a := range readLines[answer](t, "answers.jsonl") {
		name := fmt.Sprintf("%d %s", i+1, a.Kind)
		seen[a.Query] = true
		t.Run(name, func(t *testing.T) {
			diff := compareAnswer(e, a)
			reason, known := differences[a.Query]
			switch {
			case diff == "" && known:
				t.Errorf("%s\nis answered as Loki does, but listed: %s", a.Query, reason)
			case diff != "" && !known:
				t.Errorf("%s\n%s", a.Query, diff)
			}
		})
	}
	for query := range differences {
		if !seen[query] {
			t.Errorf("%s: is listed, but not in the table", query)
		}
	}
}

func readLines[T any](t testing.TB, name string) (rows []T) {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", "loki", name))
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
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	return rows
}

// lokiStore returns a store with the data that Loki was asked about.
func lokiStore(t testing.TB) *logstore.Store {
	t.Helper()
	s, err := logstore.Open(t.TempDir(), logstore.Options{Level: durability.Kill, LateWindow: -1, FutureWindow: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	type entry struct {
		Stream   map[string]string
		Time     int64
		Line     string
		Metadata map[string]string
	}
	streams := make(map[logstore.Labels]int)
	var batch logstore.Batch
	for _, e := range readLines[entry](t, "data.jsonl") {
		labels := labelsOf(t, e.Stream)
		i, ok := streams[labels]
		if !ok {
			i = len(batch)
			streams[labels] = i
			batch = append(batch, logstore.Stream{Labels: labels})
		}
		batch[i].Entries = append(batch[i].Entries, logstore.Entry{Time: e.Time, Line: []byte(e.Line), Metadata: labelsOf(t, e.Metadata)})
	}
	if err := s.Append(context.Background(), batch); err != nil {
		t.Fatal(err)
	}
	return s
}

func labelsOf(t testing.TB, m map[string]string) logstore.Labels {
	t.Helper()
	var all []logstore.Label
	for name, value := range m {
		all = append(all, logstore.Label{Name: name, Value: value})
	}
	l, err := logstore.NewLabels(all...)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// request returns the request of an answer. Loki moves the moments of a metric query to
// multiples of its step.
func (a answer) request() Request {
	r := Request{
		Query: a.Query, Start: a.Start, End: a.End, Step: time.Duration(a.Step), Interval: time.Duration(a.Interval),
		Limit: a.Limit, Instant: a.Kind == "instant",
	}
	if a.Direction == "forward" {
		r.Direction = Forward
	}
	if a.Kind == "range" {
		r.Start -= r.Start % a.Step
		if rest := r.End % a.Step; rest != 0 {
			r.End += a.Step - rest
		}
	}
	return r
}

// compareAnswer returns how the answer differs from Loki's, "" if it does not.
func compareAnswer(e *Engine, a answer) string {
	got, err := e.Run(context.Background(), a.request())
	switch {
	case a.Status != 200 && err == nil:
		return "is answered; Loki says: " + a.Error
	case a.Status != 200:
		return ""
	case err != nil:
		return "error: " + err.Error()
	}
	if kind := map[Kind]string{Streams: "streams", Vector: "vector", Matrix: "matrix", Scalar: "scalar"}[got.Kind]; kind != a.Type {
		return fmt.Sprintf("is of type %s; want %s", kind, a.Type)
	}
	if a.Type == "streams" {
		return compareStreams(got.Lines, a)
	}
	return comparePoints(got.Series, a)
}

// compareStreams compares the lines of each set of labels, and the order of all.
func compareStreams(lines []Line, a answer) string {
	var want []struct {
		Stream map[string]string
		Values [][2]string
	}
	if err := json.Unmarshal(a.Result, &want); err != nil {
		return err.Error()
	}
	wanted, got := make(map[string][]string), make(map[string][]string)
	for _, s := range want {
		key := mapText(s.Stream)
		for _, v := range s.Values {
			wanted[key] = append(wanted[key], v[0]+" "+v[1])
		}
	}
	for i, l := range lines {
		got[pairsText(l.Stream)] = append(got[pairsText(l.Stream)], fmt.Sprint(l.Time)+" "+l.Text)
		if i > 0 && lines[i-1].Time != l.Time && lines[i-1].Time < l.Time != (a.Direction == "forward") {
			return "is not in order"
		}
	}
	return compareMaps(got, wanted, func(x, y string) bool { return x == y })
}

// comparePoints compares series, whose order means something for sort and topk at one moment.
func comparePoints(series []Series, a answer) string {
	wanted, order, err := readPoints(a)
	if err != nil {
		return err.Error()
	}
	got := make(map[string][]string)
	var gotOrder []string
	for _, s := range series {
		key := pairsText(s.Labels)
		gotOrder = append(gotOrder, key)
		for _, p := range s.Points {
			got[key] = append(got[key], fmt.Sprintf("%d %v", p.Time/1e6, p.Value))
		}
	}
	if a.Type == "vector" { // label_replace may make the labels of several series the same
		for _, key := range sortedKeys(got, wanted) {
			slices.Sort(got[key])
			slices.Sort(wanted[key])
		}
	}
	diff := compareMaps(got, wanted, samePoint)
	switch {
	case strings.HasPrefix(a.Query, "topk"), strings.HasPrefix(a.Query, "bottomk"):
		// Which one of two equal series is there, is left open.
		if diff != "" && !slices.EqualFunc(allPoints(got), allPoints(wanted), samePoint) {
			return diff
		}
		return ""
	case strings.HasPrefix(a.Query, "sort") && a.Type == "vector" && diff == "":
		for i, key := range order {
			if !slices.EqualFunc(got[gotOrder[i]], wanted[key], samePoint) {
				return fmt.Sprintf("order: %v\nwant   %v", gotOrder, order)
			}
		}
	}
	return diff
}

func allPoints(series map[string][]string) (all []string) {
	for _, points := range series {
		all = append(all, points...)
	}
	slices.Sort(all)
	return all
}

func readPoints(a answer) (points map[string][]string, order []string, err error) {
	points = make(map[string][]string)
	add := func(key string, p [2]any) {
		seconds, _ := p[0].(float64)
		if a.Type == "scalar" {
			seconds = float64(a.End) / 1e9 // Loki's is a wrong one
		}
		v, _ := strconv.ParseFloat(fmt.Sprint(p[1]), 64)
		points[key] = append(points[key], fmt.Sprintf("%d %v", int64(math.Round(seconds*1e3)), v))
	}
	if a.Type == "scalar" {
		var p [2]any
		err = json.Unmarshal(a.Result, &p)
		add("{}", p)
		return points, nil, err
	}
	var want []struct {
		Metric map[string]string
		Value  *[2]any
		Values [][2]any
	}
	if err := json.Unmarshal(a.Result, &want); err != nil {
		return nil, nil, err
	}
	for _, s := range want {
		key := mapText(s.Metric)
		order = append(order, key)
		if s.Value != nil {
			add(key, *s.Value)
		}
		for _, v := range s.Values {
			add(key, v)
		}
	}
	return points, order, nil
}

// samePoint compares two times with values, of which the last digits may differ: sums
// depend on the order.
func samePoint(x, y string) bool {
	tx, vx, _ := strings.Cut(x, " ")
	ty, vy, _ := strings.Cut(y, " ")
	a, _ := strconv.ParseFloat(vx, 64)
	b, _ := strconv.ParseFloat(vy, 64)
	return tx == ty && (vx == vy || math.Abs(a-b) <= 1e-9*math.Max(math.Abs(a), math.Abs(b)))
}

func compareMaps(got, want map[string][]string, same func(x, y string) bool) string {
	var diff []string
	for _, key := range sortedKeys(got, want) {
		g, w := got[key], want[key]
		if !slices.EqualFunc(g, w, same) {
			diff = append(diff, fmt.Sprintf("%s:\n  got  %q\n  want %q", key, shorten(g), shorten(w)))
		}
	}
	if len(diff) > 4 {
		diff = append(diff[:4], fmt.Sprintf("and %d more", len(diff)-4))
	}
	return strings.Join(diff, "\n")
}

func shorten(s []string) []string { return s[:min(len(s), 6)] }

func sortedKeys(maps ...map[string][]string) (keys []string) {
	for _, m := range maps {
		for key := range m {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

func mapText(m map[string]string) string {
	var pairs []LabelPair
	for name, value := range m {
		pairs = append(pairs, LabelPair{name, value})
	}
	slices.SortFunc(pairs, func(a, b LabelPair) int { return strings.Compare(a.Name, b.Name) })
	return pairsText(pairs)
}

func pairsText(pairs []LabelPair) string {
	var b strings.Builder
	b.WriteByte('{')
	for i, p := range pairs {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s=%q", p.Name, p.Value)
	}
	b.WriteByte('}')
	return b.String()
}
