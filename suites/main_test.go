package suites

import (
	"os"
	"testing"

	"github.com/stele-go/stele/crashtest/power"
	"github.com/stele-go/stele/lab"
)

func TestMain(m *testing.M) {
	power.ServeDisk()  // R11 cuts the power
	if lab.IsBlock() { // L6 takes several processes
		var all []lab.Experiment
		for _, s := range List() {
			all = append(all, s.Full...)
			for _, c := range s.Claims {
				all = append(all, c.Experiments...)
			}
		}
		os.Exit(lab.RunBlock(all))
	}
	os.Setenv("GORACE", "atexit_sleep_ms=0") // else each process of L6 waits for a second
	os.Exit(m.Run())
}
