package logstore_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stele-go/stele/crashtest"
	"github.com/stele-go/stele/crashtest/states"
	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/proofs/internal/prove"
)

// logSteps makes steps in turn and goes on after those that fail: entries acknowledged
// after a failure must survive too.
func logSteps(steps ...string) func(dir string, ack func(logNote)) error {
	return func(dir string, ack func(logNote)) (failed error) {
		ctx := context.Background()
		made := 0
		open := func() *storeUse {
			s, err := openStore(dir, logOptions(durability.Power), ack)
			if err != nil {
				failed = errors.Join(failed, err)
				return nil
			}
			<-s.Ready()
			return s
		}
		s := open()
		for _, step := range steps {
			if s == nil {
				return failed // it could not be opened again
			}
			var err error
			switch step {
			case "append":
				made++
				err = s.append([]string{"tiny", "large"}[made%2], made/2%2, made)
			case "seal":
				err = s.Seal(ctx)
			case "compact":
				err = s.Compact(ctx)
			case "look":
				err = s.look()
			case "reopen":
				has := s.has
				err = s.Close()
				if s = open(); s != nil {
					s.has = has
				}
			}
			failed = errors.Join(failed, err)
		}
		if s != nil {
			failed = errors.Join(failed, s.Close())
		}
		return failed
	}
}

// Every call fails, in every way, once or until the end. A crash may follow. STELE_LONG=1
// tries all, -cuts so many of each.
func TestFaults(t *testing.T) {
	work := logSteps("append", "append", "seal", "append", "look", "seal", "append", "reopen", "look", "append", "seal", "compact", "look", "append", "reopen", "append")
	for _, c := range []struct {
		name string
		o    states.FaultOptions
		runs int // unless one of these is set
	}{
		{"once", states.FaultOptions{}, 6},
		{"until the end", states.FaultOptions{Persistent: true}, 4},
		{"once, then a crash", states.FaultOptions{Crash: &states.Options{Max: 6}}, 1},
		{"a full disk, then a crash", states.FaultOptions{Persistent: true, Faults: []states.Fault{states.FailENOSPC}, Crash: &states.Options{Max: 6, Model: states.Journaled}}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			if prove.RaceSampled() && c.o.Crash != nil {
				t.Skip("not with the race detector; set -cuts or STELE_LONG=1")
			}
			t.Parallel()
			c.o.Prepare, c.o.Seed = oldStore, prove.Seed(t)
			switch {
			case prove.CutsGiven() > 0:
				c.o.Max = prove.CutsGiven()
			case prove.RaceSampled():
				c.o.Max = 1
			case !prove.Long():
				c.o.Max = c.runs
			}
			prove.FaultsMount(t, c.o, work, checkStore)
		})
	}
}

// A store survives every crash state, also those of a file system that keeps no more than
// POSIX requires.
func TestStates(t *testing.T) {
	if prove.RaceSampled() {
		t.Skip("not with the race detector; set -cuts or STELE_LONG=1")
	}
	most := 6
	switch {
	case prove.CutsGiven() > 0:
		most = prove.CutsGiven()
	case prove.Long():
		most = 3000
	}
	for name, work := range map[string]func(dir string, ack func(logNote)) error{
		"steps":        logSteps("append", "seal", "append", "append", "seal", "compact", "append", "reopen", "append", "seal"),
		"many at once": logLoad{goroutines: 3, batches: 6}.run,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := prove.RecordMount(t, states.MountOptions{Prepare: oldStore}, work)
			for _, model := range []states.Model{states.POSIX, states.Journaled} {
				rep := h.CheckDir(states.Options{Max: most, Seed: prove.Seed(t), Model: model}, checkStore)
				if t.Log(rep); rep.Err() != nil {
					t.Error(rep)
				}
			}
		})
	}
}

// Without any one kind of sync that a store makes, crash states fail.
func TestStatesMutants(t *testing.T) {
	if prove.RaceSampled() {
		t.Skip("not with the race detector; set -cuts or STELE_LONG=1")
	}
	t.Parallel()
	h := prove.RecordMount(t, states.MountOptions{}, logSteps("append", "append", "seal", "append", "seal", "append", "seal", "compact", "append", "seal"))
	o := states.Options{Max: 24, Seed: prove.Seed(t)}
	if prove.Long() {
		o.Max = 300
	}
	in := func(s crashtest.Sync, directory string) bool { return strings.HasPrefix(s.Path, directory+"/") }
	for _, c := range []struct {
		name string
		of   func(crashtest.Sync) bool
	}{
		{"records", func(s crashtest.Sync) bool { return in(s, "wal") && strings.HasSuffix(s.Path, ".wal") }},
		{"segments", func(s crashtest.Sync) bool { return in(s, "segments") }},
		{"the directory of segments", func(s crashtest.Sync) bool { return s.Path == "segments" }},
		{"the directory of the store", prove.OfRoot},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			prove.Missed(t, h, o, checkStore, c.of)
		})
	}
}
