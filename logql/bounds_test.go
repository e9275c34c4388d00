package logql

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stele-go/stele/logstore"
)

// What a log query keeps of labels, and a metric query of cells, counts as its memory.
func TestMemoryIsCharged(t *testing.T) {
	s := openStore(t)
	var entries []logstore.Entry
	for i := range 200 {
		entries = append(entries, logstore.Entry{Time: second(i), Line: fmt.Appendf(nil, "n=%d", i), Metadata: logstore.MustLabels("long", strings.Repeat("x", 1000)+fmt.Sprint(i))})
	}
	add(t, s, logstore.MustLabels("app", "api"), entries...)
	for _, c := range []struct {
		r      Request
		memory int64
	}{
		{Request{Query: `{app="api"}`, Start: base, End: second(300), Limit: 200}, 200 << 10},
		{Request{Query: `count_over_time({app="api"} | logfmt | drop long [1s])`, Start: base, End: second(10_000), Step: time.Second}, 400 << 10},
	} {
		e := NewEngine(s, Options{Limits: Limits{Memory: c.memory}})
		var limit *LimitError
		if _, err := e.Run(context.Background(), c.r); !errors.As(err, &limit) || limit.Limit != "Limits.Memory" || !strings.Contains(err.Error(), fmt.Sprintf("allows %d bytes", c.memory)) {
			t.Errorf("%s: %v; want a LimitError of Limits.Memory", c.r.Query, err)
		}
	}
}

func TestLimitsHaveUnits(t *testing.T) {
	s := openStore(t)
	e := NewEngine(s, Options{Limits: Limits{MaxRange: time.Hour}})
	_, err := e.Run(context.Background(), Request{Query: `{app="api"}`, Start: base, End: second(7200)})
	if want := "logql: lines of 2h0m0s; Limits.MaxRange allows 1h0m0s"; err == nil || err.Error() != want {
		t.Errorf("%v; want %s", err, want)
	}
}

