package wal_test

import (
	"strings"
	"testing"

	"github.com/stele-go/stele/crashtest"
	"github.com/stele-go/stele/crashtest/states"
	"github.com/stele-go/stele/proofs/internal/prove"
	"github.com/stele-go/stele/wal"
)

// walGoOn makes steps as walRun does, but goes on after those that failed: entries
// acknowledged after a failure must survive too.
func walGoOn(o wal.Options, steps []string) func(dir string, ack func(walNote)) error {
	return func(dir string, ack func(walNote)) error {
		w, err := newWalWriter(dir, o, ack)
		if err != nil {
			return err
		}
		for _, step := range steps {
			if failed := w.do(step); failed != nil && err == nil {
				err = failed
			}
			if w.log == nil {
				return err // it could not be opened again
			}
		}
		if closed := w.close(); err == nil {
			err = closed
		}
		return err
	}
}

// Every call fails, in every way, once or until the end. A crash may follow.
func TestFaults(t *testing.T) {
	steps := []string{"append", "batch", "truncate", "append", "reopen", "batch", "sync"}
	for _, c := range []struct {
		name string
		o    states.FaultOptions
		runs int // unless STELE_LONG is set
	}{
		{"once", states.FaultOptions{}, 15},
		{"until the end", states.FaultOptions{Persistent: true}, 12},
		{"once, then a crash", states.FaultOptions{Crash: &states.Options{Max: 20}}, 12},
		{"a full disk, then a crash", states.FaultOptions{Persistent: true, Faults: []states.Fault{states.FailENOSPC}, Crash: &states.Options{Max: 20, Model: states.Journaled}}, 8},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.o.Prepare, c.o.Seed = oldWal, prove.Seed(t)
			if !prove.Long() {
				c.o.Max = c.runs
			}
			prove.FaultsMount(t, c.o, walGoOn(walOptions(), steps), checkWal)
		})
	}
}

// Without any one kind of sync that a log makes, crash states must fail.
func TestStatesMutants(t *testing.T) {
	steps := []string{"append", "batch", "append", "truncate", "batch", "batch", "truncate", "batch"}
	h := prove.RecordMount(t, states.MountOptions{}, walRun(walOptions(), steps))
	o := states.Options{Max: 300, Seed: prove.Seed(t)}
	if rep := h.CheckDir(o, checkWal); rep.Err() != nil {
		t.Fatal(rep)
	}
	for _, c := range []struct {
		name string
		of   func(crashtest.Sync) bool
	}{
		{"records", func(s crashtest.Sync) bool { return s.Call == "fdatasync" && strings.HasSuffix(s.Path, ".wal") }},
		{"META", func(s crashtest.Sync) bool { return strings.HasPrefix(s.Path, "META") }},
		{"the directory", prove.OfRoot},
		{"what is prepared", func(s crashtest.Sync) bool {
			return s.Call == "fsync" && s.Path != "." && !strings.HasPrefix(s.Path, "META")
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			prove.Missed(t, h, o, checkWal, c.of)
		})
	}
}
