package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/internal/sys"
)

// A File is new content for a name. It is written under a temporary name in
// the same folder. Commit gives it the name; Abort, or a failed Commit,
// removes it. One goroutine at a time may use it.
//
// Errors are *fs.PathError with the path of the name, not of the temporary
// file. The first error of a write or of Commit is final: every later Write
// and Commit returns it again, and what was written is dropped.
type File struct {
	at   *folder
	o    Options
	path string // for errors
	base string // the name in the folder
	temp string // the name in the folder until then

	t    sys.Temp
	open bool // t is; and temp is there
	keep bool // old is to be kept, as o.Keep says
	old  sys.FileInfo
	err  error // the first, final
}

// errDone is the error of a File that was committed or aborted.
var errDone = fmt.Errorf("committed or aborted before: %w", fs.ErrClosed)

// Create begins to write new content for the file name. Whoever opens name
// goes on finding the old content, or nothing, until Commit. Call Abort when
// done, whatever happened; a defer will do.
//
// perm, before umask, is for the new file, also where it replaces one, but
// see Options.Keep. The folder that holds name must be there.
func Create(name string, perm fs.FileMode, o Options) (*File, error) {
	at, base, err := locate(name, o)
	if err != nil {
		return nil, &fs.PathError{Op: "create", Path: name, Err: err}
	}
	return create(at, base, name, perm, o)
}

// locate opens the folder of the file name.
func locate(name string, o Options) (*folder, string, error) {
	if err := o.check(); err != nil {
		return nil, "", err
	}
	dir, base, err := split(name)
	if err != nil {
		return nil, "", err
	}
	if dir == "" {
		dir = "."
	}
	at, err := openFolder(dir, o)
	return at, base, err
}

// create takes over the caller's use of at.
func create(at *folder, base, path string, perm fs.FileMode, o Options) (*File, error) {
	f := &File{o: o, path: path}
	fail := func(err error) (*File, error) { return nil, f.fail("create", err) }
	var old *sys.FileInfo
	if o.Keep != 0 || o.Links != ReplaceLinks {
		var err error
		if at, base, old, err = follow(at, base, o); err != nil {
			return fail(err)
		}
	}
	if old != nil {
		var err error
		switch kind := old.Mode.Type(); {
		case kind == fs.ModeDir:
			err = syscall.EISDIR
		case kind == fs.ModeSymlink && o.Links == RefuseLinks:
			err = syscall.ELOOP
		case kind == fs.ModeSymlink: // which has nothing to keep
		case kind != 0:
			// A rename would put a file in the place of a device.
			err = fmt.Errorf("%w: not a regular file", fs.ErrInvalid)
		case o.Keep != 0:
			f.keep, f.old = true, *old
			perm = f.permUntilCommit(perm)
		}
		if err != nil {
			at.release()
			return fail(err)
		}
	}
	pattern := o.Temp
	if pattern == "" {
		pattern = defaultTemp
	}
	f.at, f.base = at, base
	for {
		f.temp = tempName(pattern)
		t, err := at.dir.CreateTemp(f.temp, perm)
		if errors.Is(err, fs.ErrExist) {
			continue // of 64 random bits
		}
		if err != nil {
			at.release()
			return fail(err)
		}
		f.t, f.open = t, true
		return f, nil
	}
}

// permUntilCommit is what the new file is created with where permissions are
// kept. Nobody may read it who may not read the old file: while the ACL is
// not yet there, that leaves the owner.
func (f *File) permUntilCommit(perm fs.FileMode) fs.FileMode {
	switch {
	case f.o.Keep&KeepACL != 0:
		return 0o600
	case f.o.Keep&KeepMode != 0:
		return f.old.Mode.Perm() | 0o200 // attributes are still to come
	}
	return perm
}

// Write appends b to the new content.
func (f *File) Write(b []byte) (int, error) {
	if err := f.usable("write"); err != nil {
		return 0, err
	}
	n, err := f.t.Write(b)
	if err != nil {
		return n, f.fatal("write", err)
	}
	return n, nil
}

// SyscallConn gives access to the descriptor of the new content, as
// syscall.Conn describes it, for writing by other means: ioctl(2),
// copy_file_range(2). What those write at offsets does not move that of Write,
// and their errors do not end the File: Abort it. Only Control is sure to work.
func (f *File) SyscallConn() (syscall.RawConn, error) {
	if err := f.usable("write"); err != nil {
		return nil, err
	}
	return f.t.SyscallConn()
}

