package logstore

import (
	"context"
	"fmt"
	"regexp"
	"testing"

	"github.com/stele-go/stele/durability"
)

// Lines in memory are found whether or not their chunk is searched as a whole,
// and chunks without a match are ruled out.
func TestAbsent(t *testing.T) {
	o := small()
	o.Level, o.Memory = durability.Kill, 128<<20
	s := openTest(t, t.TempDir(), o)
	now := s.o.now().UnixNano()
	const lines = 60_000 // some MiB: several chunks
	for i := range lines {
		line := fmt.Sprintf("line %d of many that have nothing rare in them, and are as long as lines are", i)
		if i%20_000 == 77 {
			line += " needle" + fmt.Sprint(i)
		}
		mustAppend(t, s, one(MustLabels("app", "a", "n", fmt.Sprint(i%7)), now+int64(i), line))
	}
	for _, c := range []struct {
		f     Filter
		want  int
		knows bool // it has a literal
	}{
		{Contains("needle"), 3, true},
		{Contains("needle20077"), 1, true},
		{Contains("nowhere at all"), 0, true},
		{Contains(""), lines, false},
		{Word("needle77"), 1, true},
		{ContainsFold("NEEDLE"), 3, false},
		{Regexp(regexp.MustCompile(`needle.*0077`)), 2, true},
		{All(Contains("line"), Contains("needle"), Not(Contains("40077"))), 2, true},
		{Any(Contains("needle77"), Contains("needle20077")), 2, true},
		{Any(Contains("needle77"), ContainsFold("NEEDLE20077")), 2, false},
		{Any(), 0, true},
	} {
		found := 0
		for _, err := range s.Query(context.Background(), Query{Filter: c.f}) {
			if err != nil {
				t.Fatal(err)
			}
			found++
		}
		if found != c.want {
			t.Errorf("%v: found %d of %d", c, found, c.want)
		}
		a := chunkFilter{test: c.f.compiled().text}
		m := s.active.Load()
		list, excluded := a.results(m), 0
		for i := range list {
			if a.excludes(list, m, uint32(i)) {
				excluded++
			}
		}
		if n := m.arena.Len(); n < 4 {
			t.Fatalf("%d chunks are too few", n)
		} else if c.knows != (excluded > 0) || excluded == n && c.want > 0 {
			t.Errorf("%v: %d of %d chunks are excluded", c, excluded, n)
		}
	}
}
