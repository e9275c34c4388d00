package logql

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stele-go/stele/internal/testseed"
	"github.com/stele-go/stele/logql/internal/randquery"
	"github.com/stele-go/stele/logql/internal/reference"
	"github.com/stele-go/stele/logql/syntax"
	"github.com/stele-go/stele/logstore"
)

// TestRandom compares the engine over a store with the slow evaluator of package reference:
// random queries over random entries. A failure prints the seed, and the smallest query and
// entries that show it. STELE_RANDOM=n makes n rounds; STELE_SEED=random draws their seeds.
func TestRandom(t *testing.T) {
	seed, rounds := testseed.Of(t), 3
	if s := os.Getenv("STELE_RANDOM"); s != "" {
		rounds, _ = strconv.Atoi(s)
	}
	queries := 0
	for round := range rounds {
		r := randomRound{seed: seed + uint64(round)}
		t.Run(fmt.Sprint(r.seed), func(t *testing.T) { queries += r.run(t) }) // whose stores are removed at its end
		if t.Failed() {
			t.Logf("STELE_SEED=%d", r.seed)
			return
		}
	}
	t.Logf("%d queries from STELE_SEED=%d", queries, seed)
}

var vocabulary = randquery.Vocabulary{
	Labels:   map[string][]string{"app": {"api", "auth", "web", "cron"}, "env": {"prod", "dev"}, "host": {"h1", "h2"}},
	Metadata: []string{"trace", "level"},
	Fields:   []string{"level", "status", "n", "took", "size", "msg", "addr", "env"},
	Numbers:  []string{"status", "n"},
	Values:   []string{"error", "info", "warn", "200", "404", "500", "5", "t1", "a b", "10.0.0.1", "1.5s", "20KB"},
	Words:    []string{"error", "info", "timeout", "status", "404", "GET", "n=", "e", "a b", "took=1", `"n":`, "été"},
	Patterns: []string{"<addr> - <method> <path> <status>", "<addr> - <_> <path> <n>", "<out> <_>", "<level>=<_>"},
	Regexps:  []string{`(?P<status>[0-9]{3})`, `(?P<method>GET|PUT) (?P<path>/\w*)`, `n[":=]+(?P<out>\d+)`},
}

// randomTime is the first time of entries; they fill an hour.
const randomTime = int64(1_795_910_400) * 1e9

type randomRound struct {
	seed uint64

	entries []reference.Entry
}

func (r *randomRound) run(t *testing.T) (queries int) {
	rng := rand.New(rand.NewPCG(r.seed, 2))
	r.entries = randomEntries(rng)
	store := randomStore(t, r.entries, rng.IntN(3))
	engine := NewEngine(store, Options{})
	g := randquery.New(r.seed, vocabulary)
	for range 150 {
		q := randomRequest(rng)
		if rng.IntN(2) == 0 {
			q.Expr = g.Log()
			q.Instant = false
		} else {
			q.Expr = g.Metric()
		}
		q.Query = q.Expr.String()
		queries++
		if diff := compareRandom(engine, q, r.entries); diff != "" {
			r.shrink(t, engine, q)
			return queries
		}
	}
	return queries
}

func randomRequest(rng *rand.Rand) Request {
	r := Request{
		Start: randomTime + rng.Int64N(1800)*1e9, Step: time.Duration(1+rng.IntN(600)) * time.Second, Instant: rng.IntN(4) == 0,
		Limit: 1 + rng.IntN(200), Direction: Direction(rng.IntN(2)),
	}
	r.End = r.Start + rng.Int64N(3600)*1e9
	return r
}

