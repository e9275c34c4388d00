package atomicfile

import (
	"fmt"
	"io"
	"io/fs"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/internal/sys"
	"github.com/stele-go/stele/internal/tempfile"
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

	t      sys.Temp
	open   bool // t is; and temp is there
	shared bool // a Content has it: it is dropped when that ends
	keep   bool // old is to be kept, as o.Keep says
	noACLs bool // the file system has none
	old    sys.FileInfo
	err    error // the first, final

	perm    fs.FileMode // asked for
	created fs.FileMode // permissions it was created with
	lent    fs.FileMode // and until Commit only
	umask   fs.FileMode // 0 unless a bit of perm was held back at creation

	oldACL acl    // of old; nil where its mode says all
	later  []look // what old granted afterwards, where that is not the same
	brief  bool   // written and committed at once

	chmod, chown bool // what Commit is to set, whatever is kept
	mode         fs.FileMode
	uid, gid     int
}

// errDone is the error of a File that was committed or aborted.
var errDone = fmt.Errorf("committed or aborted before: %w", fs.ErrClosed)

// Create begins to write new content for the file name. Whoever opens name
// goes on finding the old content, or nothing, until Commit. Call Abort when
// done, whatever happened; a defer will do.
//
// perm, before umask, is for the new file. Where that replaces one, group and
// others get no more than they had: see Options.Keep and ExactMode. The folder
// that holds name must be there.
//
// What is there and is no regular file, a device, a FIFO, a socket or a folder,
// is refused; for a symlink see Options.Links. A device that is put there
// between Create and Commit is replaced.
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
	at, err := openFolder(dir, o)
	return at, base, err
}

// create takes over the caller's use of at.
func create(at *folder, base, path string, perm fs.FileMode, o Options) (*File, error) {
	bare := o.Keep == KeepNothing
	o.Keep &^= KeepNothing
	f := &File{o: o, path: path}
	fail := func(err error) (*File, error) { return nil, f.fail("create", err) }
	var old *sys.FileInfo
	var err error
	switch {
	case o.old != nil:
		fi, err := at.held(base, o.old)
		if err != nil {
			at.release()
			return fail(err)
		}
		old, f.old = &fi, fi
	case o.Keep != 0 || o.Links != ReplaceLinks || !o.NoReplace:
		if at, base, old, err = follow(at, base, o); err != nil {
			return fail(err)
		}
	}
	f.at, f.base = at, base
	f.mode, f.chmod = perm, o.ExactMode
	if old != nil {
		err := unfit(*old, o.Links)
		if err == nil && !bare && old.Mode.IsRegular() {
			perm, err = f.remember(*old, perm)
		}
		if err != nil {
			at.release()
			return fail(err)
		}
	}
	if f.keep {
		f.chmod = false // the old file's mode has a say
	}
	t, temp, err := tempfile.Create(at.dir, o.pattern(), perm)
	if err != nil {
		at.release()
		return fail(err)
	}
	f.temp, f.t, f.open = temp, t, true
	if f.noACLs {
		// Before anything is written: it may have inherited one of the other kind.
		if _, err := t.HasACL(); err != nil {
			return nil, f.fatal("create", err)
		}
	}
	return f, nil
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
	if err := f.settle(); err != nil {
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

// rename gives the file its name, and closes it. Its lock tells Sweep that
// somebody holds it, so it is closed last.
func (f *File) rename() error {
	if f.o.old != nil {
		if err := f.stillHeld(); err != nil {
			return f.fatal("commit", err)
		}
	}
	op := "close"
	var err error
	switch {
	case sys.CloseBeforeRename:
		err = f.t.Close()
		f.open = false
	case f.o.Level != durability.Power && f.at.isRemote():
		err = f.t.Flush() // NFS tells here what it could not write
	}
	if err == nil {
		op = "rename"
		err = f.at.rename(f.temp, f.base, f.o)
	}
	if err != nil {
		return f.fatal(op, err)
	}
	f.close()
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

// drop removes the temporary name, and then closes the file, and with it the
// lock. What cannot be removed, Sweep will.
func (f *File) drop() {
	if f.shared {
		return
	}
	if sys.CloseBeforeRename {
		f.close()
	}
	f.at.dir.Remove(f.temp)
	f.close()
	f.at.release()
}

// close closes the file once. What that tells no longer matters: the content
// is synced, or flushed, or dropped.
func (f *File) close() {
	if f.open {
		f.open = false
		f.t.Close()
	}
}

// plain gives an error that does not end the file operation and path. io.EOF
// stays as it is.
func (f *File) plain(op string, err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	return f.fail(op, err)
}

func (f *File) fail(op string, err error) error {
	return &fs.PathError{Op: op, Path: f.path, Err: err}
}
