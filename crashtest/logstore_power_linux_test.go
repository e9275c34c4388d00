package crashtest_test

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
	"github.com/stele-go/stele/durability"
)

// kills is how often a process is killed: as often as the power is cut.
func kills() int { return max(6, cuts()) }

// The end of the process loses nothing at level Kill, nor at Power.
func TestLogstoreKill(t *testing.T) {
	for _, level := range []durability.Level{durability.Power, durability.Kill} {
		t.Run(level.String(), func(t *testing.T) {
			load := logLoad{level: level, goroutines: 4, batches: 25, reopen: 1}
			res := crashtest.Kill(t, (kills()+1)/2, *seedFlag, inStore(load.run), checkInStore)
			if t.Log(res); len(res.Lost) > 0 {
				t.Error(res)
			}
		})
	}
}

// replayed is work that begins with the replay of what a killed process left.
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

// copyIdle copies the folder of a store that is open and has nothing to do. In
// the background it may still make a file ready, which is then of another name.
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

// logDevice has room for the files of the log, which are never small, and for
// what a store leaves free.
const logDevice = 320 << 20

// No cut of the power loses what was acknowledged.
func TestLogstorePower(t *testing.T) {
	load := logLoad{goroutines: 4, batches: 10, reopen: 1}
	each(t, func(t *testing.T, fs string) {
		prepare, work := replayed(logLoad{goroutines: 2, batches: 5})
		prove(t, fs, checkInStore, []proof[logNote]{
			{name: "many at once", size: logDevice, work: inStore(load.run), runs: 2},
			{name: "a replay, and more", size: logDevice, prepare: prepare, work: work},
		})
	})
}

// Each kind of sync is missed where it is left out, as far as the file systems
// miss it; TestLogstoreStatesMutants has the others.
func TestLogstorePowerMutants(t *testing.T) {
	load := logLoad{goroutines: 4, batches: 10}
	kill := load
	kill.level = durability.Kill
	records := func(s crashtest.Sync) bool { return s.Call == "fdatasync" && strings.HasSuffix(s.Path, ".wal") }
	each(t, func(t *testing.T, fs string) {
		refute(t, fs, checkInStore, []mutant[logNote]{
			{name: "level Kill", size: logDevice, work: inStore(kill.run)},
			{name: "records not synced", size: logDevice, work: inStore(load.run), onSync: where(crashtest.SkipSync, records)},
			{name: "nothing synced", size: logDevice, work: inStore(load.run), onSync: always(crashtest.SkipSync)},
		})
	})
}
