package logql

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stele-go/stele/logql/syntax"
	"github.com/stele-go/stele/logstore"
)

// What is remembered of rows is asked for as it grows: maps that may not be kept are dropped, and
// without memory for the arrays no row is like another one.
func TestAlikeRowsAreCharged(t *testing.T) {
	const rows, classes = 1000, 40
	limit := int64(100_000)
	a := alikeRows{grow: func(bytes int64) bool {
		if bytes > limit {
			return false
		}
		limit -= bytes
		return true
	}}
	fill := func() {
		a.begin(nil, -1, rows)
		for class := range classes { // those that come last have no room in the arrays
			m := a.memo.of(class, rows)
			for code := range uint32(rows) {
				m.put(code, 1)
			}
		}
		a.end()
	}
	a.begin(nil, -1, rows)
	if a.end(); a.apart || a.held < 4*8*rows {
		t.Fatalf("%d bytes for %d rows, apart %v; want more, and room for them", a.held, rows, a.apart)
	}
	arrays := a.held
	if fill(); a.memo.sparse != nil || a.held != arrays {
		t.Errorf("%d bytes are held, a map of %d; want %d, and none: there is no memory for it", a.held, len(a.memo.sparse), arrays)
	}
	limit = 1 << 30
	for range maplessBatches {
		if fill(); a.memo.sparse != nil {
			t.Fatal("a map is made in the batches that come next")
		}
	}
	if fill(); a.held < arrays+8*classes*rows/2 {
		t.Errorf("%d bytes are held for %d numbers", a.held, classes*rows)
	}
	limit = 0
	a.begin(nil, -1, 1000*rows)
	if m := a.of(0); !a.apart || a.code(rows) != 0 {
		t.Error("rows are alike without memory to tell so")
	} else if m.put(0, 1); m.get(0) != 0 {
		t.Error("a memo without memory remembers")
	}
	a.end()
	if a.release(); a.held != 0 || limit <= 0 {
		t.Errorf("%d bytes are held after all were given back", a.held)
	}
}

// What is remembered of rows makes no query fail, and is given back once the query needs its memory.
func TestAlikeRowsGiveWay(t *testing.T) {
	const memory, rows = 1 << 20, 1000
	x := &execution{limits: Limits{Memory: memory}}
	a := alikeRows{grow: x.growMemos}
	a.begin(nil, -1, rows)
	a.end()
	if a.apart || a.held == 0 || x.memos.Load() != a.held {
		t.Fatalf("%d bytes are held, %d counted, apart %v", a.held, x.memos.Load(), a.apart)
	}
	if err := x.charge(memory); err != nil {
		t.Errorf("all memory of the query: %v", err)
	}
	a.begin(nil, -1, rows)
	if a.end(); !a.apart || a.held != 0 || x.memos.Load() != 0 {
		t.Errorf("%d bytes are held, %d counted, apart %v; want none: the query needs them", a.held, x.memos.Load(), a.apart)
	}
	if err := x.charge(1); err == nil {
		t.Error("more than all memory is allowed")
	}
	x.charge(-memory)
	if a.begin(nil, -1, rows); a.apart {
		t.Error("no row is alike, though there is memory again")
	}
	if a.release(); x.memos.Load() != 0 {
		t.Errorf("%d bytes are counted after all were given back", x.memos.Load())
	}
}

// Queries by fields that have no memory to remember rows find what they find with it, and those
// that have give it back.
func TestFieldsWithoutMemory(t *testing.T) {
	const lines = 2000
	s := openStore(t)
	for _, app := range []string{"api", "web"} {
		var entries []logstore.Entry
		for i := range lines {
			line := fmt.Sprintf(`{"status":%d,"user":"u%d","n":%d,"msg":"request %d"}`, []int{200, 404, 500}[i%3], i%300, i%7, i)
			entries = append(entries, logstore.Entry{Time: second(i), Line: []byte(line)})
		}
		add(t, s, logstore.MustLabels("app", app), entries...)
	}
	if err := s.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	ask := func(query string, memory int64) (list []string) {
		x, err := NewEngine(s, Options{Limits: Limits{Memory: memory}}).begin(t.Context(), Request{Query: query, Start: base, End: second(lines), Step: 5 * time.Minute, Limit: 50})
		if err != nil {
			t.Fatal(err)
		}
		defer x.end()
		if metric, ok := x.expr.(syntax.MetricExpr); ok {
			r, err := x.metric(metric)
			if err != nil {
				t.Fatalf("%s: %v", query, err)
			}
			for _, one := range r.Series {
				list = append(list, fmt.Sprint(one))
			}
		} else {
			r, err := x.logs(x.expr.(*syntax.LogExpr))
			if err != nil {
				t.Fatalf("%s: %v", query, err)
			}
			for _, one := range r.Lines {
				list = append(list, fmt.Sprintf("%d %s %s", one.Time, one.Stream, one.Text))
			}
		}
		if x.stats.Store.ByFields == 0 || x.memos.Load() != 0 {
			t.Errorf("%s: %d rows by fields, %d bytes are held after the query; want some, and none", query, x.stats.Store.ByFields, x.memos.Load())
		}
		return list
	}
	for _, query := range []string{
		"{app=~`.+`} | json | status>=500 | user=~`u1.*`",
		"sum by (status) (count_over_time({app=~`.+`} | json | user!=`u3` [5m]))",
		"sum by (app) (sum_over_time({app=~`.+`} | json | status>=404 | unwrap n [5m]))",
		"max by (status) (max_over_time({app=~`.+`} | json | unwrap n [5m]))",
	} {
		want := ask(query, 0)
		for _, memory := range []int64{60_000, 700_000, 4 << 20} { // of which a quarter is for what is remembered: none, arrays, and all
			if got := ask(query, memory); len(got) == 0 || !slices.Equal(got, want) {
				t.Errorf("%s, %d bytes of memory: %d; want %d", query, memory, len(got), len(want))
			}
		}
	}
}
