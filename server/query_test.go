package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stele-go/stele/logstore"
)

// The data that most tests ask for: a line each second from dataStart on.
const dataStart = int64(1700000000e9)

func second(n int) int64 { return dataStart + int64(n)*1e9 }

// newDataServer returns a server whose store has some lines.
func newDataServer(t testing.TB, o Options) *Server {
	t.Helper()
	s := newServer(t, o)
	var batch logstore.Batch
	api := logstore.Stream{Labels: logstore.MustLabels("app", "api", "env", "prod")}
	web := logstore.Stream{Labels: logstore.MustLabels("app", "web", "env", "prod")}
	txt := logstore.Stream{Labels: logstore.MustLabels("app", "txt", "env", "dev")}
	for i := range 50 {
		level := [...]string{"error", "info"}[min(i%5, 1)]
		api.Entries = append(api.Entries, logstore.Entry{
			Time: second(i), Line: fmt.Appendf(nil, `{"level":"%s","status":"%d","n":{"x":%d}}`, level, 200+i%3*100, i),
			Metadata: logstore.MustLabels("trace_id", fmt.Sprint("t", i)),
		})
		web.Entries = append(web.Entries, logstore.Entry{Time: second(i), Line: fmt.Appendf(nil, `level=info msg="hello world" n=%d dur=%dms`, i, i)})
	}
	txt.Entries = []logstore.Entry{{Time: second(3), Line: []byte("plain <b> \"q\" \u00fc\u2028")}, {Time: second(4), Line: []byte("not UTF-8: \xff")}}
	batch = logstore.Batch{api, web, txt}
	if err := s.store.Append(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	return s
}

// values makes parameters of a request: names and values.
func values(namesAndValues ...string) string {
	v := url.Values{}
	for i := 0; i < len(namesAndValues); i += 2 {
		v.Add(namesAndValues[i], namesAndValues[i+1])
	}
	return v.Encode()
}

// data are the parameters of the range of the data.
var data = []string{"start", "1700000000", "end", "1700000060"}

// ask asks an endpoint about the range of the data.
func ask(t testing.TB, s *Server, path string, namesAndValues ...string) *httptest.ResponseRecorder {
	t.Helper()
	return get(s, "GET", path+"?"+values(append(namesAndValues, data...)...))
}

// decode decodes an answer, and fails the test unless its status is 200.
func decode(t testing.TB, w *httptest.ResponseRecorder) map[string]any {
	t.Helper()
	if w.Code != http.StatusOK {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	var answer map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
		t.Fatalf("%v: %s", err, w.Body)
	}
	return answer
}

// result returns the result of a query as JSON.
func result(t testing.TB, w *httptest.ResponseRecorder) string {
	t.Helper()
	text, err := json.Marshal(decode(t, w)["data"].(map[string]any)["result"])
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestAnswers(t *testing.T) {
	s := newDataServer(t, Options{})
	for _, c := range []struct {
		path   string
		params []string
		want   string // the whole answer, or what it has, without statistics
	}{
		{"/loki/api/v1/query_range", []string{"query", `{app="web"}`, "limit", "2"},
			`{"status":"success","data":{"resultType":"streams","result":[{"stream":{"app":"web","env":"prod"},"values":[` +
				`["1700000049000000000","level=info msg=\"hello world\" n=49 dur=49ms"],["1700000048000000000","level=info msg=\"hello world\" n=48 dur=48ms"]]}]`},
		{"/loki/api/v1/query_range", []string{"query", `{app="api"}`, "limit", "2", "direction", "forward"},
			`"result":[{"stream":{"app":"api","env":"prod","trace_id":"t0"},"values":[["1700000000000000000","{\"level\":\"error\",\"status\":\"200\",\"n\":{\"x\":0}}"]]},` +
				`{"stream":{"app":"api","env":"prod","trace_id":"t1"},"values":[[`},
		{"/loki/api/v1/query_range", []string{"query", `{app="none"}`}, `"resultType":"streams","result":[]`},
		{"/loki/api/v1/query_range", []string{"query", `sum by (app) (count_over_time({env="prod"}[1m]))`, "step", "30"},
			`"resultType":"matrix","result":[{"metric":{"app":"api"},"values":[[1700000010,"11"],[1700000040,"41"],[1700000070,"39"]]},{"metric":{"app":"web"},"values":[[`},
		{"/loki/api/v1/query", []string{"query", `vector(1)+vector(1)`, "time", "1700000000.5"}, `"resultType":"vector","result":[{"metric":{},"value":[1700000000.5,"2"]}]`},
		{"/loki/api/v1/query", []string{"query", `1+1`, "time", "1700000000"}, `"resultType":"scalar","result":[1700000000,"2"]`},
		{"/loki/api/v1/query", []string{"query", `count_over_time({app="none"}[1m])`, "time", "1700000000"}, `"resultType":"vector","result":[]`},
		{"/loki/api/v1/labels", nil, `{"status":"success","data":["app","env"]}`},
		{"/loki/api/v1/label", nil, `{"status":"success","data":["app","env"]}`},
		{"/loki/api/v1/label/app/values", nil, `{"status":"success","data":["api","txt","web"]}`},
		{"/loki/api/v1/label/app/values", []string{"query", `{env="prod"}`}, `{"status":"success","data":["api","web"]}`},
		{"/loki/api/v1/label/none/values", nil, `{"status":"success"}`},
		{"/loki/api/v1/series", []string{"match[]", `{env="dev"}`}, `{"status":"success","data":[{"app":"txt","env":"dev"}]}`},
		{"/loki/api/v1/series", []string{"match[]", `{env="dev"}`, "match[]", `{app="web"}`}, `{"status":"success","data":[{"app":"txt","env":"dev"},{"app":"web","env":"prod"}]}`},
		{"/loki/api/v1/series", []string{"match", `{env="none"}`}, `{"status":"success","data":[]}`},
		{"/loki/api/v1/index/stats", []string{"query", `{env="prod"}`}, `{"streams":2,"chunks":`},
		{"/loki/api/v1/index/volume", []string{"query", `{env=~".+"}`, "targetLabels", "app"}, `"resultType":"vector","result":[{"metric":{"app":"`},
		{"/loki/api/v1/index/volume_range", []string{"query", `{env="prod"}`, "step", "60"}, `"resultType":"matrix","result":[{"metric":{"env":"prod"},"values":[[`},
		{"/loki/api/v1/detected_labels", nil, `{"detectedLabels":[{"label":"app","cardinality":3},{"label":"env","cardinality":2}]}`},
		{"/loki/api/v1/detected_field/level/values", []string{"query", `{app="api"}`}, `"limit":1000}`},
		{"/loki/api/v1/detected_field/none/values", []string{"query", `{app="api"}`}, `{}`},
		{"/loki/api/v1/patterns", []string{"query", `{app="web"}`}, `{"status":"success","data":[{"pattern":"level=info msg=\"hello world\" n=`},
		{"/loki/api/v1/format_query", []string{"query", `sum by(app)(rate({a="b"}|json[1m]))`}, `{"status":"success","data":"sum by (app)`},
		{"/loki/api/v1/status/buildinfo", nil, `{"version":"","revision":"","branch":"","buildUser":"","buildDate":"","goVersion":"go`},
		{"/loki/api/v1/drilldown-limits", nil, `"discover_log_levels":false,"discover_service_name":[],"max_entries_limit_per_query":5000`},
		{"/ready", nil, "ready\n"},
	} {
		w := ask(t, s, c.path, c.params...)
		if got := w.Body.String(); w.Code != 200 || !strings.Contains(got, c.want) {
			t.Errorf("%s %v: %d %s\nwant %s", c.path, c.params, w.Code, got, c.want)
		}
		if c.path != "/ready" && !json.Valid(w.Body.Bytes()) {
			t.Errorf("%s %v: no JSON: %s", c.path, c.params, w.Body)
		}
	}
}

func TestRefusals(t *testing.T) {
	s := newDataServer(t, Options{})
	const query, rang = "/loki/api/v1/query", "/loki/api/v1/query_range"
	app := []string{"query", `{app="api"}`}
	with := func(more ...string) []string { return append(app[:2:2], more...) }
	for _, c := range []struct {
		path   string
		params []string
		want   string
	}{
		{query, nil, "parse error"},
		{query, app, "log queries are not supported as an instant query type"},
		{query, []string{"query", `vector(1)`, "time", "x"}, "parameter time"},
		{rang, []string{"query", `{app="api"`}, "^"},
		{rang, with("limit", "0"), "parameter limit"},
		{rang, with("limit", "x"), "parameter limit"},
		{rang, with("limit", "5001"), "(5001 > 5000)"},
		{rang, with("start", "x"), "parameter start"},
		{rang, with("start", "200", "end", "100"), "parameter end"},
		{rang, with("direction", "up"), "parameter direction"},
		{rang, with("step", "0"), "parameter step"},
		{rang, with("interval", "-1"), "parameter interval"},
		{rang, with("explain", "perhaps"), "parameter explain"},
		{rang, []string{"query", `rate({app="api"}[1m])`, "step", "0.001"}, "at most 11000"},
		{rang, []string{"query", `rate({app="web"} | json [1m])`}, "pipeline error: 'JSONParserErr'"},
		{"/loki/api/v1/labels", []string{"query", `{app=`}, "parse error"},
		{"/loki/api/v1/index/stats", nil, "parameter query"},
		{"/loki/api/v1/index/stats", []string{"query", `{app="api"} |= "x"`}, "only label matchers"},
		{"/loki/api/v1/index/volume", []string{"query", `{app="api"} | json`}, "only label matchers"},
		{"/loki/api/v1/label/app/values", []string{"query", `{app="api"} |= "x"`}, "only label matchers"},
		{"/loki/api/v1/index/volume", with("aggregateBy", "x"), "parameter aggregateBy"},
		{"/loki/api/v1/detected_fields", nil, "parameter query"},
		{"/loki/api/v1/detected_fields", with("line_limit", "-1"), "parameter line_limit"},
		{"/loki/api/v1/patterns", nil, "parameter query"},
		{"/loki/api/v1/tail", []string{"query", `rate({app="api"}[1m])`}, "only log selector"},
		{"/loki/api/v1/tail", with("delay_for", "6"), "parameter delay_for"},
		{"/stele/api/v1/export", []string{"query", `1`}, "only log selector"},
		{"/stele/api/v1/export", with("after", "x"), "parameter after"},
	} {
		v := values(append(c.params, data...)...) // Get takes the first
		w := get(s, "GET", c.path+"?"+v)
		if got := w.Body.String(); w.Code != 400 || !strings.Contains(got, c.want) {
			t.Errorf("%s %v: %d %s\nwant 400 %s", c.path, c.params, w.Code, got, c.want)
		}
		if kind := w.Header().Get("Content-Type"); kind != "text/plain; charset=utf-8" {
			t.Errorf("%s %v: type %s", c.path, c.params, kind)
		}
	}
}

func TestCategories(t *testing.T) {
	s := newDataServer(t, Options{})
	w := get(s, "GET", "/loki/api/v1/query_range?"+values(append([]string{"query", `{app="api"} | json`, "limit", "2"}, data...)...), "X-Loki-Response-Encoding-Flags", "categorize-labels")
	want := `{"status":"success","data":{"resultType":"streams","encodingFlags":["categorize-labels"],"result":[{"stream":{"app":"api","env":"prod"},"values":[` +
		`["1700000049000000000","{\"level\":\"info\",\"status\":\"300\",\"n\":{\"x\":49}}",{"structuredMetadata":{"trace_id":"t49"},"parsed":{"level":"info","n_x":"49","status":"300"}}],` +
		`["1700000048000000000","{\"level\":\"info\",\"status\":\"200\",\"n\":{\"x\":48}}",{"structuredMetadata":{"trace_id":"t48"},"parsed":{"level":"info","n_x":"48","status":"200"}}]]}]`
	if got := w.Body.String(); !strings.HasPrefix(got, want) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestStatisticsAndPlan(t *testing.T) {
	s := newDataServer(t, Options{})
	answer := decode(t, ask(t, s, "/loki/api/v1/query_range", "query", `{app="web"} |= "hello"`, "limit", "7", "explain", "true"))
	data := answer["data"].(map[string]any)
	summary := data["stats"].(map[string]any)["summary"].(map[string]any)
	if summary["totalEntriesReturned"] != 7.0 || summary["totalLinesProcessed"].(float64) < 7 || summary["execTime"].(float64) <= 0 {
		t.Errorf("summary: %v", summary)
	}
	for _, name := range []string{"querier", "ingester", "cache", "index"} {
		if _, ok := data["stats"].(map[string]any)[name].(map[string]any); !ok {
			t.Errorf("the statistics have no %s", name)
		}
	}
	plan, _ := data["plan"].(map[string]any)
	if text, _ := plan["text"].(string); text == "" || plan["tree"] == nil {
		t.Errorf("plan: %v", plan)
	}
}

func TestPostedForm(t *testing.T) {
	s := newDataServer(t, Options{})
	r := httptest.NewRequest("POST", "/loki/api/v1/query_range?limit=1", strings.NewReader(values(append([]string{"query", `{app="web"}`}, data...)...)))
	r.Host = "localhost"
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	if got := result(t, w); strings.Count(got, "hello") != 1 {
		t.Error(got)
	}
}
