package mkdir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/internal/setting"
	"github.com/stele-go/stele/internal/sys"
)

// Options are the settings of a Maker. The zero value is safe except for
// Confined: by default symlinks below the root are followed, as by os.MkdirAll.
type Options struct {
	// Level is what a finished All, Verify, Batch or Undo survives. Power, the
	// default, syncs the parents of directories not known to be durable, and
	// needs read permission on them. Kill does not sync. None is refused: a
	// directory is in the kernel at once, and outlives the process.
	Level durability.Level
	// Root, unless nil, is the directory that the name given to OpenRoot is
	// relative to. It sets Confined, also for the path to the Maker's own root.
	// Root may be closed once OpenRoot has returned.
	Root *os.Root
	// Confined refuses every symlink below the Maker's root; see the package
	// comment.
	Confined bool
	// OneMount refuses every mount point below the Maker's root, or below Root,
	// with syscall.EXDEV, bind mounts included. It needs Root or Confined. Only
	// Linux has it.
	OneMount bool
	// Undo enables Created.Undo: a Batch then records which directories it
	// creates, by one name_to_handle_at(2) each.
	Undo bool
	// Workers is the most goroutines that a Batch uses, each in a system call.
	// The default, 0, is GOMAXPROCS, at most 8.
	Workers int
	// CacheSize is the most directories that the Maker remembers. The default,
	// 0, is 65,536. Each takes about 100 bytes and its path, 10 MB in all.
	CacheSize int
}

const (
	defaultCacheSize = 1 << 16
	maxWorkers       = 8 // beyond it the file system's journal is the limit
)

// check returns an error for a wrong setting, and fills in the defaults.
func (o *Options) check() error {
	switch {
	case o.Level >= durability.None:
		return setting.Wrong("mkdir: Options.Level", o.Level, "power or kill: a directory outlives the process that creates it")
	case o.Level == durability.Power && !sys.CanSyncDir:
		return setting.Refused(errors.ErrUnsupported, "mkdir: Options.Level", o.Level, "kill: %s cannot sync a directory", runtime.GOOS)
	case o.OneMount && o.Root == nil && !o.Confined:
		return setting.Wrong("mkdir: Options.OneMount", setting.Text("true without Root or Confined"), "one of them to be set")
	case o.OneMount && runtime.GOOS != "linux":
		return setting.Refused(errors.ErrUnsupported, "mkdir: Options.OneMount", true, "false on %s", runtime.GOOS)
	case o.Workers < 0:
		return setting.Wrong("mkdir: Options.Workers", o.Workers, "0 (GOMAXPROCS, at most %d) or more", maxWorkers)
	case o.CacheSize < 0:
		return setting.Wrong("mkdir: Options.CacheSize", o.CacheSize, "0 (%d directories) or more", defaultCacheSize)
	}
	if o.Workers == 0 {
		o.Workers = min(runtime.GOMAXPROCS(0), maxWorkers)
	}
	if o.CacheSize == 0 {
		o.CacheSize = defaultCacheSize
	}
	return nil
}

// OpenRoot opens the existing directory dir, relative to Options.Root if that is
// set, as the root of a Maker. A wrong setting is fs.ErrInvalid, one that this
// system does not have errors.ErrUnsupported. Close the Maker after use.
func OpenRoot(dir string, o Options) (*Maker, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	root, err := openRoot(dir, o)
	if err != nil {
		return nil, &fs.PathError{Op: "mkdir.OpenRoot", Path: dir, Err: err}
	}
	m := &Maker{
		name:     dir,
		power:    o.Level == durability.Power,
		confined: o.Confined || o.Root != nil,
		oneMount: o.OneMount,
		undo:     o.Undo,
		workers:  o.Workers,
		known:    newKnown(o.CacheSize),
		root:     root,
	}
	if o.Root != nil {
		m.name = filepath.Join(o.Root.Name(), dir)
	}
	return m, nil
}

func openRoot(dir string, o Options) (sys.Dir, error) {
	open := func(name string, use sys.DirUse) (sys.Dir, error) {
		d, err := sys.OpenIn(o.Root, name, use, o.OneMount)
		if err == nil && o.Root == nil && o.Confined {
			return sys.Confine(d)
		}
		return d, err
	}
	if o.Level == durability.Power {
		return sys.OpenToSync(dir, open)
	}
	return open(dir, sys.ForPath)
}