// randomEntries are lines of several forms, each at a time of its own.
func randomEntries(rng *rand.Rand) (entries []reference.Entry) {
	pick := func(list ...string) string { return list[rng.IntN(len(list))] }
	for i := range 60 + rng.IntN(200) {
		e := reference.Entry{Time: randomTime + int64(i)*12e9 + rng.Int64N(11)*1e9, Stream: reference.Labels{"app": pick("api", "auth", "web", "cron"), "env": pick("prod", "dev")}}
		if rng.IntN(3) == 0 {
			e.Stream["host"] = pick("h1", "h2")
		}
		if rng.IntN(4) == 0 {
			e.Metadata = reference.Labels{pick("trace", "level"): pick("t1", "error", "5")}
		}
		level, status, n := pick("error", "info", "warn"), pick("200", "404", "500"), fmt.Sprint(rng.IntN(30)-3)
		took, size, addr := pick("1.5s", "20ms", "2m", "x"), pick("20KB", "5B", "1.5MB"), pick("10.0.0.1", "10.0.0.4", "192.168.0.1")
		msg := pick("a b", "timeout of x", "été", "say \\\"hi\\\"", "error")
		switch e.Stream["app"] {
		case "api":
			e.Line = fmt.Sprintf(`{"level":"%s","status":%s,"n":%s,"took":"%s","size":"%s","addr":"%s","msg":"%s","deep":{"x":%d,"y":"z"},"list":[1,"b"]}`, level, status, n, took, size, addr, msg, i%3)
		case "auth":
			e.Line = fmt.Sprintf(`level=%s status=%s n=%s took=%s size=%s addr=%s msg="%s"`, level, status, n, took, size, addr, msg)
		case "web":
			e.Line = fmt.Sprintf(`%s - %s /%s %s`, addr, pick("GET", "PUT"), level, status)
		default:
			e.Line = pick("a b timeout", "error 404 in job", "n="+n, "level=info", `{"n":`+n+`,"env":"inner"}`, "",
				"status n", "n level="+level+" status", "status= n="+n, "\x1b[31m"+level+"\x1b[0m n="+n, `{"_entry":"level=`+level+` n=`+n+`","took":"`+took+`","n":5,"app":"inner"}`)
		}
		entries = append(entries, e)
	}
	return entries
}

