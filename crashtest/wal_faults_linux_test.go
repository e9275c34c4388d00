package crashtest_test

import (
	"strings"
	"testing"

	"github.com/stele-go/stele/crashtest"
	"github.com/stele-go/stele/wal"
)

// walGoOn makes steps as walRun does, but goes on after those that failed: what
// was acknowledged after a failure counts as much.
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

// Every call fails, in every way, once or until the end, and then a crash may
// come.
func TestWalFaults(t *testing.T) {
	steps := []string{"append", "batch", "truncate", "append", "reopen", "batch", "sync"}
	for _, c := range []struct {
		name string
		o    crashtest.FaultOptions
		runs int // unless STELE_LONG is set
	}{
		{"once", crashtest.FaultOptions{}, 15},
		{"until the end", crashtest.FaultOptions{Stays: true}, 12},
		{"once, then a crash", crashtest.FaultOptions{Crash: &crashtest.StateOptions{Max: 20}}, 12},
		{"a full disk, then a crash", crashtest.FaultOptions{Stays: true, Faults: []crashtest.CallFault{crashtest.FailENOSPC}, Crash: &crashtest.StateOptions{Max: 20, Model: crashtest.Journaled}}, 8},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.o.Prepare, c.o.Seed = oldWal, *seedFlag
			if !long() {
				c.o.Max = c.runs
			}
			rep := crashtest.FaultsMount(t, c.o, walGoOn(walOptions(), steps), checkWal)
			if t.Log(rep); rep.Err() != nil {
				t.Error(rep)
			}
		})
	}
}

// The rig must miss each kind of sync that a log makes, or it shows nothing.
func TestWalStatesMutants(t *testing.T) {
	steps := []string{"append", "batch", "append", "truncate", "batch", "batch", "truncate", "batch"}
	h := crashtest.RecordMount(t, crashtest.MountOptions{}, walRun(walOptions(), steps))
	o := crashtest.StateOptions{Max: 300, Seed: *seedFlag}
	if rep := h.CheckDir(o, checkWal); rep.Err() != nil {
		t.Fatal(rep)
	}
	for _, c := range []struct {
		name string
		of   func(crashtest.Sync) bool
	}{
		{"records", func(s crashtest.Sync) bool { return s.Call == "fdatasync" && strings.HasSuffix(s.Path, ".wal") }},
		{"META", func(s crashtest.Sync) bool { return strings.HasPrefix(s.Path, "META") }},
		{"the folder", ofRoot},
		{"what is prepared", func(s crashtest.Sync) bool {
			return s.Call == "fsync" && s.Path != "." && !strings.HasPrefix(s.Path, "META")
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			missed(t, h, o, checkWal, c.of)
		})
	}
}
