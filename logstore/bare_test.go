package logstore

import (
	"context"
	"fmt"
	"testing"
)

// Texts are looked for in whole blocks also where metadata may match in their place.
func TestTextsOrMetadata(t *testing.T) {
	s, err := Open(t.TempDir(), Options{LateWindow: -1, FutureWindow: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var entries []Entry
	for i := range 5000 {
		e := Entry{Time: int64(i + 1), Line: fmt.Appendf(nil, "line %d of many", i)}
		if i%7 == 0 {
			e.Metadata = MustLabels("id", fmt.Sprint(i%21))
		}
		entries = append(entries, e)
	}
	ctx := context.Background()
	if err := s.Append(ctx, Batch{{MustLabels("a", "b"), entries}}); err != nil {
		t.Fatal(err)
	}
	if err := s.Seal(ctx); err != nil {
		t.Fatal(err)
	}
	metadata := func(op MatchOp, value string) Filter {
		f, err := MetadataMatches(Matcher{Name: "id", Op: op, Value: value})
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	some := func(line []byte, _ Labels) bool { return len(line)%2 == 0 }
	for i, f := range []Filter{
		Any(metadata(Equal, "14"), Contains(" 77 "), Word("4999")),
		Any(metadata(Equal, ""), Contains(" 77 ")),
		Any(metadata(NotEqual, ""), Contains(" 77 ")),
		Any(metadata(NotEqual, "14"), Contains(" 77 ")),
		Any(metadata(Matches, "7|14"), All(Contains("7 "), Func(some))),
		All(Any(metadata(Equal, "7"), Contains(" 12")), Func(some)),
		All(metadata(Equal, "7"), Any(metadata(Equal, "7"), Contains(" 12"))),
		Any(metadata(Equal, "7"), metadata(Equal, "14")),
		Any(metadata(Equal, "7"), Not(Contains("1"))),
		Not(Any(metadata(Equal, "7"), Contains("1"))),
	} {
		want, got := 0, 0
		for _, e := range entries {
			if f.Match(e.Line, e.Metadata) {
				want++
			}
		}
		for r, err := range s.Query(ctx, Query{Filter: f}) {
			if err != nil {
				t.Fatal(err)
			}
			if !f.Match(r.Line, r.Metadata) {
				t.Errorf("filter %d: finds %q, metadata %v", i, r.Line, r.Metadata)
			}
			got++
		}
		if got != want {
			t.Errorf("filter %d: %d entries, want %d", i, got, want)
		}
	}
}