// randomStore has the entries in segments, in memory, or both, by sealed from 0 to 2.
func randomStore(t *testing.T, entries []reference.Entry, sealed int) *logstore.Store {
	s := openStore(t)
	for i, e := range entries {
		add(t, s, labelsOf(t, e.Stream), logstore.Entry{Time: e.Time, Line: []byte(e.Line), Metadata: labelsOf(t, e.Metadata)})
		if sealed > 0 && (i == len(entries)/2 || sealed == 2 && i == len(entries)-1) {
			if err := s.Seal(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
	}
	return s
}

// compareRandom returns how both answers differ, "" if they do not.
func compareRandom(e *Engine, q Request, entries []reference.Entry) string {
	got, err := e.Run(context.Background(), q)
	if log, ok := q.Expr.(*syntax.LogExpr); ok {
		if err != nil {
			return err.Error()
		}
		want, err := reference.Lines(log, entries, q.Start, q.End, q.Direction == Backward, q.Limit)
		if err != nil {
			return err.Error()
		}
		return compareLines(got.Lines, want)
	}
	step := int64(q.Step)
	if q.Instant {
		q.Start, step = q.End, 1
	}
	return compareValues(q, got, err, entries, step)
}

func compareLines(got []Line, want []reference.Line) string {
	for i := range max(len(got), len(want)) {
		g, w := "nothing", "nothing"
		if i < len(got) {
			g = fmt.Sprintf("%d %s %q", got[i].Time, withoutDetails(got[i].Stream), got[i].Text)
		}
		if i < len(want) {
			w = fmt.Sprintf("%d %s %q", want[i].Time, want[i].Labels.Key(), want[i].Text)
		}
		if g != w {
			return fmt.Sprintf("line %d of %d\n got %s\nwant %s", i, len(want), g, w)
		}
	}
	return ""
}

func withoutDetails(pairs []LabelPair) string {
	l := reference.Labels{}
	for _, p := range pairs {
		if p.Name != "__error_details__" {
			l[p.Name] = p.Value
		}
	}
	return l.Key()
}

// compareValues compares each moment. Of topk and bottomk, whose choice among equal
// values is free, the values are compared, and each must be one of the argument.
func compareValues(q Request, got *Result, gotErr error, entries []reference.Entry, step int64) string {
	expr := q.Expr.(syntax.MetricExpr)
	top, _ := expr.(*syntax.VectorAggregation)
	if top != nil && top.Op != syntax.TopK && top.Op != syntax.BottomK {
		top = nil
	}
	points := make(map[int64]map[string]float64)
	if gotErr == nil {
		for _, s := range got.Series {
			for _, p := range s.Points {
				if points[p.Time] == nil {
					points[p.Time] = make(map[string]float64)
				}
				points[p.Time][withoutDetails(s.Labels)] = p.Value
			}
		}
	}
	var failed error
	for at := q.Start; at <= q.End; at += step {
		want, _, err := reference.Values(expr, entries, at)
		if err != nil {
			failed = err
			continue
		}
		if gotErr != nil {
			continue
		}
		have := points[at]
		if top != nil {
			inner, _, _ := reference.Values(top.Inner, entries, at)
			if diff := compareSets(have, inner, true); diff != "" {
				return fmt.Sprintf("at %d: %s", at, diff)
			}
			if g, w := sortedValues(have), sortedSamples(want); !slices.EqualFunc(g, w, sameValue) {
				return fmt.Sprintf("at %d:\n got %v\nwant %v", at, g, w)
			}
			continue
		}
		if diff := compareSets(have, want, false); diff != "" {
			return fmt.Sprintf("at %d: %s", at, diff)
		}
	}
	if (failed != nil) != (gotErr != nil) {
		return fmt.Sprintf("error %v, want %v", gotErr, failed)
	}
	return ""
}

func compareSets(got map[string]float64, want []reference.Sample, subset bool) string {
	wanted := make(map[string]float64)
	for _, s := range want {
		wanted[s.Labels.Key()] = s.Value
	}
	for key, v := range got {
		if w, ok := wanted[key]; !ok || !sameValue(v, w) {
			return fmt.Sprintf("%s\n got %v\nwant %v (%v)\nof %v", key, v, w, ok, wanted)
		}
	}
	for key, w := range wanted {
		if _, ok := got[key]; !ok && !subset {
			return fmt.Sprintf("%s\n got nothing\nwant %v\nof %v", key, w, got)
		}
	}
	return ""
}

func sameValue(a, b float64) bool {
	return a == b || math.IsNaN(a) && math.IsNaN(b) || math.Abs(a-b) <= 1e-9*max(1, math.Abs(a), math.Abs(b))
}

func sortedValues(m map[string]float64) (values []float64) {
	for _, v := range m {
		values = append(values, v)
	}
	slices.Sort(values)
	return values
}

func sortedSamples(samples []reference.Sample) (values []float64) {
	for _, s := range samples {
		values = append(values, s.Value)
	}
	slices.Sort(values)
	return values
}

// shrink makes query and entries smaller while they show a difference, and reports it.
func (r *randomRound) shrink(t *testing.T, engine *Engine, q Request) {
	t.Helper()
	fails := func(q Request, engine *Engine, entries []reference.Entry) bool {
		q.Query = q.Expr.String()
		return compareRandom(engine, q, entries) != ""
	}
	for simpler := true; simpler; {
		simpler = false
		for c := range randquery.Simpler(q.Expr) {
			smaller := q
			if smaller.Expr = c; fails(smaller, engine, r.entries) {
				q, simpler = smaller, true
				break
			}
		}
	}
	entries := r.entries
	for size := len(entries) / 2; size > 0 && !errors.Is(context.Cause(t.Context()), context.Canceled); size /= 2 {
		for at := 0; at+size <= len(entries); {
			fewer := slices.Delete(slices.Clone(entries), at, at+size)
			if e := NewEngine(randomStore(t, fewer, 0), Options{}); fails(q, e, fewer) {
				entries = fewer
			} else {
				at += size
			}
		}
	}
	q.Query = q.Expr.String()
	diff := compareRandom(NewEngine(randomStore(t, entries, 0), Options{}), q, entries)
	if diff == "" { // only in segments, or with all entries
		entries, diff = nil, compareRandom(engine, q, r.entries)
	}
	var b strings.Builder
	for _, e := range entries {
		fmt.Fprintf(&b, "\n  %d %s [%s] %s", e.Time, e.Stream.Key(), e.Metadata.Key(), e.Line)
	}
	t.Errorf("%s\nfrom %d to %d step %v instant %v limit %d direction %d\n%s\nover%s", q.Query, q.Start, q.End, q.Step, q.Instant, q.Limit, q.Direction, diff, b.String())
}
