package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stele-go/stele/logql"
)

// fuzzedRoutes are the endpoints whose parameters are fuzzed: all that read but tails, which
// do not end.
func fuzzedRoutes() (paths []string) {
	for _, r := range routes {
		if strings.Contains(r.methods, "GET") && r.kind != tailing && r.path != "/metrics" {
			paths = append(paths, strings.Replace(r.path, "{name}", "app", 1))
		}
	}
	return paths
}

// FuzzParameters asks each endpoint with any parameters: the answer is JSON, or says in
// plain text what is wrong with the request.
func FuzzParameters(f *testing.F) {
	s := newDataServer(f, Options{Query: logql.Limits{Time: 10 * time.Second, Steps: 1000, Parallel: 1}})
	paths := fuzzedRoutes()
	for i := range paths {
		f.Add(i, `{app="api"}`, "1700000000", "1700000060", "step", "30", "limit", "5")
		f.Add(i, `sum by (app) (count_over_time({env="prod"} | json [1m]))`, "1700000000.5", "2023-11-14T22:14:20Z", "direction", "forward", "explain", "1")
		f.Add(i, `{app="web"} | logfmt | n > 5`, "0", "9223372036854775807", "interval", "1ns", "line_limit", "2")
		f.Add(i, `{}`, "", "", "since", "1y", "targetLabels", "app,,env")
		f.Add(i, `{app=~"(a|b)+"}`, "1e9", "1.7e9", "aggregateBy", "labels", "match[]", `{a="b"}`)
		f.Add(i, `vector(1)`, "-1", "1700000060", "time", "1700000000", "delay_for", "1")
		f.Add(i, `{app="api"}`, "1", "2", "after", "x", "name", "\xff")
	}
	f.Fuzz(func(t *testing.T, path int, query, start, end, name1, value1, name2, value2 string) {
		v := url.Values{"query": {query}, "start": {start}, "end": {end}}
		v.Add(name1, value1)
		v.Add(name2, value2)
		at := paths[uint(path)%uint(len(paths))]
		w := get(s, "GET", at+"?"+v.Encode())
		switch kind := w.Header().Get("Content-Type"); {
		case w.Code/100 == 5:
			t.Errorf("%s %v: %d %s", at, v, w.Code, w.Body)
		case kind == jsonType:
			if !json.Valid(w.Body.Bytes()) {
				t.Errorf("%s %v: no JSON: %s", at, v, w.Body)
			}
		case w.Code/100 == 4 && (kind != "text/plain; charset=utf-8" || w.Body.Len() == 0 || w.Body.Len() > 1<<20):
			t.Errorf("%s %v: %d %s %s", at, v, w.Code, kind, w.Body)
		}
	})
}

// The body of a form is bounded, and so is its number of parameters.
func TestHugeForms(t *testing.T) {
	s := newServer(t, Options{})
	for name, query := range map[string]string{
		"long query":      "query=" + strings.Repeat("x", 2<<20),
		"many parameters": strings.Repeat("a=b&", 5000),
		"huge query":      "query=" + url.QueryEscape(`{app="`+strings.Repeat("x", 200<<10)+`"}`),
		"nested query":    "query=" + url.QueryEscape(strings.Repeat("(", 20<<10)+"1"+strings.Repeat(")", 20<<10)),
	} {
		w := get(s, "GET", "/loki/api/v1/query_range?"+query)
		if w.Code != http.StatusBadRequest || w.Body.Len() > 4<<10 {
			t.Errorf("%s: %d, %d bytes: %s", name, w.Code, w.Body.Len(), fmt.Sprintf("%.200s", w.Body))
		}
	}
}
