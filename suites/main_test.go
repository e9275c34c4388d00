package suites

import (
	"os"
	"slices"
	"testing"

	"github.com/stele-go/stele/crashtest"
	"github.com/stele-go/stele/lab"
)

func TestMain(m *testing.M) {
	crashtest.ServeDisk() // R11 cuts the power
	if lab.IsBlock() {    // L6 takes several processes
		var all []lab.Experiment
		for _, c := range slices.Concat(readingClaims(1), logClaims(1)) {
			all = append(all, c.Experiments...)
		}
		os.Exit(lab.RunBlock(all))
	}
	os.Setenv("GORACE", "atexit_sleep_ms=0") // else each process of L6 waits for a second
	os.Exit(m.Run())
}
