package loki

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestAgainstLoki asks a running Loki and a server random queries over the same data. A
// label without a value is left out of series first: Loki tells it from one that is not
// there, where two series of a result differ in nothing else. Queries in which the reasons
// of logql/testdata/loki/differences.jsonl hold are not made.
func TestAgainstLoki(t *testing.T) {
	binary := os.Getenv("STELE_LOKI")
	if binary == "" {
		t.Skip("set STELE_LOKI to the path of a loki binary of the version " + Version)
	}
	n, seed := 500, rand.Uint64()
	if text := os.Getenv("STELE_QUERIES"); text != "" {
		n, _ = strconv.Atoi(text)
	}
	if text := os.Getenv("STELE_SEED"); text != "" {
		seed, _ = strconv.ParseUint(text, 10, 64)
	}
	theirs, err := Start(t.Context(), binary, t.TempDir(), false)
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.Stop()
	if err := theirs.Push(t.Context(), Data()); err != nil {
		t.Fatal(err)
	}
	ours := &Process{URL: serve(t)}
	r := rand.New(rand.NewPCG(seed, 14))
	t.Logf("seed %d", seed)
	refused, empty := 0, 0
	for range n {
		q := randomQuery(r)
		want, err := theirs.Ask(q)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ours.Ask(q)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case want.Status != http.StatusOK:
			refused++
		case string(want.Result) == "[]":
			empty++
		}
		if diff := differs(got, want); diff != "" {
			t.Errorf("%s %s\n%s", q.Kind, q.Query, diff)
		}
	}
	t.Logf("of %d queries Loki refused %d, %d had no result", n, refused, empty)
}

// differs returns how an answer differs, "" if it does not.
func differs(got, want Answer) string {
	switch {
	case got.Status != http.StatusOK && want.Status != http.StatusOK:
		return ""
	case got.Status != want.Status || got.Type != want.Type:
		return fmt.Sprintf("%d %s %s\nwant %d %s %s", got.Status, got.Type, got.Error, want.Status, want.Type, want.Error)
	}
	g, w := flat(got), flat(want)
	for i := range max(len(g), len(w)) {
		switch {
		case i >= len(g):
			return "misses  " + w[i]
		case i >= len(w):
			return "has too " + g[i]
		case !sameText(g[i], w[i]):
			return g[i] + "\nwant " + w[i]
		}
	}
	return ""
}

// flat returns a result as lines of labels, time and value, in their order.
func flat(a Answer) (out []string) {
	if a.Type == "scalar" {
		return []string{string(a.Result)}
	}
	var rows []struct {
		Stream, Metric map[string]string
		Value          []any
		Values         [][]any
	}
	d := json.NewDecoder(strings.NewReader(string(a.Result)))
	d.UseNumber()
	if err := d.Decode(&rows); err != nil {
		return []string{err.Error()}
	}
	for _, r := range rows {
		labels, _ := json.Marshal(r.Stream)
		if r.Metric != nil {
			maps.DeleteFunc(r.Metric, func(_, value string) bool { return value == "" })
			labels, _ = json.Marshal(r.Metric)
		}
		if r.Value != nil {
			r.Values = append(r.Values, r.Value)
		}
		for _, v := range r.Values {
			out = append(out, fmt.Sprintf("%s %v %v", labels, v[0], v[1]))
		}
	}
	slices.Sort(out)
	return out
}

// sameText compares lines, of which numbers at the end may differ by rounding.
func sameText(x, y string) bool {
	i, j := strings.LastIndexByte(x, ' '), strings.LastIndexByte(y, ' ')
	a, err1 := strconv.ParseFloat(x[i+1:], 64)
	b, err2 := strconv.ParseFloat(y[j+1:], 64)
	return x == y || err1 == nil && err2 == nil && x[:i] == y[:j] && math.Abs(a-b) <= 1e-8*math.Max(math.Abs(a), math.Abs(b))
}

// A family is a kind of lines, with stages that fit them.
type family struct {
	selectors, parsers, filters, texts, numbers, groups []string
}

