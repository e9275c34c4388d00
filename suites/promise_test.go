package suites

import (
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	serving "github.com/stele-go/stele/suites/serve"
)

func TestMain(m *testing.M) {
	serving.Main()
	if lab.IsBlock() {
		var all []lab.Experiment
		for _, s := range List() {
			all = append(all, s.Quick...)
		}
		os.Exit(lab.RunBlock(all))
	}
	os.Exit(m.Run())
}

// Each way of the quick sets that promises to survive a power cut is seen to ask for a
// sync: each name once, in the first experiment that has it.
func TestPromisesOfPowerSync(t *testing.T) {
	var list []lab.Experiment
	for _, s := range List() {
		seen := map[string]bool{}
		for _, e := range s.Quick {
			e.Variants = slices.DeleteFunc(slices.Clone(e.Variants), func(v lab.Variant) bool {
				known := v.Cell != nil || seen[v.Name] || v.Promise.Level != durability.Power
				seen[v.Name] = true
				return known
			})
			if len(e.Variants) == 0 {
				continue
			}
			if e.Ops == 0 {
				e.Ops = 16
			}
			list = append(list, e)
		}
	}
	r, err := lab.Measure(t.Context(), lab.Options{
		Places: []lab.PlaceSpec{{Dir: t.TempDir()}}, Rounds: 1, BlockTime: time.Millisecond, NoCalibration: true, Seed: 1,
	}, list...)
	if err != nil {
		t.Fatal(err)
	}
	counted := 0
	for _, res := range r.Results {
		for _, v := range res.Variants {
			if v.Syscalls != nil {
				counted++
			}
			if slices.ContainsFunc(v.Warnings, func(w run.Warning) bool { return w.Code == run.WarnNoSync }) {
				t.Errorf("%s: %s promises %v and asks for no sync: %v", res.ID, v.Name, v.Promise, v.Syscalls)
			}
		}
	}
	if counted == 0 {
		t.Skip("system calls are not counted here")
	}
	t.Logf("%d ways", counted)
}
