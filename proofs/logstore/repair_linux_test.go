package logstore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stele-go/stele/crashtest"
	"github.com/stele-go/stele/crashtest/states"
	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/logstore"
	"github.com/stele-go/stele/proofs/internal/prove"
)

// The proof of logstore.Repair: after any crash or fault during a repair the old log
// is there, whole, and the next repair leaves a store with every intact line.

const (
	repairLines = 6 // of which 0 and 1 are sealed
	lostLine    = 4 // is damaged in the log
)

// repairOptions keeps lines of any age.
func repairOptions() logstore.Options {
	o := logOptions(durability.Power)
	o.Retention = 0
	return o
}

func repairLine(i int) string { return fmt.Sprintf("line %d of the store", i) }

// damagedStore makes a store whose log has a damaged record.
func damagedStore(dir string) error {
	ctx := context.Background()
	s, err := logstore.Open(dir, repairOptions())
	if err != nil {
		return err
	}
	for i := range repairLines {
		b := logstore.Batch{{Labels: logstore.MustLabels("app", "a"), Entries: []logstore.Entry{{Time: int64(i), Line: []byte(repairLine(i))}}}}
		err = errors.Join(err, s.Append(ctx, b))
		if i == 1 {
			err = errors.Join(err, s.Seal(ctx))
		}
	}
	if err := errors.Join(err, s.Close()); err != nil {
		return err
	}
	file, data, at, err := findLine(filepath.Join(dir, "wal"))
	if err != nil {
		return err
	}
	data[at] ^= 1
	return os.WriteFile(file, data, 0o666)
}

// findLine finds the line that is damaged, before it is.
func findLine(dir string) (file string, data []byte, at int, err error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.wal"))
	for _, file := range files {
		if data, err = os.ReadFile(file); err != nil {
			return "", nil, 0, err
		}
		if at := bytes.Index(data, []byte(repairLine(lostLine))); at >= 0 {
			return file, data, at, nil
		}
	}
	return "", nil, 0, errors.Join(err, fmt.Errorf("%s does not have the line", dir))
}

func repairStore(dir string, ack func(string)) error {
	p, err := logstore.Repair(context.Background(), dir, logstore.RepairOptions{})
	if err == nil {
		ack(p.Quarantine)
	}
	return err
}

// checkRepair repairs a store after a crash, opens it and reads it.
func checkRepair(dir string, repaired []string) error {
	p, err := logstore.PlanRepair(context.Background(), dir, logstore.RepairOptions{})
	if err != nil {
		return err
	}
	if len(repaired) > 0 && (p.Refused != nil || p.Interrupted) {
		return fmt.Errorf("it was repaired, and is not: %v, interrupted %v: %w", p.Refused, p.Interrupted, prove.ErrLost)
	}
	if _, err := logstore.Repair(context.Background(), dir, logstore.RepairOptions{}); err != nil {
		return err
	}
	if err := checkOldLog(dir); err != nil {
		return err
	}
	s, err := openAgain(dir, repairOptions())
	if err != nil {
		return err
	}
	defer s.Close()
	<-s.Ready()
	var got, want []string
	for r, err := range s.Query(context.Background(), logstore.Query{}) {
		if err != nil {
			return err
		}
		got = append(got, string(r.Line))
	}
	for i := range repairLines {
		if i != lostLine {
			want = append(want, repairLine(i))
		}
	}
	if !slices.Equal(got, want) {
		return fmt.Errorf("the store has %q; want %q: %w", got, want, prove.ErrLost)
	}
	return nil
}

// checkOldLog checks that the damaged log is in quarantine, with a report.
func checkOldLog(dir string) error {
	logs, err := filepath.Glob(filepath.Join(dir, "quarantine", "log-*"))
	logs = slices.DeleteFunc(logs, func(name string) bool { return filepath.Ext(name) == ".txt" })
	if err != nil || len(logs) != 1 {
		return fmt.Errorf("old logs: %v, %v: %w", logs, err, prove.ErrLost)
	}
	if _, err := os.Stat(logs[0] + ".txt"); err != nil {
		return fmt.Errorf("%w: %w", err, prove.ErrLost)
	}
	damaged := []byte(repairLine(lostLine))
	damaged[0] ^= 1
	files, err := filepath.Glob(filepath.Join(logs[0], "*.wal"))
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if bytes.Contains(data, damaged) {
			return nil
		}
	}
	if err != nil {
		return err
	}
	return fmt.Errorf("the damaged record is not in %s: %w", logs[0], prove.ErrLost)
}

func repairSample(most int) int {
	switch {
	case prove.CutsGiven() > 0:
		return prove.CutsGiven()
	case prove.Long():
		return 3000
	case prove.RaceSampled():
		return 2
	}
	return most
}

func TestRepairStates(t *testing.T) {
	h := prove.RecordMount(t, states.MountOptions{Prepare: damagedStore}, repairStore)
	for _, model := range []states.Model{states.POSIX, states.Journaled} {
		rep := h.CheckDir(states.Options{Max: repairSample(12), Seed: prove.Seed(), Model: model}, checkRepair)
		if t.Log(rep); rep.Err() != nil {
			t.Error(rep)
		}
	}
}

func TestRepairFaults(t *testing.T) {
	for _, persistent := range []bool{false, true} {
		prove.FaultsMount(t, states.FaultOptions{Prepare: damagedStore, Seed: prove.Seed(), Max: repairSample(5), Persistent: persistent}, repairStore, checkRepair)
	}
}

// Without the syncs of the new log crash states fail.
func TestRepairMutants(t *testing.T) {
	if prove.RaceSampled() {
		t.Skip("not with the race detector; set -cuts or STELE_LONG=1")
	}
	h := prove.RecordMount(t, states.MountOptions{Prepare: damagedStore}, repairStore)
	prove.Missed(t, h, states.Options{Max: repairSample(40), Seed: prove.Seed()}, checkRepair, func(s crashtest.Sync) bool {
		return filepath.Dir(s.Path) == "wal.repair" && filepath.Ext(s.Path) == ".wal"
	})
}
