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

// A File is a file without a name until Publish or Replace gives it one. It is
// written like any other. Close the File, not the os.File in it. The zero File is
// not open: its methods fail with fs.ErrInvalid.
type File struct {
	*os.File
	d *Dir

	mu              sync.Mutex
	tempName        string // on a file system without unnamed files, until published
	done            bool   // published, or closed
	closedByPublish bool   // on Windows: closed by Publish, to be renamed
}

// Anonymous creates a file without a name in d (O_TMPFILE) and opens it for
// reading and writing. No other process finds it. Nothing is left of it when it
// is closed before it was published, or when the process ends.
//
// perm is before umask. In a directory with a default ACL that takes the place of
// the umask, as for every file; the ACL of a sub-directory in which the file is
// published does not count.
//
// On a file system without unnamed files the file gets a temporary name in the
// directory of d, which Close removes. If the process is killed the name stays,
// for atomicfile.Sweep. The file is locked (flock(2)) while it has such a name,
// and Sweep removes no locked file.
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
	return d.createTemp(perm)
}

// createTemp creates a locked file with a temporary name in the directory of d.
func (d *Dir) createTemp(perm fs.FileMode) (*File, error) {
	for try := 1; ; try++ {
		name := tempfile.Name(tempfile.DefaultPattern)
		f, err := d.root.CreateFile(name, d.prefix+name, perm, sys.CreateNew)
		if err != nil {
			return nil, fail("create", d.prefix+name, err)
		}
		if tempfile.Lock(f) {
			d.noUnnamed.Store(true)
			return &File{File: f, d: d, tempName: name}, nil
		}
		// A Sweep has locked it first.
		f.Close()
		d.root.Remove(name) // unless the Sweep does
		if try == tries {
			return nil, fail("create", d.name, errSwept)
		}
	}
}

// errSwept is the error if another process locks each new file, as Sweep does.
var errSwept = fmt.Errorf("every new temporary file is locked by another process: %w", syscall.EBUSY)

// Name returns the name in errors: that of the directory, or the temporary one.
// Publish does not change it.
func (f *File) Name() string {
	if f.File == nil {
		return ""
	}
	return f.File.Name()
}

// Publish gives the file the name name in its Dir, where Create would create it.
// An existing name fails with fs.ErrExist, whatever Options.Existing says; then
// the file may be published under another name.
//
// At level Power the file is synced first, the directory afterwards: when Publish
// returns, the name and all that was written before survive a power cut. A crash
// during Publish leaves the whole file or nothing (durability.OldOrNew). At level
// Kill nothing is synced and that holds for kill -9 only: after a power cut the
// name may be there with any part of the data (durability.Torn).
//
// Owner, mode and ACL stay those of the file: change them before, for example by
// Chmod.
//
// After a failed sync the file may have the name or not, and cannot be published
// again. A file is published once. It stays open (on Windows, which does not
// rename open files, Publish closes it).
func (f *File) Publish(name string) error { return f.publish(name, false) }

// Replace is Publish, but an existing file is replaced. It promises what Publish
// does: a crash during it leaves the old file or the new.
//
// It replaces regular files and symlinks, which it does not follow. A directory
// fails with EISDIR, a device, FIFO or socket with fs.ErrInvalid. Nothing of the
// old file is kept, not even its mode.
//
// Linux links an unnamed file only under a new name. So a file that replaces
// another has a temporary name for a moment, between two system calls. If the
// process is killed in between, atomicfile.Sweep removes the name; it removes
// none that a living process uses.
func (f *File) Replace(name string) error { return f.publish(name, true) }

var errPublished = invalid("the file has been published or closed")

func (f *File) publish(name string, replace bool) error {
	d := f.d
	if d == nil {
		return fail("publish", name, errNotOpen)
	}
	p, err := d.locate("publish", name)
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
			f.done = true // a second sync would not report pages that the kernel has dropped
			return err
		}
	}
	if runtime.GOOS == "windows" {
		if err := f.File.Close(); err != nil && !errors.Is(err, fs.ErrClosed) {
			return err
		}
		f.closedByPublish = true
	}
	link := func() error {
		return d.within(p, func(at sys.Dir, name string) error { return f.link(at, name, replace) })
	}
	if err := d.inShard("publish", p, link); err != nil {
		return err
	}
	f.done = true
	return d.syncShard(p.shard)
}

// link gives the file the name name in at.
func (f *File) link(at sys.Dir, name string, replace bool) error {
	exists := false
	if replace {
		var err error
		if exists, err = replaceable(at, name); err != nil {
			return err
		}
	}
	if f.tempName != "" {
		move := f.d.root.MoveNew
		if replace {
			move = f.d.root.Move
		}
		if err := move(f.tempName, at, name); err != nil {
			return err
		}
		f.unlock()
		return nil
	}
	if !exists {
		err := at.LinkFile(f.File, name)
		if !replace || !errors.Is(err, fs.ErrExist) {
			return err
		}
		// It has been created since.
	}
	return f.linkOver(at, name)
}

// linkOver gives the unnamed file the name of another. linkat(2) never replaces,
// so it links a temporary name and renames it.
func (f *File) linkOver(at sys.Dir, name string) error {
	root := f.d.root
	temp := tempfile.Name(tempfile.DefaultPattern)
	tempfile.Lock(f.File) // succeeds: no other process has it open
	if err := root.LinkFile(f.File, temp); err != nil {
		sys.Unlock(f.File)
		return err
	}
	// A file that has lost its last name cannot be linked again, so after an
	// error it keeps this one until it is renamed or closed.
	f.tempName = temp
	if err := root.Move(temp, at, name); err != nil {
		return err
	}
	f.unlock()
	return nil
}

// unlock ends the lock of a file with a temporary name, once it has another:
// others may want to lock it.
func (f *File) unlock() {
	f.tempName = ""
	sys.Unlock(f.File) // Windows has closed it
}

// replaceable reports whether a file of that name exists. The error is that of one
// that may not be replaced.
func replaceable(at sys.Dir, name string) (exists bool, err error) {
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

// Close closes the file, which removes it unless it was published. Close it
// before its Dir.
func (f *File) Close() error {
	if f.File == nil {
		return fail("close", "", errNotOpen)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	err := f.File.Close()
	if f.closedByPublish && errors.Is(err, fs.ErrClosed) {
		f.closedByPublish, err = false, nil
	}
	f.done = true
	if f.tempName == "" {
		return err
	}
	path := f.File.Name()
	if e := f.d.acquire("remove", path); e != nil {
		return errors.Join(err, e)
	}
	defer f.d.release()
	// A Sweep may have removed it: closing the descriptor released the lock.
	if e := f.d.root.Remove(f.tempName); e != nil && !errors.Is(e, fs.ErrNotExist) {
		return errors.Join(err, fail("remove", path, e))
	}
	f.tempName = ""
	return err
}
