package atomicfile

import (
	"fmt"
	"io/fs"
	"sync"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/internal/tempfile"
)

// A Dir is an open directory in which many files are replaced. It holds a descriptor,
// so that no path is walked twice; it has probed its file system; and goroutines
// that commit at the same time share the sync of the directory. Several goroutines
// may use a Dir at once.
//
// If the directory is renamed, the Dir follows it. Off Linux the Dir holds the
// directory's path instead.
type Dir struct {
	at *directory
	o  Options

	mu     sync.RWMutex // read-locked while a call acquires at
	closed bool
}

// OpenDir opens the directory dir, which must exist. The caller must Close it.
func OpenDir(dir string, o Options) (*Dir, error) {
	fail := func(err error) (*Dir, error) {
		return nil, &fs.PathError{Op: "open", Path: dir, Err: err}
	}
	if err := o.check(); err != nil {
		return fail(err)
	}
	if dir == "" {
		return fail(fs.ErrNotExist)
	}
	at, err := openDirectory(dir, o)
	if err != nil {
		return fail(err)
	}
	at.probe(o)
	tempfile.Warm() // rather than in the first Create
	return &Dir{at: at, o: o}, nil
}

// Create returns a File to write new content for the file name in the directory to;
// see the function Create. name is a single element, not a path.
func (d *Dir) Create(name string, perm fs.FileMode) (*File, error) {
	if err := d.acquire("create", name); err != nil {
		return nil, err
	}
	return create(d.at, name, join(d.at.name, name), perm, d.o)
}

// WriteFile replaces the content of the file name in the directory all or nothing:
// after a crash at any time it holds the old content or the new
// (durability.OldOrNew), and once WriteFile has returned nil, the new, durable at
// Options.Level, Power by default. A new file has perm, before umask; one that
// replaces another grants no more than that did, unless Options.Keep is
// KeepNothing. Set Keep and Links to get what os.WriteFile does with an existing
// file. It takes 8 system calls for a new file or for one that only its owner may
// use, and 11 for one that others may use, if no link is followed and nothing else
// is kept.
func (d *Dir) WriteFile(name string, data []byte, perm fs.FileMode) error {
	f, err := d.Create(name, perm)
	if err != nil {
		return err
	}
	return f.writeAll(data)
}

// Batch returns a Batch of files in the directory. Their names are single elements.
func (d *Dir) Batch() *Batch { return &Batch{initialized: true, o: d.o, dir: d} }

// Symlink makes name in the directory a symlink to target; see the function Symlink.
func (d *Dir) Symlink(target, name string) error {
	if err := d.acquire("symlink", name); err != nil {
		return err
	}
	defer d.at.release()
	return symlink(d.at, target, name, join(d.at.name, name), d.o)
}

// Exchange swaps the names of the files a and b in the directory; see the function
// Exchange.
func (d *Dir) Exchange(a, b string) error {
	if err := d.acquire("exchange", a); err != nil {
		return err
	}
	defer d.at.release()
	if err := checkName(b); err != nil {
		return &fs.PathError{Op: "exchange", Path: join(d.at.name, b), Err: err}
	}
	if err := exchange(d.at, a, d.at, b, join(d.at.name, a), join(d.at.name, b)); err != nil || d.o.Level != durability.Power {
		return err
	}
	return d.at.sync()
}

// Close closes the directory. Files created in it may still be committed or aborted.
// Every other later call fails with fs.ErrClosed.
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

// acquire adds a reference to the directory, to be released by the caller.
func (d *Dir) acquire(op, name string) error {
	if d.at == nil {
		return &fs.PathError{Op: op, Path: name, Err: errNoDir}
	}
	err := checkName(name)
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
var errNoDir = fmt.Errorf("a Dir that OpenDir did not return: %w", fs.ErrInvalid)

// checkName returns an error unless name is a single path element.
func checkName(name string) error {
	if name == "" || name == "." || name == ".." || hasSeparator(name) {
		return fmt.Errorf("not a name in the directory; want a single path element: %w", fs.ErrInvalid)
	}
	return nil
}
