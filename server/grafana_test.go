package server

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// newGrafanaServer returns a server as docs/server.md has it for Grafana, with two minutes
// of lines of two services, pushed as an agent does.
func newGrafanaServer(t *testing.T) *Server {
	t.Helper()
	s := newServer(t, Options{DiscoverServiceName: ServiceNameLabels(), DiscoverLogLevels: true})
	var api, web []string
	for i := range 120 {
		level := [...]string{"error", "info", "info", "warn"}[i%4]
		api = append(api, fmt.Sprintf(`["%d","{\"level\":\"%s\",\"status\":%d,\"path\":\"/a/%d\"}",{"trace_id":"t%d"}]`, second(i), level, 200+i%4*100, i, i))
		web = append(web, fmt.Sprintf(`["%d","level=%s msg=\"served request %d in 5ms\""]`, second(i), level, i))
	}
	body := fmt.Sprintf(`{"streams":[{"stream":{"app":"api","env":"prod"},"values":[%s]},{"stream":{"container":"web"},"values":[%s]}]}`,
		strings.Join(api, ","), strings.Join(web, ","))
	r := httptest.NewRequest("POST", "/loki/api/v1/push", strings.NewReader(body))
	r.Host = "localhost"
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	if s.ServeHTTP(w, r); w.Code != 204 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	return s
}

// The requests of Grafana's Loki data source and of Logs Drilldown, as they are documented
// and as an inspector shows them: the paths, parameters and headers are theirs.
func TestGrafana(t *testing.T) {
	s := newGrafanaServer(t)
	begin, end := fmt.Sprint(second(0)), fmt.Sprint(second(120))
	window := func(path string, more ...string) string {
		return "/loki/api/v1/" + path + "?" + values(append([]string{"start", begin, "end", end}, more...)...)
	}
	lines := func(query, direction, limit string) string {
		return window("query_range", "query", query, "direction", direction, "limit", limit, "step", "500ms")
	}
	const service = "{service_name=`api`}"
	for _, c := range []struct {
		name, target string
		want         []string
	}{
		{"health check", "/loki/api/v1/query?" + values("query", "vector(1)+vector(1)", "time", "4000000000", "direction", "backward", "limit", "1"),
			[]string{`"resultType":"vector"`, `"metric":{}`, `[4000000000,"2"]`}},
		{"health check of the editor", "/loki/api/v1/query?" + values("query", "vector(1)", "time", end), []string{`"1"]`}},
		{"build", "/loki/api/v1/status/buildinfo", []string{`"version"`}},
		{"labels", window("labels"), []string{`"app"`, `"env"`, `"service_name"`}},
		{"labels of a selector", window("labels", "query", `{app="api"}`), []string{`["app","env","service_name"]`}},
		{"values of a label", window("label/service_name/values", "query", `{service_name=~".+"}`), []string{`["api","web"]`}},
		{"series", window("series", "match[]", `{app="api"}`), []string{`"service_name":"api"`}},
		{"stats", window("index/stats", "query", `{app="api"}`), []string{`"entries":120`}},
		{"lines of Explore", lines(`{app="api"} |= ""`, "backward", "1000"), []string{`"resultType":"streams"`, `"encodingFlags":["categorize-labels"]`, `"structuredMetadata":{`, `"trace_id":"t119"`}},
		{"lines in parts of a second", lines(`{app="api"} | json`, "backward", "10"), []string{`"parsed":{`, `"status":"500"`}},
		{"volume of Explore", window("query_range", "query", "sum by (level, detected_level) (count_over_time({app=\"api\"} |= `` | drop __error__[1m]))", "step", "1m0s", "direction", "backward", "limit", "1000"),
			[]string{`"resultType":"matrix"`, `"detected_level":"error"`, `"detected_level":"warn"`}},
		{"rate with a step in seconds", window("query_range", "query", `sum(rate({app="api"}[30s]))`, "step", "30", "direction", "backward"), []string{`"matrix"`, `"1"]`}},
		{"context before a line", "/loki/api/v1/query_range?" + values("query", `{app="api",env="prod"}`, "start", begin, "end", fmt.Sprint(second(60)), "direction", "backward", "limit", "10"),
			[]string{`/a/59`, `/a/50`}},
		{"context after a line", "/loki/api/v1/query_range?" + values("query", `{app="api",env="prod"}`, "start", fmt.Sprint(second(60)), "end", end, "direction", "forward", "limit", "10"),
			[]string{`/a/60`, `/a/69`}},
		{"format", "/loki/api/v1/format_query?" + values("query", `sum(rate({app="api"}[5m]))`), []string{`"status":"success"`}},
		{"services", window("index/volume", "query", `{service_name=~".+"}`, "limit", "5000", "targetLabels", "service_name"),
			[]string{`{"service_name":"api"}`, `{"service_name":"web"}`}},
		{"volume of a service", window("index/volume_range", "query", service, "step", "60", "targetLabels", "service_name"), []string{`"matrix"`, `"service_name":"api"`}},
		{"levels of a service", window("query_range", "query", "sum by (detected_level) (count_over_time("+service+" | detected_level != \"\" [1m]))", "step", "60000ms", "direction", "backward"),
			[]string{`"detected_level":"info"`}},
		{"lines of Drilldown", lines(service+" | json | logfmt | drop __error__, __error_details__", "backward", "1000"), []string{`"level":"warn"`}},
		{"detected labels", window("detected_labels", "query", service), []string{`"label":"env"`, `"label":"service_name"`}},
		{"detected fields", window("detected_fields", "query", service+" | detected_level=`error` or detected_level=`info`", "line_limit", "1000", "limit", "1000"),
			[]string{`"label":"status"`, `"label":"path"`}},
		{"values of a field", window("detected_field/status/values", "query", service), []string{`"200"`, `"500"`}},
		{"patterns", window("patterns", "query", "{service_name=`web`}", "step", "10s"), []string{`"pattern":"`, `served request`}},
		{"limits of Drilldown", "/loki/api/v1/drilldown-limits", []string{`"volume_enabled":true`, `"discover_service_name"`}},
	} {
		w := get(s, "GET", c.target, "X-Loki-Response-Encoding-Flags", "categorize-labels", "X-Query-Tags", "Source=grafana", "User-Agent", "Grafana/12.0.0")
		if w.Code != 200 || !json.Valid(w.Body.Bytes()) {
			t.Errorf("%s: %d %s", c.name, w.Code, w.Body)
		}
		for _, part := range c.want {
			if !strings.Contains(w.Body.String(), part) {
				t.Errorf("%s: %s is not in %.2000s", c.name, part, w.Body)
			}
		}
	}
}

// Live mode of Explore asks for a tail with a query alone.
func TestGrafanaTails(t *testing.T) {
	s := newGrafanaServer(t)
	web := httptest.NewServer(s)
	defer web.Close()
	c, _, err := websocket.Dial(t.Context(), web.URL+"/loki/api/v1/tail?"+values("query", `{app="api"} |= "/live"`), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.CloseNow() }()
	r := httptest.NewRequest("POST", "/loki/api/v1/push", strings.NewReader(
		fmt.Sprintf(`{"streams":[{"stream":{"app":"api"},"values":[["%d","level=info /live"]]}]}`, time.Now().UnixNano())))
	r.Host = "localhost"
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	if s.ServeHTTP(w, r); w.Code != 204 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	_, text, err := c.Read(t.Context())
	if err != nil || !strings.Contains(string(text), `"level=info /live"`) || !strings.Contains(string(text), `"service_name":"api"`) {
		t.Errorf("%v %s", err, text)
	}
}
