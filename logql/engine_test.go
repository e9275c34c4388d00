package logql

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stele-go/stele/logql/syntax"
	"github.com/stele-go/stele/logstore"
)

func run(t *testing.T, e *Engine, r Request) *Result {
	t.Helper()
	result, err := e.Run(context.Background(), r)
	if err != nil {
		t.Fatalf("%s: %v", r.Query, err)
	}
	return result
}

func rangeOf(query string) Request {
	return Request{Query: query, Start: base, End: second(120), Step: time.Minute}
}

func seriesText(list []Series) []string {
	var out []string
	for _, s := range list {
		var b strings.Builder
		for _, l := range s.Labels {
			fmt.Fprintf(&b, "%s=%s ", l.Name, l.Value)
		}
		for _, p := range s.Points {
			fmt.Fprintf(&b, "%d:%g ", (p.Time-base)/1e9, p.Value)
		}
		out = append(out, strings.TrimSpace(b.String()))
	}
	return out
}

func TestMetric(t *testing.T) {
	for _, sealed := range []bool{false, true} {
		s := openStore(t)
		fill(t, s)
		if sealed {
			if err := s.Seal(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
		e := NewEngine(s, Options{})
		for _, c := range []struct {
			query string
			want  []string
		}{
			{`sum(count_over_time({env="prod"}[1m]))`, []string{"0:3 60:180 120:177"}},
			{`sum by (app) (count_over_time({env="prod"}[1m]))`, []string{"app=api 0:1 60:60 120:59", "app=cron 0:1 60:60 120:59", "app=web 0:1 60:60 120:59"}},
			{`sum by (app, env) (rate({env="prod", app=~".+"}[1m]))`, []string{"app=api env=prod 0:0.016666666666666666 60:1 120:0.9833333333333333", "app=web env=prod 0:0.016666666666666666 60:1 120:0.9833333333333333"}},
			{`sum(count_over_time({app="web"} |= "level=error" [1m]))`, []string{"60:30 120:30"}},
			{`sum(count_over_time({app="web"} |~ "request [0-9]$|request 10\\d" [2m]))`, []string{"120:10"}},
			{`sum by (status) (count_over_time({app="api"} | json | status="500" [1m]))`, []string{"status=500 60:15 120:15"}},
			{`sum(count_over_time({app="api"} | json | status>=400 [1m]))`, []string{"60:30 120:30"}},
			{`count_over_time({app="web"}[1m])`, []string{"app=web env=prod trace=t0 0:1 60:20 120:19", "app=web env=prod trace=t1 60:20 120:20", "app=web env=prod trace=t2 60:20 120:20"}},
			{`sum(bytes_over_time({job="bare"}[2m]))`, []string{"0:12 60:783 120:1558"}},
			{`max by (app) (max_over_time({app="web"} | logfmt | unwrap size [1m]))`, []string{"app=web 0:0 60:600 120:1190"}},
			{`sum(sum_over_time({app="api"} | json | unwrap duration(took) [1m]))`, []string{"0:0 60:1.83 120:5.31"}},
			{`absent_over_time({app="nothing"}[1m])`, []string{"app=nothing 0:1 60:1 120:1"}},
			{`sum(count_over_time({app="api"}[1m])) / sum(count_over_time({app="api"}[1m]))`, []string{"0:1 60:1 120:1"}},
			{`count_over_time({app="api"} | trace="t1" [1m])`, nil},
			{`sum(count_over_time({app="web"} | trace="t1" [1m]))`, []string{"60:20 120:20"}},
			{`sum by (__error__) (count_over_time({app="web"} | json [1m]))`, []string{"__error__=JSONParserErr 0:1 60:60 120:59"}},
			{`sum(count_over_time({app="web"} | json | __error__="JSONParserErr" [1m]))`, []string{"0:1 60:60 120:59"}},
			{`sum(count_over_time({app="web"}[30s] offset 30s))`, []string{"60:30 120:30"}},
		} {
			got := seriesText(run(t, e, rangeOf(c.query)).Series)
			if !slices.Equal(got, c.want) {
				t.Errorf("%s (sealed %v):\n got %q\nwant %q", c.query, sealed, got, c.want)
			}
		}
	}
}

func TestLogs(t *testing.T) {
	s := openStore(t)
	fill(t, s)
	e := NewEngine(s, Options{})
	for _, c := range []struct {
		query     string
		direction Direction
		limit     int
		interval  time.Duration
		want      []string
	}{
		{`{app="web"}`, Backward, 2, 0, []string{`119 level=error msg="request 119" size=1190`, `118 level=info msg="request 118" size=1180`}},
		{`{app="web"} |= "request 1" |= "error"`, Forward, 3, 0, []string{`1 level=error msg="request 1" size=10`, `11 level=error msg="request 11" size=110`, `13 level=error msg="request 13" size=130`}},
		{`{app="api"} | json | status="500" | line_format "{{.path}} {{.took}}"`, Backward, 2, 0, []string{"119 /orders/4 119ms", "115 /orders/0 115ms"}},
		{`{env="prod"} | json | __error__="" | status>400`, Forward, 1, 0, []string{`3 {"status":500,"took":"3ms","path":"/orders/3"}`}},
		{`{job="bare"}`, Forward, 10, 50 * time.Second, []string{"0 plain line 0", "50 plain line 50", "100 plain line 100"}},
		{`{job="bare"}`, Backward, 2, 50 * time.Second, []string{"119 plain line 119", "69 plain line 69"}},
	} {
		r := rangeOf(c.query)
		r.Direction, r.Limit, r.Interval = c.direction, c.limit, c.interval
		var got []string
		for _, l := range run(t, e, r).Lines {
			got = append(got, fmt.Sprintf("%d %s", (l.Time-base)/1e9, l.Text))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s:\n got %q\nwant %q", c.query, got, c.want)
		}
	}
}

// A comparison drops a line without a value that meets it, whatever else is wrong with the
// line; what is no number is an error, which passes.
func TestLogsWithErrors(t *testing.T) {
	s := openStore(t)
	for i, line := range []string{`{"status":200,"a":`, `{"status":200}`, `{"status":"x"}`, `{"status":"x",`} {
		add(t, s, logstore.MustLabels("app", "cut"), logstore.Entry{Time: second(i), Line: []byte(line)})
	}
	e := NewEngine(s, Options{})
	for query, want := range map[string]int{
		`{app="cut"} | json`:                              4,
		`{app="cut"} | json | status>=500`:                2,
		`{app="cut"} | json | status>=500 | status>600`:   2,
		`{app="cut"} | json | status>=500 and foo>600`:    0,
		`{app="cut"} | json | status>=500 | __error__=""`: 0,
		`{app="cut"} | json | status="7"`:                 0,
	} {
		if got := run(t, e, rangeOf(query)).Lines; len(got) != want {
			t.Errorf("%s: %d lines, want %d", query, len(got), want)
		}
	}
}

func TestLabelClasses(t *testing.T) {
	s := openStore(t)
	fill(t, s)
	r := rangeOf(`{app="web"} | logfmt | keep app, env, trace, level`)
	r.Limit = 1
	line := run(t, NewEngine(s, Options{}), r).Lines[0]
	want := []LabelPair{{"app", "web"}, {"env", "prod"}, {"level", "error"}, {"trace", "t2"}}
	if !slices.Equal(line.Stream, want) || !slices.Equal(line.Metadata, want[3:]) || !slices.Equal(line.Parsed, want[2:3]) {
		t.Errorf("stream %v, metadata %v, parsed %v; want %v, its last, and the one before", line.Stream, line.Metadata, line.Parsed, want)
	}
}

func TestErrors(t *testing.T) {
	s := openStore(t)
	fill(t, s)
	e := NewEngine(s, Options{Limits: Limits{Series: 2, Lines: 50, Steps: 10, Bytes: 8000}})
	with := func(query string, change func(*Request)) Request {
		r := rangeOf(query)
		change(&r)
		return r
	}
	for _, c := range []struct {
		r    Request
		want string
	}{
		{rangeOf(`{app="api"`), "parse error"},
		{rangeOf(`count_over_time({app="web"}[1m])`), "3 series"},
		{with(`{app="api"}`, func(r *Request) { r.Limit = 51 }), "Limits.Lines"},
		{with(`sum(rate({app="api"}[1m]))`, func(r *Request) { r.Step = time.Second }), "Limits.Steps"},
		{with(`sum(rate({app="api"}[1m]))`, func(r *Request) { r.Step = 0 }), "Request.Step"},
		{with(`{app="api"}`, func(r *Request) { r.End = 1 }), "before Start"},
		{with(`{app="api"}`, func(r *Request) { r.Instant = true }), "not supported as an instant query"},
		{rangeOf(`sum by (app) (count_over_time({app="web"} | json [1m]))`), "pipeline error: 'JSONParserErr' for series: '{"},
		{rangeOf(`sum(bytes_rate({env="prod"}[1m]))`), "Limits.Bytes"},
	} {
		_, err := e.Run(context.Background(), c.r)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.r.Query, err, c.want)
		}
	}
	var wrong *syntax.Error
	if _, err := e.Run(context.Background(), rangeOf(`{app=`)); !errors.As(err, &wrong) {
		t.Errorf("a wrong query: %v, want a *syntax.Error", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := e.Run(ctx, rangeOf(`{app="api"} |= "x"`)); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled query: %v, want context.Canceled", err)
	}
}

func TestStream(t *testing.T) {
	s := openStore(t)
	fill(t, s)
	e := NewEngine(s, Options{Limits: Limits{Lines: 10}})
	r := Request{Query: `{app="api"} | json | status!="200"`, Start: base, End: second(120), Direction: Forward, Limit: -1, Cursors: true}
	var all []Line
	for l, err := range e.Stream(context.Background(), r) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, l)
	}
	if len(all) != 90 {
		t.Fatalf("%d lines, want 90", len(all))
	}
	r.After = all[49].Cursor
	n := 50
	for l, err := range e.Stream(context.Background(), r) {
		if err != nil || l.Text != all[n].Text {
			t.Fatalf("line %d behind a cursor: %q, %v; want %q", n, l.Text, err, all[n].Text)
		}
		n++
	}
	if n != 90 {
		t.Errorf("%d lines behind the cursor, want 40", n-50)
	}
}

