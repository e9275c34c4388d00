package newfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"sync"
	"syscall"

	"github.com/stele-go/stele/internal/sys"
	"github.com/stele-go/stele/internal/tempfile"
)

// A File is a file that has no name until Publish or Replace gives it one. It
// is written like any other. Close it, not the os.File in it. The zero File is
// not open: its methods fail with fs.ErrInvalid.
type File struct {
	*os.File
	d *Dir

	mu     sync.Mutex
	hidden string // the name it has meanwhile where the file system knows no files without
	done   bool   // published, or closed
	shut   bool   // on Windows: closed to be renamed
}

// Anonymous makes a file in d that has no name (O_TMPFILE) and opens it for
// reading and writing. Nobody else finds it, and nothing is left of it when it
// is closed without having been published, or when the process ends.
//
// perm is before umask. Where the Dir's folder has a default ACL the file gets
// that in the place of the umask, as every file made there does; that of a
// sub-folder in which it is published does not count.
//
// Where the file system has no such files it is made under a temporary name in
// the Dir's folder, and Close removes that. A process that is killed leaves it
// behind, for atomicfile.Sweep: which takes none that a living process writes,
// as the file is locked (flock(2)) while it has such a name.
func Anonymous(d *Dir, perm fs.FileMode) (*File, error) {
	if !d.opened() {
		return nil, fail("create", "", errNotOpen)
	}
	if err := d.acquire("create", d.name); err != nil {
		return nil, err
	}
	defer d.release()
	if !d.noUnnamed.Load() {
		f, err := d.root.OpenUnnamed(d.name, perm)
		if err == nil {
			return &File{File: f, d: d}, nil
		}
		if !sys.Absent(err) {
			return nil, fail("create", d.name, err)
		}
	}
	return d.hide(perm)
}

// hide makes a file under a temporary name in the folder itself, locked.
func (d *Dir) hide(perm fs.FileMode) (*File, error) {
	for try := 1; ; try++ {
		name := tempfile.Name(tempfile.DefaultPattern)
		f, err := d.root.CreateFile(name, d.prefix+name, perm, sys.CreateNew)
		if err != nil {
			return nil, fail("create", d.prefix+name, err)
		}
		if tempfile.Lock(f) {
			d.noUnnamed.Store(true)
			return &File{File: f, d: d, hidden: name}, nil
		}
		// A sweeper was faster.
		f.Close()
		d.root.Remove(name) // unless the sweeper does
		if try == tries {
			return nil, fail("create", d.name, errSwept)
		}
	}
}

// errSwept: a sweeper, or whoever does as one does, has each new file locked.
var errSwept = fmt.Errorf("every new temporary file is locked by another process: %w", syscall.EBUSY)

// Name is the name that errors tell: that of the Dir's folder, or the temporary
// one. It does not become the one that Publish gives.
func (f *File) Name() string {
	if f.File == nil {
		return ""
	}
	return f.File.Name()
}

// Publish gives the file the name name in its Dir, where Create would make it,
// unless that is there: then it fails with fs.ErrExist, whatever
// Options.Existing says, and the file can be given another name.
//
// At level Power the file is synced first, and the folder afterwards: when
// Publish has returned, the name and all that was written before survive a
// power cut. A crash in the middle leaves the whole file or nothing
// (durability.OldOrNew). At level Kill nothing is synced, and that holds for
// kill -9 only: after a power cut the name may be there with any part of the
// data (durability.Torn).
//
// Owner, mode and ACL are those that the file has: change them before, by
// Chmod say.
//
// If a sync fails the file may have the name or not, and cannot be published
// again. Publish may be called once; the file stays open (on Windows, which
// renames no open file, it is closed).
func (f *File) Publish(name string) error { return f.publish(name, false) }

// Replace is Publish in the place of what is there, if anything, and survives
// what Publish does: a crash in the middle leaves the old file or the new.
//
// It replaces regular files, and symlinks, which it does not follow; a
// directory is refused with EISDIR, and a device, FIFO or socket with
// fs.ErrInvalid. Nothing is kept of the old file, its mode neither.
//
// Linux gives a file that has no name only a new one. So a file that replaces
// another has a temporary name for a moment, between two system calls. What a
// process that is killed in between leaves is removed by atomicfile.Sweep, which
// takes none that a living process writes.
func (f *File) Replace(name string) error { return f.publish(name, true) }

