package peers

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stele-go/stele/crashtest"
	"github.com/stele-go/stele/crashtest/power"
	"github.com/stele-go/stele/crashtest/power/powertest"
	"github.com/stele-go/stele/crashtest/states"
)

// faultSteps are the steps of a log whose calls fail.
var faultSteps = []string{"append", "batch", "append"}

// TestFaults prints how each library survives calls that fail: every call of three steps,
// with every error that its manual page lists, one at a time. Then the log is opened
// again.
//
//	go test -run Faults -v
//
// STELE_LONG=1 tries all of them, otherwise a sample, which is smaller for the other
// libraries: their figures are only printed.
func TestFaults(t *testing.T) {
	seed := rand.Uint64()
	table := fmt.Sprintf("seed %d\n%-14s %6s %6s %7s", seed, "", "calls", "runs", "failed")
	for _, l := range logs() {
		o := states.FaultOptions{Prepare: l.prepare, Max: 25, Seed: seed}
		if l.name != "stele wal" {
			o.Max = 5
		}
		if os.Getenv("STELE_LONG") != "" {
			o.Max = 0
		}
		rep := states.FaultsMount(o, l.faultWork(faultSteps), l.crashCheck)
		table += fmt.Sprintf("\n%-14s %6d %6d %7d", l.name, rep.Calls, rep.Runs, rep.Failed)
		if errors.Is(rep.Broken, crashtest.ErrUnavailable) {
			t.Skip(rep.Broken)
		}
		if rep.Broken != nil {
			// A library that keeps a file open after an error keeps the mount
			// busy: then the runs after that one are not made.
			if l.name == "stele wal" {
				t.Fatal(rep.Broken)
			}
			table += fmt.Sprintf("  ended there: %v", rep.Broken)
			continue
		}
		if rep.Failed == 0 {
			continue
		}
		table += fmt.Sprintf("  %s: %v", rep.Failures[0].ID, rep.Failures[0].Err)
		if l.name == "stele wal" {
			t.Error(rep)
		}
	}
	t.Log(table)
}

// faultWork is crashWork that ends at the first error, as a program does.
func (l log) faultWork(steps []string) func(dir string, ack func(crashNote)) error {
	return func(dir string, ack func(crashNote)) error {
		var failed error
		err := l.crashWork(steps, &failed)(dir, ack)
		return errors.Join(failed, err)
	}
}

// TestPowerCuts prints how many power cuts under a real ext4 each library survived: all
// acknowledged records are there, and appends go on.
//
//	go test -run PowerCuts -v    # as root
func TestPowerCuts(t *testing.T) {
	steps := []string{"append", "batch", "append", "append", "batch", "append"}
	cuts := 12
	if os.Getenv("STELE_LONG") != "" {
		cuts = 200
	}
	table := fmt.Sprintf("%-14s %6s %7s", "", "cuts", "failed")
	for _, l := range logs() {
		if !l.appends() {
			continue // its log begins as one file whose name is not durable
		}
		rec := powertest.Record(t, power.Options{Prepare: l.prepare, Size: 256 << 20}, l.faultWork(steps))
		res := powertest.Check(t, rec, cuts, l.crashCheck)
		table += fmt.Sprintf("\n%-14s %6d %7d", l.name, res.Cuts, len(res.Lost))
		if len(res.Lost) == 0 {
			continue
		}
		table += fmt.Sprintf("  %v", res.Lost[0].Err)
		if l.name == "stele wal" {
			t.Error(res)
		}
	}
	t.Log(table)
}
