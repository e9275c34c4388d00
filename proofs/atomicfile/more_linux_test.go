package atomicfile_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/stele-go/stele/atomicfile"
	"github.com/stele-go/stele/crashtest"
	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/proofs/internal/prove"
)

// The other promises of package atomicfile: attributes that a new file keeps, symlinks,
// content that a function writes, names below a root.

const keptMode, keptAttr = 0o640, "user.kept"

func keptVersions(dir string) error {
	if err := firstVersions(dir); err != nil {
		return err
	}
	for _, name := range atomicNames {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.Chmod(path, keptMode), unix.Setxattr(path, keptAttr, []byte(name), 0)); err != nil {
			return err
		}
	}
	return nil
}

// checkKept also checks that mode and attribute are durable together with the content,
// old or new: else a cut may show a secret.
func checkKept(dir string, ledger []replaced) error {
	if err := checkVersions(dir, ledger); err != nil {
		return err
	}
	for _, name := range atomicNames {
		path := filepath.Join(dir, name)
		fi, err := os.Stat(path)
		if err != nil {
			return err
		}
		value := make([]byte, 64)
		n, err := unix.Getxattr(path, keptAttr, value)
		if err != nil || string(value[:n]) != name || fi.Mode() != keptMode {
			return fmt.Errorf("%s has mode %v, attribute %q, %v: %w", name, fi.Mode(), value[:max(n, 0)], err, prove.ErrLost)
		}
	}
	return nil
}

func keepAll(level durability.Level, sync atomicfile.Sync) atomicfile.Options {
	return atomicfile.Options{Level: level, Sync: sync, Keep: atomicfile.KeepAll}
}

// byFunc is a batch whose content functions write.
func byFunc(d *atomicfile.Dir, ack func(replaced)) error {
	for v := 1; v <= versions; v++ {
		b := d.Batch()
		for _, name := range atomicNames {
			ack(replaced{name, v, true})
			err := b.AddFunc(name, 0o600, func(c *atomicfile.Content) error {
				data := versioned(name, v)
				_, err := c.Write(data[:len(data)/2])
				if err == nil {
					_, err = c.Write(data[len(data)/2:])
				}
				return err
			})
			if err != nil {
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

// belowRoot writes through an os.Root, into a directory below it.
func belowRoot(dir string, ack func(replaced)) (err error) {
	root, err := os.OpenRoot(filepath.Dir(dir))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	o := atomicfile.Options{Root: root}
	return singles(func(_, name string, data []byte) error {
		return atomicfile.WriteFileWith(filepath.Join(filepath.Base(dir), name), data, 0o600, o)
	})(dir, ack)
}

// chmodLate gives the file its mode and attribute once it has the name.
func chmodLate(dir, name string, data []byte) error {
	path := filepath.Join(dir, name)
	return errors.Join(byWriteFile(dir, name, data), unix.Setxattr(path, keptAttr, []byte(name), 0), os.Chmod(path, keptMode))
}

func TestKeepPower(t *testing.T) {
	prove.EachFS(t, func(t *testing.T, fs string) {
		prove.Holds(t, fs, checkKept, []prove.Case[replaced]{
			{Name: "Dir", Prepare: keptVersions, Work: inDir(keepAll(durability.Power, atomicfile.SyncAuto), dirSingles)},
			{Name: "Dir SyncEach", Prepare: keptVersions, Work: inDir(keepAll(durability.Power, atomicfile.SyncEach), dirSingles)},
			{Name: "Batch", Prepare: keptVersions, Work: inDir(keepAll(durability.Power, atomicfile.SyncAuto), dirBatches)},
			{Name: "AddFunc", Prepare: firstVersions, Work: inDir(syncAuto, byFunc), Check: checkVersions},
			{Name: "below a root", Prepare: firstVersions, Work: belowRoot, Check: checkVersions},
		})
		prove.Mutants(t, fs, checkKept, []prove.Mutant[replaced]{
			{Name: "mode and attribute after the rename", Prepare: keptVersions, Work: singles(chmodLate)},
			{Name: "level Kill", Prepare: keptVersions, Work: inDir(keepAll(durability.Kill, atomicfile.SyncAuto), dirSingles)},
		})
	})
}

// The version of a symlink is in its target.
func symlinks(link func(dir, target, name string) error) replaceFiles {
	return func(dir string, ack func(replaced)) error {
		for v := 1; v <= versions; v++ {
			for _, name := range atomicNames {
				ack(replaced{name, v, true})
				if err := link(dir, targetOf(v), name); err != nil {
					return err
				}
				ack(replaced{name, v, false})
			}
		}
		return nil
	}
}

// targetOf is longer than what ext4 and XFS keep in the inode for odd versions.
func targetOf(v int) string { return strings.Repeat("../", v%2*300) + fmt.Sprint("v", v) }

func firstLinks(dir string) error {
	for _, name := range atomicNames {
		if err := os.Symlink(targetOf(0), filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

func checkLinks(dir string, ledger []replaced) error {
	acked := map[string]int{}
	for _, r := range ledger {
		if !r.Begun {
			acked[r.Name] = max(acked[r.Name], r.Version)
		}
	}
	for _, name := range atomicNames {
		target, err := os.Readlink(filepath.Join(dir, name))
		if err != nil {
			return fmt.Errorf("%w: %w", err, prove.ErrLost)
		}
		v, err := strconv.Atoi(target[strings.LastIndexByte(target, '/')+2:])
		if err != nil || target != targetOf(v) || v < acked[name] {
			return fmt.Errorf("%s leads to %.40q, and version %d was acknowledged: %w", name, target, acked[name], prove.ErrLost)
		}
	}
	return nil
}

func TestSymlinkPower(t *testing.T) {
	with := func(o atomicfile.Options) replaceFiles {
		return symlinks(func(dir, target, name string) error { return atomicfile.Symlink(target, filepath.Join(dir, name), o) })
	}
	inHeld := func(dir string, ack func(replaced)) error {
		d, err := atomicfile.OpenDir(dir, syncAuto)
		if err != nil {
			return err
		}
		work := symlinks(func(_, target, name string) error { return d.Symlink(target, name) })
		return errors.Join(work(dir, ack), d.Close())
	}
	prove.EachFS(t, func(t *testing.T, fs string) {
		prove.Holds(t, fs, checkLinks, []prove.Case[replaced]{
			{Name: "Symlink", Prepare: firstLinks, Work: with(syncAuto)},
			{Name: "Dir", Prepare: firstLinks, Work: inHeld},
		})
		prove.Mutants(t, fs, checkLinks, []prove.Mutant[replaced]{
			{Name: "level Kill", Prepare: firstLinks, Work: with(atomicfile.Options{Level: durability.Kill})},
			{Name: "directory not synced", Prepare: firstLinks, Work: with(syncAuto), OnSync: prove.Where(crashtest.SkipSync, prove.OfCall("fsync"))},
		})
	})
}
