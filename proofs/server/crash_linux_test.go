package server_test

import (
	"strings"
	"testing"

	"github.com/stele-go/stele/crashtest"
	"github.com/stele-go/stele/crashtest/power/powertest"
	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/proofs/internal/prove"
)

// pushDevice has room for the files of the log, and for the space that a store leaves free.
const pushDevice = 320 << 20

// The end of the process loses no push that was answered, and doubles none.
func TestKill(t *testing.T) {
	for _, level := range []durability.Level{durability.Power, durability.Kill} {
		t.Run(level.String(), func(t *testing.T) {
			load := pushLoad{level: level, clients: 6, count: 25}
			res := powertest.Kill(t, max(3, (prove.Cuts()+1)/2), prove.Seed(t), load.run, check)
			if t.Log(res); len(res.Lost) > 0 {
				t.Error(res)
			}
		})
	}
}

// No cut of the power loses a push that was answered, or doubles one.
func TestPower(t *testing.T) {
	load := pushLoad{clients: 6, count: 10}
	prove.EachFS(t, func(t *testing.T, fs string) {
		prove.Holds(t, fs, check, []prove.Case[pushNote]{{Name: "pushes", Size: pushDevice, Work: load.run}})
	})
}

// A server that answers before the sync loses pushes: the proof sees it.
func TestPowerMutants(t *testing.T) {
	load := pushLoad{clients: 6, count: 10}
	kill := load
	kill.level = durability.Kill
	records := func(s crashtest.Sync) bool { return s.Call == "fdatasync" && strings.HasSuffix(s.Path, ".wal") }
	prove.EachFS(t, func(t *testing.T, fs string) {
		prove.Mutants(t, fs, check, []prove.Mutant[pushNote]{
			{Name: "level Kill", Size: pushDevice, Work: kill.run},
			{Name: "records not synced", Size: pushDevice, Work: load.run, OnSync: prove.Where(crashtest.SkipSync, records)},
		})
	})
}
