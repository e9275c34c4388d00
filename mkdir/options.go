package mkdir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/internal/sys"
)

// Options are the settings of a Maker. The zero value is the safe one, but
// for Confined: by default symlinks below the root are followed, as
// os.MkdirAll does.
type Options struct {
	// Level is what a finished All, Verify, Batch or Undo survives. Power, the
	// default, syncs the parents of whatever is not known to be durable, and
	// needs read permission on them. Kill does not sync. None is refused: a
	// directory that is made is in the kernel, and outlives the process.
	Level durability.Level
	// Root, unless nil, is what the name given to OpenRoot is relative to, and
	// nothing below it follows a symlink: the Maker is Confined, and so is the
	// way to its own root. Root may be closed once OpenRoot has returned.
	Root *os.Root
	// Confined refuses every symlink below the Maker's root; see the package
	// comment.
	Confined bool
	// OneMount refuses every mount point below the Maker's root, or below Root,
	// with syscall.EXDEV: bind mounts too. It needs Root or Confined, and is
	// offered on Linux only.
	OneMount bool
	// Undo makes Created.Undo possible: a Batch then notes which directories it
	// has made, by one name_to_handle_at(2) each.
	Undo bool
	// Workers is how many goroutines a Batch uses at most, each with a system
	// call under way. The default, 0, is GOMAXPROCS but at most 8.
	Workers int
	// CacheSize is how many directories the Maker remembers at most. The
	// default, 0, is 65,536. Each takes about 100 bytes and its path, so
	// about 10 MB when full.
	CacheSize int
}

const (
	defaultCacheSize = 1 << 16
	maxWorkers       = 8 // beyond it the file system's journal is the limit
)

// badOption is a setting that OpenRoot does not take.
type badOption struct {
	text string
	is   error
}

func (e *badOption) Error() string        { return e.text }
func (e *badOption) Is(target error) bool { return target == e.is }

func (o *Options) check() error {
	bad := func(is error, format string, args ...any) error {
		return &badOption{fmt.Sprintf("mkdir: Options."+format, args...), is}
	}
	switch {
	case o.Level == durability.None:
		return bad(fs.ErrInvalid, "Level: none; want power or kill: a directory outlives the process that makes it")
	case o.Level > durability.None:
		return bad(fs.ErrInvalid, "Level: %v; want power or kill", o.Level)
	case o.Level == durability.Power && !sys.CanSyncDir:
		return bad(errors.ErrUnsupported, "Level: power; want kill: %s cannot sync a directory", runtime.GOOS)
	case o.OneMount && o.Root == nil && !o.Confined:
		return bad(fs.ErrInvalid, "OneMount: true without Root or Confined; want one of them")
	case o.OneMount && runtime.GOOS != "linux":
		return bad(errors.ErrUnsupported, "OneMount: true; want false: %s does not tell mount points", runtime.GOOS)
	case o.Workers < 0:
		return bad(fs.ErrInvalid, "Workers: %d; want 0 (GOMAXPROCS, at most %d) or more", o.Workers, maxWorkers)
	case o.CacheSize < 0:
		return bad(fs.ErrInvalid, "CacheSize: %d directories; want 0 (%d) or more", o.CacheSize, defaultCacheSize)
	}
	if o.Workers == 0 {
		o.Workers = min(runtime.GOMAXPROCS(0), maxWorkers)
	}
	if o.CacheSize == 0 {
		o.CacheSize = defaultCacheSize
	}
	return nil
}

// OpenRoot opens the directory dir, which must exist, and which is relative to
// Options.Root if that is set. Close the Maker after use. A setting that is
// refused is fs.ErrInvalid, or errors.ErrUnsupported on this system.
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
		switch {
		case err == sys.ErrEscapes:
			err = fmt.Errorf("%w: %w", fs.ErrInvalid, err)
		case err == nil && o.Root == nil && o.Confined:
			return sys.Confine(d)
		}
		return d, err
	}
	if o.Level == durability.Power {
		return sys.OpenToSync(dir, open)
	}
	return open(dir, sys.ForPath)
}
