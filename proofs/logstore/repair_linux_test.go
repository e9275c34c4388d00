package logstore_test

import (
	"bytes"
	"context"
	"crypto/md5"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stele-go/stele/crashtest"
	"github.com/stele-go/stele/crashtest/power/powertest"
	"github.com/stele-go/stele/crashtest/states"
	"github.com/stele-go/stele/logstore"
	"github.com/stele-go/stele/proofs/internal/prove"
)

// The proof of logstore.Repair: after any crash or fault during a repair the old log
// is there, whole, and the next repair leaves a store with every intact line, and with
// those that were appended since.

const (
	repairLines = 6 // of which 0 and 1 are sealed
	lostLine    = 4 // is damaged in the log
)

// A repairKind is a kind of damage to the log of a store, and what is lost by it.
type repairKind struct {
	name   string
	damage func(wal string) error
	lost   func(line int) bool
}

var repairKinds = []repairKind{
	{"a record", damageRecord, func(line int) bool { return line == lostLine }},
	{"META", damageMeta, func(int) bool { return false }},
	{"no log", os.RemoveAll, func(line int) bool { return line > 1 }},
}

func repairLine(i int) string { return fmt.Sprintf("line %d of the store", i) }

// repairBatch returns a batch of one line, at a time that puts it in order.
func repairBatch(i int) logstore.Batch {
	e := logstore.Entry{Time: int64(i), Line: []byte(repairLine(i))}
	return logstore.Batch{{Labels: logstore.MustLabels("app", "a"), Entries: []logstore.Entry{e}}}
}

// repairNames names the batch of a line, whose tenant is "" or "a".
func repairNames(i int) logstore.AppendOptions {
	return logstore.AppendOptions{Tenant: []string{"", "a"}[i%2], Key: md5.Sum([]byte(repairLine(i)))}
}

// appendRepaired appends a line. known is whether the store knew it.
func appendRepaired(s *logstore.Store, i int) (known bool, err error) {
	a, err := s.AppendWith(context.Background(), repairBatch(i), repairNames(i))
	return a.Known > 0, err
}

// prepare makes dir/store, whose log is damaged, and dir/was, a copy of that log.
func (k *repairKind) prepare(dir string) error {
	ctx := context.Background()
	store := filepath.Join(dir, "store")
	s, err := logstore.Open(store, keepingOptions())
	if err != nil {
		return err
	}
	for i := range repairLines {
		_, appendErr := appendRepaired(s, i)
		err = errors.Join(err, appendErr)
		if i == 1 {
			err = errors.Join(err, s.Seal(ctx))
		}
	}
	if err := errors.Join(err, s.Close(), k.damage(filepath.Join(store, "wal"))); err != nil {
		return err
	}
	err = os.CopyFS(filepath.Join(dir, "was"), os.DirFS(filepath.Join(store, "wal")))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// damageRecord flips a bit of one line in the log.
func damageRecord(dir string) error {
	files, err := filepath.Glob(filepath.Join(dir, "*.wal"))
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if at := bytes.Index(data, []byte(repairLine(lostLine))); at >= 0 {
			data[at] ^= 1
			return os.WriteFile(file, data, 0o666)
		}
	}
	return errors.Join(err, fmt.Errorf("%s does not have the line", dir))
}

// damageMeta overwrites both copies of what the log says of itself.
func damageMeta(dir string) error {
	meta := filepath.Join(dir, "META")
	fi, err := os.Stat(meta)
	if err != nil {
		return err
	}
	return os.WriteFile(meta, make([]byte, fi.Size()), 0o666)
}

const (
	repairedNote = "repaired" // in the ledger; the other entries are lines
	tickNote     = "tick"     // a place for a kill
)

// repairStore repairs the store and goes on with it.
func repairStore(dir string, ack func(string)) error {
	ctx, store := context.Background(), filepath.Join(dir, "store")
	if _, err := logstore.Repair(ctx, store, logstore.RepairOptions{}); err != nil {
		return err
	}
	ack(repairedNote)
	s, err := openAgain(store, keepingOptions())
	if err != nil {
		return err
	}
	for i := repairLines; i < repairLines+3 && err == nil; i++ {
		if _, err = appendRepaired(s, i); err == nil {
			ack(repairLine(i))
		}
		if i == repairLines+1 {
			err = errors.Join(err, s.Seal(ctx))
		}
	}
	return errors.Join(err, s.Close())
}

