package replace

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"

	"github.com/stele-go/stele/atomicfile"
	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/suites/internal/datafile"
	"github.com/stele-go/stele/suites/job"
)

// replacePerm is the mode of new files, the same for every way.
const replacePerm fs.FileMode = 0o644

// A Way is a way of replacing files.
type Way = job.Way[Replacer]

// A Replacer replaces files in the directory it was opened for.
type Replacer struct {
	// Write replaces the content of the file name, a single path element. Many
	// goroutines call it, each with its own name.
	Write func(name string, data []byte) error
	// Batch replaces the content of many files by the same data. Where it is nil,
	// Write is called for each.
	Batch func(names []string, data []byte) error
	// Close may be nil.
	Close func() error
}

func (r Replacer) close() error {
	if r.Close == nil {
		return nil
	}
	return r.Close()
}

func (r Replacer) batch(names []string, data []byte) error {
	if r.Batch != nil {
		return r.Batch(names, data)
	}
	for _, name := range names {
		if err := r.Write(name, data); err != nil {
			return err
		}
	}
	return nil
}

// The names of the baselines at level Power.
const (
	plainPower     = "write, fsync, rename, fsync folder"
	plainPowerOnce = "the same, folder once"
)

// A directory has the calls of the textbook's sequence. An os.Root is one.
type directory interface {
	OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error)
	Rename(oldname, newname string) error
	Remove(name string) error
}

// byPaths is a directory whose path the kernel walks with each call.
type byPaths string

func (dir byPaths) OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error) {
	return os.OpenFile(filepath.Join(string(dir), name), flag, perm)
}

func (dir byPaths) Rename(oldname, newname string) error {
	return os.Rename(filepath.Join(string(dir), oldname), filepath.Join(string(dir), newname))
}

func (dir byPaths) Remove(name string) error { return os.Remove(filepath.Join(string(dir), name)) }

// writeAndRename writes a new file and renames it to name. It does not use
// os.CreateTemp, whose files have mode 0600: chmod would be one more call.
func writeAndRename(dir directory, name string, data []byte, sync bool) error {
	temp := name + "." + strconv.FormatUint(rand.Uint64(), 36)
	f, err := dir.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, replacePerm)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil && sync {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = dir.Rename(temp, name)
	}
	if err != nil {
		return errors.Join(err, dir.Remove(temp))
	}
	return nil
}

// replaceAndSync replaces files by the textbook's sequence, and syncs the directory
// once.
func replaceAndSync(dir string, names []string, data []byte) error {
	for _, name := range names {
		if err := writeAndRename(byPaths(dir), name, data, true); err != nil {
			return err
		}
	}
	return datafile.SyncDir(dir)
}

// writing returns the Open of a way that has nothing to prepare.
func writing(write func(dir, name string, data []byte) error) func(job.Site) (Replacer, error) {
	return func(at job.Site) (Replacer, error) {
		return Replacer{Write: func(name string, data []byte) error { return write(at.Dir, name, data) }}, nil
	}
}

// plainReplace is the textbook's sequence.
func plainReplace() Way {
	return Way{
		Name: plainPower, Promise: job.Promise(durability.Power, durability.OldOrNew), Baseline: true,
		Doc: "os.OpenFile of a new name, Write, Sync, Close, os.Rename, then the directory opened, synced and closed",
		Open: writing(func(dir, name string, data []byte) error {
			return replaceAndSync(dir, []string{name}, data)
		}),
	}
}

// plainReplaceOnce is the sequence with one sync of the directory for many files. It
// has no Write: for one file it is plainReplace.
func plainReplaceOnce() Way {
	return Way{
		Name: plainPowerOnce, Promise: job.Promise(durability.Power, durability.OldOrNew),
		Doc: "the same for each file, and the directory synced once after the last",
		Open: func(at job.Site) (Replacer, error) {
			return Replacer{Batch: func(names []string, data []byte) error {
				return replaceAndSync(at.Dir, names, data)
			}}, nil
		},
	}
}

// plainReplaceKill is the textbook's sequence without its syncs.
func plainReplaceKill() Way {
	return Way{
		Name: "write, rename", Promise: job.Promise(durability.Kill, durability.OldOrNew), Baseline: true,
		Doc: "os.OpenFile of a new name, Write, Close, os.Rename: no sync",
		Open: writing(func(dir, name string, data []byte) error {
			return writeAndRename(byPaths(dir), name, data, false)
		}),
	}
}

