package segment2

import (
	"strings"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/stele-go/stele/logstore/internal/filter"
)

// A selection that reads labels is made once: what the caller does to the result changes
// nothing, and other conditions have their own.
func TestSelectionIsKept(t *testing.T) {
	k := selectPack(t, maxPostingValues+500)
	cache := mapCache{}
	x := must(openBytes(k.p, true, cache))
	calls := 0
	with := func(key string, not bool) []Condition {
		last := key[len(key)-1]
		return []Condition{{Name: "pod", Key: key, Not: not, Match: func(v string) bool { calls++; return v != "" && v[len(v)-1] == last }}}
	}
	look := func(c []Condition) *roaring.Bitmap {
		t.Helper()
		calls = 0
		set, err := x.Select(t.Context(), "", c)
		if err != nil || !set.Equals(k.selects("", c)) {
			t.Fatalf("%v, %v", set, err)
		}
		return set
	}
	set := must(x.Select(t.Context(), "", with("a key 7", false)))
	want := set.Clone()
	set.Clear()
	calls = 0
	if again := must(x.Select(t.Context(), "", with("a key 7", false))); !again.Equals(want) || calls > 2 {
		t.Errorf("again: %v with %d calls; want %v", again, calls, want)
	}
	look(with("a key 8", false))
	look(with("a key 7", true))
	nameless := with("a key 7", false)
	nameless[0].Key = ""
	if look(nameless); calls < 100 {
		t.Error("a condition without a key has the streams of another")
	}
	text := selectionText("", with("a key 9", false))
	cache[PartKey{SelectionPart, uint32(filter.KeyOf([]byte(text)))}] = &keptSelection{"another text", roaring.BitmapOf(1)}
	look(with("a key 9", false))
}

// Conditions that differ have different texts.
func TestSelectionText(t *testing.T) {
	match := func(string) bool { return true }
	seen := map[string]int{}
	for i, c := range [][]Condition{
		nil, {{Name: "a"}}, {{Name: "a", Not: true}}, {{Name: "a", Values: []string{""}}}, {{Name: "a", Values: []string{"b", "c"}}}, {{Name: "a", Values: []string{"b\x01c"}}},
		{{Name: "a", Match: match, Key: "b"}}, {{Name: "a", Match: match, Key: "b", Not: true}}, {{Name: "a", Values: []string{"b"}}}, {{Name: "a"}, {Name: "b"}},
	} {
		for _, tenant := range []string{"", "t"} {
			text := selectionText(tenant, c)
			if other, ok := seen[text]; ok || text == "" {
				t.Errorf("conditions %d and %d have the text %q", other, i, text)
			}
			seen[text] = i
		}
	}
	for _, c := range []Condition{{Name: "a", Match: match}, {Name: "a", Values: []string{strings.Repeat("x", maxSelectionText)}}} {
		if text := selectionText("", []Condition{c}); text != "" {
			t.Errorf("%d bytes of text", len(text))
		}
	}
}
