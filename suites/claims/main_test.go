package claims

import (
	"os"
	"slices"
	"testing"

	"github.com/stele-go/stele/crashtest/power"
	"github.com/stele-go/stele/lab"
)

func TestMain(m *testing.M) {
	power.ServeDisk()  // R11 cuts the power
	if lab.IsBlock() { // L6 takes several processes
		var all []lab.Experiment
		for _, c := range allClaims() {
			all = append(all, c.Experiments...)
		}
		os.Exit(lab.RunBlock(all))
	}
	os.Setenv("GORACE", "atexit_sleep_ms=0") // otherwise each process of L6 waits for a second
	os.Exit(m.Run())
}

func allClaims() []Claim {
	return slices.Concat(Directories(), Creation(), Headers(), Reading(1), RW(), Sync(), Log(1), WAL(), Store(), PowerCuts())
}