// Commit gives the new content the name. After a crash at any time the name
// holds the old content or the new (durability.OldOrNew); once Commit has
// returned nil, the new, as Options.Level says.
//
// If it fails the old content has the name, with one exception: an error that
// is ErrNotDurable. A Commit that failed cannot be repeated.
func (f *File) Commit() error {
	if err := f.usable("commit"); err != nil {
		return err
	}
	if err := f.adopt(); err != nil {
		return err
	}
	if f.o.Level == durability.Power {
		if err := f.syncContent(); err != nil {
			return err
		}
	}
	if err := f.rename(); err != nil {
		return err
	}
	var err error
	if f.o.Level == durability.Power {
		if err = f.at.sync(); err != nil {
			f.err = err
		}
	}
	f.at.release() // nothing was written through it
	return err
}

// Abort removes what was written. After Commit it does nothing, and so it may
// be deferred before it. Once the process is dead, Sweep does the same.
func (f *File) Abort() {
	if f.open {
		f.err = f.fail("commit", errDone)
		f.drop()
	}
}

// adopt takes over what is to be kept: after the writes, which clear setuid
// and setgid bits, and in this order, as a change of owner clears them too.
func (f *File) adopt() error {
	if !f.keep {
		return nil
	}
	k := f.o.Keep
	which := sys.Xattrs{ACL: k&KeepACL != 0, Other: k&KeepXattrs != 0}
	if which.Other && f.old.Mode&0o200 == 0 {
		// While it may be written to: what of attributes is the user's takes
		// that permission, as content does (xattr(7)).
		if err := f.at.dir.CopyXattrs(f.base, f.t, sys.Xattrs{Other: true}); err != nil {
			return f.fatal("copy attributes", err)
		}
		which.Other = false
	}
	if k&(KeepMode|KeepOwner|KeepACL) != 0 {
		now, err := f.t.Info()
		if err != nil {
			return f.fatal("stat", err)
		}
		if k&KeepOwner != 0 && (now.UID != f.old.UID || now.GID != f.old.GID) {
			if err := f.t.Chown(f.old.UID, f.old.GID); err != nil {
				return f.fatal("chown", err)
			}
			now.Mode &^= fs.ModeSetuid | fs.ModeSetgid
		}
		// With an ACL the group's bits are its mask, so it needs the others.
		if k&(KeepMode|KeepACL) != 0 && now.Mode != f.old.Mode {
			if err := f.t.Chmod(f.old.Mode); err != nil {
				return f.fatal("chmod", err)
			}
		}
	}
	if which.ACL || which.Other {
		if err := f.at.dir.CopyXattrs(f.base, f.t, which); err != nil {
			return f.fatal("copy attributes", err)
		}
	}
	return nil
}

// syncContent has the content on the device before the name leads to it:
// flushed; or, where that is enough, about to be flushed with the name.
func (f *File) syncContent() error {
	var err error
	switch {
	case f.o.Sync == SyncWholeFS:
		err = f.at.dir.SyncFS()
	case f.at.ordered:
		err = f.t.Writeback()
	default:
		err = f.t.Sync()
	}
	if err != nil {
		return f.fatal("sync", err)
	}
	return nil
}

// rename closes the file and gives it its name.
func (f *File) rename() error {
	err := f.t.Close() // NFS tells here what it could not write
	f.open = false
	op := "close"
	if err == nil {
		op = "rename"
		if f.o.NoReplace {
			err = f.at.dir.RenameNew(f.temp, f.base)
		} else {
			err = f.at.dir.Rename(f.temp, f.base)
		}
	}
	if err != nil {
		f.err = f.fail(op, err)
		f.remove()
		return f.err
	}
	f.err = f.fail("commit", errDone)
	return nil
}

func (f *File) usable(op string) error {
	if f.err != nil {
		return f.err
	}
	if !f.open {
		return f.fail(op, fs.ErrInvalid) // a File that nobody created
	}
	return nil
}

// fatal is the end of the file.
func (f *File) fatal(op string, err error) error {
	f.err = f.fail(op, err)
	f.drop()
	return f.err
}

func (f *File) drop() {
	f.t.Close() // what it would tell no longer matters
	f.open = false
	f.remove()
}

// remove removes the temporary name. If that fails Sweep will.
func (f *File) remove() {
	f.at.dir.Remove(f.temp)
	f.at.release()
}

func (f *File) fail(op string, err error) error {
	return &fs.PathError{Op: op, Path: f.path, Err: err}
}
