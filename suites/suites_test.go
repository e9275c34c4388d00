package suites

import (
	"slices"
	"strings"
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/suites/logs"
)

// The source of the lines is part of the identity, and a block gets the source.
func TestSourceIsPartOfTheExperiment(t *testing.T) {
	for _, c := range []struct {
		from              logs.Source
		param, value, env string
	}{
		{logs.Source{Corpus: "/some/where"}, "corpus", "where", logs.CorpusEnv + "=/some/where"},
		{logs.Source{Streams: 5000}, "streams", "5000", logs.StreamsEnv + "=5000"},
	} {
		t.Run(c.param, func(t *testing.T) {
			name, value, _ := strings.Cut(c.env, "=")
			t.Setenv(name, value)
			known := map[string]bool{}
			for _, s := range List() {
				for i := range s.Full {
					known[s.Full[i].ID()] = true
				}
			}
			for _, s := range ListOf(c.from) {
				for _, e := range s.Full {
					if s.Name != "log" && s.Name != "serve" {
						if slices.Contains(e.Env, c.env) {
							t.Errorf("%s has the environment %v", e.ID(), e.Env)
						}
						continue
					}
					if e.Params[c.param] != c.value || !slices.Equal(e.Env, []string{c.env}) {
						t.Errorf("%s: %v", e.ID(), e.Env)
					}
					if !known[e.ID()] {
						t.Errorf("a block would not know %s", e.ID())
					}
				}
			}
		})
	}
}

// 400 streams are the default: runs with them can be compared with those without a
// number.
func TestDefaultStreamsAreNotPartOfTheExperiment(t *testing.T) {
	four := ListOf(logs.Source{Streams: 400})
	for i, s := range ListOf(logs.Source{}) {
		for j := range s.Full {
			if a, b := s.Full[j].ID(), four[i].Full[j].ID(); a != b {
				t.Errorf("%s became %s", a, b)
			}
		}
	}
}

func TestEveryExperimentCanBeRun(t *testing.T) {
	for _, s := range List() {
		seen := map[string]bool{}
		for _, e := range s.Full {
			if err := e.Validate(); err != nil {
				t.Error(err)
			}
			if e.Suite != s.Name {
				t.Errorf("%s is in suite %s", e.ID(), s.Name)
			}
			if seen[e.ID()] {
				t.Errorf("two experiments are %s", e.ID())
			}
			seen[e.ID()] = true
			checkWords(t, &e)
		}
		for _, c := range s.Claims {
			own := map[string]bool{}
			for _, e := range c.Experiments {
				if err := e.Validate(); err != nil {
					t.Error(err)
				}
				if own[e.ID()] {
					t.Errorf("%s has %s twice", c.ID, e.ID())
				}
				own[e.ID()] = true
				checkWords(t, &e)
			}
			if len(c.Experiments) == 0 || c.Statement == "" || c.Claimed == "" || c.Promise == "" {
				t.Errorf("claim %s is not complete", c.ID)
			}
		}
	}
}

func checkWords(t *testing.T, e *lab.Experiment) {
	if e.Question == "" || e.Op == "" {
		t.Errorf("%s does not say what it asks, or what an operation is", e.ID())
	}
	for _, v := range e.Variants {
		if v.Doc == "" {
			t.Errorf("%s: %s does not say how it works", e.ID(), v.Name)
		}
	}
}

func TestQuickIsPartOfFull(t *testing.T) {
	for _, s := range List() {
		if len(s.Quick) != 1 || len(s.Quick[0].Variants) > 4 || len(s.Quick[0].Variants) < 2 {
			t.Fatalf("suite %s: the quick set is not one experiment of two to four variants", s.Name)
		}
		q := s.Quick[0]
		i := slices.IndexFunc(s.Full, func(e lab.Experiment) bool { return e.ID() == q.ID() })
		if i < 0 {
			t.Fatalf("%s is not in the full set", q.ID())
		}
		for _, v := range q.Variants {
			if s.Full[i].Variant(v.Name) == nil {
				t.Errorf("%s: the full set has no %q", q.ID(), v.Name)
			}
		}
		if !q.Variants[0].Baseline {
			t.Errorf("%s has lost its baseline", q.ID())
		}
	}
}