var families = []family{
	{
		[]string{`{app="api"}`, `{app="api", env="prod"}`, `{app="api", env="dev"}`, `{app=~"api|counter"}`},
		[]string{`json`, `json status, took, level`, `json m="request.method", status, ok`, `json | json`},
		[]string{`status="500"`, `status=500`, `status>=404`, `status!=200`, `level="error"`, `level=~"warn|error"`, `level!~"info|debug"`, `took>500ms`, `took<=1ms`, `size>1MB`, `ok="true"`, `absent=""`, `n<0`, `request_path="/login"`, `msg=~".*done"`, `count>=25`, `empty=""`, `request_method="POST" or status=503`, `(level="warn" or level="error") and status>300`, `app_extracted!=""`},
		[]string{`error`, `"status":500`, `GET`, `42`, `你好`, `\"`, `POST`},
		[]string{`bytes`, `status`, `duration(took)`, `bytes(size)`, `n`, `count`},
		[]string{`level`, `status`, `app`, `env, level`, `ok`, `request_method`, `absent`},
	},
	{
		[]string{`{app="auth"}`, `{app="auth", env="prod"}`, `{team="core"}`},
		[]string{`logfmt`, `logfmt --keep-empty`, `logfmt --strict`, `logfmt level, status, user`, `logfmt lvl="level", took`},
		[]string{`status="500"`, `status>=500`, `level="error"`, `level=~"warn|err.*"`, `user="bob"`, `took>1s`, `took<1ms or took=1m3s`, `size>=1MB`, `value>0`, `value<-50.5`, `addr=ip("10.0.0.0/24")`, `empty=""`, `flag=""`, `host_extracted="x y"`, `n>50`, `lvl!="info"`},
		[]string{`level=error`, `user=bob`, `took=1`, `alice`, `inner`, `msg=`, `status=20`},
		[]string{`value`, `status`, `duration(took)`, `bytes(size)`, `n`, `duration_seconds(took)`},
		[]string{`level`, `user`, `status`, `env`, `user, level`, `lvl`},
	},
	{
		[]string{`{app="web"}`, `{app="web", host="w1"}`, `{app=~"web|db"}`},
		[]string{"pattern `<addr> - <user> [<_>] \"<method> <path> <_>\" <status> <size> <_>`", "regexp `\"(?P<method>[A-Z]+) (?P<path>\\S+)[^\"]*\" (?P<status>\\d+) (?P<size>\\d+)`", "pattern `<addr> <_>`", "regexp `duration: (?P<size>[0-9.]+) ms`"},
		[]string{`status="404"`, `status>=500`, `method="GET"`, `method=~"P.*"`, `size>10000`, `size<=100.5`, `user="alice"`, `addr=ip("10.0.0.0/29")`, `addr!=ip("192.168.0.0/16")`, `path="/"`, `path!~"/api.*"`, `size>1KB`},
		[]string{`GET`, `/api/orders`, `404`, `alice`, `SELECT`, `10.0.0.`, `- -`},
		[]string{`size`, `status`, `bytes(size)`},
		[]string{`method`, `status`, `host`, `app`, `path, method`, `user`},
	},
	{
		[]string{`{app="shop"}`, `{app="mixed"}`, `{app=~"shop|mixed|packed"}`, `{app="worker"}`},
		[]string{`logfmt`, `unpack`, `json`, `decolorize`, `logfmt level, trace_id`},
		[]string{`user="alice"`, `trace_id=~"t00.*"`, `level="error"`, `level=~"(?i)warn.*"`, `level=""`, `env="inner"`, `env_extracted="inner"`, `level_extracted="info"`, `amount>100`, `pod="p1"`, `trace_id_extracted!=""`, `job>6`},
		[]string{`level=error`, `order 1`, `placed`, `ERROR`, `p2`, `inner`, `full`},
		[]string{`amount`, `job`},
		[]string{`user`, `level`, `env`, `pod`, `trace_id`, `level_extracted`},
	},
}

