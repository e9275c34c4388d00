package mkdir_test

import (
	"testing"

	"github.com/stele-go/stele/crashtest/power"
	"github.com/stele-go/stele/crashtest/power/powertest"
	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/mkdir"
	"github.com/stele-go/stele/proofs/internal/prove"
)

// The end of the process loses nothing at either level.
func TestKill(t *testing.T) {
	for _, level := range []durability.Level{durability.Power, durability.Kill} {
		t.Run(level.String(), func(t *testing.T) {
			res := powertest.Kill(t, 4, prove.Seed(t), race(2, mkdir.Options{Level: level}), checkDirs)
			if t.Log(res); len(res.Lost) > 0 {
				t.Error(res)
			}
		})
	}
}

// A shutdown of the file system distinguishes the levels too. The work runs anew for each
// cut, so that many orders of the two Makers are cut.
func TestShutdown(t *testing.T) {
	for _, fs := range []string{"ext4", "xfs"} {
		t.Run(fs, func(t *testing.T) {
			dirs := func(level durability.Level) power.Result {
				return powertest.Shutdown(t, power.Options{FS: fs, Seed: prove.Seed(t)}, 4, race(2, mkdir.Options{Level: level}), checkDirs)
			}
			if res := dirs(durability.Power); len(res.Lost) > 0 {
				t.Errorf("level Power: %v", res)
			}
			if res := dirs(durability.Kill); len(res.Lost) == 0 {
				t.Errorf("level Kill is not caught: %v", res)
			}
		})
	}
}