// rootReplace is the textbook's sequence without walking a path twice.
func rootReplace() Way {
	return Way{
		Name: "os.Root, the same sequence", Promise: job.Promise(durability.Power, durability.OldOrNew),
		Doc: "OpenFile, Write, Sync, Close and Rename in an open os.Root, then Sync of the directory, which is held open",
		Open: func(at job.Site) (Replacer, error) {
			root, err := os.OpenRoot(at.Dir)
			if err != nil {
				return Replacer{}, err
			}
			d, err := root.Open(".")
			if err != nil {
				return Replacer{}, errors.Join(err, root.Close())
			}
			return Replacer{
				Write: func(name string, data []byte) error {
					if err := writeAndRename(root, name, data, true); err != nil {
						return err
					}
					return d.Sync()
				},
				Close: func() error { return errors.Join(d.Close(), root.Close()) },
			}, nil
		},
	}
}

// osWriteFile truncates the file: a concurrent reader, or a crash, finds any part of
// the new content.
func osWriteFile() Way {
	return Way{
		Name: "os.WriteFile", Promise: job.Promise(durability.Kill, durability.Torn), Baseline: true,
		Doc: "truncates the file and writes it anew: not atomic, not synced",
		Open: writing(func(dir, name string, data []byte) error {
			return os.WriteFile(filepath.Join(dir, name), data, replacePerm)
		}),
	}
}

func atomicWriteFile() Way {
	return Way{
		Name: "atomicfile.WriteFile", Promise: job.Promise(durability.Power, durability.OldOrNew),
		Doc: "Stele's drop-in for os.WriteFile",
		Open: func(at job.Site) (Replacer, error) {
			// The first file of a process finds out what tells it from others.
			first := filepath.Join(at.Dir, "first")
			if err := atomicfile.WriteFile(first, nil, replacePerm); err != nil {
				return Replacer{}, err
			}
			if err := os.Remove(first); err != nil {
				return Replacer{}, err
			}
			return Replacer{Write: func(name string, data []byte) error {
				return atomicfile.WriteFile(filepath.Join(at.Dir, name), data, replacePerm)
			}}, nil
		},
	}
}

// inDir returns the way of a Replacer that uses an open atomicfile.Dir.
func inDir(name, doc string, o atomicfile.Options, replacer func(d *atomicfile.Dir) Replacer) Way {
	return Way{
		Name: name, Doc: doc, Promise: job.Promise(o.Level, durability.OldOrNew),
		Open: func(at job.Site) (Replacer, error) {
			d, err := atomicfile.OpenDir(at.Dir, o)
			if err != nil {
				return Replacer{}, err
			}
			r := replacer(d)
			r.Close = d.Close
			return r, nil
		},
	}
}

func atomicDir(name, doc string, o atomicfile.Options) Way {
	return inDir(name, doc, o, func(d *atomicfile.Dir) Replacer {
		return Replacer{Write: func(name string, data []byte) error { return d.WriteFile(name, data, replacePerm) }}
	})
}

// atomicBatch has no Write: a batch is for many files.
func atomicBatch(name, doc string, o atomicfile.Options) Way {
	return inDir(name, doc, o, func(d *atomicfile.Dir) Replacer {
		return Replacer{Batch: func(names []string, data []byte) error {
			b := d.Batch()
			defer b.Abort()
			for _, name := range names {
				if err := b.Add(name, data, replacePerm); err != nil {
					return err
				}
			}
			return b.Commit()
		}}
	})
}

// oneFileWays replace one file a call.
func oneFileWays() []Way {
	return []Way{
		plainReplace(), rootReplace(), atomicWriteFile(),
		atomicDir("Dir.WriteFile", "through a held directory, which is synced once; the content as the file system allows (SyncAuto)",
			atomicfile.Options{}),
		atomicDir("Dir.WriteFile SyncEach", "the same with an fdatasync of each file",
			atomicfile.Options{Sync: atomicfile.SyncEach}),
		plainReplaceKill(),
		atomicDir("Dir.WriteFile kill", "through a held directory, nothing synced; the old file's permissions are not asked for, as the others do not",
			atomicfile.Options{Level: durability.Kill, Keep: atomicfile.KeepNothing}),
		osWriteFile(),
	}
}

// manyFilesWays replace many files a call, or one after the other.
func manyFilesWays() []Way {
	return append([]Way{
		plainReplace(), plainReplaceOnce(),
		atomicBatch("Batch", "all written, then waited for, then renamed, and the directory synced once (SyncAuto)",
			atomicfile.Options{}),
		atomicBatch("Batch SyncEach", "the same with an fdatasync of each file",
			atomicfile.Options{Sync: atomicfile.SyncEach}),
		atomicBatch("Batch SyncWholeFS", "the same with one syncfs for all",
			atomicfile.Options{Sync: atomicfile.SyncWholeFS}),
		atomicBatch("Batch kill", "all written, then renamed, nothing synced; the old files' permissions are not asked for",
			atomicfile.Options{Level: durability.Kill, Keep: atomicfile.KeepNothing}),
	}, oneFileWays()[1:]...)
}
