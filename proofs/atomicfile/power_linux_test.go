package atomicfile_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stele-go/stele/atomicfile"
	"github.com/stele-go/stele/crashtest"
	"github.com/stele-go/stele/crashtest/power"
	"github.com/stele-go/stele/crashtest/power/powertest"
	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/proofs/internal/prove"
)

// The proof of package atomicfile: whenever the power is cut, each name holds
// the content that was acknowledged last, or a later one, whole.

// A replaced is an entry of the ledger: name has version, durably or, if begun,
// after some cuts from now on.
type replaced struct {
	Name    string
	Version int
	Begun   bool
}

type replaceFiles = func(dir string, ack func(replaced)) error

// versioned returns the content of a file, with its version on every line. Each version
// has another length.
func versioned(name string, version int) []byte {
	lines := 1 + (version*37+len(name))%400
	return bytes.Repeat(fmt.Appendf(nil, "%s %06d\n", name, version), lines)
}

func versionOf(name string, content []byte) (int, error) {
	first, _, _ := strings.Cut(string(content), "\n")
	number, found := strings.CutPrefix(first, name+" ")
	v, err := strconv.Atoi(number)
	if !found || err != nil || !bytes.Equal(content, versioned(name, v)) {
		return 0, fmt.Errorf("%s: torn, %d bytes that begin with %.30q: %w", name, len(content), content, prove.ErrLost)
	}
	return v, nil
}

var atomicNames = []string{"a", "b", "c"}

// firstVersions makes the files that are there before the first cut.
func firstVersions(dir string) error {
	for _, name := range atomicNames {
		if err := os.WriteFile(filepath.Join(dir, name), versioned(name, 0), 0o600); err != nil {
			return err
		}
	}
	return nil
}

func checkVersions(dir string, ledger []replaced) error {
	acked, begun := map[string]int{}, map[string]int{}
	for _, name := range atomicNames {
		begun[name] = 0 // it is there from the start
	}
	for _, r := range ledger {
		of := acked
		if r.Begun {
			of = begun
		}
		of[r.Name] = max(of[r.Name], r.Version)
	}
	for name := range begun {
		content, err := os.ReadFile(filepath.Join(dir, name))
		if errors.Is(err, os.ErrNotExist) {
			if !slices.Contains(atomicNames, name) && acked[name] == 0 {
				continue
			}
			return fmt.Errorf("%s is gone: %w", name, prove.ErrLost)
		}
		if err != nil {
			return err
		}
		v, err := versionOf(name, content)
		switch {
		case err != nil:
			return err
		case v < acked[name]:
			return fmt.Errorf("%s holds version %d, and %d was acknowledged: %w", name, v, acked[name], prove.ErrLost)
		case v > begun[name]:
			return fmt.Errorf("%s holds version %d, and %d was the last begun", name, v, begun[name])
		}
	}
	return checkTemps(dir, begun)
}

// checkTemps checks that a cut left no temporary file that Sweep does not know. Sweep
// keeps them, because their writer, this process, is alive.
func checkTemps(dir string, begun map[string]int) error {
	swept, err := atomicfile.Sweep(context.Background(), dir, atomicfile.SweepOptions{})
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		_, known := begun[e.Name()]
		known = known || e.Name() == prove.TempName || !e.Type().IsRegular() ||
			slices.ContainsFunc(swept.Kept, func(l atomicfile.KeptFile) bool { return l.Name == e.Name() })
		if !known {
			return fmt.Errorf("%s is left, and Sweep does not know it", e.Name())
		}
	}
	return nil
}

const (
	versions   = 10
	freshFiles = 8
)

// singles replaces the files one after the other.
func singles(write func(dir, name string, data []byte) error) replaceFiles {
	return func(dir string, ack func(replaced)) error {
		for v := 1; v <= versions; v++ {
			for _, name := range atomicNames {
				ack(replaced{name, v, true})
				if err := write(dir, name, versioned(name, v)); err != nil {
					return err
				}
				ack(replaced{name, v, false})
			}
		}
		return nil
	}
}

// fresh makes a new file each time. If a file is replaced, ext4 begins to write the new
// one by itself (auto_da_alloc), and may be done in time.
func fresh(files int, write func(dir, name string, data []byte) error) replaceFiles {
	return func(dir string, ack func(replaced)) error {
		for v := 1; v <= files; v++ {
			name := fmt.Sprint("new", v)
			ack(replaced{name, v, true})
			if err := write(dir, name, versioned(name, v)); err != nil {
				return err
			}
			ack(replaced{name, v, false})
		}
		return nil
	}
}

