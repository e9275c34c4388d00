package logstore

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// A filter that panics ends its query with the value and the stack, wherever the
// entries are, and nothing else: its memory is released, and other queries and
// appends go on.
func TestFilterPanics(t *testing.T) {
	s := openTest(t, t.TempDir(), anyTime())
	ctx := context.Background()
	why := errors.New("a bug in the filter")
	bad := Func(func(line []byte, _ Labels) bool {
		if string(line) == "line 7" {
			panic(why)
		}
		return true
	})
	check := func(what string, err error) {
		t.Helper()
		p, ok := errors.AsType[*PanicError](err)
		if !ok {
			t.Fatalf("%s: the error is %v", what, err)
		}
		if p.Value != why || !errors.Is(err, why) || !strings.Contains(string(p.Stack), "panic_test.go") {
			t.Errorf("%s: value %v, stack\n%s", what, p.Value, p.Stack)
		}
		if !strings.Contains(err.Error(), "the filter panicked: a bug in the filter") {
			t.Errorf("%s: %v", what, err)
		}
	}
	free := s.reads.memory.Free()
	for _, where := range []string{"memory", "segment"} {
		var list []Entry
		for i := range 100 {
			list = append(list, Entry{Time: int64(i), Line: fmt.Append(nil, "line ", i)})
		}
		mustAppend(t, s, Batch{{MustLabels("where", where), list}})
		for _, q := range []Query{{Filter: bad}, {Filter: Not(bad), Order: Backward}, {Filter: All(bad), Limit: 100}} {
			var last error
			for _, err := range s.Query(ctx, q) {
				last = err
			}
			check(fmt.Sprintf("%s: query in order %d", where, q.Order), last)
		}
		counts, err := s.Count(ctx, Query{Filter: bad}, 0)
		if check(where+": count", err); counts != nil {
			t.Errorf("%s: Count returned %v", where, counts)
		}
		if n := len(query(t, s, Query{Filter: Contains("line 7"), Selector: Selector{{Name: "where", Value: where}}})); n != 11 {
			t.Errorf("%s: another query found %d entries", where, n)
		}
		if err := s.Seal(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.reads.memory.Free(); got != free {
		t.Errorf("%d bytes of the budget are free, %d were", got, free)
	}
}

// A filter that ends its goroutine, as FailNow of a test does, ends its query.
func TestFilterEndsItsGoroutine(t *testing.T) {
	s := openTest(t, t.TempDir(), anyTime())
	mustAppend(t, s, one(MustLabels("app", "x"), 1, "a"))
	free := s.reads.memory.Free()
	var last error
	for _, err := range s.Query(context.Background(), Query{Filter: Func(func([]byte, Labels) bool { runtime.Goexit(); return true })}) {
		last = err
	}
	if !errors.Is(last, errGoexit) {
		t.Errorf("the error is %v", last)
	}
	if n := len(query(t, s, Query{})); n != 1 || s.reads.memory.Free() != free {
		t.Errorf("another query found %d entries; %d bytes are free, %d were", n, s.reads.memory.Free(), free)
	}
}

// What a reading was for when a filter ended its goroutine is nothing to the query that uses it next.
func TestFoldAfterFilterEndsItsGoroutine(t *testing.T) {
	s := openTest(t, t.TempDir(), anyTime())
	const lines = 20_000
	st := Stream{Labels: MustLabels("app", "x")}
	for i := range lines {
		st.Entries = append(st.Entries, Entry{Time: int64(i), Line: fmt.Appendf(nil, "line %d", i)})
	}
	mustAppend(t, s, Batch{st})
	if err := s.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	mustAppend(t, s, one(MustLabels("app", "small"), 1, "a")) // of which a task keeps little
	if err := s.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	small := Selector{{Name: "app", Value: "small"}}
	ends := Func(func([]byte, Labels) bool { runtime.Goexit(); return true })
	for range 2 * cap(s.reads.readings) { // all of them
		for _, err := range s.Query(t.Context(), Query{Selector: small, Filter: ends}) {
			if !errors.Is(err, errGoexit) {
				t.Fatalf("the error is %v", err)
			}
		}
		var all countingFolder
		if err := s.Fold(t.Context(), Query{}, func(func(int64) error) Folder { return &all }); err != nil || all.entries.Load() != lines+1 {
			t.Fatalf("%d lines, %v; want %d", all.entries.Load(), err, lines+1)
		}
	}
}
