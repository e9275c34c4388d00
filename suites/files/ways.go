package files

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/suites/internal/datafile"
	"github.com/stele-go/stele/suites/job"
)

// filePerm is the mode of new files, the same for every way.
const filePerm fs.FileMode = 0o644

// A Way is a way of creating files. Its promise is that of a file with content; an
// empty one is there or not.
type Way = job.Way[Files]

// Files creates files in the directory it was opened for.
type Files struct {
	// Create makes one new file, writes data into it if there is any, and
	// closes it. path and name are the same file, absolute and in the directory; a
	// way may choose another name. Many goroutines call it.
	Create func(path, name string, data []byte) error
	// Wait waits for the files that Create has begun. It may be nil. Many
	// goroutines call it.
	Wait func() error
	// Batch makes many new empty files. Where it is nil, Create is called for
	// each.
	Batch func(ctx context.Context, paths, names []string) error
	// Close may be nil.
	Close func() error
}

func (f Files) wait() error {
	if f.Wait == nil {
		return nil
	}
	return f.Wait()
}

func (f Files) batch(ctx context.Context, paths, names []string) error {
	if f.Batch != nil {
		return f.Batch(ctx, paths, names)
	}
	for i := range paths {
		if err := f.Create(paths[i], names[i], nil); err != nil {
			return err
		}
	}
	return f.wait()
}

func (f Files) close() error {
	if f.Close == nil {
		return nil
	}
	return f.Close()
}

// Names of variants that experiments choose by.
const (
	nameOSCreate    = "os.Create"
	nameDirCreate   = "Dir.Create"
	nameDirCreate16 = "Dir.Create 16 shards"
	// 256 is what the package's documentation recommends for many goroutines.
	nameDirCreate256  = "Dir.Create 256 shards"
	nameDirCreate4096 = "Dir.Create 4096 shards"
	nameQueueCreate   = "Queue.Create"
)

// byPath returns the Open of a way that needs only the path.
func byPath(create func(path string, data []byte) error) func(job.Site) (Files, error) {
	return job.Fixed(Files{Create: func(path, _ string, data []byte) error { return create(path, data) }})
}

// A file is one that was just made.
type file interface {
	Write([]byte) (int, error)
	Sync() error
	Close() error
}

// finish writes data, if there is any, syncs it if sync, and closes f.
func finish(f file, data []byte, sync bool) error {
	var err error
	if len(data) > 0 {
		if _, err = f.Write(data); err == nil && sync {
			err = f.Sync()
		}
	}
	return errors.Join(err, f.Close())
}

// The ways without Stele.

func osCreate() Way {
	return Way{
		Name: nameOSCreate, Promise: job.Promise(durability.Kill, durability.Torn), Baseline: true,
		Doc: "the standard library, by absolute path",
		Open: byPath(func(path string, data []byte) error {
			f, err := os.Create(path)
			if err != nil {
				return err
			}
			return finish(f, data, false)
		}),
	}
}

func osCreateTemp() Way {
	return Way{
		Name: "os.CreateTemp", Promise: job.Promise(durability.Kill, durability.Torn),
		Doc: "the standard library, under a name that it draws itself",
		Open: byPath(func(path string, data []byte) error {
			f, err := os.CreateTemp(filepath.Dir(path), "*")
			if err != nil {
				return err
			}
			return finish(f, data, false)
		}),
	}
}

func osRootCreate() Way {
	return Way{
		Name: "os.Root.Create", Promise: job.Promise(durability.Kill, durability.Torn),
		Doc: "the standard library, relative to a directory that is held open",
		Open: func(at job.Site) (Files, error) {
			r, err := os.OpenRoot(at.Dir)
			if err != nil {
				return Files{}, err
			}
			return Files{
				Create: func(_, name string, data []byte) error {
					f, err := r.Create(name)
					if err != nil {
						return err
					}
					return finish(f, data, false)
				},
				Close: r.Close,
			}, nil
		},
	}
}

// tempAndRename never shows a file that is half written: the baseline of
// anonymous files that are published. At level Power what was written, and
// then the directory, are synced.
func tempAndRename(level durability.Level) Way {
	w := Way{
		Name: "os.CreateTemp + os.Rename", Promise: job.Promise(level, durability.OldOrNew), Baseline: true,
		Doc: "written under another name, then renamed",
	}
	sync := level == durability.Power
	if sync {
		w.Name += " + fsync"
		w.Doc = "written under another name, synced, renamed, and the directory synced"
	}
	w.Open = byPath(func(path string, data []byte) (err error) {
		dir := filepath.Dir(path)
		f, err := os.CreateTemp(dir, ".*")
		if err != nil {
			return err
		}
		if err := finish(f, data, sync); err != nil {
			return err
		}
		if err := os.Rename(f.Name(), path); err != nil || !sync {
			return err
		}
		return datafile.SyncDir(dir)
	})
	return w
}

// osCreateSynced is a durable os.Create: a new name is durable once its directory is
// synced (fsync(2)).
func osCreateSynced() Way {
	return Way{
		Name: "os.Create + fsync", Promise: job.Promise(durability.Power, durability.Torn), Baseline: true,
		Doc: "os.Create, then fsync of the file if anything was written, and of the directory",
		Open: byPath(func(path string, data []byte) error {
			f, err := os.Create(path)
			if err != nil {
				return err
			}
			if err := finish(f, data, true); err != nil {
				return err
			}
			return datafile.SyncDir(filepath.Dir(path))
		}),
	}
}

// osCreateSyncedLater is the same for a batch that needs to be durable at its end only.
func osCreateSyncedLater() Way {
	return Way{
		Name: "os.Create, fsync at the end", Promise: job.Promise(durability.Power, durability.Torn), Baseline: true,
		Doc: "os.Create of each file, then fsync of the directory once",
		Open: func(at job.Site) (Files, error) {
			return Files{Batch: func(_ context.Context, paths, _ []string) error {
				for _, path := range paths {
					f, err := os.Create(path)
					if err != nil {
						return err
					}
					if err := f.Close(); err != nil {
						return err
					}
				}
				return datafile.SyncDir(at.Dir)
			}}, nil
		},
	}
}

// unlinkedTemp is how the standard library makes a private file: the baseline of
// ways that give files no name.
func unlinkedTemp() Way {
	return Way{
		Name: "os.CreateTemp + os.Remove", Promise: job.Promise(durability.None, durability.Torn), Baseline: true,
		Doc: "a temporary file whose name is removed while it is open",
		Open: byPath(func(path string, data []byte) error {
			f, err := os.CreateTemp(filepath.Dir(path), "*")
			if err != nil {
				return err
			}
			if err := os.Remove(f.Name()); err != nil {
				return errors.Join(err, f.Close())
			}
			return finish(f, data, false)
		}),
	}
}
