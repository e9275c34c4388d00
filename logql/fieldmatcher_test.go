package logql

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stele-go/stele/internal/testseed"
	"github.com/stele-go/stele/logstore"
)

// TestRandomFieldLogs compares log queries that columns answer in part with the same by line.
func TestRandomFieldLogs(t *testing.T) {
	seed := testseed.Of(t)
	rng := rand.New(rand.NewPCG(seed, 5))
	byFields, found := 0, 0
	for range 2 {
		byField, byLine := fieldEngines(t, rng)
		for range 60 {
			q := randomRequest(rng)
			q.Query, q.Instant = randomFieldLog(rng), false
			q.Start -= q.Start % int64(time.Hour)
			if q.End = q.Start + int64(2*time.Hour); rng.IntN(8) == 0 {
				q.Interval = time.Duration(1+rng.IntN(300)) * time.Second
			}
			got, judged := pagesOf(t, byField, q)
			want, lines := pagesOf(t, byLine, q)
			if lines > 0 {
				t.Fatalf("%s: memory has columns", q.Query)
			}
			if !slices.Equal(got, want) {
				for i := range min(len(got), len(want)) {
					if got[i] != want[i] {
						t.Fatalf("seed %d: %s: line %d of %d is\n%s; want\n%s", seed, q.Query, i, len(got), got[i], want[i])
					}
				}
				t.Fatalf("seed %d: %s: %d lines; want %d", seed, q.Query, len(got), len(want))
			}
			if judged > 0 {
				byFields++
				found += len(got)
			}
		}
	}
	t.Logf("%d queries by fields, of %d lines", byFields, found)
	if byFields < 12 || found < 100 {
		t.Errorf("only %d queries by fields, of %d lines: the test says too little", byFields, found)
	}
}

// pagesOf returns all lines of a query, which is asked again behind the last line of each answer
// up to its limit. judged is how many lines did not match by their fields.
func pagesOf(t *testing.T, e *Engine, q Request) (list []string, judged int64) {
	t.Helper()
	q.Cursors = true
	for {
		r, err := e.Run(t.Context(), q)
		if err != nil {
			t.Fatalf("%s: %v", q.Query, err)
		}
		judged += r.Stats.Store.ByFields
		for i := range r.Lines {
			l := &r.Lines[i]
			list = append(list, fmt.Sprintf("%d %v %v %v %q", l.Time, l.Stream, l.Metadata, l.Parsed, l.Text))
		}
		if len(r.Lines) < q.Limit || q.Interval > 0 { // the interval begins anew with each page
			return list, judged
		}
		q.After = r.Lines[len(r.Lines)-1].Cursor
	}
}

// Of a log query that columns answer, the lines that are made are those that match.
func TestFieldLogsMakeMatchingLines(t *testing.T) {
	const lines = 3000
	s := openStore(t)
	var entries []logstore.Entry
	for i := range lines {
		line := fmt.Sprintf(`{"status":%d,"user":"u%d","path":"/orders/%d","msg":"done in %d ms"}`, []int{200, 404, 500}[i%3], i%70, i, i%11)
		entries = append(entries, logstore.Entry{Time: second(i), Line: []byte(line)})
	}
	add(t, s, logstore.MustLabels("app", "api"), entries...)
	if err := s.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	e := NewEngine(s, Options{})
	for _, c := range []struct {
		query string
		want  int64
	}{
		{"{app=`api`} | json | status>=500", lines / 3},
		{"{app=`api`} | json | user=`u7`", 43},
		{"{app=`api`} | json status=`status`, who=`user` | status=`404` | who=~`u.`", 143},
		{"{app=`api`} |= `/orders/` | json | status>=500 | user=`u7`", 14},
		{"{app=`api`} | pattern `<_>\"user\":\"<user>\"<_>` | user=`u3`", 43},
		{"{app=`api`} | json | app=`web`", 0},
		{"{app=`api`} | json | nothing=`x`", 0},
	} {
		r := run(t, e, Request{Query: c.query, Start: 0, End: second(lines), Limit: lines, Direction: Backward, Explain: true})
		store := &r.Stats.Store
		if int64(len(r.Lines)) != c.want || store.Columns.Rebuilt != c.want || store.Matched != c.want {
			t.Errorf("%s: %d lines, %d made, %d matched; want %d", c.query, len(r.Lines), store.Columns.Rebuilt, store.Matched, c.want)
		}
		if store.ByFields > 0 && !strings.Contains(r.Plan.Text, fmt.Sprintf("fields from columns: of %d lines", store.ByFields)) {
			t.Errorf("%s: %s", c.query, r.Plan.Text)
		}
		for i := range r.Lines {
			if i > 0 && r.Lines[i].Time >= r.Lines[i-1].Time {
				t.Fatalf("%s: line %d is not older than the one before", c.query, i)
			}
		}
	}
}

// More streams than a fieldMatcher remembers are each asked about.
func TestFieldLogsOfManyStreams(t *testing.T) {
	s := openStore(t)
	const streams = 3 * maxMatchClasses
	var batch logstore.Batch
	for i := range streams {
		line := fmt.Appendf(nil, `{"n":%d,"msg":"request %d of a worker that has many of them"}`, i%5, i)
		batch = append(batch, logstore.Stream{Labels: logstore.MustLabels("app", "api", "pod", fmt.Sprint("pod-", i%7), "host", fmt.Sprint(i)), Entries: []logstore.Entry{{Time: second(i % 10), Line: line}}})
	}
	if err := s.Append(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	if err := s.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := 0
	for i := range streams {
		if i%5 > 1 && i%7 != 3 {
			want++
		}
	}
	r := run(t, NewEngine(s, Options{Limits: Limits{Parallel: 1, Lines: streams}}), Request{Query: "{app=`api`} | json | n>1 | pod!=`pod-3`", Start: 0, End: second(60), Limit: streams})
	if len(r.Lines) != want || r.Stats.Store.ByFields == 0 {
		t.Errorf("%d lines, %d did not match by fields; want %d", len(r.Lines), r.Stats.Store.ByFields, want)
	}
}
