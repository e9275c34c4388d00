package logstore

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// A deletion covers those whose entries are all among its own, and that is what the entries
// say too.
func TestDeletionCovers(t *testing.T) {
	a, ab := app("a"), append(app("a"), Matcher{Name: "b", Op: NotMatches, Value: "x.*"})
	ba := Selector{ab[1], ab[0]}
	matched, err := Match("app", Equal, "a")
	mustDo(t, err)
	for _, c := range []struct {
		later, earlier Deletion
		want           bool
	}{
		{Deletion{Selector: a}, Deletion{Selector: a}, true},
		{Deletion{Selector: Selector{matched}}, Deletion{Selector: a}, true},
		{Deletion{Selector: a}, Deletion{Selector: ab}, true},
		{Deletion{Selector: ab}, Deletion{Selector: a}, false},
		{Deletion{Selector: ab}, Deletion{Selector: ba}, true},
		{Deletion{Selector: a}, Deletion{Selector: app("c")}, false},
		{Deletion{To: math.MaxInt64}, Deletion{Selector: a}, true},
		{Deletion{Selector: a, From: 5, To: 9}, Deletion{Selector: a, From: 5, To: 9}, true},
		{Deletion{Selector: a, From: 5, To: 9}, Deletion{Selector: a, From: 6, To: 8}, true},
		{Deletion{Selector: a, From: 5, To: 9}, Deletion{Selector: a, From: 6, To: 10}, false},
		{Deletion{Selector: a, From: 5, To: 9}, Deletion{Selector: a, From: 4, To: 9}, false},
		{Deletion{Selector: a, From: 5, To: 9}, Deletion{Selector: a, From: 6}, false},
		{Deletion{Selector: a, From: 5}, Deletion{Selector: a, From: 6, To: math.MaxInt64}, true},
		{Deletion{Selector: a, Tenant: "t"}, Deletion{Selector: a}, false},
		{Deletion{Selector: a, Tenant: "t"}, Deletion{Selector: ab, Tenant: "t"}, true},
	} {
		var p [2]*deletion
		for i, d := range []Deletion{c.later, c.earlier} {
			g, err := d.compile()
			mustDo(t, err)
			p[i] = &deletion{Deletion: d, gone: g}
			p[i].placed(uint64(2 - i))
		}
		if got := p[0].covers(p[1]); got != c.want {
			t.Errorf("%+v covers %+v: %v", c.later, c.earlier, got)
		}
		if left := withoutCovered(p[:]); len(left) == 1 != c.want || !slices.Contains(left, p[0]) {
			t.Errorf("%+v and an earlier %+v: %d are left", c.later, c.earlier, len(left))
		}
	}
}

// Deletions that are repeated pend once, whatever is appended between them, and are due as
// the first was. None of what they delete is found, then or after a restart, and what is
// appended after the last stays.
func TestRepeatedDeletionsPendOnce(t *testing.T) {
	dir := t.TempDir()
	o, clock := anyTime(), newTestClock()
	o.Clock = clock
	s := openTest(t, dir, o)
	want := 0
	for i := range int64(20) {
		mustAppend(t, s, one(MustLabels("app", "a"), 100+i, "a"))
		mustAppend(t, s, one(MustLabels("app", "b"), 100+i, "b"))
		d := Deletion{Selector: app("a"), From: 100, To: 110 + i}
		if i == 10 {
			d.Selector = append(d.Selector, Matcher{Name: "app", Op: NotEqual, Value: "b"}) // covers none, and the next covers it
		}
		mustDelete(t, s, d)
		if i == 9 {
			mustSeal(t, s)
		}
		if got := len(s.Deletions()); got != 1 && (i != 10 || got != 2) {
			t.Fatalf("after %d deletions %d pend", i+1, got)
		}
		clock.ns.Add(int64(10 * time.Second))
		want++
	}
	mustAppend(t, s, one(MustLabels("app", "a"), 105, "a later"))
	want++
	check := func(when string) {
		t.Helper()
		if got := linesOf(t, s, Query{}); len(got) != want {
			t.Errorf("%s: %d entries; want %d", when, len(got), want)
		}
		if d := s.Deletions(); len(d) != 1 || d[0].To != 129 {
			t.Errorf("%s: pending %+v", when, d)
		}
	}
	check("at once")
	if list, _ := s.deletions.due(clock)(); len(list) != 1 || !list[0].Due {
		t.Errorf("%+v; want one that is due, as the first of them is", list)
	}
	mustDo(t, s.Close())
	s = openTest(t, dir, o)
	check("after a restart")
	mustDo(t, s.Compact(t.Context()))
	if got := linesOf(t, s, Query{}); len(got) != want || len(s.Deletions()) != 0 {
		t.Errorf("after Compact: %d entries, pending %+v", len(got), s.Deletions())
	}
}

// While a segment is missing, deletions that may have entries there pend, and the error
// of too many names it and says what to do. Those that are over make way.
func TestTooManyDeletions(t *testing.T) {
	dir := t.TempDir()
	s := openTest(t, dir, anyTime())
	for range 2 {
		mustAppend(t, s, one(MustLabels("app", "a"), 100, "x"))
		mustSeal(t, s)
	}
	many := func() (n int, err error) {
		for ; n < 12; n++ {
			value := fmt.Sprint(n, strings.Repeat("x", 30<<10))
			if _, err = s.Delete(t.Context(), Deletion{Selector: Selector{{Name: "user", Op: Equal, Value: value}}}); err != nil {
				return n, err
			}
		}
		return n, nil
	}
	if n, err := many(); err != nil {
		t.Fatalf("after %d deletions of what is not there: %v", n, err)
	}
	mustDo(t, s.Compact(t.Context()))
	mustAppend(t, s, one(MustLabels("app", "a"), 100, "x"))
	mustSeal(t, s) // the log does not keep them
	mustDo(t, s.Close())
	gone := segmentPaths(t, dir)[0]
	mustDo(t, os.Remove(gone))
	s = openTest(t, dir, anyTime())
	n, err := many()
	if n != 8 || !errors.Is(err, ErrDeletions) || !strings.Contains(err.Error(), "8 of them are kept for segments that are missing, such as "+gone) || !strings.Contains(err.Error(), "AcceptMissing") {
		t.Fatalf("after %d deletions: %v", n, err)
	}
	mustDelete(t, s, Deletion{To: math.MaxInt64}) // of all, so it takes their place
	if d := s.Deletions(); len(d) != 1 {
		t.Errorf("%d deletions pend; want one", len(d))
	}
}