func byWriteFile(dir, name string, data []byte) error {
	return atomicfile.WriteFile(filepath.Join(dir, name), data, 0o600)
}

// inDir wraps work that needs a Dir.
func inDir(o atomicfile.Options, work func(d *atomicfile.Dir, ack func(replaced)) error) replaceFiles {
	return func(dir string, ack func(replaced)) error {
		d, err := atomicfile.OpenDir(dir, o)
		if err != nil {
			return err
		}
		return errors.Join(work(d, ack), d.Close())
	}
}

func dirSingles(d *atomicfile.Dir, ack func(replaced)) error {
	return singles(func(_, name string, data []byte) error { return d.WriteFile(name, data, 0o600) })("", ack)
}

func dirFresh(d *atomicfile.Dir, ack func(replaced)) error {
	return fresh(freshFiles, func(_, name string, data []byte) error { return d.WriteFile(name, data, 0o600) })("", ack)
}

func dirFreshBatches(d *atomicfile.Dir, ack func(replaced)) error {
	return fresh(freshFiles, func(_, name string, data []byte) error {
		b := d.Batch()
		return errors.Join(b.Add(name, data, 0o600), b.Commit())
	})("", ack)
}

func dirBatches(d *atomicfile.Dir, ack func(replaced)) error {
	for v := 1; v <= versions; v++ {
		b := d.Batch()
		for _, name := range atomicNames {
			ack(replaced{name, v, true})
			if err := b.Add(name, versioned(name, v), 0o600); err != nil {
				return err
			}
		}
		if err := b.Commit(); err != nil {
			return err
		}
		for _, name := range atomicNames {
			ack(replaced{name, v, false})
		}
	}
	return nil
}

// dirParallel has a goroutine for each file. They share syncs of the directory.
func dirParallel(d *atomicfile.Dir, ack func(replaced)) error {
	return prove.Parallel(len(atomicNames), func(i int) error {
		name := atomicNames[i]
		for v := 1; v <= versions; v++ {
			ack(replaced{name, v, true})
			if err := d.WriteFile(name, versioned(name, v), 0o600); err != nil {
				return err
			}
			ack(replaced{name, v, false})
		}
		return nil
	})
}

var (
	syncAuto  = atomicfile.Options{}
	syncEach  = atomicfile.Options{Sync: atomicfile.SyncEach}
	syncWhole = atomicfile.Options{Sync: atomicfile.SyncWholeFS}
)

func TestPower(t *testing.T) {
	prove.EachFS(t, func(t *testing.T, fs string) {
		proofs := []prove.Case[replaced]{
			{Name: "WriteFile", Work: singles(byWriteFile)},
			{Name: "Dir", Work: inDir(syncAuto, dirSingles)},
			{Name: "Dir, new names", Work: inDir(syncAuto, dirFresh)},
			{Name: "Dir SyncEach", Work: inDir(syncEach, dirSingles)},
			{Name: "Dir SyncEach, new names", Work: inDir(syncEach, dirFresh)},
			{Name: "Dir, many goroutines", Work: inDir(syncAuto, dirParallel)},
			{Name: "Dir SyncEach, many goroutines", Work: inDir(syncEach, dirParallel)},
			{Name: "Batch", Work: inDir(syncAuto, dirBatches)},
			{Name: "Batch SyncEach", Work: inDir(syncEach, dirBatches)},
			{Name: "Batch SyncWholeFS", Work: inDir(syncWhole, dirBatches)},
		}
		for i := range proofs {
			proofs[i].Prepare = firstVersions
		}
		prove.Holds(t, fs, checkVersions, proofs)
	})
}

// At level Kill a killed process leaves the old content or the new, and all that was
// acknowledged. Sweep removes its temporary files.
func TestKill(t *testing.T) {
	work := inDir(atomicfile.Options{Level: durability.Kill}, dirParallel)
	res := powertest.Kill(t, 4, prove.Seed(t), func(dir string, ack func(replaced)) error {
		return errors.Join(firstVersions(dir), work(dir, ack))
	}, func(dir string, ledger []replaced) error {
		if err := checkVersions(dir, ledger); err != nil {
			return err
		}
		if swept, err := atomicfile.Sweep(context.Background(), dir, atomicfile.SweepOptions{}); len(swept.Kept) > 0 || err != nil {
			return fmt.Errorf("left: %+v, %w", swept.Kept, err)
		}
		return nil
	})
	if t.Log(res); len(res.Lost) > 0 {
		t.Errorf("%v", res)
	}
}

