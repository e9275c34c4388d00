package server

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"math"
	"net/http/httptest"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stele-go/stele/logstore"
)

// An exchange is a request and the response of Loki 3.7.8, as the command lokitable in
// peers recorded it.
type exchange struct {
	Name    string
	Request struct {
		Method, Path, Body, Encoding string
		Headers                      map[string]string
	}
	Response struct {
		Status      int
		ContentType string
		Body        string
	}
}

// otherContent has the exchanges of which only the shape is compared, with the reason.
var otherContent = map[string]string{
	"query scalar":              "Loki's time is wrong by a factor",
	"patterns":                  "Loki has patterns of recent lines only",
	"delete GET":                "its identifier, and when it was asked for",
	"status buildinfo":          "that of another program",
	"format_query error":        "other words",
	"drilldown-limits":          "limits that have no counterpart are left out",
	"index stats":               "bytes are those of lines, not rounded up to KiB of chunks",
	"index volume":              "bytes are those of lines",
	"index volume target":       "bytes are those of lines",
	"index volume labels":       "bytes are those of lines",
	"index volume limit":        "bytes are those of lines",
	"index volume_range":        "bytes are those of lines",
	"detected_fields logfmt":    "types are those of most values",
	"index volume_range target": "bytes are those of lines",
}

// readLines decodes the JSON lines of a file.
func readLines[T any](t testing.TB, name string) (list []T) {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var v T
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		list = append(list, v)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

// fill appends the data that the exchanges are about.
func fill(t testing.TB, s *Server) {
	t.Helper()
	type entry struct {
		Stream, Metadata map[string]string
		Time             int64
		Line             string
	}
	labels := func(m map[string]string) logstore.Labels {
		var list []string
		for name, value := range m {
			list = append(list, name, value)
		}
		return logstore.MustLabels(list...)
	}
	var batch logstore.Batch
	index := map[logstore.Labels]int{}
	for _, e := range readLines[entry](t, "../logql/testdata/loki/data.jsonl") {
		l := labels(e.Stream)
		i, ok := index[l]
		if !ok {
			i = len(batch)
			index[l] = i
			batch = append(batch, logstore.Stream{Labels: l})
		}
		batch[i].Entries = append(batch[i].Entries, logstore.Entry{Time: e.Time, Line: []byte(e.Line), Metadata: labels(e.Metadata)})
	}
	if err := s.store.Append(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
}

// send sends the request of an exchange.
func (e *exchange) send(t testing.TB, s *Server) *httptest.ResponseRecorder {
	t.Helper()
	text := []byte(e.Request.Body)
	if e.Request.Encoding == "gzip" {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		if _, err := z.Write(text); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		text = b.Bytes()
	}
	r := httptest.NewRequest(e.Request.Method, e.Request.Path, bytes.NewReader(text))
	r.Host = "localhost"
	for name, value := range e.Request.Headers {
		r.Header.Set(name, value)
	}
	if e.Request.Encoding != "" {
		r.Header.Set("Content-Encoding", e.Request.Encoding)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

func TestExchanges(t *testing.T) {
	filled, written := newServer(t, Options{}), newServer(t, Options{})
	fill(t, filled)
	for _, e := range readLines[exchange](t, "testdata/loki/exchanges.jsonl") {
		t.Run(e.Name, func(t *testing.T) {
			s := filled
			if strings.HasPrefix(e.Name, "push") || strings.HasPrefix(e.Name, "delete") {
				s = written
			}
			w := e.send(t, s)
			if w.Code != e.Response.Status {
				t.Fatalf("status %d %s; Loki says %d %.300s", w.Code, w.Body, e.Response.Status, e.Response.Body)
			}
			if w.Code/100 != 2 {
				return
			}
			kind := func(s string) string { s, _, _ = strings.Cut(s, ";"); return s }
			if got := w.Header().Get("Content-Type"); kind(got) != kind(e.Response.ContentType) {
				t.Errorf("type %s; Loki says %s", got, e.Response.ContentType)
			}
			if kind(e.Response.ContentType) == "application/json" {
				compareAnswers(t, e.Name, w.Body.Bytes(), []byte(e.Response.Body))
			} else if strings.TrimSpace(w.Body.String()) != strings.TrimSpace(e.Response.Body) {
				t.Errorf("%s; Loki says %s", w.Body, e.Response.Body)
			}
		})
	}
}

// compareAnswers compares two answers as clients read them: lists that mean sets in any
// order, statistics by their shape.
func compareAnswers(t *testing.T, name string, got, want []byte) {
	var g, l any
	if err := json.Unmarshal(got, &g); err != nil {
		t.Fatalf("%v: %s", err, got)
	}
	if err := json.Unmarshal(want, &l); err != nil {
		t.Fatalf("%v: %s", err, want)
	}
	if path := missing(l, g, ""); path != "" && name != "drilldown-limits" {
		t.Errorf("%s is not there: %.1000s; Loki says %.1000s", path, got, want)
	}
	if _, ok := otherContent[name]; ok {
		return
	}
	if g, l := canonical(name, g), canonical(name, l); !reflect.DeepEqual(g, l) {
		t.Errorf("got       %.2000s\nLoki says %.2000s", fmt.Sprint(g), fmt.Sprint(l))
	}
}

// missing returns the path of a field of objects that want has and got has not. A list stands
// for its first element.
func missing(want, got any, path string) string {
	switch want := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			return path
		}
		for name, v := range want {
			if strings.HasSuffix(path, "/stream") || strings.HasSuffix(path, "/metric") || strings.HasSuffix(path, "/data/0") {
				continue // labels
			}
			if _, ok := g[name]; !ok {
				return path + "/" + name
			}
			if p := missing(v, g[name], path+"/"+name); p != "" {
				return p
			}
		}
	case []any:
		if g, ok := got.([]any); !ok {
			return path
		} else if len(want) > 0 && len(g) > 0 {
			return missing(want[0], g[0], path+"/0")
		}
	}
	return ""
}

// canonical removes what differs from run to run, and orders what has no order.
func canonical(name string, v any) any {
	answer, ok := v.(map[string]any)
	if !ok {
		return v
	}
	if data, ok := answer["data"].(map[string]any); ok {
		delete(data, "stats")
		order(data["result"])
	}
	order(answer["data"])
	order(answer["detectedLabels"])
	order(answer["values"])
	if fields, ok := answer["fields"].([]any); ok {
		for _, f := range fields {
			f := f.(map[string]any)
			f["cardinality"] = math.Round(math.Log2(f["cardinality"].(float64))) // Loki estimates it
			order(f["parsers"])
		}
		order(fields)
	}
	return answer
}

func order(v any) {
	if list, ok := v.([]any); ok {
		slices.SortFunc(list, func(a, b any) int {
			x, _ := json.Marshal(a)
			y, _ := json.Marshal(b)
			return bytes.Compare(x, y)
		})
	}
}
