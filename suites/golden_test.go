package suites

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/suites/logs"
	"github.com/stele-go/stele/suites/tuning"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Runs are compared by the identity of experiments and variants, and only where
// promises are the same. A change of either makes older runs useless, so that it
// has to be seen.
func TestIdentitiesAreGolden(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the golden files are those of Linux")
	}
	var full, claims strings.Builder
	for _, s := range ListOf(logs.Source{}) {
		fmt.Fprintf(&full, "suite %s\n", s.Name)
		for i := range s.Full {
			writeIdentity(&full, "full", &s.Full[i])
		}
		for i := range s.Quick {
			writeIdentity(&full, "quick", &s.Quick[i])
		}
		fmt.Fprintf(&claims, "suite %s\n", s.Name)
		for _, c := range s.Claims {
			fmt.Fprintf(&claims, "claim %s\n", c.ID)
			for i := range c.Experiments {
				writeIdentity(&claims, "experiment", &c.Experiments[i])
			}
		}
	}
	for _, e := range tuning.Experiments() {
		writeIdentity(&full, "tuning", &e)
	}
	checkGolden(t, "experiments.golden", full.String())
	checkGolden(t, "claims.golden", claims.String())
}

func writeIdentity(w *strings.Builder, kind string, e *lab.Experiment) {
	fmt.Fprintf(w, "%s %s", kind, e.ID())
	for _, f := range []struct {
		name string
		n    int64
	}{{"ops", e.Ops}, {"maxops", e.MaxOps}, {"maxrounds", int64(e.MaxRounds)}} {
		if f.n != 0 {
			fmt.Fprintf(w, " %s=%d", f.name, f.n)
		}
	}
	if e.Stateless {
		w.WriteString(" stateless")
	}
	if e.Waits {
		w.WriteString(" waits")
	}
	if len(e.Env) > 0 {
		fmt.Fprintf(w, " env=%q", e.Env)
	}
	w.WriteString("\n")
	for _, v := range e.Variants {
		fmt.Fprintf(w, "\t%s: %v", v.Name, v.Promise)
		if v.Baseline {
			w.WriteString(", baseline")
		}
		if v.Cell != nil {
			fmt.Fprintf(w, ", cell %+v", *v.Cell)
		}
		w.WriteString("\n")
	}
}

func checkGolden(t *testing.T, name, got string) {
	t.Helper()
	name = filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	w, g := strings.Split(string(want), "\n"), strings.Split(got, "\n")
	for i := range max(len(w), len(g)) {
		if i >= len(w) || i >= len(g) || w[i] != g[i] {
			t.Fatalf("%s, line %d:\n%q\nis no longer\n%q", name, i+1, append(g, "")[min(i, len(g))], append(w, "")[min(i, len(w))])
		}
	}
}
