package crashtest_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stele-go/stele/crashtest"
	"github.com/stele-go/stele/durability"
)

// logSteps makes one step after the other, and goes on after those that fail:
// what was acknowledged after a failure counts as much.
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
				err = s.append([]string{"tiny", "large"}[made%2], 0, made)
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

// racing: the race detector is on and nobody asks for more. What a mount
// records of a log, which writes its files ahead, takes ten times as long then,
// and shows no race that the other tests do not.
func racing() bool { return raceDetector && *cutsFlag == 0 && !long() }

// Every call fails, in every way, once or until the end, and then a crash may
// come: with STELE_LONG=1 all of that, with -cuts as many of each.
func TestLogstoreFaults(t *testing.T) {
	work := logSteps("append", "append", "seal", "append", "look", "seal", "append", "reopen", "look", "append", "seal", "compact", "look", "append", "reopen", "append")
	for _, c := range []struct {
		name string
		o    crashtest.FaultOptions
		runs int // unless one of these is set
	}{
		{"once", crashtest.FaultOptions{}, 6},
		{"until the end", crashtest.FaultOptions{Stays: true}, 4},
		{"once, then a crash", crashtest.FaultOptions{Crash: &crashtest.StateOptions{Max: 6}}, 1},
		{"a full disk, then a crash", crashtest.FaultOptions{Stays: true, Faults: []crashtest.CallFault{crashtest.FailENOSPC}, Crash: &crashtest.StateOptions{Max: 6, Model: crashtest.Journaled}}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			if racing() && c.o.Crash != nil {
				t.Skip("not with the race detector; set -cuts or STELE_LONG=1")
			}
			t.Parallel()
			c.o.Prepare, c.o.Seed = oldStore, *seedFlag
			switch {
			case *cutsFlag > 0:
				c.o.Max = *cutsFlag
			case racing():
				c.o.Max = 1
			case !long():
				c.o.Max = c.runs
			}
			rep := crashtest.FaultsMount(t, c.o, work, checkStore)
			if t.Log(rep); rep.Err() != nil {
				t.Error(rep)
			}
		})
	}
}

// All that a crash may leave, also where the file system keeps no more than it must.
func TestLogstoreStates(t *testing.T) {
	if racing() {
		t.Skip("not with the race detector; set -cuts or STELE_LONG=1")
	}
	most := 6
	switch {
	case *cutsFlag > 0:
		most = *cutsFlag
	case long():
		most = 3000
	}
	for name, work := range map[string]func(dir string, ack func(logNote)) error{
		"steps":        logSteps("append", "seal", "append", "append", "seal", "compact", "append", "reopen", "append", "seal"),
		"many at once": logLoad{goroutines: 3, batches: 6}.run,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := crashtest.RecordMount(t, crashtest.MountOptions{Prepare: oldStore}, work)
			for _, model := range []crashtest.Model{crashtest.POSIX, crashtest.Journaled} {
				rep := h.CheckDir(crashtest.StateOptions{Max: most, Seed: *seedFlag, Model: model}, checkStore)
				if t.Log(rep); rep.Err() != nil {
					t.Error(rep)
				}
			}
		})
	}
}

// Each kind of sync that a store makes is missed where it is left out.
func TestLogstoreStatesMutants(t *testing.T) {
	if racing() {
		t.Skip("not with the race detector; set -cuts or STELE_LONG=1")
	}
	h := crashtest.RecordMount(t, crashtest.MountOptions{}, logSteps("append", "append", "seal", "append", "seal", "append", "seal", "compact", "append", "seal"))
	o := crashtest.StateOptions{Max: 24, Seed: *seedFlag}
	if long() {
		o.Max = 300
	}
	in := func(s crashtest.Sync, folder string) bool { return strings.HasPrefix(s.Path, folder+"/") }
	for _, c := range []struct {
		name string
		of   func(crashtest.Sync) bool
	}{
		{"records", func(s crashtest.Sync) bool { return in(s, "wal") && strings.HasSuffix(s.Path, ".wal") }},
		{"segments", func(s crashtest.Sync) bool { return in(s, "segments") }},
		{"the folder of segments", func(s crashtest.Sync) bool { return s.Path == "segments" }},
		{"the folder of the store", ofRoot},
	} {
		t.Run(c.name, func(t *testing.T) {
			missed(t, h, o, checkStore, c.of)
		})
	}
}
