// Package prove has the parts that all proofs share: the flags -cuts and -seed,
// the loop over file systems, [Holds] for work that must lose nothing, and
// [Mutants] for work that must.
//
// A check marks the loss that it looks for by [ErrLost], which alone catches a
// mutant: another error does not show that the check sees the loss.
package prove

import (
	"errors"
	"flag"
	"os"
	"testing"

	"github.com/stele-go/stele/crashtest/power"
	"github.com/stele-go/stele/crashtest/states/mount"
	"github.com/stele-go/stele/internal/testseed"
)

var (
	cutsFlag = flag.Int("cuts", 0, "power cuts for each file system and workload (default 4, or 500 with STELE_LONG=1)")
	seedFlag = flag.Uint64("seed", 0, "seed of the cuts (default: one by the name of the test; drawn with STELE_LONG=1 or STELE_SEED=random)")
)

// ErrLost marks acknowledged work that is lost.
var ErrLost = errors.New("acknowledged, and lost")

// Main is the TestMain of a package of proofs.
func Main(m *testing.M) {
	mount.Serve()
	power.ServeDisk()
	flag.Parse()
	if !given("test.parallel") {
		flag.Set("test.parallel", "8") // whatever the processors: a mount mostly waits
	}
	os.Exit(m.Run())
}

func given(name string) (is bool) {
	flag.Visit(func(f *flag.Flag) { is = is || f.Name == name })
	return is
}

// Cuts returns the number of power cuts for each file system and workload.
func Cuts() int {
	switch {
	case *cutsFlag > 0:
		return *cutsFlag
	case Long():
		return 500
	}
	return 4
}

// CutsGiven returns the flag -cuts, or 0 without it.
func CutsGiven() int { return *cutsFlag }

// Seed returns the flag -seed, or without it [testseed.Of].
func Seed(t testing.TB) uint64 {
	if *seedFlag != 0 {
		return *seedFlag
	}
	t.Helper()
	return testseed.Of(t)
}

// Long reports whether STELE_LONG=1 asks for everything, not a sample.
func Long() bool { return os.Getenv("STELE_LONG") == "1" }

// Sampled reports whether neither -cuts nor STELE_LONG asks for more than a
// sample.
func Sampled() bool { return *cutsFlag == 0 && !Long() }

// RaceSampled reports whether the race detector is on and [Sampled] holds.
// Recording a log through a mount takes ten times as long then, and shows no race
// that other tests do not.
func RaceSampled() bool { return raceDetector && Sampled() }

// EachFS runs f for each file system, in parallel with the other tests of the
// package: a mount mostly waits. With the race detector, which sees no more on
// three of them than on one, it skips all but ext4, unless -cuts or STELE_LONG is
// set.
func EachFS(t *testing.T, f func(t *testing.T, fs string)) {
	t.Parallel()
	for _, fs := range []string{"ext4", "xfs", "btrfs"} {
		t.Run(fs, func(t *testing.T) {
			if fs != "ext4" && RaceSampled() {
				t.Skip("with the race detector ext4 alone is cut; set -cuts or STELE_LONG=1")
			}
			t.Parallel()
			f(t, fs)
		})
	}
}
