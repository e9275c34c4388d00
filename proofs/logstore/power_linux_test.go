package logstore_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stele-go/stele/crashtest"
	"github.com/stele-go/stele/crashtest/power/powertest"
	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/proofs/internal/prove"
)

// kills returns how often a process is killed.
func kills() int { return max(6, prove.Cuts()) }

// The end of the process loses nothing at level Kill, nor at Power.
func TestKill(t *testing.T) {
	for _, level := range []durability.Level{durability.Power, durability.Kill} {
		t.Run(level.String(), func(t *testing.T) {
			load := logLoad{level: level, goroutines: 4, batches: 25, reopen: 1}
			res := powertest.Kill(t, (kills()+1)/2, prove.Seed(t), inStore(load.run), checkInStore)
			if t.Log(res); len(res.Lost) > 0 {
				t.Error(res)
			}
		})
	}
}

// replayed returns work that begins with the replay of a killed process's log.
func replayed(l logLoad) (prepare func(dir string) error, work func(dir string, ack func(logNote)) error) {
	var left []logNote
	prepare = func(dir string) (err error) {
		left = nil
		made := filepath.Join(dir, "made")
		s, err := openStore(made, logOptions(durability.Power), func(n logNote) { left = append(left, n) })
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, s.Close(), os.RemoveAll(made)) }()
		for i := range 30 {
			if err := s.append([]string{"tiny", "large"}[i/5%2], 50, i); err != nil {
				return err
			}
			if i == 10 {
				if err := s.Seal(context.Background()); err != nil {
					return err
				}
			}
		}
		return copyIdle(filepath.Join(dir, "store"), made)
	}
	return prepare, func(dir string, ack func(logNote)) error {
		for _, n := range left {
			ack(n)
		}
		return inStore(l.run)(dir, ack)
	}
}

// copyIdle copies the directory of an idle store that is open. In the background the store
// may still prepare a file, and rename it.
func copyIdle(dst, src string) error {
	for begin := time.Now(); ; time.Sleep(time.Millisecond) {
		err := os.CopyFS(dst, os.DirFS(src))
		if !errors.Is(err, fs.ErrNotExist) || time.Since(begin) > time.Minute {
			return err
		}
		if err := os.RemoveAll(dst); err != nil {
			return err
		}
	}
}

// logDevice has room for the files of the log, which are never small, and for the space
// that a store leaves free.
const logDevice = 320 << 20

// No cut of the power loses what was acknowledged.
func TestPower(t *testing.T) {
	load := logLoad{goroutines: 4, batches: 10, reopen: 1}
	prove.EachFS(t, func(t *testing.T, fs string) {
		prepare, work := replayed(logLoad{goroutines: 2, batches: 5})
		prove.Holds(t, fs, checkInStore, []prove.Case[logNote]{
			{Name: "many at once", Size: logDevice, Work: inStore(load.run), Runs: 2},
			{Name: "a replay, and more", Size: logDevice, Prepare: prepare, Work: work},
		})
	})
}

// Without any one kind of sync that these file systems need, cuts lose entries.
// TestStatesMutants has the other kinds.
func TestPowerMutants(t *testing.T) {
	load := logLoad{goroutines: 4, batches: 10}
	kill := load
	kill.level = durability.Kill
	records := func(s crashtest.Sync) bool { return s.Call == "fdatasync" && strings.HasSuffix(s.Path, ".wal") }
	prove.EachFS(t, func(t *testing.T, fs string) {
		prove.Mutants(t, fs, checkInStore, []prove.Mutant[logNote]{
			{Name: "level Kill", Size: logDevice, Work: inStore(kill.run)},
			{Name: "records not synced", Size: logDevice, Work: inStore(load.run), OnSync: prove.Where(crashtest.SkipSync, records)},
			{Name: "nothing synced", Size: logDevice, Work: inStore(load.run), OnSync: prove.Always(crashtest.SkipSync)},
		})
	})
}