// SyncAuto syncs only the directory where that is enough, which the tests above show,
// and else the content too.
func TestSyncs(t *testing.T) {
	prove.EachFS(t, func(t *testing.T, fs string) {
		for _, work := range []func(*atomicfile.Dir, func(replaced)) error{dirSingles, dirBatches} {
			contents, directories := 0, 0
			powertest.Record(t, power.Options{FS: fs, Seed: prove.Seed(t), Prepare: firstVersions, OnSync: func(s crashtest.Sync) crashtest.SyncFault {
				if s.Path == "." {
					directories++
				} else {
					contents++
				}
				return crashtest.NoFault
			}}, inDir(syncAuto, work))
			if directories == 0 || (contents > 0) != (fs == "btrfs") {
				t.Errorf("%d syncs of files, %d of the directory", contents, directories)
			}
		}
	})
}

// unordered is SyncAuto on ext4 and XFS without its wait for the data.
func unordered(dir, name string, data []byte) error {
	return renameAndSync(dir, name, data, func(*os.File) error { return nil })
}

func renameAndSync(dir, name string, data []byte, before func(*os.File) error) error {
	temp := filepath.Join(dir, prove.TempName)
	f, err := os.Create(temp)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err := errors.Join(err, before(f), f.Close(), os.Rename(temp, filepath.Join(dir, name))); err != nil {
		return err
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// A mutant without a sync is caught, whatever it does instead.
func TestMutants(t *testing.T) {
	kill := atomicfile.Options{Level: durability.Kill}
	content, directory, whole := prove.OfCall("fdatasync"), prove.OfCall("fsync"), prove.OfCall("syncfs")
	const skip, writeOnly = crashtest.SkipSync, crashtest.WriteOnly
	prove.EachFS(t, func(t *testing.T, fs string) {
		mutants := []prove.Mutant[replaced]{
			{Name: "level Kill", Work: inDir(kill, dirSingles)},
			{Name: "Batch at level Kill", Work: inDir(kill, dirBatches)},
			{Name: "O_DIRECT and no flush", Work: singles(prove.ReplaceUnflushed)},
			{Name: "directory not synced", Work: inDir(syncEach, dirSingles), OnSync: prove.Where(skip, directory)},
			{Name: "directory not synced, SyncAuto", Work: inDir(syncAuto, dirSingles), OnSync: prove.Where(skip, directory)},
			{Name: "directory with sync_file_range, SyncAuto", Work: inDir(syncAuto, dirSingles), OnSync: prove.Where(writeOnly, directory)},
			{Name: "directory not synced, Batch", Work: inDir(syncAuto, dirBatches), OnSync: prove.Where(skip, directory)},
			{Name: "directory not synced, Batch SyncWholeFS", Work: inDir(syncWhole, dirBatches), OnSync: prove.Where(skip, directory)},
			{Name: "directory not synced, WriteFile", Work: singles(byWriteFile), OnSync: prove.Where(skip, directory)},
			{Name: "content not synced", Work: inDir(syncEach, dirFresh), OnSync: prove.Where(skip, content)},
			{Name: "content not synced, WriteFile", Work: fresh(freshFiles, byWriteFile), OnSync: prove.Where(skip, content)},
			{Name: "content not synced, Batch SyncWholeFS", Work: inDir(syncWhole, dirFreshBatches), OnSync: prove.Where(skip, whole)},
			{Name: "content not written, only the directory synced", Work: fresh(freshFiles, unordered)},
			// A sync of the directory commits the journal of ext4 and XFS, and
			// covers data that the device has answered for: what SyncAuto
			// rests on.
			{Name: "content with sync_file_range", Work: inDir(syncEach, dirFresh), OnSync: prove.Where(writeOnly, content), Covered: fs != "btrfs"},
		}
		for i := range mutants {
			mutants[i].Prepare = firstVersions
		}
		prove.Mutants(t, fs, checkVersions, mutants)
	})
}

// A run with any single one of its syncs removed is caught.
func TestEachSync(t *testing.T) {
	prove.EachFS(t, func(t *testing.T, fs string) {
		for _, c := range []struct {
			name string
			work replaceFiles
		}{
			{"Dir", inDir(syncAuto, dirFresh)},
			{"Dir SyncEach", inDir(syncEach, dirFresh)},
			{"WriteFile", fresh(freshFiles, byWriteFile)},
		} {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				prove.EachSync(t, power.Options{FS: fs, Seed: prove.Seed(t), Prepare: firstVersions}, 0, c.work, checkVersions)
			})
		}
	})
}