// check repairs a store after a crash, opens it and reads it.
func (k *repairKind) check(dir string, ledger []string) error {
	ctx, store := context.Background(), filepath.Join(dir, "store")
	ledger = slices.DeleteFunc(slices.Clone(ledger), func(note string) bool { return note == tickNote })
	p, err := logstore.PlanRepair(ctx, store, logstore.RepairOptions{})
	if err != nil {
		return err
	}
	if len(ledger) > 0 && (p.Refused != nil || p.Interrupted) {
		return fmt.Errorf("it was repaired, and is not: %v, interrupted %v: %w", p.Refused, p.Interrupted, prove.ErrLost)
	}
	if p.Refused == nil && !p.Interrupted { // Open may refuse an interrupted one
		const between = repairLines + 3
		if err := appendLine(store, between); err != nil {
			return fmt.Errorf("an open before the repair goes on: %w", err)
		}
		ledger = append(ledger, repairLine(between))
	}
	if _, err := logstore.Repair(ctx, store, logstore.RepairOptions{}); err != nil {
		return err
	}
	if err := isOldLogKept(dir); err != nil {
		return err
	}
	lines, err := linesOf(store)
	if err == nil {
		err = k.compare(lines, ledger)
	}
	if err != nil {
		return err
	}
	return retryRepaired(store, lines)
}

// retryRepaired appends the lines that the store had before the repair again. It knows
// those that it has kept.
func retryRepaired(store string, lines []string) error {
	s, err := openAgain(store, keepingOptions())
	if err != nil {
		return err
	}
	<-s.Ready()
	for i := range repairLines {
		known, appendErr := appendRepaired(s, i)
		if err = errors.Join(err, appendErr); appendErr == nil && known != slices.Contains(lines, repairLine(i)) {
			err = errors.Join(err, fmt.Errorf("the retry of %q after the repair: known %v, of %q: %w", repairLine(i), known, lines, prove.ErrLost))
		}
	}
	return errors.Join(err, s.Close())
}

func appendLine(store string, i int) error {
	s, err := openAgain(store, keepingOptions())
	if err != nil {
		return err
	}
	_, err = appendRepaired(s, i)
	return errors.Join(err, s.Close())
}

// linesOf opens a store and returns its lines, those of each tenant in order.
func linesOf(store string) (lines []string, err error) {
	s, err := openAgain(store, keepingOptions())
	if err != nil {
		return nil, err
	}
	<-s.Ready()
	for i := range 2 { // tenants
		tenant, last := repairNames(i).Tenant, ""
		for r, err := range s.Query(context.Background(), logstore.Query{Tenant: tenant}) {
			if err != nil {
				return nil, errors.Join(err, s.Close())
			}
			line := string(r.Line)
			if line < last || r.Time%2 != int64(i) {
				return nil, errors.Join(fmt.Errorf("%q of the tenant %q is out of order, or another's: %w", line, tenant, prove.ErrLost), s.Close())
			}
			last, lines = line, append(lines, line)
		}
	}
	return lines, s.Close()
}

// compare compares the lines of a repaired store with those that it must have.
func (k *repairKind) compare(lines, ledger []string) error {
	for i := range repairLines + 4 {
		line, times := repairLine(i), 0
		for _, l := range lines {
			if l == line {
				times++
			}
		}
		must := i < repairLines && !k.lost(i) || slices.Contains(ledger, line)
		may := must || i >= repairLines // was not acknowledged
		if must && times != 1 || times > 1 || times > 0 && !may {
			return fmt.Errorf("%q is there %d times: %q: %w", line, times, lines, prove.ErrLost)
		}
	}
	return nil
}

