package logql

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/internal/testseed"
	"github.com/stele-go/stele/logql/internal/reference"
	"github.com/stele-go/stele/logstore"
)

// fieldEngines returns engines over the same random entries: of a store that has lines in both
// codecs and in memory, and of one that has all of them in memory, where lines are read.
func fieldEngines(t *testing.T, rng *rand.Rand) (byField, byLine *Engine) {
	entries := fieldEntries(rng)
	return NewEngine(mixedStore(t, entries), Options{}), NewEngine(randomStore(t, entries, 0), Options{})
}

// TestRandomFields compares metric queries by field with the same by line.
func TestRandomFields(t *testing.T) {
	seed := testseed.Of(t)
	rng := rand.New(rand.NewPCG(seed, 3))
	byFields, compared := 0, 0
	for range 3 {
		byField, byLine := fieldEngines(t, rng)
		for range 80 {
			q := randomRequest(rng)
			q.Query = randomFieldQuery(rng)
			got, gotErr := byField.Run(t.Context(), q)
			want, wantErr := byLine.Run(t.Context(), q)
			if diff := compareResults(got, want, gotErr, wantErr); diff != "" {
				t.Fatalf("seed %d: %s\nfrom %d to %d step %v instant %v\n%s", seed, q.Query, q.Start, q.End, q.Step, q.Instant, diff)
			}
			if gotErr == nil {
				if got.Stats.Store.ByFields > 0 {
					byFields++
					if len(got.Series) > 0 {
						compared++
					}
				}
				if want.Stats.Store.ByFields > 0 {
					t.Fatalf("%s: memory has columns", q.Query)
				}
			}
		}
	}
	t.Logf("%d queries by fields, %d with series", byFields, compared)
	if byFields < 40 || compared < 15 {
		t.Errorf("only %d queries by fields, %d with series: the test says too little", byFields, compared)
	}
}

// Each kind of query that fields can answer makes no line of a block of columns, and says so.
func TestFieldsFromColumns(t *testing.T) {
	const lines = 400
	s := openStore(t)
	apps := []string{"api", "auth", "web"}
	for _, app := range apps {
		var entries []logstore.Entry
		for i := range lines {
			status, n := []int{200, 404, 500}[i%3], i*7%50
			line := fmt.Sprintf(`{"status":%d,"n":%d,"took":"%dms","path":"/orders/%d"}`, status, n, i, i%5)
			switch app {
			case "auth":
				line = fmt.Sprintf(`status=%d n=%d took=%dms msg="request %d"`, status, n, i, i)
			case "web":
				line = fmt.Sprintf("10.0.0.%d - /orders/%d %d %d", i%9, i%5, status, n)
			}
			entries = append(entries, logstore.Entry{Time: second(i), Line: []byte(line)})
		}
		add(t, s, logstore.MustLabels("app", app), entries...)
	}
	if err := s.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	e := NewEngine(s, Options{})
	for _, c := range []struct {
		query string
		want  float64
	}{
		{"sum(count_over_time({app=`api`} | json | status>=500 [1h]))", 133},
		{"sum by (status) (count_over_time({app=`api`} | json | __error__=`` [1h]))", 400},
		{"sum(sum_over_time({app=`api`} | json | unwrap n [1h]))", 9800},
		{"sum(sum_over_time({app=`api`} | json | unwrap duration(took) [1h]))", 79.8},
		{"max_over_time({app=`api`} | json n=`n` | unwrap n [1h]) by (app)", 49},
		{"sum(count_over_time({app=`auth`} | logfmt | status=`404` [1h]))", 133},
		{"quantile_over_time(1, {app=`auth`} | logfmt | unwrap n [1h]) by (app)", 49},
		{"last_over_time({app=`auth`} | logfmt | unwrap n [1h]) by (app)", 43},
		{"first_over_time({app=`api`} | json | status=`404` | unwrap duration(took) [1h]) by (app)", 0.001},
		{"sum(count_over_time({app=`auth`} | logfmt n, status | n<25 | status!=`200` [1h]))", 133},
		{"sum(count_over_time({app=`web`} | pattern `<ip> - <path> <status> <n>` | status=`500` | keep path [1h]))", 133},
		{"topk(1, sum by (path) (count_over_time({app=`web`} | pattern `<ip> - <path> <_>` [1h])))", 80},
	} {
		r := run(t, e, Request{Query: c.query, Start: second(lines), End: second(lines), Instant: true, Explain: true})
		sum := 0.0
		for _, s := range r.Series {
			sum += s.Points[0].Value
		}
		if sum = math.Round(sum*1000) / 1000; sum != c.want {
			t.Errorf("%s: %v; want %v", c.query, sum, c.want)
		}
		if store := &r.Stats.Store; store.ByFields != lines || !strings.Contains(r.Plan.Text, fmt.Sprintf("fields from columns: of %d lines", store.ByFields)) {
			t.Errorf("%s: %d lines by fields, of %d\n%s", c.query, store.ByFields, store.Lines, r.Plan.Text)
		} else {
			t.Logf("%s: %d lines by fields, of %d, %d bytes", c.query, store.ByFields, store.Lines, store.RawBytes)
		}
	}
}

