package logstore

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"
	"testing"
)

// lines5 are conditions on the lines of deletionStore that contain a 5, but no 1.
var lines5 = []LineMatch{{Equal, "5"}, {NotMatches, "^.1"}}

// A deletion with conditions on lines deletes these alone, at once, wherever they are, and
// lasts.
func TestDeleteLines(t *testing.T) {
	for _, c := range []struct {
		lines []LineMatch
		gone  func(line string) bool
	}{
		{[]LineMatch{{Equal, "1"}}, func(l string) bool { return strings.Contains(l, "1") }},
		{[]LineMatch{{NotEqual, "1"}}, func(l string) bool { return !strings.Contains(l, "1") }},
		{[]LineMatch{{Matches, "^a1?[3-5]$"}}, func(l string) bool { return slices.Contains([]string{"a3", "a4", "a5", "a13", "a14", "a15"}, l) }},
		{[]LineMatch{{NotMatches, "[13]"}}, func(l string) bool { return !strings.ContainsAny(l, "13") }},
		{lines5, func(l string) bool { return l == "a5" }},
		{[]LineMatch{{Equal, "nowhere"}}, func(string) bool { return false }},
	} {
		dir := t.TempDir()
		s := deletionStore(t, dir)
		all := linesOf(t, s, Query{})
		mustDelete(t, s, Deletion{Selector: app("a"), Lines: c.lines, From: 102, To: 117})
		mustAppend(t, s, one(MustLabels("app", "a"), 116, "a5 1 later"))
		want := without1(all, func(line string) bool {
			var i int
			n, _ := fmt.Sscanf(line, "a%d", &i)
			return n == 1 && i >= 2 && i < 17 && c.gone(line)
		})
		want = append(want, "a5 1 later")
		slices.Sort(want)
		check := func(when string) {
			t.Helper()
			got := linesOf(t, s, Query{})
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Fatalf("%v, %s: %q\nwant %q", c.lines, when, got, want)
			}
			if got := linesOf(t, s, Query{Filter: Contains("5"), From: 103}); slices.ContainsFunc(got, func(l string) bool { return !slices.Contains(want, l) }) {
				t.Errorf("%v, %s: with a filter: %q", c.lines, when, got)
			}
			folded := 0
			err := s.Fold(t.Context(), Query{NoLines: true, Workers: 1}, func(func(int64) error) Folder {
				return callFolder(func() { folded++ })
			})
			if err != nil || folded != len(want) {
				t.Errorf("%v, %s: Fold without lines passes %d entries, %v; want %d", c.lines, when, folded, err, len(want))
			}
		}
		check("at once")
		for _, after := range []string{"a restart", "a seal", "another restart", "a compaction", "the last restart"} {
			switch after {
			case "a seal":
				if err := s.Seal(t.Context()); err != nil {
					t.Fatal(err)
				}
			case "a compaction":
				if err := s.Compact(t.Context()); err != nil {
					t.Fatal(err)
				}
				if left := s.Deletions(); len(left) != 0 {
					t.Errorf("%v: %+v are pending", c.lines, left)
				}
				stored := 0
				for _, k := range contents(t, s) {
					if c.gone(k.line) && k.labels == MustLabels("app", "a").enc && k.time >= 102 && k.time < 117 && k.line != "a5 1 later" {
						t.Errorf("%v: a segment has %v", c.lines, k)
					}
					stored++
				}
				if stored != len(want) {
					t.Errorf("%v: %d entries are stored; want %d", c.lines, stored, len(want))
				}
			default:
				dir = copyStore(t, dir)
				s.Close()
				s = openTest(t, dir, small())
			}
			check("after " + after)
		}
		s.Close()
	}
}

// What conditions on lines say is durable and told, and wrong ones are refused.
func TestLineMatches(t *testing.T) {
	s := openTest(t, t.TempDir(), anyTime())
	for _, d := range []Deletion{
		{Lines: []LineMatch{{Matches, "("}}},
		{Lines: []LineMatch{{MatchOp(4), "x"}}},
		{Lines: []LineMatch{{Matches, strings.Repeat("x{1000}", 9)}}},
		{Lines: []LineMatch{{Equal, strings.Repeat("x", maxDeletionBytes)}}},
	} {
		if _, err := s.Delete(t.Context(), d); err == nil || !strings.Contains(err.Error(), "Line") {
			t.Errorf("%.60v: %v", d, err)
		} else if d.Lines[0].Op != Matches && !errors.Is(err, fs.ErrInvalid) {
			t.Error(err)
		}
	}
	p := &deletion{Deletion: Deletion{Tenant: "ten", Selector: app("a"), Lines: lines5, From: 3}, when: 7}
	for _, final := range []bool{false, true} {
		p.final.Store(final)
		it := p.item()
		got, err := it.deletion(9)
		if err != nil || got.String() != p.String() || got.final.Load() != final || got.Position != 9 || got.Line == nil {
			t.Fatalf("%+v, %v; want %v", got, err, p)
		}
		for i := range it.data {
			if _, err := (stateItem{it.typ, it.data[:i]}).deletion(9); !errors.Is(err, errRecord) {
				t.Errorf("cut at %d: %v", i, err)
			}
		}
	}
	if got, want := p.String(), `{app="a"} |= "5" !~ "^.1" from 1970-01-01T00:00:00.000000003Z on, of tenant "ten"`; got != want {
		t.Errorf("%s; want %s", got, want)
	}
}

// A deletion takes the place of another only if that has all its conditions on lines.
func TestDeleteLinesCover(t *testing.T) {
	s := openTest(t, t.TempDir(), anyTime())
	mustAppend(t, s, one(MustLabels("app", "a"), 1, "line"))
	one, both := lines5[:1], lines5
	for _, c := range []struct {
		first, second []LineMatch
		n             int
	}{{one, both, 2}, {both, one, 1}, {nil, one, 2}, {one, nil, 1}, {both, both, 1}} {
		mustDelete(t, s, Deletion{Selector: app("a"), Lines: c.first})
		mustDelete(t, s, Deletion{Selector: app("a"), Lines: c.second})
		if list := s.Deletions(); len(list) != c.n {
			t.Errorf("%v, then %v: %v; want %d", c.first, c.second, list, c.n)
		}
		mustDelete(t, s, Deletion{To: math.MaxInt64})
		if err := s.Compact(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}
