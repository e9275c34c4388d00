package atomicfile

import (
	"fmt"
	"io"
	"io/fs"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/internal/sys"
	"github.com/stele-go/stele/internal/tempfile"
)

// A File is new content for a name, written to a temporary file in the same
// directory. Commit renames that file to the name; Abort, or a failed Commit,
// removes it. A File must not be used by several goroutines at once.
//
// Errors are *fs.PathError with the path of the name, not of the temporary
// file. The first error of a write or of Commit is final: every later Write
// and Commit returns it again, and the temporary file is removed.
type File struct {
	at   *directory
	o    Options
	path string // for errors
	base string // the name in the directory
	temp string // the temporary name in the directory, until Commit

	t       sys.Temp
	open    bool // t is open, and temp exists
	shared  bool // a Content uses the file, and removes it when it ends
	hasOld  bool // o.Keep applies to an old file
	noACLs  bool // the file system has no ACLs
	oldInfo sys.FileInfo
	err     error // the first error, which is final

	perm        fs.FileMode // perm of Create
	initialPerm fs.FileMode // permissions that the temporary file was created with
	extraMode   fs.FileMode // bits added to those until Commit
	umask       fs.FileMode // 0 unless initialPerm lacks bits of perm

	oldACL  acl        // of the old file; nil if its mode says it all
	changes []oldState // later states of the old file, if its permissions changed
	oneShot bool       // written and committed by one call

	chmod, chown bool // Commit sets mode, or uid and gid, whatever Keep says
	mode         fs.FileMode
	uid, gid     int
}

// errFinished is the error of a File or Batch that was committed or aborted.
var errFinished = fmt.Errorf("already committed or aborted: %w", fs.ErrClosed)

// errZeroFile is the error of the zero File.
var errZeroFile = fmt.Errorf("a File that Create did not return: %w", fs.ErrInvalid)

// Create returns a File to write new content for the file name to. Until Commit,
// name holds the old content, or does not exist. Call Abort in the end, whatever
// happened; a defer will do.
//
// The new file has perm, before umask. If it replaces a file, group and others
// get no more than they had: see Options.Keep and ExactMode. The directory of name
// must exist.
//
// Create refuses to replace anything but a regular file, such as a device, a
// FIFO, a socket or a directory; for a symlink see Options.Links. A device that is
// put there between Create and Commit is replaced.
func Create(name string, perm fs.FileMode, o Options) (*File, error) {
	at, base, err := locate(name, o)
	if err != nil {
		return nil, &fs.PathError{Op: "create", Path: name, Err: err}
	}
	return create(at, base, name, perm, o)
}

// locate opens the directory of the file name, for one user, and returns the last
// element of name.
func locate(name string, o Options) (*directory, string, error) {
	if err := o.check(); err != nil {
		return nil, "", err
	}
	dir, base, err := split(name)
	if err != nil {
		return nil, "", err
	}
	at, err := openDirectory(dir, o)
	return at, base, err
}

// create takes over the caller's reference to at.
func create(at *directory, base, path string, perm fs.FileMode, o Options) (*File, error) {
	bare := o.Keep == KeepNothing
	o.Keep &^= KeepNothing
	f := &File{o: o, path: path}
	fail := func(err error) (*File, error) { return nil, f.fail("create", err) }
	var old *sys.FileInfo
	var err error
	switch {
	case o.keepFrom != nil:
		fi, err := at.infoOfOpen(base, o.keepFrom)
		if err != nil {
			at.release()
			return fail(err)
		}
		old, f.oldInfo = &fi, fi
	case o.Keep != 0 || o.Links != ReplaceLinks || !o.NoReplace:
		if at, base, old, err = follow(at, base, o); err != nil {
			return fail(err)
		}
	}
	f.at, f.base = at, base
	f.mode, f.chmod = perm, o.ExactMode
	if old != nil {
		err := checkReplaceable(*old, o.Links)
		if err == nil && !bare && old.Mode.IsRegular() {
			perm, err = f.inspectOld(*old, perm)
		}
		if err != nil {
			at.release()
			return fail(err)
		}
	}
	if f.hasOld {
		f.chmod = false // applyKeep sets the mode
	}
	t, temp, err := tempfile.Create(at.dir, o.pattern(), perm)
	if err != nil {
		at.release()
		return fail(err)
	}
	f.temp, f.t, f.open = temp, t, true
	if f.noACLs {
		// Before the first write: it may have inherited an ACL of the other kind.
		if _, err := t.HasACL(); err != nil {
			return nil, f.fatal("create", err)
		}
	}
	return f, nil
}

// Commit gives the name the new content. After a crash at any time the name
// holds the old content or the new (durability.OldOrNew); once Commit has
// returned nil, the new, durable at Options.Level.
//
// If Commit fails the name keeps the old content, except after ErrNotDurable. A
// failed Commit cannot be repeated.
func (f *File) Commit() error {
	if err := f.check("commit"); err != nil {
		return err
	}
	if err := f.applyMetadata(); err != nil {
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
	f.at.release() // an error does not matter: nothing was written through it
	return err
}

// Abort removes the temporary file. After Commit it does nothing, so that it may
// be deferred. Sweep does the same for a process that was killed.
func (f *File) Abort() {
	if f.open {
		f.err = f.fail("commit", errFinished)
		f.discard()
	}
}

// syncContent makes the content durable before the rename; or, where the sync of
// the directory covers it, only writes it to the device.
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

// rename gives the file its name, and closes it last: until then its lock keeps
// Sweep away.
func (f *File) rename() error {
	if f.o.keepFrom != nil {
		if err := f.verifyOld(); err != nil {
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
		err = f.t.Flush() // NFS reports write errors here
	}
	if err == nil {
		op = "rename"
		err = f.at.rename(f.temp, f.base, f.o)
	}
	if err != nil {
		return f.fatal(op, err)
	}
	f.close()
	f.err = f.fail("commit", errFinished)
	return nil
}

// check returns the final error, or that of a File that Create did not return.
func (f *File) check(op string) error {
	if f.err != nil {
		return f.err
	}
	if !f.open {
		return f.fail(op, errZeroFile)
	}
	return nil
}

// fatal makes err final and discards the file.
func (f *File) fatal(op string, err error) error {
	f.err = f.fail(op, err)
	f.discard()
	return f.err
}

// discard removes the temporary name, then closes the file, which drops the lock.
// If the removal fails, Sweep removes the file later.
func (f *File) discard() {
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

// close closes the file once. Its error no longer matters: the content is synced,
// flushed or discarded.
func (f *File) close() {
	if f.open {
		f.open = false
		f.t.Close()
	}
}

// wrap adds operation and path to an error that is not final. It returns io.EOF
// unchanged.
func (f *File) wrap(op string, err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	return f.fail(op, err)
}

func (f *File) fail(op string, err error) error {
	return &fs.PathError{Op: op, Path: f.path, Err: err}
}