// A label that two paths, or a path and the suffix, set has the value that it has by line.
func TestFieldSetTwice(t *testing.T) {
	stores := map[string]*logstore.Store{"lines": openStore(t), "columns": openStore(t)}
	for _, s := range stores {
		for i := range 200 {
			line := fmt.Sprintf(`{"x":1,"y":100,"z":"request %d"}`, i)
			add(t, s, logstore.MustLabels("app", "api"), logstore.Entry{Time: second(i), Line: []byte(line)})
			add(t, s, logstore.MustLabels("app", "web", "a", "z"), logstore.Entry{Time: second(i), Line: []byte(line)})
		}
	}
	if err := stores["columns"].Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]float64{
		"sum(sum_over_time({app=`api`} | json a=`x`, a=`y` | unwrap a [1h]))":                                      20000,
		"sum(sum_over_time({app=`api`} | json a=`y`, a=`x` | unwrap a [1h]))":                                      200,
		"sum(sum_over_time({app=`web`} | json a_extracted=`y`, a=`x` | unwrap a_extracted [1h]))":                  200,
		"sum(sum_over_time({app=`web`} | json a=`x`, a_extracted=`y` | unwrap a_extracted [1h]))":                  20000,
		"sum(sum_over_time({app=`web`} | pattern `{\"x\":<a>,\"y\":<a_extracted>,<_>` | unwrap a_extracted [1h]))": 200,
	} {
		for name, s := range stores {
			r := run(t, NewEngine(s, Options{}), Request{Query: query, Start: second(200), End: second(200), Instant: true})
			if len(r.Series) != 1 || r.Series[0].Points[0].Value != want {
				t.Errorf("%s, %s: %+v; want %v", query, name, r.Series, want)
			}
		}
	}
}

// More streams than a fieldFolder remembers are each counted.
func TestFieldsOfManyStreams(t *testing.T) {
	s := openStore(t)
	const streams = maxClasses + maxClasses/4
	var batch logstore.Batch
	for i := range streams {
		line := fmt.Appendf(nil, `{"n":%d,"msg":"request %d of a worker that has many of them"}`, i%5, i)
		batch = append(batch, logstore.Stream{Labels: logstore.MustLabels("app", "api", "pod", fmt.Sprint("pod-", i)),
			Entries: []logstore.Entry{{Time: second(i % 10), Line: line}, {Time: second(20), Line: line}}})
	}
	if err := s.Append(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	if err := s.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]float64{
		"sum(sum by (pod) (count_over_time({app=`api`} | json | n>1 [1h])))":    streams * 2 * 3 / 5,
		"sum(sum by (pod) (sum_over_time({app=`api`} | json | unwrap n [1h])))": streams * 4,
	} {
		r := run(t, NewEngine(s, Options{Limits: Limits{Parallel: 1}}), Request{Query: query, Start: second(60), End: second(60), Instant: true})
		if got := r.Series[0].Points[0].Value; got != want || r.Stats.Store.ByFields == 0 {
			t.Errorf("%s: %v, %d lines by fields; want %v", query, got, r.Stats.Store.ByFields, want)
		}
	}
}

