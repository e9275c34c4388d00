package wal_test

import (
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stele-go/stele/crashtest"
	"github.com/stele-go/stele/crashtest/power/powertest"
	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/proofs/internal/prove"
	"github.com/stele-go/stele/wal"
)

// inLog does the work in a directory that the log makes.
func inLog(work func(dir string, ack func(walNote)) error) func(dir string, ack func(walNote)) error {
	return func(dir string, ack func(walNote)) error { return work(filepath.Join(dir, "log"), ack) }
}

func checkInLog(dir string, ledger []walNote) error {
	return checkWal(filepath.Join(dir, "log"), ledger)
}

// bySync is walOptions with another way to sync.
func bySync(m wal.Mechanism) wal.Options {
	o := walOptions()
	o.Sync = m
	return o
}

// walLoad is steps, many enough to use up segments and use them again.
func walLoad(seed uint64) []string { return randomSteps(rand.New(rand.NewPCG(seed, 0)), 40) }

// No cut of the power loses what was acknowledged, on any file system and by
// any way to sync.
func TestPower(t *testing.T) {
	notDirect := map[string]string{"btrfs": "btrfs does not tell the alignment of direct I/O, and wal does not guess it"}
	prove.EachFS(t, func(t *testing.T, fs string) {
		prove.Holds(t, fs, checkInLog, []prove.Case[walNote]{
			{Name: "many appenders, fdatasync", Work: inLog(walParallel(bySync(wal.SyncFdatasync), 8, 12)), Runs: 2},
			{Name: "many appenders, dsync", Work: inLog(walParallel(bySync(wal.SyncDsync), 8, 12))},
			{Name: "many appenders, direct", Work: inLog(walParallel(bySync(wal.SyncDirect), 8, 12)), Except: notDirect},
			{Name: "steps", Work: inLog(walRun(walOptions(), walLoad(1)))},
			{Name: "steps, direct", Work: inLog(walRun(bySync(wal.SyncDirect), walLoad(2))), Except: notDirect},
		})
	})
}

// Each kind of sync is missed where it is left out.
func TestPowerMutants(t *testing.T) {
	named := func(f crashtest.SyncFault, call, suffix string) func(crashtest.Sync) crashtest.SyncFault {
		return prove.Where(f, func(s crashtest.Sync) bool { return s.Call == call && strings.HasSuffix(s.Path, suffix) })
	}
	kill := walOptions()
	kill.Level = durability.Kill
	parallel := inLog(walParallel(walOptions(), 8, 12))
	prove.EachFS(t, func(t *testing.T, fs string) {
		prove.Mutants(t, fs, checkInLog, []prove.Mutant[walNote]{
			{Name: "level Kill", Work: inLog(walParallel(kill, 8, 12))},
			{Name: "records not synced", Work: parallel, OnSync: named(crashtest.SkipSync, "fdatasync", ".wal")},
			{Name: "records with sync_file_range", Work: parallel, OnSync: named(crashtest.WriteOnly, "fdatasync", ".wal")},
			{Name: "nothing synced", Work: inLog(walRun(walOptions(), walLoad(3))), OnSync: prove.Always(crashtest.SkipSync)},
		})
	})
}

// The end of the process loses nothing at level Kill, nor at Power.
func TestKill(t *testing.T) {
	n := 6
	if prove.Long() {
		n = 100
	}
	for _, level := range []durability.Level{durability.Power, durability.Kill} {
		t.Run(level.String(), func(t *testing.T) {
			o := walOptions()
			o.Level = level
			res := powertest.Kill(t, n, prove.Seed(t), inLog(walParallel(o, 8, 40)), checkInLog)
			if t.Log(res); len(res.Lost) > 0 {
				t.Error(res)
			}
		})
	}
}
