package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/logstore"
)

// A recorded answer is a query, how it was asked, and what Loki said: see peers/cmd/lokitable.
type recorded struct {
	Query, Kind    string
	Start, End     int64
	Step, Interval int64
	Limit          int
	Direction      string
	Status         int
	Error, Type    string
	Result         json.RawMessage
}

// TestLokiAnswersDiscover pushes the data that Loki got, with both discoveries, and compares
// what is answered over HTTP.
func TestLokiAnswersDiscover(t *testing.T) {
	s := lokiServer(t, Options{DiscoverServiceName: ServiceNameLabels(), DiscoverLogLevels: true})
	compareTable(t, s, "answers-discover.jsonl")
}

// TestLokiAnswers does so without discoveries, for all of the language.
func TestLokiAnswers(t *testing.T) {
	compareTable(t, lokiServer(t, Options{}), "answers.jsonl")
}

// lokiServer returns a server that has got the data of the answers.
func lokiServer(t *testing.T, o Options) *Server {
	t.Helper()
	store, err := logstore.Open(t.TempDir(), logstore.Options{Level: durability.Kill, LateWindow: -1, FutureWindow: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	s, err := New(store, o)
	if err != nil {
		t.Fatal(err)
	}
	type stream struct {
		Stream map[string]string `json:"stream"`
		Values [][]any           `json:"values"`
	}
	var streams []stream
	for _, e := range readLines[struct {
		Stream   map[string]string
		Time     int64
		Line     string
		Metadata map[string]string
	}](t, answersDir+"data.jsonl") {
		if e.Metadata == nil {
			e.Metadata = map[string]string{}
		}
		streams = append(streams, stream{e.Stream, [][]any{{fmt.Sprint(e.Time), e.Line, e.Metadata}}})
	}
	body, err := json.Marshal(map[string]any{"streams": streams})
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest("POST", "http://127.0.0.1/loki/api/v1/push", bytes.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	if w.Code != http.StatusNoContent {
		t.Fatalf("push: %d %s", w.Code, w.Body)
	}
	return s
}

const answersDir = "../logql/testdata/loki/"

func compareTable(t *testing.T, s *Server, file string) {
	reasons := make(map[string]string)
	for _, d := range readLines[struct{ Query, Reason string }](t, answersDir+"differences.jsonl") {
		reasons[d.Query] = d.Reason
	}
	for i, a := range readLines[recorded](t, answersDir+file) {
		if reasons[a.Query] != "" || strings.HasPrefix(a.Query, "bottomk") {
			continue // compared by package logql: of equal series any may be the last
		}
		t.Run(fmt.Sprintf("%d %s", i+1, a.Kind), func(t *testing.T) {
			if diff := a.compare(s); diff != "" {
				t.Errorf("%s\n%s", a.Query, diff)
			}
		})
	}
}

// url returns what the recorder asked.
func (a recorded) url() string {
	v := url.Values{"query": {a.Query}}
	if a.Kind == "instant" {
		v.Set("time", fmt.Sprint(a.End))
		return "http://127.0.0.1/loki/api/v1/query?" + v.Encode()
	}
	v.Set("start", fmt.Sprint(a.Start))
	v.Set("end", fmt.Sprint(a.End))
	for name, d := range map[string]int64{"step": a.Step, "interval": a.Interval} {
		if d != 0 {
			v.Set(name, strconv.FormatFloat(time.Duration(d).Seconds(), 'f', -1, 64))
		}
	}
	if a.Kind == "log" {
		v.Set("limit", fmt.Sprint(a.Limit))
		v.Set("direction", a.Direction)
	}
	return "http://127.0.0.1/loki/api/v1/query_range?" + v.Encode()
}

// compare returns how the answer differs from Loki's, "" if it does not.
func (a recorded) compare(s *Server) string {
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest("GET", a.url(), nil))
	status := a.Status
	if status == http.StatusInternalServerError {
		status = http.StatusBadRequest // series that do not pair are the query's fault
	}
	switch {
	case w.Code != status:
		return fmt.Sprintf("status %d, %s\nwant %d, %s", w.Code, w.Body, status, a.Error)
	case a.Status != http.StatusOK:
		return ""
	}
	var got struct {
		Data struct {
			ResultType string
			Result     json.RawMessage
		}
	}
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		return err.Error()
	}
	if got.Data.ResultType != a.Type {
		return fmt.Sprintf("type %s; want %s", got.Data.ResultType, a.Type)
	}
	g, err := flatten(a.Type, got.Data.Result)
	if err != nil {
		return err.Error()
	}
	want, err := flatten(a.Type, a.Result)
	if err != nil {
		return err.Error()
	}
	return compareFlat(g, want)
}

// flatten returns a result as lines of labels, time and value, in an order that does not
// depend on that of the streams or series.
func flatten(kind string, result json.RawMessage) (out []string, err error) {
	if kind == "scalar" {
		var v [2]any
		err = json.Unmarshal(result, &v)
		return []string{fmt.Sprint(v[1])}, err // the time is wrong in Loki
	}
	var rows []struct {
		Stream, Metric map[string]string
		Value          []any
		Values         [][]any
	}
	d := json.NewDecoder(bytes.NewReader(result))
	d.UseNumber()
	if err := d.Decode(&rows); err != nil {
		return nil, err
	}
	for _, r := range rows {
		labels, err := json.Marshal(r.Stream)
		if r.Metric != nil {
			labels, err = json.Marshal(r.Metric)
		}
		if err != nil {
			return nil, err
		}
		if r.Value != nil {
			r.Values = append(r.Values, r.Value)
		}
		for _, v := range r.Values {
			out = append(out, fmt.Sprintf("%s %v %v", labels, v[0], v[1]))
		}
	}
	slices.Sort(out)
	return out, nil
}

func compareFlat(got, want []string) string {
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			return "misses  " + want[i]
		case i >= len(want):
			return "has too " + got[i]
		case !sameFlat(got[i], want[i]):
			return got[i] + "\nwant " + want[i]
		}
	}
	return ""
}

// sameFlat compares lines, of which numbers at the end may differ by rounding.
func sameFlat(x, y string) bool {
	if x == y {
		return true
	}
	i, j := strings.LastIndexByte(x, ' '), strings.LastIndexByte(y, ' ')
	a, err1 := strconv.ParseFloat(x[i+1:], 64)
	b, err2 := strconv.ParseFloat(y[j+1:], 64)
	return err1 == nil && err2 == nil && x[:i] == y[:j] && math.Abs(a-b) <= 1e-9*math.Max(math.Abs(a), math.Abs(b))
}