// compareResults returns how two answers differ, "" if they do not.
func compareResults(got, want *Result, gotErr, wantErr error) string {
	if gotErr != nil || wantErr != nil {
		var a, b *PipelineError
		if errors.As(gotErr, &a) && errors.As(wantErr, &b) {
			return "" // of which line is a matter of their order
		}
		return fmt.Sprintf("error %v; want %v", gotErr, wantErr)
	}
	points := func(r *Result) map[string]float64 {
		m := map[string]float64{}
		for _, s := range r.Series {
			for _, p := range s.Points {
				m[fmt.Sprint(p.Time, " ", withoutDetails(s.Labels))] = p.Value
			}
		}
		return m
	}
	has, wants := points(got), points(want)
	for key, w := range wants {
		if g, ok := has[key]; !ok || !sameValue(g, w) {
			return fmt.Sprintf("%s: %v, %v; want %v", key, g, ok, w)
		}
	}
	if len(has) != len(wants) {
		return fmt.Sprintf("%d points; want %d", len(has), len(wants))
	}
	return ""
}

// fieldEntries are lines of few shapes, with variables that are not what they are elsewhere.
func fieldEntries(rng *rand.Rand) (entries []reference.Entry) {
	pick := func(list ...string) string { return list[rng.IntN(len(list))] }
	number := func() string {
		if rng.IntN(8) > 0 {
			return fmt.Sprint(rng.IntN(60) - 5)
		}
		return pick("7", "007", "1e5", "-0", "true", "false", "null", "1.5", "-2.25", "12345678901234567890", "5")
	}
	text := func() string {
		if rng.IntN(8) > 0 {
			return pick("error", "info", "warn") + pick("", "", " 7", " of it")
		}
		return pick("a b", `say \"hi\"`, `\u0041`, `x","level":"error`, "\xff", "\uFFFD", "é", "", "a=b", "level=error", `\`, "\t", "t1", "500")
	}
	alike := 1 + 15*rng.IntN(2) // entries with equal times
	for i := range 500 {
		e := reference.Entry{Time: randomTime + int64(i)*7e9 + rng.Int64N(6)*1e9, Stream: reference.Labels{"app": pick("api", "auth", "web"), "env": pick("prod", "dev")}}
		if rng.IntN(12) == 0 {
			e.Stream["level"] = pick("error", "info")
		}
		if rng.IntN(12) == 0 {
			e.Metadata = reference.Labels{pick("trace", "level"): pick("t1", "error", "5")}
		}
		level, status, took, addr := pick("error", "info", "warn"), pick("200", "404", "500"), pick("1.5s", "20ms", "2m", "x", "3"), pick("10.0.0.1", "10.0.0.4", "192.168.0.1")
		if alike > 1 {
			e.Time = randomTime + int64(i/alike*alike)*7e9
		}
		switch e.Stream["app"] {
		case "api":
			e.Line = fmt.Sprintf(`{"level":"%s","status":%s,"n":%s,"took":"%s","addr":"%s","msg":"%s","deep":{"x":%s,"y":"%s"},"list":[1,"%s"]}`,
				level, status, number(), took, addr, text(), number(), text(), text())
		case "auth":
			e.Line = fmt.Sprintf(`level=%s status=%s n=%s took=%s addr=%s msg="%s" deep_x=%s`, pick(level, level, level, ""), status, number(), took, addr, text(), pick(level, text()))
		default:
			e.Line = fmt.Sprintf(`%s - %s /%s %s`, addr, pick("GET", "PUT", "a - b"), pick(level, text()), pick(status, number()))
		}
		entries = append(entries, e)
	}
	return entries
}

// mixedStore has a third of the entries in blocks of lines, one in columns, and one in memory.
func mixedStore(t *testing.T, entries []reference.Entry) *logstore.Store {
	t.Helper()
	dir := t.TempDir()
	open := func(codec logstore.Codec) *logstore.Store {
		s, err := logstore.Open(dir, logstore.Options{Level: durability.Kill, LateWindow: -1, FutureWindow: -1, Codec: codec})
		if err != nil {
			t.Fatal(err)
		}
		<-s.Ready()
		return s
	}
	fillStore := func(s *logstore.Store, entries []reference.Entry) {
		for _, e := range entries {
			add(t, s, labelsOf(t, e.Stream), logstore.Entry{Time: e.Time, Line: []byte(e.Line), Metadata: labelsOf(t, e.Metadata)})
		}
	}
	s := open(logstore.CodecLines)
	fillStore(s, entries[:len(entries)/6])
	if err := s.Seal(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(logstore.CodecColumns)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	fillStore(s, entries[len(entries)/6:len(entries)*5/6])
	if err := s.Seal(context.Background()); err != nil {
		t.Fatal(err)
	}
	fillStore(s, entries[len(entries)*5/6:])
	return s
}

// randomFieldLog returns a log query of which fields may be all that is read of lines.
func randomFieldLog(rng *rand.Rand) string {
	pick := func(list ...string) string { return list[rng.IntN(len(list))] }
	app := pick("api", "auth", "web")
	parser := map[string][]string{
		"api":  {"| json", "| json", "| json n=`n`, level=`level`", "| json status=`status`, n=`deep.x`, out=`list[1]`", "| json out=`deep`, level=`deep.y`", "| json n=`n`, n=`deep.x`"},
		"auth": {"| logfmt", "| logfmt", "| logfmt --strict", "| logfmt --keep-empty", "| logfmt n, level", "| logfmt status, n=`deep_x`"},
		"web":  {"| pattern `<addr> - <method> <path> <n>`", "| pattern `<addr> - <_> /<level> <status>`", "| pattern `<_>/<n> <status>`"},
	}[app]
	q := "{" + pick("app=`"+app+"`", "app=`"+app+"`", "app=`"+app+"`, env=`prod`", "env=`prod`", "app=~`.+`") + "} " + pick("", "", "", "|= `5` ", "!= `error` ", "|~ `0+` ") + pick("", "", "| level!=`warn` ") + parser[rng.IntN(len(parser))]
	for range rng.IntN(3) {
		q += " " + pick("| n>5", "| n<=7.5", "| level=`error`", "| status>=404 or level=~`w.*`", "| took>1s", "| drop level", "| keep status, level, app", "| addr=ip(`10.0.0.0/24`)", "| missing=``", "| app!=`web`",
			"| msg=~`.*i.*`", "| level!=``", "| deep_x>3", "| n!=5")
	}
	return q
}

func randomFieldQuery(rng *rand.Rand) string {
	pick := func(list ...string) string { return list[rng.IntN(len(list))] }
	q := randomFieldLog(rng)
	by := pick("", " by ()", " by (level)", " by (n)", " by (status, app)", " by (missing)", " by (out)", " by (env)", " without (app, env)", " by (level, n)")
	if rng.IntN(2) == 0 {
		count := pick("count_over_time", "count_over_time", "rate") + "(" + q + pick("", " | __error__=``", " | __error__=``", " | __error__=``") + " [" + pick("5m", "1h", "90s") + "])"
		return "sum" + by + " (" + count + ")"
	}
	op := pick("sum", "avg", "min", "max", "stddev", "first", "last") + "_over_time"
	quantile := ""
	if rng.IntN(6) == 0 {
		op, quantile = "quantile_over_time", "0.9, "
	}
	unwrap := pick("n", "n", "n", "status", "deep_x", "duration(took)")
	q = op + "(" + quantile + q + " | unwrap " + unwrap + pick("", " | __error__=``", " | __error__=``", " | __error__=``") + " [" + pick("5m", "1h", "90s") + "])"
	if strings.HasPrefix(op, "sum") {
		return "sum" + by + " (" + q + ")"
	}
	return q + by
}
