package logstore_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stele-go/stele/crashtest"
	"github.com/stele-go/stele/crashtest/states"
	"github.com/stele-go/stele/logstore"
	"github.com/stele-go/stele/proofs/internal/prove"
)

// The proof of what ends the alarm for a missing segment. Import puts its file back: after a
// crash the segment is there whole, or missing, and the next import leaves each line there
// once. Repair gives it up: after a crash it is given up, or missing.

// prepareMissing makes dir/store, which misses its first segment, and dir/file, which is
// that.
func prepareMissing(dir string) error {
	store := filepath.Join(dir, "store")
	s, err := logstore.Open(store, keepingOptions())
	if err != nil {
		return err
	}
	for i := range markedSegments {
		err = errors.Join(err, appendMarked(s, i), s.Seal(context.Background()))
	}
	// So the log of a repair too syncs by a call that a mutant can leave out.
	profile, readErr := os.ReadFile("testdata/fdatasync.json")
	if err = errors.Join(err, readErr, os.WriteFile(filepath.Join(store, "stele-profile.json"), profile, 0o666), s.Close()); err != nil {
		return err
	}
	segments, err := filepath.Glob(filepath.Join(store, "segments", "*.seg"))
	if err != nil || len(segments) != markedSegments {
		return fmt.Errorf("segments: %v, %v", segments, err)
	}
	return os.Rename(segments[0], filepath.Join(dir, "file"))
}

func putBack(dir string, ack func(string)) error {
	r, err := logstore.Import(context.Background(), filepath.Join(dir, "store"), logstore.ImportOptions{Memory: 32 << 20}, filepath.Join(dir, "file"))
	if err == nil && (r[0].Kept != 1 || r[0].Restored != 1) {
		err = fmt.Errorf("%+v", r)
	}
	if err == nil {
		ack("put back")
	}
	return err
}

// checkPutBack imports again.
func checkPutBack(dir string, ledger []string) error {
	if len(ledger) > 0 {
		if err := checkLines(dir, true, "0", "1", "2"); err != nil {
			return err
		}
	}
	if _, err := logstore.Import(context.Background(), filepath.Join(dir, "store"), logstore.ImportOptions{Memory: 32 << 20}, filepath.Join(dir, "file")); err != nil {
		return fmt.Errorf("import: %w: %w", prove.ErrLost, err)
	}
	return checkLines(dir, true, "0", "1", "2")
}

func giveUp(dir string, ack func(string)) error {
	p, err := logstore.Repair(context.Background(), filepath.Join(dir, "store"), logstore.RepairOptions{AcceptMissing: true})
	if err == nil && len(p.Missing) > 0 {
		ack("given up")
	}
	return err
}

// checkGivenUp gives up again. What is given up has a report.
func checkGivenUp(dir string, ledger []string) error {
	check := func() error {
		reports, err := filepath.Glob(filepath.Join(dir, "store", "quarantine", "missing-*.txt"))
		if err == nil && len(reports) == 0 {
			err = fmt.Errorf("there is no report: %w", prove.ErrLost)
		}
		return errors.Join(err, checkLines(dir, true, "1", "2"))
	}
	if len(ledger) > 0 {
		if err := check(); err != nil {
			return err
		}
	} else if err := checkLines(dir, false, "1", "2"); err != nil {
		return err
	}
	if err := giveUp(dir, func(string) {}); err != nil {
		return fmt.Errorf("repair: %w", err)
	}
	return check()
}

// checkLines opens the store and checks which lines there are, and, if whole, that nothing
// is told as lost.
func checkLines(dir string, whole bool, want ...string) error {
	store := filepath.Join(dir, "store")
	s, err := openAfterCrash(store)
	if err != nil {
		return err
	}
	defer s.Close()
	for _, e := range s.Report().Events {
		if whole && (e.Kind == logstore.EventMissing || e.Kind == logstore.EventGap || e.Kind == logstore.EventDamage) {
			return fmt.Errorf("the report of Open: %v: %w", e, prove.ErrLost)
		}
	}
	var lines []string
	for r, err := range s.Query(context.Background(), logstore.Query{}) {
		if err != nil {
			return err
		}
		lines = append(lines, string(r.Line))
	}
	if !slices.Equal(lines, want) {
		return fmt.Errorf("lines %q; want %q: %w", lines, want, prove.ErrLost)
	}
	return nil
}

// A missingCase is a way to end the alarm; syncs are those without which it is lost.
type missingCase struct {
	work  func(dir string, ack func(string)) error
	check func(dir string, ledger []string) error
	syncs string
}

var missingCases = map[string]missingCase{
	"put back": {putBack, checkPutBack, "store/segments"},
	"given up": {giveUp, checkGivenUp, "store/wal"},
}

func TestRepairMissingStates(t *testing.T) {
	t.Parallel()
	for name, c := range missingCases {
		h := prove.RecordMount(t, states.MountOptions{Prepare: prepareMissing}, c.work)
		for _, model := range []states.Model{states.POSIX, states.Journaled} {
			t.Run(name+", "+model.String(), func(t *testing.T) {
				rep := h.CheckDir(states.Options{Max: crashSample(12), Seed: prove.Seed(t), Model: model}, c.check)
				if t.Log(rep); rep.Err() != nil {
					t.Error(rep)
				}
			})
		}
	}
}

func TestRepairMissingFaults(t *testing.T) {
	t.Parallel()
	for name, c := range missingCases {
		for _, persistent := range []bool{false, true} {
			t.Run(name+", until the end "+strconv.FormatBool(persistent), func(t *testing.T) {
				prove.FaultsMount(t, states.FaultOptions{Prepare: prepareMissing, Seed: prove.Seed(t), Max: crashSample(6), Persistent: persistent}, c.work, c.check)
			})
		}
	}
}

// Without the syncs of what ends the alarm, crash states fail.
func TestRepairMissingMutants(t *testing.T) {
	if prove.RaceSampled() {
		t.Skip("not with the race detector; set -cuts or STELE_LONG=1")
	}
	t.Parallel()
	for name, c := range missingCases {
		h := prove.RecordMount(t, states.MountOptions{Prepare: prepareMissing}, c.work)
		t.Run(name, func(t *testing.T) {
			prove.Missed(t, h, states.Options{Max: crashSample(24), Seed: prove.Seed(t)}, c.check, func(s crashtest.Sync) bool {
				return s.Path == c.syncs || strings.HasPrefix(s.Path, c.syncs+"/")
			})
		})
	}
}
