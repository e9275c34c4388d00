package wal_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stele-go/stele/crashtest"
	"github.com/stele-go/stele/crashtest/states"
	"github.com/stele-go/stele/proofs/internal/prove"
	"github.com/stele-go/stele/wal"
)

// The proof of Create: after a crash there is no log, or the one that was to be
// created; once Create has returned, it is there.

var created = wal.CreateOptions{ID: [16]byte{7, 15: 8}, First: 1000}

// createWal creates a log two directories down, and acknowledges it by the
// position of its first record.
func createWal(dir string, ack func(walNote)) error {
	if err := wal.Create(filepath.Join(dir, "a", "log"), created); err != nil {
		return err
	}
	ack(walNote{Truncated: created.First, Truncating: created.First})
	return nil
}

// useCreated creates a log and appends to it.
func useCreated(dir string, ack func(walNote)) error {
	if err := createWal(dir, ack); err != nil {
		return err
	}
	return walRun(walOptions(), []string{"append", "batch", "reopen", "append"})(filepath.Join(dir, "a", "log"), ack)
}

func checkCreated(dir string, ledger []walNote) error {
	dir = filepath.Join(dir, "a", "log")
	if _, err := os.Lstat(filepath.Join(dir, "META")); err != nil {
		if len(ledger) > 0 {
			return fmt.Errorf("the log is not there: %w: %w", err, prove.ErrLost)
		}
		if err := wal.Create(dir, created); err != nil {
			return fmt.Errorf("created again: %w", err)
		}
	}
	l, err := wal.Open(dir, walOptions())
	if err != nil {
		return fmt.Errorf("%w: %w", err, prove.ErrLost)
	}
	id := l.ID()
	if err := l.Close(); err != nil || id != created.ID {
		return errors.Join(fmt.Errorf("the log has the ID %x, want %x: %w", id, created.ID, prove.ErrLost), err)
	}
	return checkWal(dir, append([]walNote{{Truncated: created.First, Truncating: created.First}}, ledger...))
}

func TestStatesCreate(t *testing.T) {
	for name, work := range map[string]func(string, func(walNote)) error{"created": createWal, "used": useCreated} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := prove.RecordMount(t, states.MountOptions{}, work)
			rep := h.CheckDir(states.Options{}, checkCreated)
			if t.Log(rep); rep.Err() != nil || !rep.Exhaustive {
				t.Error(rep)
			}
		})
	}
}

func TestFaultsCreate(t *testing.T) {
	prove.FaultsMount(t, states.FaultOptions{Crash: &states.Options{Max: 20}, Seed: prove.Seed(t)}, createWal, checkCreated)
}

func TestStatesCreateMutants(t *testing.T) {
	h := prove.RecordMount(t, states.MountOptions{}, createWal)
	o := states.Options{Max: 300, Seed: prove.Seed(t)}
	for name, of := range map[string]func(crashtest.Sync) bool{
		"META":          func(s crashtest.Sync) bool { return strings.Contains(s.Path, "META") },
		"its directory": func(s crashtest.Sync) bool { return s.Path == "a/log" },
		"the one above": func(s crashtest.Sync) bool { return s.Path == "a" },
	} {
		t.Run(name, func(t *testing.T) { prove.Missed(t, h, o, checkCreated, of) })
	}
}

func TestPowerCreate(t *testing.T) {
	prove.EachFS(t, func(t *testing.T, fs string) {
		prove.Holds(t, fs, checkCreated, []prove.Case[walNote]{{Name: "created", Work: createWal}, {Name: "used", Work: useCreated}})
	})
}
