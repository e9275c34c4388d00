package serve

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/logs"
)

// Every way runs in every kind of experiment, and reports what it costs.
func TestExperimentsRun(t *testing.T) {
	l := suite{scale: 1000}
	cost := []string{"lines_per_second", "server_cpu_ns_per_line", "client_cpu_ns_per_line"}
	runVariants(t, l.push(1, 4).Build(), 40, cost...)
	runVariants(t, l.pushAt(fixedRate{10, 4, 1000}, queriesNone).Build(), 20, cost...)
	runVariants(t, l.pushAt(fixedRate{10, 4, 1000}, queriesAll).Build(), 20, cost...)
	for _, q := range questions {
		runVariants(t, l.query(q).Build(), 2)
	}
}

// runVariants does a block of each variant and checks that it has the metrics.
func runVariants(t *testing.T, e lab.Experiment, ops int64, metrics ...string) {
	t.Run(e.ID(), func(t *testing.T) {
		dir := t.TempDir() // so that they share
		for i := range e.Variants {
			v := &e.Variants[i]
			b, err := lab.RunOnce(t.Context(), &e, v, dir, ops, 7)
			if err != nil || b.Ops != ops {
				t.Fatalf("%s did %d operations of %d: %v", v.Name, b.Ops, ops, err)
			}
			if err := os.RemoveAll(filepath.Join(dir, "store")); err != nil {
				t.Fatal(err)
			}
			for _, name := range metrics {
				if !(b.Metrics[name] > 0) {
					t.Errorf("%s: %s is %v", v.Name, name, b.Metrics[name])
				}
			}
		}
	})
}

func TestWrongParameterIsAnError(t *testing.T) {
	l := suite{scale: 1000, from: logs.Source{}}
	for _, wrong := range []run.Params{{"batch": "0", "connections": "1"}, {"batch": "100"}, {"batch": "100", "connections": "0"}} {
		e := l.push(100, 1).Build()
		e.Params = wrong
		if _, err := lab.RunOnce(t.Context(), &e, &e.Variants[0], t.TempDir(), 1, 7); err == nil {
			t.Errorf("%v gave no error", wrong)
		}
	}
}
