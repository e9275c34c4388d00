package randquery

import (
	"testing"

	"github.com/stele-go/stele/logql/syntax"
)

var vocabulary = Vocabulary{
	Labels:   map[string][]string{"app": {"api", "web"}, "env": {"prod", "dev"}},
	Metadata: []string{"trace"},
	Fields:   []string{"level", "status", "msg"},
	Numbers:  []string{"status"},
	Values:   []string{"error", "200", "5"},
	Words:    []string{"error", "timeout"},
	Patterns: []string{"<ip> <_>"},
	Regexps:  []string{"(?P<n>[0-9]+)"},
}

// TestQueriesParse checks that what is made is what the parser makes of its text, and so
// is what Simpler makes of it.
func TestQueriesParse(t *testing.T) {
	g := New(1, vocabulary)
	for i := range 3000 {
		var e syntax.Expr = g.Log()
		if i%2 == 0 {
			e = g.Metric()
		}
		parsed, err := syntax.Parse(e.String())
		if err != nil || parsed.String() != e.String() {
			t.Fatalf("%s\nis parsed as %v: %v", e, parsed, err)
		}
		if i > 200 {
			continue
		}
		for range 1000 {
			next := syntax.Expr(nil)
			for c := range Simpler(parsed) {
				next = c
				break
			}
			if next == nil {
				break
			}
			if parsed = next; len(parsed.String()) > 2*len(e.String())+20 {
				t.Fatalf("%s\nis not simpler than %s", parsed, e)
			}
		}
		for range Simpler(parsed) {
			t.Fatalf("%s\nnever ends to be simpler: %s", e, parsed)
		}
	}
}

func TestSameSeed(t *testing.T) {
	a, b := New(7, vocabulary), New(7, vocabulary)
	for range 100 {
		if x, y := a.Metric().String(), b.Metric().String(); x != y {
			t.Fatalf("%s\n%s", x, y)
		}
	}
}