// isOldLogKept checks that the damaged log is in quarantine, with a report.
func isOldLogKept(dir string) error {
	logs, err := filepath.Glob(filepath.Join(dir, "store", "quarantine", "log-*"))
	logs = slices.DeleteFunc(logs, func(name string) bool { return filepath.Ext(name) == ".txt" })
	if err != nil || len(logs) != 1 {
		return fmt.Errorf("old logs: %v, %v: %w", logs, err, prove.ErrLost)
	}
	if _, err := os.Stat(logs[0] + ".txt"); err != nil {
		return fmt.Errorf("%w: %w", err, prove.ErrLost)
	}
	was, err := os.ReadDir(filepath.Join(dir, "was"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	for _, e := range was {
		want, err := os.ReadFile(filepath.Join(dir, "was", e.Name()))
		if err != nil {
			return err
		}
		got, err := os.ReadFile(filepath.Join(logs[0], e.Name()))
		if e.Name() == "LOCK" && err == nil {
			continue // says who has it
		}
		if err != nil || !bytes.Equal(got, want) {
			return fmt.Errorf("%s of %s is not as it was: %v: %w", e.Name(), logs[0], err, prove.ErrLost)
		}
	}
	return nil
}

// crashSample returns how many states, or faults, to try.
func crashSample(most int) int {
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
	for _, k := range repairKinds {
		for name, o := range map[string]states.MountOptions{"exchange": {}, "two renames": {NoExchange: true}} {
			t.Run(k.name+", "+name, func(t *testing.T) {
				t.Parallel()
				o.Prepare = k.prepare
				h := prove.RecordMount(t, o, repairStore)
				for _, model := range []states.Model{states.POSIX, states.Journaled} {
					rep := h.CheckDir(states.Options{Max: crashSample(4), Seed: prove.Seed(t), Model: model}, k.check)
					if t.Log(rep); rep.Err() != nil {
						t.Error(rep)
					}
				}
			})
		}
	}
}

func TestRepairFaults(t *testing.T) {
	t.Parallel()
	for _, k := range repairKinds {
		for _, persistent := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, until the end %v", k.name, persistent), func(t *testing.T) {
				t.Parallel()
				prove.FaultsMount(t, states.FaultOptions{Prepare: k.prepare, Seed: prove.Seed(t), Max: crashSample(2), Persistent: persistent}, repairStore, k.check)
			})
		}
	}
}

// Without the syncs of the new log crash states fail.
func TestRepairMutants(t *testing.T) {
	if prove.RaceSampled() {
		t.Skip("not with the race detector; set -cuts or STELE_LONG=1")
	}
	t.Parallel()
	k := repairKinds[0]
	h := prove.RecordMount(t, states.MountOptions{Prepare: k.prepare}, repairStore)
	prove.Missed(t, h, states.Options{Max: crashSample(40), Seed: prove.Seed(t)}, k.check, func(s crashtest.Sync) bool {
		return strings.HasSuffix(filepath.Dir(s.Path), "wal.repair") && filepath.Ext(s.Path) == ".wal"
	})
}

// No cut of the power during a repair loses what it keeps.
func TestRepairPower(t *testing.T) {
	prove.EachFS(t, func(t *testing.T, fs string) {
		var cases []prove.Case[string]
		for _, k := range repairKinds {
			cases = append(cases, prove.Case[string]{Name: k.name, Size: logDevice, Prepare: k.prepare, Work: repairStore, Check: k.check})
		}
		prove.Holds(t, fs, nil, cases)
	})
}

// Without any sync, cuts lose lines.
func TestRepairPowerMutants(t *testing.T) {
	k := repairKinds[0]
	prove.EachFS(t, func(t *testing.T, fs string) {
		prove.Mutants(t, fs, k.check, []prove.Mutant[string]{
			{Name: "nothing synced", Size: logDevice, Prepare: k.prepare, Work: repairStore, OnSync: prove.Always(crashtest.SkipSync)},
		})
	})
}

// The end of the process at any time during a repair loses nothing.
func TestRepairKill(t *testing.T) {
	for _, k := range repairKinds {
		t.Run(k.name, func(t *testing.T) {
			res := powertest.Kill(t, kills(), prove.Seed(t), func(dir string, ack func(string)) error {
				if err := k.prepare(dir); err != nil {
					return err
				}
				return ticking(ack, tickNote, func() error { return repairStore(dir, ack) })
			}, k.check)
			if t.Log(res); len(res.Lost) > 0 {
				t.Error(res)
			}
		})
	}
}

// ticking does the work. Meanwhile it acknowledges ticks, so that a kill comes at any
// time.
func ticking[T any](ack func(T), tick T, work func() error) error {
	done, ended := make(chan struct{}), make(chan struct{})
	ack(tick)
	go func() {
		defer close(ended)
		for {
			select {
			case <-done:
				return
			case <-time.After(time.Millisecond):
				ack(tick)
			}
		}
	}()
	err := work()
	close(done)
	<-ended
	return err
}
