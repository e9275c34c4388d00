package crashtest_test

import (
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stele-go/stele/crashtest"
	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/wal"
)

// inLog has the work in a folder that the log makes.
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
func TestWalPower(t *testing.T) {
	notDirect := map[string]string{"btrfs": "btrfs does not tell the alignment of direct I/O, and wal does not guess it"}
	each(t, func(t *testing.T, fs string) {
		prove(t, fs, checkInLog, []proof[walNote]{
			{name: "many appenders, fdatasync", work: inLog(walParallel(bySync(wal.SyncFdatasync), 8, 12)), runs: 2},
			{name: "many appenders, dsync", work: inLog(walParallel(bySync(wal.SyncDsync), 8, 12))},
			{name: "many appenders, direct", work: inLog(walParallel(bySync(wal.SyncDirect), 8, 12)), except: notDirect},
			{name: "steps", work: inLog(walRun(walOptions(), walLoad(1)))},
			{name: "steps, direct", work: inLog(walRun(bySync(wal.SyncDirect), walLoad(2))), except: notDirect},
		})
	})
}

// Each kind of sync is missed where it is left out.
func TestWalPowerMutants(t *testing.T) {
	named := func(f crashtest.Fault, call, suffix string) func(crashtest.Sync) crashtest.Fault {
		return where(f, func(s crashtest.Sync) bool { return s.Call == call && strings.HasSuffix(s.Path, suffix) })
	}
	kill := walOptions()
	kill.Level = durability.Kill
	parallel := inLog(walParallel(walOptions(), 8, 12))
	each(t, func(t *testing.T, fs string) {
		refute(t, fs, checkInLog, []mutant[walNote]{
			{name: "level Kill", work: inLog(walParallel(kill, 8, 12))},
			{name: "records not synced", work: parallel, onSync: named(crashtest.SkipSync, "fdatasync", ".wal")},
			{name: "records with sync_file_range", work: parallel, onSync: named(crashtest.WriteOnly, "fdatasync", ".wal")},
			{name: "nothing synced", work: inLog(walRun(walOptions(), walLoad(3))), onSync: always(crashtest.SkipSync)},
		})
	})
}

// The end of the process loses nothing at level Kill, nor at Power.
func TestWalKill(t *testing.T) {
	n := 6
	if long() {
		n = 100
	}
	for _, level := range []durability.Level{durability.Power, durability.Kill} {
		t.Run(level.String(), func(t *testing.T) {
			o := walOptions()
			o.Level = level
			res := crashtest.Kill(t, n, *seedFlag, inLog(walParallel(o, 8, 40)), checkInLog)
			if t.Log(res); len(res.Lost) > 0 {
				t.Error(res)
			}
		})
	}
}