func TestTail(t *testing.T) {
	s := openStore(t)
	fill(t, s)
	e := NewEngine(s, Options{})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r := Request{Query: `{job="bare"} |= "line" | line_format "{{.app}}: {{__line__}}"`, Start: second(60), Limit: 3}
	var got []string
	after, n, err := e.History(ctx, r)
	if err != nil || n != 3 {
		t.Fatalf("a history of %d lines, %v; want 3", n, err)
	}
	r.After = after
	for l, err := range e.Tail(ctx, r) {
		if err != nil {
			break
		}
		got = append(got, l.Text)
		if len(got) == 3 {
			add(t, s, logstore.MustLabels("env", "prod", "job", "bare"), logstore.Entry{Time: second(200), Line: []byte("new line")}, logstore.Entry{Time: second(201), Line: []byte("other")})
			add(t, s, logstore.MustLabels("env", "prod", "job", "bare"), logstore.Entry{Time: second(202), Line: []byte("last line")})
		}
		if len(got) == 5 {
			cancel()
		}
	}
	want := []string{"cron: plain line 117", "cron: plain line 118", "cron: plain line 119", ": new line", ": last line"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// Counts by metadata are the same over all blocks, with a pipeline and without.
func TestMetadataOfManyBlocks(t *testing.T) {
	s := openStore(t)
	levels, want := []string{"info", "warn", "fail"}, map[string]float64{}
	var batch []logstore.Entry
	rng := rand.New(rand.NewPCG(1, 2))
	level := ""
	for i := range 100_000 {
		if i%1000 == 0 {
			level = levels[rng.IntN(len(levels))]
		}
		want[level]++
		batch = append(batch, logstore.Entry{
			Time: second(0) + int64(i), Line: fmt.Appendf(nil, "line %d %x", i, rng.Uint64()), Metadata: logstore.MustLabels("level", level),
		})
	}
	add(t, s, logstore.MustLabels("job", "m"), batch...)
	if err := s.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	e := NewEngine(s, Options{})
	piped := run(t, e, Request{Query: `sum by (level) (count_over_time({job="m"} | logfmt | level=~".+" [1h]))`, End: second(60), Instant: true})
	plain := run(t, e, Request{Query: `sum by (level) (count_over_time({job="m"} [1h]))`, End: second(60), Instant: true})
	for _, series := range slices.Concat(piped.Series, plain.Series) {
		if level := series.Labels[0].Value; series.Points[0].Value != want[level] {
			t.Errorf("%s: %v, want %v", level, series.Points[0].Value, want[level])
		}
	}
	if len(piped.Series) != 3 || len(plain.Series) != 3 {
		t.Errorf("%d and %d series, want 3", len(piped.Series), len(plain.Series))
	}
}

// A stream that comes after a tail has begun may have labels that no stream had.
func TestTailOfLaterStream(t *testing.T) {
	s := openStore(t)
	bare, level := logstore.MustLabels("app", "a"), logstore.MustLabels("level", "error")
	add(t, s, bare, logstore.Entry{Time: second(1), Line: []byte("first"), Metadata: level})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var got []string
	r := Request{Query: `{app="a"} | level="error"`, Start: second(0), Limit: 3}
	for l, err := range NewEngine(s, Options{}).Tail(ctx, r) {
		if err != nil {
			break
		}
		got = append(got, l.Text)
		if len(got) == 1 {
			add(t, s, logstore.MustLabels("app", "a", "level", "error"), logstore.Entry{Time: second(2), Line: []byte("boom")})
			add(t, s, bare, logstore.Entry{Time: second(3), Line: []byte("last"), Metadata: level})
		}
		if l.Text == "last" {
			cancel()
		}
	}
	if want := []string{"first", "boom", "last"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
