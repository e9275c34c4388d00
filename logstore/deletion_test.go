package logstore

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
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

// Too many pending deletions are refused. Each meets the entry: one that meets
// nothing is over with the next seal.
func TestDeletionsAreBounded(t *testing.T) {
	s := openTest(t, t.TempDir(), small())
	mustAppend(t, s, one(MustLabels("app", "a"), 100, "a"))
	var value [30 << 10]byte
	for i := range value {
		value[i] = 'x'
	}
	for i := range 10 {
		// None covers another.
		_, err := s.Delete(t.Context(), Deletion{Selector: Selector{{Name: "app", Op: NotEqual, Value: fmt.Sprint(i, string(value[:]))}}, From: 100})
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

// bytesIn reports whether a file below dir has a text.
func bytesIn(t *testing.T, dir, text string) bool {
	t.Helper()
	found := false
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		p, err := os.ReadFile(path)
		found = found || bytes.Contains(p, []byte(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// After a compaction nothing of deleted entries is in the segments, and the deletion
// is forgotten. Lines are random, so that blocks do not compress them.
func TestDeletedBytesAreGone(t *testing.T) {
	for _, c := range []struct {
		name string
		d    Deletion
		left int // of 30 entries of each of two streams
	}{
		{"some of each block", Deletion{Selector: app("a"), From: 105, To: 125}, 40},
		{"a stream", Deletion{Selector: app("a")}, 30},
		{"a time", Deletion{From: 110}, 20},
		{"all of the first segments", Deletion{To: 120}, 20},
		{"all", Deletion{To: math.MaxInt64}, 0},
		{"nothing", Deletion{Selector: app("c")}, 60},
		{"no time", Deletion{Selector: app("a"), From: 200}, 60},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			s := openTest(t, dir, small())
			random := rand.New(rand.NewPCG(1, 2))
			var marks []string
			times := map[string]int64{}
			labels := []Labels{MustLabels("app", "a"), MustLabels("app", "b")}
			for i := range int64(30) {
				for n, l := range labels {
					line := make([]byte, 40)
					for j := range line {
						line[j] = byte('!' + random.IntN(90))
					}
					mark := fmt.Sprintf("%c%s", 'a'+n, line)
					marks, times[mark] = append(marks, mark), 100+i
					mustAppend(t, s, one(l, 100+i, mark))
				}
				if i%10 == 9 {
					if err := s.Seal(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
			}
			mustDelete(t, s, c.d)
			before := linesOf(t, s, Query{})
			if len(before) != c.left {
				t.Fatalf("%d entries are left; want %d", len(before), c.left)
			}
			if err := s.Compact(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := linesOf(t, s, Query{}); !slices.Equal(got, before) {
				t.Errorf("after a compaction %q; want %q", got, before)
			}
			if list := s.Deletions(); len(list) > 0 {
				t.Errorf("still pending: %+v", list)
			}
			st := s.Stats()
			if st.Deletions != 0 || st.DeletedEntries != int64(60-c.left) || st.SealedEntries != int64(c.left) {
				t.Errorf("%d deletions pending, %d entries deleted, %d in segments", st.Deletions, st.DeletedEntries, st.SealedEntries)
			}
			for _, mark := range marks {
				if stays := slices.Contains(before, mark); !stays && bytesIn(t, filepath.Join(dir, "segments"), mark) {
					t.Errorf("the line %q at %d is still in a segment", mark, times[mark])
				}
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = openTest(t, dir, small())
			<-s.Ready()
			if got := linesOf(t, s, Query{}); !slices.Equal(got, before) {
				t.Errorf("after a restart %q; want %q", got, before)
			}
			for _, e := range s.Report().Events {
				t.Errorf("told at Open: %v", e)
			}
			series, err := s.Series(t.Context(), Query{})
			streams := map[byte]bool{}
			for _, line := range before {
				streams[line[0]] = true
			}
			if err != nil || len(series) != len(streams) {
				t.Errorf("%v, %v; want %d streams", series, err, len(streams))
			}
		})
	}
}

// A snapshot has the deletions that its segments need.
func TestSnapshotOfDeletions(t *testing.T) {
	s := deletionStore(t, t.TempDir())
	mustDelete(t, s, Deletion{Selector: app("a"), From: 105, To: 115})
	want := linesOf(t, s, Query{})
	for _, step := range []string{"after a delete", "after a seal"} {
		dir := filepath.Join(t.TempDir(), "snapshot")
		if _, err := s.Snapshot(t.Context(), dir); err != nil {
			t.Fatal(err)
		}
		c := openTest(t, dir, small())
		<-c.Ready()
		if got := linesOf(t, c, Query{}); !slices.Equal(got, want) {
			t.Errorf("%s, the snapshot has %q; want %q", step, got, want)
		}
		if err := s.Seal(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}
