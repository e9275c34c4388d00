package wal_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stele-go/stele/atomicfile"
	"github.com/stele-go/stele/crashtest"
	"github.com/stele-go/stele/crashtest/states"
	"github.com/stele-go/stele/proofs/internal/prove"
	"github.com/stele-go/stele/wal"
)

// The proof of what Open does to a log with a torn tail whose prepared segments
// are damaged: whatever moment a crash comes at, the records are there, and the
// bytes that Open cuts or sets aside are where they were or in the directory
// aside, whole.

const asideDir = "aside"

// tornTail is what damagedWal leaves behind the last record.
var tornTail = bytes.Repeat([]byte("torn "), 700)

// damagedWal makes a log with records, a torn tail, and three prepared segments
// that damage changes.
func damagedWal(damage func(prepared []string) error) func(dir string) error {
	return func(dir string) error {
		if err := os.Mkdir(filepath.Join(dir, asideDir), 0o777); err != nil {
			return err
		}
		o := walOptions()
		o.Spares = 3
		dir = filepath.Join(dir, "log")
		w, err := newWalWriter(dir, o, func(walNote) {})
		if err != nil {
			return err
		}
		for i := range baseRecords {
			if _, err := w.log.Append(context.Background(), walRecord(baseID(i))); err != nil {
				return err
			}
		}
		for w.log.Stats().Prepared < 3 {
			time.Sleep(time.Millisecond)
		}
		if err := w.close(); err != nil {
			return err
		}
		in, err := wal.Inspect(dir)
		if err != nil {
			return err
		}
		var prepared []string
		for s := range in.Segments() {
			if s.State == wal.StatePrepared {
				prepared = append(prepared, s.File)
			} else if err := overwrite(s.File, s.End, tornTail); err != nil {
				return err
			}
		}
		return damage(prepared)
	}
}

const baseRecords = 4

func baseID(i int) string { return fmt.Sprint("base-", i) }

func overwrite(name string, off int64, b []byte) error {
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(b, off)
	return errors.Join(err, f.Close())
}

// header is what damage writes over the header of a segment.
var header = bytes.Repeat([]byte("damaged "), 512)

// keepingWal makes steps on a log, and keeps what Open cuts and sets aside.
func keepingWal(steps []string) func(dir string, ack func(walNote)) error {
	return func(dir string, ack func(walNote)) error {
		aside := filepath.Join(dir, asideDir)
		o := walOptions()
		o.SaveTorn = func(t wal.TornTail, r io.Reader) error {
			b, err := io.ReadAll(r)
			name := filepath.Join(aside, "torn")
			if _, lerr := os.Lstat(name); err != nil || lerr == nil {
				return err // the first copy is whole
			}
			return atomicfile.WriteFile(name, b, 0o666)
		}
		o.SetAside = func(path string) error {
			// A link, not a rename: by the rules of POSIX a crash may leave neither
			// name of a file that was moved to another directory.
			err := os.Link(path, filepath.Join(aside, filepath.Base(path)))
			if errors.Is(err, fs.ErrExist) {
				err = nil
			}
			return errors.Join(err, syncDir(aside))
		}
		return walRun(o, steps)(filepath.Join(dir, "log"), ack)
	}
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// checkKeeping checks a log and what was kept of it.
func checkKeeping(dir string, ledger []walNote) error {
	places := map[string]bool{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		if bytes.Contains(b, tornTail) {
			places["torn tail"] = true
		}
		if bytes.HasPrefix(b, header) {
			places["damaged header"] = true
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, what := range []string{"torn tail", "damaged header"} {
		if !places[what] {
			return fmt.Errorf("the %s is nowhere: %w", what, prove.ErrLost)
		}
	}
	base := []walNote{}
	for i := range baseRecords {
		base = append(base, walNote{Begun: baseID(i)}, walNote{Acked: baseID(i), Pos: wal.Position(i + 1)})
	}
	return checkWal(filepath.Join(dir, "log"), append(base, ledger...))
}

// spoil are accidents to prepared segments. Each leaves a file that begins with
// header.
var spoil = map[string]func(prepared []string) error{
	"the first damaged": func(p []string) error { return overwrite(p[0], 0, header) },
	"the last damaged":  func(p []string) error { return overwrite(p[2], 0, header) },
	"one damaged, one missing, one short": func(p []string) error {
		return errors.Join(overwrite(p[2], 0, header), os.Remove(p[1]), os.Truncate(p[0], 5000))
	},
	"one missing, one damaged, one intact": func(p []string) error {
		return errors.Join(os.Remove(p[0]), overwrite(p[1], 0, header))
	},
}

// Every crash state of an Open that mends a log, and of its use after that.
func TestStatesPrepared(t *testing.T) {
	for name, damage := range spoil {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			work := keepingWal([]string{"append", "batch", "batch", "batch", "batch", "reopen", "append"})
			h := prove.RecordMount(t, states.MountOptions{Prepare: damagedWal(damage)}, work)
			o := states.Options{Max: 300, Seed: prove.Seed(t)}
			if prove.Long() {
				o.Max = 5000
			}
			rep := h.CheckDir(o, checkKeeping)
			if t.Log(rep); rep.Err() != nil {
				t.Error(rep)
			}
			prove.Missed(t, h, o, checkKeeping, func(s crashtest.Sync) bool { return strings.HasPrefix(s.Path, asideDir) })
		})
	}
}

// Every call of it fails, in every way. What Open reported as failed it may have
// done in part.
func TestFaultsPrepared(t *testing.T) {
	for name, damage := range spoil {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := states.FaultOptions{Prepare: damagedWal(damage), Seed: prove.Seed(t), Crash: &states.Options{Max: 20}}
			if !prove.Long() {
				o.Max = 8
			}
			prove.FaultsMount(t, o, keepingWal([]string{"append", "reopen", "append"}), checkKeeping)
		})
	}
}

// The power is cut under it on real file systems.
func TestPowerPrepared(t *testing.T) {
	prove.EachFS(t, func(t *testing.T, fs string) {
		work := keepingWal([]string{"append", "batch", "batch", "batch", "batch", "reopen", "append"})
		var cases []prove.Case[walNote]
		for name, damage := range spoil {
			cases = append(cases, prove.Case[walNote]{Name: name, Prepare: damagedWal(damage), Work: work})
		}
		prove.Holds(t, fs, checkKeeping, cases)
	})
}