// By the label that is unwrapped there is a series for each of its values, as in Loki.
func TestByUnwrapped(t *testing.T) {
	s := openStore(t)
	for i, line := range []string{"n=1 x=a", "n=2 x=a", "n=1 x=b"} {
		add(t, s, logstore.MustLabels("w", "a"), logstore.Entry{Time: second(i + 1), Line: []byte(line)})
	}
	e := NewEngine(s, Options{})
	for query, want := range map[string][]string{
		`max_over_time({w="a"} | logfmt | unwrap n [2m]) by (n)`:                      {"n=1 10:1", "n=2 10:2"},
		`max_over_time({w="a"} | logfmt | unwrap n [2m]) by (x,n)`:                    {"n=1 x=a 10:1", "n=1 x=b 10:1", "n=2 x=a 10:2"},
		`sum by (n) (sum_over_time({w="a"} | logfmt | unwrap n [2m]))`:                {"n=1 10:2", "n=2 10:2"},
		`max by (n) (max_over_time({w="a"} | logfmt | unwrap n [2m]))`:                {"10:2"},
		`sum by (n) (max_over_time({w="a"} | logfmt | unwrap n [2m]))`:                {"10:3"},
		`sum without (x, n) (sum_over_time({w="a"} | logfmt | unwrap n [2m]))`:        {"w=a 10:4"},
		`max without (x) (max_over_time({w="a"} | logfmt | unwrap n [2m]))`:           {"w=a 10:2"},
		`sum by (x) (max_over_time({w="a"} | logfmt | unwrap n [2m]) by (n))`:         {"10:3"},
		`max by (x) (max_over_time({w="a"} | logfmt | unwrap n [2m]))`:                {"x=a 10:2", "x=b 10:1"},
		`sum by (n) (rate({w="a"} | logfmt | unwrap n [2s])) * 2`:                     {},
		`sum by (n) (avg_over_time({w="a"} | logfmt | unwrap n | __error__="" [2m]))`: {"10:2.5"},
		`count by (n) (count_over_time({w="a"} | logfmt | n=~"1|2" [2m]))`:            {"n=1 10:2", "n=2 10:1"},
		`avg_over_time({w="a"} | logfmt | unwrap n | x="a" [2m]) by (n, w)`:           {"n=1 w=a 10:1", "n=2 w=a 10:2"},
	} {
		got := seriesText(run(t, e, Request{Query: query, Start: second(10), End: second(10), Instant: true}).Series)
		if !slices.Equal(got, want) && len(got)+len(want) > 0 {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
}

// absent_over_time has the labels of which the selector has one matcher, an =, as in Loki.
func TestAbsentLabels(t *testing.T) {
	e := NewEngine(openStore(t), Options{})
	for selector, want := range map[string]string{
		`{w="n"}`: "w=n 1:1", `{w="n",w="m"}`: "1:1", `{w="n",w="n"}`: "1:1", `{w="n",w=~"n.*"}`: "1:1", `{w="n",s="1",s!="2"}`: "w=n 1:1",
		`{w=~"n.*",s="1",s="2",q="x"}`: "q=x 1:1", `{w="n",s!="2",s="1"}`: "w=n 1:1", `{w="n",s=""}`: "w=n 1:1",
	} {
		got := seriesText(run(t, e, Request{Query: "absent_over_time(" + selector + "[1s])", Start: second(1), End: second(1), Instant: true}).Series)
		if !slices.Equal(got, []string{want}) {
			t.Errorf("%s: %q, want %q", selector, got, want)
		}
	}
}

// A range without a time in it has no lines, also at 0, where the store would see no end.
func TestEmptyRange(t *testing.T) {
	s := openStore(t)
	fill(t, s)
	e := NewEngine(s, Options{})
	for _, at := range []int64{0, second(5)} {
		if r := run(t, e, Request{Query: `{env="prod"}`, Start: at, End: at}); len(r.Lines) > 0 || r.Stats.Store.Lines > 0 {
			t.Errorf("from %d to %d: %d lines, %d read; want none", at, at, len(r.Lines), r.Stats.Store.Lines)
		}
	}
	r := run(t, e, Request{Query: `count_over_time({env="prod"} |= "" [1m] offset 1h)`, Start: 10, End: 10, Instant: true})
	if len(r.Series) > 0 || r.Stats.Parts > 0 {
		t.Errorf("before 1970: %v of %d parts; want none", r.Series, r.Stats.Parts)
	}
	if r := run(t, e, Request{Query: `absent_over_time({env="prod"}[1m] offset 1h)`, Start: 10, End: 10, Instant: true}); len(r.Series) != 1 {
		t.Errorf("nothing before 1970: %v; want one series", r.Series)
	}
	n := 0
	for _, err := range e.Stream(context.Background(), Request{Query: `{env="prod"}`, Limit: -1}) {
		if n++; err != nil {
			t.Fatal(err)
		}
	}
	if n != 360 {
		t.Errorf("a stream without an end: %d lines, want 360", n)
	}
}

// Lines of equal time have one order, however many goroutines read them and wherever they are.
func TestFirstAndLastOfEqualTimes(t *testing.T) {
	s := openStore(t)
	n := 0
	for range 3 { // two of them in segments
		for range 200 {
			for _, stream := range []string{"a", "b"} {
				add(t, s, logstore.MustLabels("w", "tie", "s", stream), logstore.Entry{Time: second(1), Line: fmt.Appendf(nil, "v=%d", n), Metadata: logstore.MustLabels("m", fmt.Sprint(n))})
				n++
			}
		}
		if n < 1200 {
			if err := s.Seal(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
	}
	e := NewEngine(s, Options{})
	for range 10 {
		for query, want := range map[string][]string{
			`first_over_time({w="tie"} | logfmt | unwrap v [1m]) by (w)`: {"w=tie 2:0"},
			`last_over_time({w="tie"} | logfmt | unwrap v [1m]) by (w)`:  {"w=tie 2:1199"},
			`first_over_time({w="tie"} | logfmt | unwrap v [1m]) by (s)`: {"s=a 2:0", "s=b 2:1"},
			`last_over_time({w="tie"} | logfmt | unwrap v [1m]) by (s)`:  {"s=a 2:1198", "s=b 2:1199"},
			`last_over_time({w="tie"} | unwrap m [1m]) by (s)`:           {"s=a 2:1198", "s=b 2:1199"},
		} {
			got := seriesText(run(t, e, Request{Query: query, Start: second(2), End: second(2), Instant: true}).Series)
			if !slices.Equal(got, want) {
				t.Fatalf("%s: %q, want %q", query, got, want)
			}
		}
	}
}

// A lateSource ends the context with the first entry, and reads all the same: as a store does
// whose last look at the context was before.
type lateSource struct {
	Source
	cancel func()
}

func (s lateSource) Query(ctx context.Context, q logstore.Query) iter.Seq2[logstore.Result, error] {
	return func(yield func(logstore.Result, error) bool) {
		for r, err := range s.Source.Query(context.WithoutCancel(ctx), q) {
			s.cancel()
			if !yield(r, err) {
				return
			}
		}
	}
}

func (s lateSource) Fold(ctx context.Context, q logstore.Query, begin func(charge func(bytes int64) error) logstore.Folder) error {
	return s.Source.Fold(context.WithoutCancel(ctx), q, func(charge func(bytes int64) error) logstore.Folder {
		s.cancel()
		return begin(charge)
	})
}

func (s lateSource) Patterns(ctx context.Context, q logstore.Query, a logstore.PatternAggregation) ([]logstore.PatternGroup, error) {
	s.cancel()
	return s.Source.Patterns(context.WithoutCancel(ctx), q, a)
}

// What lacks lines because the query has ended is no result.
func TestEndedQueriesFail(t *testing.T) {
	s := openStore(t)
	fill(t, s)
	const query = `{app="web"} | line_format "{{.app}}"`
	lines := Selection{Query: query, Start: base, End: second(120)}
	for name, ask := range map[string]func(context.Context, *Engine) error{
		"history": func(ctx context.Context, e *Engine) error {
			_, _, err := e.History(ctx, Request{Query: query, Start: base, Limit: 5})
			return err
		},
		"patterns": func(ctx context.Context, e *Engine) error {
			_, err := e.Patterns(ctx, PatternsRequest{Selection: lines, Step: time.Hour})
			return err
		},
		"fields": func(ctx context.Context, e *Engine) error {
			_, err := e.DetectedFields(ctx, FieldsRequest{Selection: lines})
			return err
		},
		"lines": func(ctx context.Context, e *Engine) error {
			_, err := e.Run(ctx, Request{Query: query, Start: base, End: second(120)})
			return err
		},
		"sums": func(ctx context.Context, e *Engine) error { // the template's own error says less
			_, err := e.Run(ctx, Request{Query: `sum by (x) (count_over_time({app="web"} | label_format x="{{repeat 999 .app}}" [5m]))`, End: second(120), Instant: true})
			return err
		},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		if err := ask(ctx, NewEngine(lateSource{s, cancel}, Options{})); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v; want %v", name, err, context.Canceled)
		}
		cancel()
	}
}
