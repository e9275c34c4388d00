package logql

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stele-go/stele/logql/syntax"
	"github.com/stele-go/stele/logstore"
)

// A query whose result would be huge is refused before its memory is made.
func TestHugeResultsAreRefused(t *testing.T) {
	s := openStore(t)
	for i := range 100 {
		add(t, s, logstore.MustLabels("w", fmt.Sprint("v", i)), logstore.Entry{Time: second(i), Line: fmt.Appendf(nil, "n=%d", i)})
	}
	const memory = 4 << 20
	e := NewEngine(s, Options{Limits: Limits{Memory: memory, Steps: 1 << 30}})
	year := Request{Start: base, End: base + int64(365*24*time.Hour), Step: time.Second}
	hour := Request{Start: base, End: second(12 * 3600), Step: 100 * time.Millisecond} // 3.5 MB a column, 7 MB of points
	for query, r := range map[string]Request{
		`vector(1)`:                          year,
		`1 + 1`:                              year,
		`absent_over_time({w="none"}[1m])`:   year,
		`sum(count_over_time({w="v1"}[1m]))`: year,
		`sum by (w) (count_over_time({w=~".+"} | logfmt | n > 1 [1m]))`: year,
		`quantile_over_time(0.5, {w="v1"} | logfmt | unwrap n [1m])`:    year,
		`vector(2)`:               hour,
		`vector(1) + vector(2)`:   hour,
		`-1 * vector(3)`:          hour,
		`sum(vector(1))`:          hour,
		`topk(1, vector(1))`:      hour,
		`vector(1) or vector(2)`:  hour,
		`vector(1) and vector(2)`: hour,
	} {
		r.Query = query
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := e.Run(context.Background(), r)
		runtime.ReadMemStats(&after)
		var limit *LimitError
		if made := after.TotalAlloc - before.TotalAlloc; !errors.As(err, &limit) || limit.Limit != "Limits.Memory" || made > 4*memory {
			t.Errorf("%s: %v, after %d bytes; want a LimitError of Limits.Memory before there are much more than %d", query, err, made, memory)
		}
	}
}

// Of what label_replace makes of a label there may be as much as of series.
func TestReplacedLabelsAreCharged(t *testing.T) {
	s := openStore(t)
	add(t, s, logstore.MustLabels("w", "a"), logstore.Entry{Time: second(1), Line: fmt.Appendf(nil, "n=%01000d", 1)})
	e := NewEngine(s, Options{Limits: Limits{Memory: 1 << 20}})
	query := fmt.Sprintf(`label_replace(sum by (n) (count_over_time({w="a"} | logfmt [1m])), "m", %q, "n", "(.*)")`, manyTimes("$1", 2000))
	var limit *LimitError
	if _, err := e.Run(context.Background(), Request{Query: query, End: second(2), Instant: true}); !errors.As(err, &limit) || limit.Limit != "Limits.Memory" {
		t.Errorf("%v; want a LimitError of Limits.Memory", err)
	}
}

func manyTimes(s string, n int) (all string) {
	for range n {
		all += s
	}
	return all
}

// What regular expressions take is free once the part of the query ends that has them, and of
// a range aggregation all but its series.
func TestPartsGiveBack(t *testing.T) {
	s := openStore(t)
	fill(t, s)
	e := NewEngine(s, Options{})
	const regexps = `{env="prod"} |~ "[a-z]+ \\d+" | regexp "(?P<x>[a-z]+) (?P<y>\\w+)" | y=~"[a-z]+\\d*"`
	for _, r := range []Request{
		{Query: `sum by (x) (rate(` + regexps + ` [1m])) / sum by (x) (count_over_time(` + regexps + ` [5m]))`, Start: base, End: second(120), Step: time.Second},
		{Query: regexps, Start: base, End: second(120), Limit: 10},
		{Query: regexps, Start: base, End: second(120), Limit: 10, Interval: time.Second},
	} {
		x, err := e.begin(context.Background(), r)
		if err != nil {
			t.Fatal(err)
		}
		lines := int64(0)
		if metric, ok := x.expr.(syntax.MetricExpr); ok {
			_, err = x.metric(metric)
		} else {
			var result *Result
			result, err = x.logs(x.expr.(*syntax.LogExpr))
			lines = int64(len(result.Lines))
		}
		if err != nil {
			t.Fatal(err)
		}
		if kept := x.kept.Load(); x.automata.Load() != 0 || kept <= 0 || kept > 20_000 || lines == 0 != (r.Limit == 0) {
			t.Errorf("%s: %d bytes are kept for automata, %d in all, of %d lines; want 0, and few", r.Query, x.automata.Load(), kept, lines)
		}
		x.end()
	}
}

// A rereadingSource is a store of which a tail reads all again, as a slow one does what there
// was no memory for. after is called behind each reading.
type rereadingSource struct {
	Source
	times int
	after func(n int)
}

func (s *rereadingSource) Follow(ctx context.Context, q logstore.Query) iter.Seq2[logstore.Result, error] {
	return func(yield func(logstore.Result, error) bool) {
		for n := range s.times {
			for r, err := range s.Source.Query(ctx, q) {
				if !yield(r, err) {
					return
				}
			}
			s.after(n)
		}
	}
}

// A tail does not keep what it reads lines again with.
func TestTailsThatReadAgainTakeNoMemory(t *testing.T) {
	s := openStore(t)
	fill(t, s)
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	const few, times = 10, 110
	var before, after int64
	e := NewEngine(&rereadingSource{Source: s, times: times, after: func(n int) {
		switch n {
		case few - 1:
			before = heap()
		case times - 1:
			after = heap()
		}
	}}, Options{})
	lines := 0
	for _, err := range e.Tail(context.Background(), Request{Query: `{app="api"} | json | path=~"/([a-z]+|[a-z]{1,200})/[0-9]{1,200}"`, Start: base}) {
		if err != nil {
			t.Fatal(err)
		}
		lines++
	}
	if lines != times*120 || after-before > 1<<20 {
		t.Errorf("%d lines; %d bytes more after %d readings than after %d", lines, after-before, times, few)
	}
}

// What the automata ask for in vain is not counted: other goroutines may have it.
func TestAutomataThatAreRefused(t *testing.T) {
	const memory, free = 1 << 20, 1000
	x := &execution{limits: Limits{Memory: memory}}
	x.kept.Store(memory - free)
	var asking sync.WaitGroup
	for range 2 {
		asking.Go(func() {
			for range 50_000 {
				if x.growAutomata(2 * free) {
					t.Error("the automata may take more than there is")
				}
			}
		})
	}
	for range 50_000 {
		if err := x.charge(free); err != nil {
			t.Error(err)
			break
		}
		x.charge(-free)
	}
	asking.Wait()
	if kept, automata := x.kept.Load(), x.automata.Load(); kept != memory-free || automata != 0 {
		t.Errorf("%d bytes are kept, %d of automata; want %d, 0", kept, automata, int64(memory-free))
	}
}
