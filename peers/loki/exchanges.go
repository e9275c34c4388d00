package loki

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// An Exchange is a recorded request, and the response to it.
type Exchange struct {
	Name     string   `json:"name"`
	Request  Request  `json:"request"`
	Response Response `json:"response"`
}

// A Request is what a client sends. Binary bodies are made from Body: see Encoding.
type Request struct {
	Method  string            `json:"method"`
	Path    string            `json:"path"` // with the query
	Headers map[string]string `json:"headers,omitempty"`
	Body    string            `json:"body,omitempty"`
	// Encoding, if it is gzip, is that in which Body is sent.
	Encoding string `json:"encoding,omitempty"`
}

// A Response is what Loki answers.
type Response struct {
	Status      int    `json:"status"`
	ContentType string `json:"contentType,omitempty"`
	Body        string `json:"body"`
}

// at returns a time after Base as parameters have it.
func at(d time.Duration) string { return fmt.Sprint(Base + int64(d)) }

// requests returns what is recorded of each endpoint, in this order: later ones see what
// those before have pushed.
func requests() []Exchange {
	hour := "start=" + at(0) + "&end=" + at(time.Hour)
	get := func(name, path string, query ...string) Exchange {
		v := url.Values{}
		for i := 0; i+1 < len(query); i += 2 {
			v.Set(query[i], query[i+1])
		}
		text := v.Encode()
		if strings.Contains(path, "?") {
			text = "&" + text
		} else {
			text = "?" + text
		}
		return Exchange{Name: name, Request: Request{Method: "GET", Path: "/loki/api/v1/" + path + strings.TrimSuffix(strings.TrimSuffix(text, "?"), "&")}}
	}
	in := func(name, path string, query ...string) Exchange { return get(name, path+"?"+hour, query...) }
	post := func(name, path, kind, body string, headers ...string) Exchange {
		h := map[string]string{"Content-Type": kind}
		for i := 0; i+1 < len(headers); i += 2 {
			h[headers[i]] = headers[i+1]
		}
		return Exchange{Name: name, Request: Request{Method: "POST", Path: "/loki/api/v1/" + path, Headers: h, Body: body}}
	}
	form := func(name, path string, query ...string) Exchange {
		v := url.Values{"start": {at(0)}, "end": {at(time.Hour)}}
		for i := 0; i+1 < len(query); i += 2 {
			v.Set(query[i], query[i+1])
		}
		return post(name, path, "application/x-www-form-urlencoded", v.Encode())
	}
	// Deletions are asked for by seconds.
	seconds := fmt.Sprintf("start=%d&end=%d", Base/1e9, Base/1e9+3600)
	const json = "application/json"
	push := func(name, body string) Exchange { return post(name, "push", json, body) }
	zipped := push("push gzip", `{"streams":[{"stream":{"app":"pushed"},"values":[["`+at(11*time.Minute)+`","zipped"]]}]}`)
	zipped.Request.Encoding = "gzip"
	return []Exchange{
		push("push", `{"streams":[{"stream":{"app":"pushed"},"values":[["`+at(10*time.Minute)+`","a line",{"trace_id":"t1"}],["`+at(10*time.Minute+1)+`","another"]]}]}`),
		zipped,
		push("push nothing", `{"streams":[]}`),
		push("push not JSON", `{"streams":[{`),
		push("push without labels", `{"streams":[{"stream":{},"values":[["`+at(0)+`","x"]]}]}`),
		push("push bad label name", `{"streams":[{"stream":{"a-b":"c"},"values":[["`+at(0)+`","x"]]}]}`),
		push("push bad time", `{"streams":[{"stream":{"app":"pushed"},"values":[["soon","x"]]}]}`),
		push("push number as line", `{"streams":[{"stream":{"app":"pushed"},"values":[["`+at(0)+`",5]]}]}`),
		post("push unknown content type", "push", "text/plain", "x"),
		post("push bad protobuf", "push", "application/x-protobuf", "\x01\x02\x03"),

		in("query_range streams", "query_range", "query", `{app="sparse"}`),
		in("query_range streams forward", "query_range", "query", `{app="sparse"}`, "direction", "forward", "limit", "2"),
		in("query_range json", "query_range", "query", `{app="api",env="prod"} | json | status=500`, "limit", "2"),
		in("query_range nothing", "query_range", "query", `{app="absent"}`),
		in("query_range matrix", "query_range", "query", `sum by (app) (count_over_time({env="dev"}[10m]))`, "step", "1200"),
		in("query_range matrix step as duration", "query_range", "query", `sum(count_over_time({env="dev"}[10m]))`, "step", "20m"),
		in("query_range default step", "query_range", "query", `sum(count_over_time({app="sparse"}[10m]))`),
		in("query_range interval", "query_range", "query", `{app="web",host="w1"}`, "interval", "900", "direction", "forward"),
		in("query_range literal", "query_range", "query", `1+1`, "step", "1800"),
		in("query_range step 0", "query_range", "query", `rate({app="api"}[1m])`, "step", "0"),
		in("query_range negative step", "query_range", "query", `rate({app="api"}[1m])`, "step", "-1"),
		in("query_range too many steps", "query_range", "query", `rate({app="api"}[1m])`, "step", "0.01"),
		in("query_range limit 0", "query_range", "query", `{app="sparse"}`, "limit", "0"),
		in("query_range negative limit", "query_range", "query", `{app="sparse"}`, "limit", "-1"),
		in("query_range limit too high", "query_range", "query", `{app="sparse"}`, "limit", "5001"),
		in("query_range bad limit", "query_range", "query", `{app="sparse"}`, "limit", "x"),
		in("query_range bad direction", "query_range", "query", `{app="sparse"}`, "direction", "sideways"),
		in("query_range without query", "query_range"),
		in("query_range syntax error", "query_range", "query", `{app="api"`),
		in("query_range empty matcher", "query_range", "query", `{app=~".*"}`),
		get("query_range end before start", "query_range?start="+at(time.Hour)+"&end="+at(0), "query", `{app="sparse"}`),
		get("query_range bad start", "query_range?start=yesterday", "query", `{app="sparse"}`),
		get("query_range seconds", "query_range?start=1772359200&end=1772362800", "query", `{app="sparse"}`, "limit", "1"),
		get("query_range fraction", "query_range?start=1772359200.5&end=1772362800.25", "query", `{app="sparse"}`, "limit", "1"),
		get("query_range RFC3339", "query_range?start=2026-03-01T10:00:00Z&end=2026-03-01T11:00:00.5Z", "query", `{app="sparse"}`, "limit", "1"),
		get("query_range since", "query_range?since=30m&end="+at(time.Hour), "query", `{app="sparse"}`),
		form("query_range POST", "query_range", "query", `{app="sparse"}`, "limit", "1"),
		{Name: "query_range categorize-labels", Request: Request{Method: "GET", Headers: map[string]string{"X-Loki-Response-Encoding-Flags": "categorize-labels"},
			Path: "/loki/api/v1/query_range?" + hour + "&limit=2&query=" + url.QueryEscape(`{app="shop"} | logfmt`)}},
		{Name: "query_range categorize-labels, none parsed", Request: Request{Method: "GET", Headers: map[string]string{"X-Loki-Response-Encoding-Flags": "categorize-labels"},
			Path: "/loki/api/v1/query_range?" + hour + "&limit=2&query=" + url.QueryEscape(`{app="sparse"}`)}},

		get("query vector", "query?time="+at(time.Hour), "query", `sum by (app) (count_over_time({env="dev"}[1h]))`),
		get("query scalar", "query?time="+at(time.Hour), "query", `1+1`),
		get("query nothing", "query?time="+at(time.Hour), "query", `count_over_time({app="absent"}[1h])`),
		get("query of lines", "query?time="+at(time.Hour), "query", `{app="sparse"}`),
		get("query syntax error", "query?time="+at(time.Hour), "query", `sum(`),
		get("query pipeline error", "query?time="+at(time.Hour), "query", `sum_over_time({app="api"} | json | unwrap msg [1h])`),
		post("query POST", "query", "application/x-www-form-urlencoded", url.Values{"time": {at(time.Hour)}, "query": {`vector(1)`}}.Encode()),

		in("labels", "labels"),
		in("labels with query", "labels", "query", `{app="mixed"}`),
		get("labels before all", "labels?start=1000000000&end=1000003600"),
		in("label values", "label/app/values"),
		in("label values with query", "label/host/values", "query", `{app="api"}`),
		in("label values of none", "label/none/values"),
		form("labels POST", "labels"),
		form("label values POST", "label/env/values"),
		in("series", "series", "match[]", `{app="api"}`),
		get("series two selectors", "series?"+hour+"&match[]="+url.QueryEscape(`{app="api"}`)+"&match[]="+url.QueryEscape(`{app="web"}`)),
		in("series all", "series"),
		in("series bad", "series", "match[]", `{app=}`),
		form("series POST", "series", "match[]", `{app="web"}`),
		in("index stats", "index/stats", "query", `{app="api"}`),
		in("index stats without query", "index/stats"),
		in("index volume", "index/volume", "query", `{env="prod"}`),
		in("index volume target", "index/volume", "query", `{env="prod"}`, "targetLabels", "app"),
		in("index volume labels", "index/volume", "query", `{env="prod"}`, "aggregateBy", "labels"),
		in("index volume limit", "index/volume", "query", `{env="prod"}`, "limit", "2"),
		in("index volume_range", "index/volume_range", "query", `{env="dev"}`, "step", "1800"),
		in("index volume_range target", "index/volume_range", "query", `{env="dev"}`, "step", "1800", "targetLabels", "app"),
		in("detected_labels", "detected_labels"),
		in("detected_labels with query", "detected_labels", "query", `{app="api"}`),
		in("detected_fields", "detected_fields", "query", `{app="api",env="prod"}`),
		in("detected_fields logfmt", "detected_fields", "query", `{app="auth"}`, "line_limit", "100"),
		in("detected_fields none", "detected_fields", "query", `{app="sparse"}`),
		in("detected_fields without query", "detected_fields"),
		in("detected_field values", "detected_field/status/values", "query", `{app="api",env="prod"}`),
		in("detected_field values after a parser", "detected_field/level/values", "query", `{app="auth"} | logfmt`, "limit", "10"),
		in("patterns", "patterns", "query", `{app="db"}`, "step", "60s"),
		{Name: "drilldown-limits", Request: Request{Method: "GET", Path: "/loki/api/v1/drilldown-limits", Headers: map[string]string{"X-Scope-OrgID": "fake"}}},
		get("format_query", "format_query", "query", `sum by(app)(rate({app="api"}|="x"|json|status>=500[5m]))`),
		get("format_query error", "format_query", "query", `sum(`),
		form("format_query POST", "format_query", "query", `{app = "api"}|= "x"`),
		get("status buildinfo", "status/buildinfo"),
		{Name: "ready", Request: Request{Method: "GET", Path: "/ready"}},
		{Name: "delete POST", Request: Request{Method: "POST", Path: "/loki/api/v1/delete?" + seconds + "&query=" + url.QueryEscape(`{app="pushed"} |= "a line"`)}},
		{Name: "delete POST without query", Request: Request{Method: "POST", Path: "/loki/api/v1/delete?" + seconds}},
		{Name: "delete POST without start", Request: Request{Method: "POST", Path: "/loki/api/v1/delete?query=" + url.QueryEscape(`{app="pushed"}`)}},
		{Name: "delete POST end before start", Request: Request{Method: "POST", Path: fmt.Sprintf("/loki/api/v1/delete?start=%d&end=%d", Base/1e9+3600, Base/1e9) + "&query=" + url.QueryEscape(`{app="pushed"}`)}},
		{Name: "delete POST of a metric", Request: Request{Method: "POST", Path: "/loki/api/v1/delete?" + seconds + "&query=" + url.QueryEscape(`rate({app="pushed"}[1m])`)}},
		get("delete GET", "delete"),
		{Name: "delete DELETE unknown", Request: Request{Method: "DELETE", Path: "/loki/api/v1/delete?request_id=none"}},
		get("unknown path", "nothing"),
		{Name: "wrong method", Request: Request{Method: "PUT", Path: "/loki/api/v1/labels"}},
		get("push by GET", "push"),
	}
}

// Exchanges sends a request to each endpoint.
func (p *Process) Exchanges() ([]Exchange, error) {
	all := requests()
	for i := range all {
		r, err := p.exchange(all[i].Request)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", all[i].Name, err)
		}
		all[i].Response = r
	}
	return all, nil
}

func (p *Process) exchange(r Request) (Response, error) {
	body := []byte(r.Body)
	if r.Encoding == "gzip" {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		_, _ = w.Write(body)
		_ = w.Close()
		body = b.Bytes()
	}
	req, err := http.NewRequest(r.Method, p.URL+r.Path, bytes.NewReader(body))
	if err != nil {
		return Response{}, err
	}
	for name, value := range r.Headers {
		req.Header.Set(name, value)
	}
	if r.Encoding != "" {
		req.Header.Set("Content-Encoding", r.Encoding)
	}
	client := http.Client{Timeout: 30 * time.Second}
	resp, err := client.Do(req)
	if err != nil {
		return Response{}, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return Response{resp.StatusCode, resp.Header.Get("Content-Type"), string(text)}, err
}