var errPublished = badName("the file is published already, or closed")

func (f *File) publish(name string, replace bool) error {
	d := f.d
	if d == nil {
		return fail("publish", name, errNotOpen)
	}
	p, err := d.place("publish", name)
	if err != nil {
		return err
	}
	if err := d.acquire("publish", p.path); err != nil {
		return err
	}
	defer d.release()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.done {
		return fail("publish", p.path, errPublished)
	}
	if d.power {
		if err := f.File.Sync(); err != nil {
			f.done = true // what the kernel dropped, a second sync does not miss
			return err
		}
	}
	if runtime.GOOS == "windows" {
		if err := f.File.Close(); err != nil && !errors.Is(err, fs.ErrClosed) {
			return err
		}
		f.shut = true
	}
	give := func() error {
		return d.within(p, func(at sys.Dir, name string) error { return f.give(at, name, replace) })
	}
	if err := d.inShard("publish", p, give); err != nil {
		return err
	}
	f.done = true
	return d.syncShard(p.shard)
}

// give gives the file the name name in at.
func (f *File) give(at sys.Dir, name string, replace bool) error {
	there := false
	if replace {
		var err error
		if there, err = replaceable(at, name); err != nil {
			return err
		}
	}
	if f.hidden != "" {
		move := f.d.root.MoveNew
		if replace {
			move = f.d.root.Move
		}
		if err := move(f.hidden, at, name); err != nil {
			return err
		}
		f.named()
		return nil
	}
	if !there {
		err := at.LinkFile(f.File, name)
		if !replace || !errors.Is(err, fs.ErrExist) {
			return err
		}
		// Somebody was faster.
	}
	return f.linkOver(at, name)
}

// linkOver gives the file, which has no name, that of another. linkat(2) never
// replaces, so it takes a temporary name and a rename.
func (f *File) linkOver(at sys.Dir, name string) error {
	root := f.d.root
	temp := tempfile.Name(tempfile.DefaultPattern)
	tempfile.Lock(f.File) // which nobody else has open
	if err := root.LinkFile(f.File, temp); err != nil {
		sys.Unlock(f.File)
		return err
	}
	// A file that has lost its last name cannot be linked again, so it keeps
	// this one until it is renamed, or closed.
	f.hidden = temp
	if err := root.Move(temp, at, name); err != nil {
		return err
	}
	f.named()
	return nil
}

// named drops the lock, which is for files with a temporary name, and which
// others may want of a file that has its own.
func (f *File) named() {
	f.hidden = ""
	sys.Unlock(f.File) // Windows has closed it
}

// replaceable reports whether there is a file of that name, which may be
// replaced.
func replaceable(at sys.Dir, name string) (there bool, err error) {
	fi, err := at.Info(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case fi.Mode.IsDir():
		return true, syscall.EISDIR
	case fi.Mode.Type() != 0 && fi.Mode.Type() != fs.ModeSymlink:
		return true, errNotRegular
	}
	return true, nil
}

// Close closes the file. One that was not published is gone then; a published
// one stays. Close it before its Dir.
func (f *File) Close() error {
	if f.File == nil {
		return fail("close", "", errNotOpen)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	err := f.File.Close()
	if f.shut && errors.Is(err, fs.ErrClosed) {
		f.shut, err = false, nil // Publish has closed it
	}
	f.done = true
	if f.hidden == "" {
		return err
	}
	path := f.File.Name()
	if e := f.d.acquire("remove", path); e != nil {
		return errors.Join(err, e)
	}
	defer f.d.release()
	// A sweeper may have been faster: the lock went with the descriptor.
	if e := f.d.root.Remove(f.hidden); e != nil && !errors.Is(e, fs.ErrNotExist) {
		return errors.Join(err, fail("remove", path, e))
	}
	f.hidden = ""
	return err
}
