package logstore

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
)

// largeProgram returns a regular expression of n thousand instructions.
func largeProgram(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "|%c.{999}", rune(0x100+i))
	}
	return b.String()[1:]
}

// Regular expressions of large programs are refused before they are compiled, by an error
// that names the label and no more. A deletion, which keeps it, has a lower bound.
func TestLargePrograms(t *testing.T) {
	s := openTest(t, t.TempDir(), small())
	refused := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, fs.ErrInvalid) || !strings.Contains(err.Error(), "regular expression of pod") || len(err.Error()) > 200 {
			t.Errorf("%s: %.300v", what, err)
		}
	}
	large, medium := largeProgram(2500), largeProgram(10)
	for _, op := range []MatchOp{Matches, NotMatches} {
		_, err := Match("pod", op, large)
		refused("Match", err)
		m := Matcher{Name: "pod", Op: op, Value: large}
		_, err = MetadataMatches(m)
		refused("MetadataMatches", err)
		for _, err := range s.Query(t.Context(), Query{Selector: Selector{m}}) {
			refused("Query", err)
		}
		_, err = s.Delete(t.Context(), Deletion{Selector: Selector{m}})
		refused("Delete", err)
		if m, err = Match("pod", op, medium); err != nil {
			t.Fatal(err)
		}
		_, err = s.Delete(t.Context(), Deletion{Selector: Selector{m}})
		refused("Delete of one that a query may have", err)
	}
	if _, err := Match("pod", Equal, large); err != nil {
		t.Errorf("a text of %d bytes: %v", len(large), err)
	}
	// What an older version has accepted stays deleted.
	p := &deletion{Deletion: Deletion{Selector: Selector{{Name: "pod", Op: Matches, Value: largeProgram(200)}}}}
	p, err := p.item().deletion(7)
	if err != nil || p.memory < 200*1000*40 {
		t.Errorf("it is read as %d bytes, %v", p.memory, err)
	}
}
