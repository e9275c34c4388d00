package logstore_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stele-go/stele/crashtest"
	"github.com/stele-go/stele/crashtest/power/powertest"
	"github.com/stele-go/stele/crashtest/states"
	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/logstore"
	"github.com/stele-go/stele/proofs/internal/prove"
)

// The proof of Store.Snapshot: after any crash or fault the snapshot is there, whole,
// or not there; what is left beside it is no store; and the store itself is unharmed.

// A snapshotNote is one of a store's ledger, or says that snapshots are there.
type snapshotNote struct {
	logNote
	Asked, Made int // the number of a snapshot, from 1 on
}

// inSnapshot returns the name of a snapshot in a directory.
func inSnapshot(dir string, n int) string { return filepath.Join(dir, fmt.Sprint("snap", n)) }

// snapshots appends, seals and compacts, and makes two snapshots.
func snapshots(level durability.Level) func(dir string, ack func(snapshotNote)) error {
	return func(dir string, ack func(snapshotNote)) error {
		ctx := context.Background()
		s, err := openStore(filepath.Join(dir, "store"), logOptions(level), func(n logNote) { ack(snapshotNote{logNote: n}) })
		if err != nil {
			return err
		}
		<-s.Ready()
		made := 0
		for i, step := range []string{"append", "seal", "append", "append", "snapshot", "append", "seal", "compact", "append", "snapshot", "append", "seal"} {
			switch step {
			case "append":
				err = s.append([]string{"tiny", "large"}[i%2], 0, i)
			case "seal":
				err = s.Seal(ctx)
			case "compact":
				err = s.Compact(ctx)
			case "snapshot":
				made++
				ack(snapshotNote{Asked: made})
				if _, err = s.Snapshot(ctx, inSnapshot(dir, made)); err == nil {
					ack(snapshotNote{Made: made})
				}
			}
			if err != nil {
				return errors.Join(err, s.Close())
			}
		}
		return s.Close()
	}
}

// checkSnapshots checks the store and each snapshot, with what was acknowledged when it
// was asked for.
func checkSnapshots(dir string, notes []snapshotNote) error {
	var ledger []logNote
	asked, made := map[int][]logNote{}, map[int]bool{}
	for _, n := range notes {
		switch {
		case n.Asked > 0:
			asked[n.Asked] = ledger[:len(ledger):len(ledger)]
		case n.Made > 0:
			made[n.Made] = true
		default:
			ledger = append(ledger, n.logNote)
		}
	}
	for n := 1; n <= 2; n++ {
		name := inSnapshot(dir, n)
		_, err := os.Lstat(name)
		switch {
		case err == nil && asked[n] == nil:
			return fmt.Errorf("%s is there before it was asked for: %w", name, prove.ErrLost)
		case err == nil:
			if err := checkStore(name, asked[n]); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		case !errors.Is(err, fs.ErrNotExist):
			return err
		case made[n]:
			return fmt.Errorf("%s is not there: %w", name, prove.ErrLost)
		}
		if err := checkPart(name+".part", asked[n]); err != nil {
			return err
		}
	}
	if _, err := os.Lstat(filepath.Join(dir, "store")); errors.Is(err, fs.ErrNotExist) && len(ledger) == 0 {
		return nil
	}
	return checkStore(filepath.Join(dir, "store"), ledger)
}

// checkPart checks that what is left of a snapshot is not taken for a store, unless it is
// empty or whole.
func checkPart(dir string, ledger []logNote) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0 {
		return nil
	}
	s, err := logstore.OpenReadOnly(dir, logOptions(durability.Power))
	if err != nil {
		return nil
	}
	c, err := readStore(s)
	err = errors.Join(err, s.Close())
	if err == nil {
		err = c.compare(ledger)
	}
	if err != nil {
		return fmt.Errorf("%s is opened, and is not whole: %w: %w", dir, prove.ErrLost, err)
	}
	return nil
}

func TestSnapshotKill(t *testing.T) {
	for _, level := range []durability.Level{durability.Power, durability.Kill} {
		t.Run(level.String(), func(t *testing.T) {
			res := powertest.Kill(t, (kills()+1)/2, prove.Seed(t), snapshots(level), checkSnapshots)
			if t.Log(res); len(res.Lost) > 0 {
				t.Error(res)
			}
		})
	}
}

// No cut of the power loses a snapshot that was made, or leaves half of one.
func TestSnapshotPower(t *testing.T) {
	prove.EachFS(t, func(t *testing.T, fs string) {
		prove.Holds(t, fs, checkSnapshots, []prove.Case[snapshotNote]{
			{Name: "snapshots", Size: logDevice, Work: snapshots(durability.Power)},
		})
	})
}

func TestSnapshotStates(t *testing.T) {
	t.Parallel()
	h := prove.RecordMount(t, states.MountOptions{}, snapshots(durability.Power))
	for _, model := range []states.Model{states.POSIX, states.Journaled} {
		rep := h.CheckDir(states.Options{Max: crashSample(8), Seed: prove.Seed(t), Model: model}, checkSnapshots)
		if t.Log(rep); rep.Err() != nil {
			t.Error(rep)
		}
	}
}

func TestSnapshotFaults(t *testing.T) {
	t.Parallel()
	for _, persistent := range []bool{false, true} {
		t.Run(fmt.Sprint("until the end ", persistent), func(t *testing.T) {
			t.Parallel()
			prove.FaultsMount(t, states.FaultOptions{Seed: prove.Seed(t), Max: crashSample(4), Persistent: persistent}, snapshots(durability.Power), checkSnapshots)
		})
	}
}

// Without the syncs of what a snapshot is made of crash states fail.
func TestSnapshotMutants(t *testing.T) {
	if prove.RaceSampled() {
		t.Skip("not with the race detector; set -cuts or STELE_LONG=1")
	}
	t.Parallel()
	h := prove.RecordMount(t, states.MountOptions{}, snapshots(durability.Power))
	// A crash before a snapshot is made shows nothing of its syncs.
	check := func(dir string, notes []snapshotNote) error {
		if !slices.ContainsFunc(notes, func(n snapshotNote) bool { return n.Made > 0 }) {
			return nil
		}
		return checkSnapshots(dir, notes)
	}
	for name, of := range map[string]func(crashtest.Sync) bool{
		"the log":      func(s crashtest.Sync) bool { return strings.HasSuffix(filepath.Dir(s.Path), ".part/wal") },
		"the segments": func(s crashtest.Sync) bool { return strings.HasSuffix(s.Path, ".part/segments") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			prove.Missed(t, h, states.Options{Max: crashSample(16), Seed: prove.Seed(t)}, check, of)
		})
	}
}
