package logql

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stele-go/stele/logstore"
)

// A plan says what the store tests, what is left, and how much was read.
func TestExplain(t *testing.T) {
	s := openStore(t)
	fill(t, s)
	if err := s.Seal(context.Background()); err != nil {
		t.Fatal(err)
	}
	e := NewEngine(s, Options{})
	for _, c := range []struct{ query, want string }{
		{`sum by (app) (count_over_time({env="prod", app=~".+"}[1m]))`, `aggregate: sum by (app)
  range: count_over_time({env="prod", app=~".+"}[1m])
    - lines are summed up by (app) at once, as the aggregation over it asks
    - streams {env="prod", app=~".+"}
    - block metadata: counts by what the store knows of its blocks
    - segments: 1; `},
		{`sum(count_over_time({app="web"} |= "zanzibar" | logfmt | size>5 [1m]))`, `aggregate: sum
  range: count_over_time({app="web"} |= "zanzibar" | logfmt | size>5 [1m])
    - lines are summed up by () at once, as the aggregation over it asks
    - streams {app="web"}
    - index, then scan: contains "zanzibar"
    - scan for what later stages need: (has a number "size" > 5 or metadata has size!="")
    - the pipeline runs: | logfmt
    - the pipeline runs: | size>5
    - reads fields from columns, and lines where columns have none, once, for all steps
    - segments: 1; skipped 0 by time, 0 by streams or totals, `},
		{`{app="web"} |= "zanzibar" != "quiet" |~ "[0-9]+" |= "ab"`, `lines: {app="web"} |= "zanzibar" != "quiet" |~ "[0-9]+" |= "ab"
  - streams {app="web"}
  - index, then scan: contains "zanzibar"
  - scan: not contains "quiet"
  - scan: matches "[0-9]+"
  - scan: contains "ab"
  - segments: 1; `},
		{`{app="api"} | json | status="500"`, `lines: {app="api"} | json | status="500"
  - streams {app="api"}
  - index, then scan for what later stages need: (metadata has status="500" or has the word "500" or has the word "500" with escapes)
  - the pipeline runs: | json
  - the pipeline runs: | status="500"
  - label filters read fields from columns, and lines where columns have none
  - segments: 1; `},
	} {
		r := rangeOf(c.query)
		r.Explain = true
		if plan := run(t, e, r).Plan; !strings.HasPrefix(plan.Text, c.want) {
			t.Errorf("%s:\n%s\nwant\n%s...", c.query, plan.Text, c.want)
		}
	}
}

// The figures of a plan are those of a store whose segments are known.
func TestExplainFigures(t *testing.T) {
	s := openStore(t)
	seal := func(from int, labels logstore.Labels, word string) {
		var entries []logstore.Entry
		for i := range 100 {
			entries = append(entries, logstore.Entry{Time: second(from + i), Line: fmt.Appendf(nil, "%s %03d", word, i)})
		}
		add(t, s, labels, entries...)
		if err := s.Seal(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	a, b := logstore.MustLabels("app", "a"), logstore.MustLabels("app", "b")
	seal(0, a, "early")
	seal(1000, b, "other")
	seal(2000, a, "late1")
	e := NewEngine(s, Options{})
	const raw = 9 * 100 // bytes of the lines of a segment
	for _, c := range []struct {
		query                                   string
		end                                     int
		segments                                logstore.PartStats
		bytesRead, bytesSkipped, lines, matched int64
	}{
		{`{app="a"}`, 500, logstore.PartStats{Considered: 3, Time: 2, Read: 1}, raw, 2 * raw, 100, 100},
		{`{app="a"}`, 3000, logstore.PartStats{Considered: 3, Streams: 1, Read: 2}, 2 * raw, raw, 200, 200},
		{`{app="a"} |= "zanzibar"`, 3000, logstore.PartStats{Considered: 3, Streams: 1, Read: 2}, 0, 3 * raw, 0, 0},
		{`{app="a"} |= "late1" |= "1 00"`, 3000, logstore.PartStats{Considered: 3, Streams: 1, Read: 2}, raw, 2 * raw, 100, 10},
		{`sum by (app) (count_over_time({app=~".+"}[1h]))`, 3000, logstore.PartStats{Considered: 3, Read: 3}, 0, 3 * raw, 0, 0},
	} {
		result := run(t, e, Request{Query: c.query, Start: base, End: second(c.end), Instant: strings.HasPrefix(c.query, "sum"), Limit: 1000, Explain: true})
		n := result.Plan.Root
		for n.Store == nil {
			n = n.Children[0]
		}
		p := n.Store
		skipped := p.Bytes.Considered - p.Bytes.Read
		if p.Segments != c.segments || p.Bytes.Read != c.bytesRead || skipped != c.bytesSkipped || p.Lines != c.lines || p.Matched != c.matched {
			t.Errorf("%s: segments %+v, %d bytes read, %d skipped, %d lines, %d matched\nwant %+v, %d, %d, %d, %d\n%s", c.query, p.Segments, p.Bytes.Read, skipped, p.Lines, p.Matched,
				c.segments, c.bytesRead, c.bytesSkipped, c.lines, c.matched, result.Plan.Text)
		}
		if result.Stats.Store != *p {
			t.Errorf("%s: %+v in all, %+v in the plan", c.query, result.Stats.Store, *p)
		}
	}
}

// A plan tells of the columns of lines.
func TestExplainColumns(t *testing.T) {
	s := openStore(t)
	var entries []logstore.Entry
	for i := range 100 {
		entries = append(entries, logstore.Entry{Time: second(i), Line: fmt.Appendf(nil, "user %d has left", i)})
	}
	add(t, s, logstore.MustLabels("app", "a"), entries...)
	if err := s.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	e := NewEngine(s, Options{})
	for query, want := range map[string]string{
		`sum(count_over_time({app="a"} |= "left" [1h]))`: "- templates of blocks: 1, 1 of which told of all their lines; columns: 0 read, 0 skipped; 0 lines rebuilt",
		`sum(count_over_time({app="a"} |= "7" [1h]))`:    "- templates of blocks: 1, 0 of which told of all their lines; columns: 1 read, 0 skipped; 0 lines rebuilt",
		`{app="a"} |= "77"`:                              "- templates of blocks: 1, 0 of which told of all their lines; columns: 1 read, 0 skipped; 1 lines rebuilt",
	} {
		r := run(t, e, Request{Query: query, Start: base, End: second(200), Instant: strings.HasPrefix(query, "sum"), Limit: 1000, Explain: true})
		if !strings.Contains(r.Plan.Text, want) {
			t.Errorf("%s:\n%s\nwant %s", query, r.Plan.Text, want)
		}
	}
}

// stuck is a store whose queries wait for the end of their context.
type stuck struct{ *logstore.Store }

func (stuck) Fold(ctx context.Context, q logstore.Query, begin func(charge func(bytes int64) error) logstore.Folder) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestTimeLimit(t *testing.T) {
	e := NewEngine(stuck{openStore(t)}, Options{Limits: Limits{Time: 1}})
	var limit *LimitError
	if _, err := e.Run(context.Background(), rangeOf(`rate({app="a"} | json [1m])`)); !errors.As(err, &limit) || limit.Limit != "Limits.Time" {
		t.Errorf("error %v, want that of Limits.Time", err)
	}
}
