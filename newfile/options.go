package newfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/internal/setting"
	"github.com/stele-go/stele/internal/sys"
)

// Existing is the treatment of a name that exists already.
type Existing int

const (
	// Refuse fails with fs.ErrExist, for a symlink too, wherever it leads.
	Refuse Existing = iota
	// Truncate opens the existing file and empties it.
	Truncate
	// Reuse opens the existing file with its content.
	Reuse
)

// Options are the settings of a Dir. The zero value is safe: names survive a
// power cut, no existing file is changed, and all files are in the directory
// itself.
type Options struct {
	// Level is what the name of a file survives once the function that created
	// it has returned. Power, the default, syncs the directory that holds the
	// name, and needs read permission on it. Kill does not sync. None is refused:
	// a name is in the kernel at once, and outlives the process. The level does
	// not cover the content of the file; see the package comment.
	Level durability.Level
	// Shards is the number of sub-directories that the files are spread over: 0,
	// 16, 256 or 4096. See Path for the layout. At level Kill the directory gets,
	// for good, the attribute T of chattr(1), by which ext4 spreads new
	// sub-directories over the disk, so that they do not wait for each other.
	Shards int
	// Existing is the treatment of a name that exists already. Truncate and
	// Reuse fail with ELOOP for a symlink (off Linux they follow it, unless Root
	// is set) and refuse a device, FIFO or socket.
	Existing Existing
	// Root, unless nil, is the directory that the name given to OpenDir is
	// relative to. Nothing below it follows a symlink: neither that name, nor a
	// directory before it, nor a sub-directory of Shards, nor a file. Root may be
	// closed once OpenDir has returned.
	Root *os.Root
	// OneMount, with Root, refuses every mount point below Root with
	// syscall.EXDEV, bind mounts included. Only Linux has it.
	OneMount bool
}

func (o Options) check() error {
	switch {
	case o.Level >= durability.None:
		return setting.Wrong("newfile: Options.Level", o.Level, "power or kill: a name outlives the process that creates it")
	case o.Level == durability.Power && !sys.CanSyncDir:
		return setting.Refused(errors.ErrUnsupported, "newfile: Options.Level", o.Level, "kill: %s cannot sync a directory", runtime.GOOS)
	case o.Existing < Refuse || o.Existing > Reuse:
		return setting.Wrong("newfile: Options.Existing", int(o.Existing), "Refuse, Truncate or Reuse")
	case o.Shards != 0 && o.Shards != 16 && o.Shards != 256 && o.Shards != 4096:
		return setting.Wrong("newfile: Options.Shards", o.Shards, "0, 16, 256 or 4096")
	case o.OneMount && o.Root == nil:
		return setting.Wrong("newfile: Options.OneMount", setting.Text("true without Root"), "Root to be set")
	case o.OneMount && runtime.GOOS != "linux":
		return setting.Refused(errors.ErrUnsupported, "newfile: Options.OneMount", true, "false on %s", runtime.GOOS)
	}
	return nil
}

// OpenDir opens the existing directory dir, relative to Options.Root if that is
// set. Sub-directories are created with their first file, with mode 0777 before
// umask. Close the Dir after use.
//
// A wrong setting is fs.ErrInvalid, one that this system does not have
// errors.ErrUnsupported: level Power on Windows, which cannot sync a directory.
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
	root, err := openRoot(dir, o)
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
		// Files of one block group share its bitmap and, 16 at a time, blocks of
		// its inode table: their creation waits for other creations, and for
		// reads. At level Power it counts more that a sync writes few blocks.
		root.Unrelated() // a hint: an error changes nothing
	}
	d.uses.Open()
	return d, nil
}

func openRoot(dir string, o Options) (sys.Dir, error) {
	open := func(name string, use sys.DirUse) (sys.Dir, error) {
		return sys.OpenIn(o.Root, name, use, o.OneMount)
	}
	if o.Level == durability.Power {
		return sys.OpenToSync(dir, open)
	}
	return open(dir, sys.ForPath)
}
