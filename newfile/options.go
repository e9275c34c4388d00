package newfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/internal/sys"
)

// Existing says what is done with a name that is there already.
type Existing int

const (
	// Refuse it, with fs.ErrExist; a symlink too, wherever it leads.
	Refuse Existing = iota
	// Truncate the file that is there.
	Truncate
	// Reuse the file that is there, with what is in it.
	Reuse
)

// Options are the settings of a Dir. The zero value is the safe one: names
// survive a power cut, no file that is there is touched, and all files are in
// the folder itself.
type Options struct {
	// Level is what the name of a file survives once the function that made
	// it has returned. Power, the default, syncs the folder that holds it, and
	// needs read permission on it. Kill does not sync. None is refused: a name
	// that is made is in the kernel, and outlives the process. What is written
	// into the file is not covered; see the package comment.
	Level durability.Level
	// Shards is the number of sub-folders that the files are spread over: 0,
	// 16, 256 or 4096. See Path for the layout. At level Kill the folder is
	// given, for good, the attribute T of chattr(1), by which ext4 spreads new
	// sub-folders over the disk, so that they do not wait for each other.
	Shards int
	// Existing says what is done with a name that is there already. With
	// Truncate and Reuse a symlink is refused with ELOOP (off Linux followed,
	// unless Root is set), and a device, FIFO or socket not written to.
	Existing Existing
	// Root, unless nil, is what the name given to OpenDir is relative to, and
	// nothing below it follows a symlink: neither that name, nor a folder
	// before it, nor a sub-folder of Shards, nor a file. Root may be closed once
	// OpenDir has returned.
	Root *os.Root
	// OneMount, with Root, refuses every mount point below Root with
	// syscall.EXDEV: bind mounts too. It is offered on Linux only.
	OneMount bool
}

// badOption is a setting that is not taken.
type badOption struct {
	text string
	is   error
}

func (e *badOption) Error() string        { return "newfile: " + e.text }
func (e *badOption) Is(target error) bool { return target == e.is }

func invalid(format string, args ...any) error {
	return &badOption{fmt.Sprintf(format, args...), fs.ErrInvalid}
}

func unsupported(format string, args ...any) error {
	return &badOption{fmt.Sprintf(format, args...), errors.ErrUnsupported}
}

func (o Options) check() error {
	switch {
	case o.Level == durability.None:
		return invalid("Options.Level: none; want power or kill: a name outlives the process that makes it")
	case o.Level > durability.None:
		return invalid("Options.Level: %v; want power or kill", o.Level)
	case o.Level == durability.Power && !sys.CanSyncDir:
		return unsupported("Options.Level: power; want kill: %s cannot sync a directory", runtime.GOOS)
	case o.Existing < Refuse || o.Existing > Reuse:
		return invalid("Options.Existing: %d; want Refuse, Truncate or Reuse", int(o.Existing))
	case o.Shards != 0 && o.Shards != 16 && o.Shards != 256 && o.Shards != 4096:
		return invalid("Options.Shards: %d; want 0, 16, 256 or 4096", o.Shards)
	case o.OneMount && o.Root == nil:
		return invalid("Options.OneMount: true without Root; want Root")
	case o.OneMount && runtime.GOOS != "linux":
		return unsupported("Options.OneMount: true; want false: %s does not tell mount points", runtime.GOOS)
	}
	return nil
}

// OpenDir opens the folder dir, which must exist, and which is relative to
// Options.Root if that is set. Close the Dir after use. Sub-folders are made
// when the first file is made in them, with mode 0777 before umask.
//
// A setting that is refused is fs.ErrInvalid, or errors.ErrUnsupported on this
// system: where a folder cannot be synced (Windows) level Power is.
func OpenDir(dir string, o Options) (*Dir, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	d := &Dir{
		name:     dir,
		power:    o.Level == durability.Power,
		confined: o.Root != nil,
		oneMount: o.OneMount,
		use:      [...]sys.CreateUse{Refuse: sys.CreateNew, Truncate: sys.CreateEmpty, Reuse: sys.CreateOpen}[o.Existing],
		width:    map[int]int{0: 0, 16: 1, 256: 2, 4096: 3}[o.Shards],
		durable:  make([]atomic.Bool, o.Shards),
	}
	root, err := openFolder(dir, o)
	if err != nil {
		return nil, &fs.PathError{Op: "newfile.OpenDir", Path: dir, Err: limited(err)}
	}
	d.root = root
	if o.Root != nil {
		d.name = filepath.Join(o.Root.Name(), dir)
	}
	d.prefix = d.name
	if !os.IsPathSeparator(d.name[len(d.name)-1]) {
		d.prefix += string(os.PathSeparator)
	}
	if o.Shards > 0 && !d.power {
		// Files of one block group share its bitmap and, by 16, blocks of its
		// inode table: who makes files there waits for others, and for reads.
		// At level Power it is worth more that few blocks are written by a sync.
		root.Unrelated() // a hint: where it cannot be given, things are as ever
	}
	d.uses.Open()
	return d, nil
}

func openFolder(dir string, o Options) (sys.Dir, error) {
	open := func(name string, use sys.DirUse) (sys.Dir, error) {
		d, err := sys.OpenIn(o.Root, name, use, o.OneMount)
		if err == sys.ErrEscapes {
			err = fmt.Errorf("%w: %w", fs.ErrInvalid, err)
		}
		return d, err
	}
	if o.Level == durability.Power {
		return sys.OpenToSync(dir, open)
	}
	return open(dir, sys.ForPath)
}
