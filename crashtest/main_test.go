package crashtest_test

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stele-go/stele/crashtest"
)

var (
	cutsFlag = flag.Int("cuts", 0, "power cuts for each file system and workload (default 6, or 500 with STELE_LONG=1)")
	seedFlag = flag.Uint64("seed", 0, "seed of the cuts (default: drawn and printed)")
)

func TestMain(m *testing.M) {
	crashtest.ServeDisk()
	os.Exit(m.Run())
}

func cuts() int {
	switch {
	case *cutsFlag > 0:
		return *cutsFlag
	case long():
		return 500
	}
	return 6
}

// few is how many cuts a mutant gets: it is caught early or not at all.
func few() int { return min(cuts(), 30) }

func long() bool { return os.Getenv("STELE_LONG") == "1" }

// each runs f for each file system that there can be here.
func each(t *testing.T, f func(t *testing.T, fs string)) {
	for _, fs := range []string{"ext4", "xfs", "btrfs"} {
		t.Run(fs, func(t *testing.T) {
			t.Parallel() // a mount mostly waits
			f(t, fs)
		})
	}
}

// keeps fails the test if a cut loses anything. With -artifacts it keeps the
// image of the first loss.
func keeps[T any](t *testing.T, rec *crashtest.Recording[T], n int, check func(dir string, acked []T) error) {
	t.Helper()
	res := rec.Check(t, n, check)
	t.Log(res)
	if len(res.Lost) == 0 {
		return
	}
	f, err := os.Create(filepath.Join(t.ArtifactDir(), "lost.img"))
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(rec.WriteImage(res.Lost[0].Cut, f), f.Close())
	t.Errorf("%d of %d cuts lost what was acknowledged; the device after the first of them: %s (%v)", len(res.Lost), n, f.Name(), err)
}

// errLost marks what a mutant is to be caught by; anything else that a check
// returns would not show that the rig sees the loss.
var errLost = errors.New("acknowledged, and lost")

// caught fails the test unless a cut loses something.
func caught[T any](t *testing.T, rec *crashtest.Recording[T], n int, check func(dir string, acked []T) error) {
	t.Helper()
	res := rec.Check(t, n, check)
	for _, l := range res.Lost {
		if !errors.Is(l.Err, errLost) {
			t.Errorf("%v: %v", l.Cut, l.Err)
		}
	}
	if len(res.Lost) == 0 {
		t.Errorf("the mutant was not caught: %v", res)
	} else {
		t.Logf("caught by %d of %d cuts (seed %d); the first: %v", len(res.Lost), res.Cuts, res.Seed, res.Lost[0].Err)
	}
}

// onRequest skips a test that takes minutes unless it was asked for.
func onRequest(t *testing.T) {
	t.Helper()
	if !long() && *cutsFlag == 0 {
		t.Skip("takes minutes: set STELE_LONG=1 or -cuts N")
	}
}
