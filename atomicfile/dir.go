package atomicfile

import (
	"fmt"
	"io/fs"
	"sync"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/internal/tempfile"
)

// A Dir is a held folder, in which many files are replaced. It holds a
// descriptor, so no path is walked twice; it has found out what its file
// system can do; and goroutines that commit at the same time share the sync of
// the folder. It may be used by many goroutines at once.
//
// If the folder is renamed the Dir goes with it. Off Linux it holds the
// folder by name.
type Dir struct {
	at *folder
	o  Options

	mu     sync.RWMutex // read-held until a call has its own use of at
	closed bool
}

// OpenDir opens the folder dir, which must exist. Close it after use.
func OpenDir(dir string, o Options) (*Dir, error) {
	fail := func(err error) (*Dir, error) {
		return nil, &fs.PathError{Op: "atomicfile.OpenDir", Path: dir, Err: err}
	}
	if err := o.check(); err != nil {
		return fail(err)
	}
	if dir == "" {
		return fail(fs.ErrNotExist)
	}
	at, err := openFolder(dir, o)
	if err != nil {
		return fail(err)
	}
	at.learn(o)
	tempfile.Warm() // now, and not by the first file
	return &Dir{at: at, o: o}, nil
}

// Create begins to write new content for the file name in the folder; see the
// function Create. name is a single one: no path.
func (d *Dir) Create(name string, perm fs.FileMode) (*File, error) {
	if err := d.enter("create", name); err != nil {
		return nil, err
	}
	return create(d.at, name, join(d.at.name, name), perm, d.o)
}

// WriteFile gives the file name in the folder new content, all or nothing:
// after a crash at any time it holds the old content or the new
// (durability.OldOrNew), and once WriteFile has returned nil, the new, which
// survives what Options.Level says, Power unless set. A new file has perm,
// before umask; one that replaces another grants no more than that did, unless
// Options.Keep is KeepNothing. In all else it does what the Options say: see
// Keep and Links for what os.WriteFile would do. It takes 8 system calls where
// there is no file, or one that is its owner's alone; and 11 where others may
// use it too, as long as no link is followed and nothing else is kept.
func (d *Dir) WriteFile(name string, data []byte, perm fs.FileMode) error {
	f, err := d.Create(name, perm)
	if err != nil {
		return err
	}
	return f.writeAll(data)
}

// Batch begins a batch of files in the folder. Their names are single ones.
func (d *Dir) Batch() *Batch { return &Batch{made: true, o: d.o, held: d} }

// Symlink has the name in the folder lead to target; see the function Symlink.
func (d *Dir) Symlink(target, name string) error {
	if err := d.enter("symlink", name); err != nil {
		return err
	}
	defer d.at.release()
	return symlink(d.at, target, name, join(d.at.name, name), d.o)
}

// Exchange has the files a and b in the folder change names; see the function
// Exchange.
func (d *Dir) Exchange(a, b string) error {
	if err := d.enter("exchange", a); err != nil {
		return err
	}
	defer d.at.release()
	if err := single(b); err != nil {
		return &fs.PathError{Op: "exchange", Path: join(d.at.name, b), Err: err}
	}
	if err := exchange(d.at, a, d.at, b, join(d.at.name, a)); err != nil || d.o.Level != durability.Power {
		return err
	}
	return d.at.sync()
}

// Close closes the folder. Files that were created in it may still be
// committed or aborted. Every other later call fails with fs.ErrClosed.
func (d *Dir) Close() error {
	if d.at == nil {
		return &fs.PathError{Op: "close", Err: errNoDir}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return &fs.PathError{Op: "close", Path: d.at.name, Err: fs.ErrClosed}
	}
	d.closed = true
	if err := d.at.release(); err != nil {
		return &fs.PathError{Op: "close", Path: d.at.name, Err: err}
	}
	return nil
}

// enter gives the caller a use of the folder.
func (d *Dir) enter(op, name string) error {
	if d.at == nil {
		return &fs.PathError{Op: op, Path: name, Err: errNoDir}
	}
	err := single(name)
	if err == nil {
		d.mu.RLock()
		defer d.mu.RUnlock()
		if !d.closed {
			d.at.acquire()
			return nil
		}
		err = fs.ErrClosed
	}
	return &fs.PathError{Op: op, Path: join(d.at.name, name), Err: err}
}

// errNoDir is the error of the zero Dir.
var errNoDir = fmt.Errorf("a Dir that OpenDir has not opened: %w", fs.ErrInvalid)

// single refuses what is not the name of something in a folder.
func single(name string) error {
	if name == "" || name == "." || name == ".." || hasSeparator(name) {
		return fs.ErrInvalid
	}
	return nil
}
