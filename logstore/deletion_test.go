package logstore

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"testing"
)

// app is a Selector of the streams of an app.
func app(name string) Selector { return Selector{{Name: "app", Op: Equal, Value: name}} }

// deletionStore returns a store with 20 entries of two streams each, half of them in
// a segment.
func deletionStore(t *testing.T, dir string) *Store {
	s := openTest(t, dir, small())
	a, b := MustLabels("app", "a"), MustLabels("app", "b")
	for i := range int64(20) {
		mustAppend(t, s, one(a, 100+i, fmt.Sprint("a", i)))
		mustAppend(t, s, one(b, 100+i, fmt.Sprint("b", i)))
		if i == 9 {
			if err := s.Seal(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	return s
}

func mustDelete(t *testing.T, s *Store, d Deletion) uint64 {
	t.Helper()
	pos, err := s.Delete(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	return pos
}

// linesOf returns what a query finds, and compares the other kinds of queries with
// it.
func linesOf(t *testing.T, s *Store, q Query) (list []string) {
	t.Helper()
	for f, err := range s.Query(t.Context(), q) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, string(f.Line))
	}
	groups, err := s.Aggregate(t.Context(), q, Aggregation{})
	if err != nil {
		t.Fatal(err)
	}
	n := int64(0)
	for _, g := range groups {
		entries, _ := g.Total()
		n += entries
	}
	if n != int64(len(list)) {
		t.Errorf("Aggregate counts %d entries, Query finds %d", n, len(list))
	}
	top := q
	top.Limit, top.Order = 3, Backward
	var last []string
	for f, err := range s.Query(t.Context(), top) {
		if err != nil {
			t.Fatal(err)
		}
		last = append(last, string(f.Line))
	}
	slices.Reverse(last)
	if want := list[max(0, len(list)-3):]; !slices.Equal(last, want) {
		t.Errorf("the last entries are %q; want %q", last, want)
	}
	return list
}

func without1(list []string, gone func(string) bool) []string {
	return slices.DeleteFunc(slices.Clone(list), gone)
}

func TestDelete(t *testing.T) {
	dir := t.TempDir()
	s := deletionStore(t, dir)
	all := linesOf(t, s, Query{})
	mustDelete(t, s, Deletion{Selector: app("a"), From: 105, To: 115})
	want := without1(all, func(line string) bool {
		var i int
		n, _ := fmt.Sscanf(line, "a%d", &i)
		return n == 1 && i >= 5 && i < 15
	})
	// Entries that are appended later stay.
	mustAppend(t, s, one(MustLabels("app", "a"), 119, "later a"))
	mustAppend(t, s, one(MustLabels("app", "a"), 110, "late a"))
	want = append(want, "later a")
	want[len(want)-1], want[len(want)-2] = want[len(want)-2], want[len(want)-1] // its stream is the first
	want = slices.Insert(want, slices.Index(want, "b10"), "late a")
	check := func(when string) {
		t.Helper()
		if got := linesOf(t, s, Query{}); !slices.Equal(got, want) {
			t.Fatalf("%s: %q\nwant %q", when, got, want)
		}
	}
	check("at once")
	reopen := func() {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = openTest(t, dir, small())
		<-s.Ready()
	}
	reopen()
	check("after a restart")
	if err := s.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	check("after a seal")
	reopen()
	check("after a seal and a restart")
	series, err := s.Series(t.Context(), Query{Selector: app("a"), From: 105, To: 110})
	if len(series) != 0 || err != nil {
		t.Errorf("Series of what is deleted: %v, %v", series, err)
	}
	if series, err = s.Series(t.Context(), Query{From: 105, To: 111}); len(series) != 2 || err != nil {
		t.Errorf("Series with the later entry: %v, %v", series, err)
	}
}

func TestDeleteChecks(t *testing.T) {
	s := openTest(t, t.TempDir(), small())
	long := Selector{}
	for len(long) < 2000 {
		long = append(long, Matcher{Name: "a long name of a label", Op: NotEqual, Value: "a"})
	}
	for _, d := range []Deletion{
		{}, {From: -1, Selector: app("a")}, {From: 2, To: 2, Selector: app("a")}, {To: -1, Selector: app("a")},
		{Selector: Selector{{Name: "", Value: "a"}}}, {Selector: Selector{{Name: "a", Op: Matches, Value: "("}}}, {Selector: long},
	} {
		if _, err := s.Delete(t.Context(), d); err == nil {
			t.Errorf("Delete of %v from %d to %d is accepted", d.Selector, d.From, d.To)
		}
	}
	if _, err := s.Delete(t.Context(), Deletion{}); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("Delete of everything: %v", err)
	}
	mustDelete(t, s, Deletion{To: math.MaxInt64})
}

// Too many pending deletions are refused.
func TestDeletionsAreBounded(t *testing.T) {
	s := openTest(t, t.TempDir(), small())
	mustAppend(t, s, one(MustLabels("app", "a"), 100, "a"))
	var value [30 << 10]byte
	for i := range value {
		value[i] = 'x'
	}
	for i := range 10 {
		_, err := s.Delete(t.Context(), Deletion{Selector: Selector{{Name: "app", Op: NotEqual, Value: string(value[:])}}, From: 1000})
		if refused := errors.Is(err, ErrDeletions); refused != (i >= 8) || err != nil && !refused {
			t.Fatalf("deletion %d: %v", i, err)
		}
	}
	if err := s.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := len(s.Deletions()); n != 8 {
		t.Errorf("%d deletions are pending; want 8", n)
	}
}

func TestDeletionItem(t *testing.T) {
	d := Deletion{Selector: Selector{{Name: "app", Op: Equal, Value: "a"}, {Name: "b", Op: NotMatches, Value: "x.*"}}, From: 5, To: 7}
	d.Tenant = "t"
	p := &deletion{Deletion: d, when: 9}
	got, err := p.item().deletion(12)
	if err != nil || got.Position != 12 || got.logged != 12 || got.when != 9 || got.Before != 12 {
		t.Fatalf("%+v, %v", got, err)
	}
	if g := got.Deletion; g.Tenant != "t" || got.Drop.Tenant != "t" || g.Selector.String() != d.Selector.String() || g.From != 5 || g.To != 7 {
		t.Errorf("%v from %d to %d", g.Selector, g.From, g.To)
	}
	again, err := got.item().deletion(40)
	if err != nil || again.Position != 12 || again.logged != 40 {
		t.Errorf("a copy: %+v, %v", again, err)
	}
	data := got.item().data
	for n := range data {
		if _, err := (stateItem{stateDelete, data[:n]}).deletion(1); err == nil {
			t.Errorf("the first %d of %d bytes are a deletion", n, len(data))
		}
	}
}