var formats = []string{
	`line_format "{{.level}} {{.status}}"`, `line_format "{{__line__ | upper}}"`, `label_format x="{{.level}}-{{.env}}"`, `label_format lvl=level`,
	`label_format level="{{.user}}"`, `drop level`, `drop status, msg`, `keep level, user`, `keep status, env`, `drop level="error"`, `keep level=~"warn|error", app`, `label_format env="", y="{{__line__ | len}}"`,
}

// randomQuery returns a query that is mostly one of the language.
func randomQuery(r *rand.Rand) Query {
	f := families[r.IntN(len(families))]
	q := Query{Kind: "log", Start: Base, End: Base + int64(time.Hour), Limit: 1 + r.IntN(30), Direction: one(r, "forward", "backward")}
	if r.IntN(2) == 0 {
		q.Query = f.log(r, false)
		return q
	}
	q.Limit, q.Direction = 0, ""
	if q.Kind = one(r, "instant", "range"); q.Kind == "instant" {
		q.Start = 0
	} else {
		q.Step = int64(one(r, time.Minute, 5*time.Minute, 7*time.Minute, 20*time.Minute))
	}
	q.Query = f.metric(r)
	if r.IntN(4) == 0 {
		q.Query = f.metric(r) + " " + one(r, "+", "-", "*", "/", ">", "<=", "> bool", "and", "or", "unless", "== bool", "and on (level)", "or on (app)", "/ on (level)", "% ignoring (env)") + " " + q.Query
	} else if r.IntN(5) == 0 {
		q.Query += one(r, " > 3", " * 2", " / 0", " <= bool 10", " ^ 2", " % 3")
	}
	return q
}

func quoted(text string) string { return "`" + text + "`" }

func (f family) log(r *rand.Rand, metric bool) string {
	q := one(r, f.selectors...)
	for range r.IntN(4) / 2 {
		q += " " + one(r, "|=", "|=", "!=", "|~", "!~") + " " + quoted(one(r, f.texts...))
		if r.IntN(5) == 0 {
			q += " or " + quoted(one(r, f.texts...))
		}
	}
	parsed := r.IntN(5) > 0
	if parsed {
		q += " | " + one(r, f.parsers...)
	}
	for range r.IntN(5) / 2 {
		q += " | " + one(r, f.filters...)
	}
	for range r.IntN(5) / 2 {
		q += " | " + one(r, formats...)
	}
	switch {
	case parsed && metric && r.IntN(2) == 0:
		q += one(r, ` | __error__=""`, ` | __error__=""`, ` | __error__!=""`)
	case parsed && !metric && r.IntN(4) == 0:
		q += " | " + one(r, f.filters...)
	}
	return q
}

func (f family) metric(r *rand.Rand) string {
	interval := one(r, "[1h]", "[10m]", "[7m]", "[5m] offset 3m")
	inner := ""
	if r.IntN(2) == 0 {
		inner = one(r, "count_over_time", "rate", "bytes_over_time", "bytes_rate") + "(" + f.log(r, true) + " " + interval + ")"
	} else {
		op := one(r, "sum_over_time", "avg_over_time", "min_over_time", "max_over_time", "stddev_over_time", "stdvar_over_time", "first_over_time", "last_over_time", "rate", "quantile_over_time(0.7,")
		if !strings.HasSuffix(op, ",") {
			op += "("
		}
		inner = op + f.log(r, true) + " | unwrap " + one(r, f.numbers...) + one(r, "", ` | __error__=""`) + " " + interval + ")"
		if r.IntN(3) == 0 {
			inner += one(r, " by ", " without ") + "(" + one(r, f.groups...) + ")"
		}
	}
	if r.IntN(6) == 0 {
		return inner
	}
	return one(r, "sum", "avg", "min", "max", "count", "stddev", "stdvar") + one(r, "", "", " by ("+one(r, f.groups...)+")", " by ("+one(r, f.groups...)+")", " without ("+one(r, f.groups...)+")") + " (" + inner + ")"
}
