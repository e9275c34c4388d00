package newfile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync/atomic"

	"github.com/stele-go/stele/internal/gate"
	"github.com/stele-go/stele/internal/sharedsync"
	"github.com/stele-go/stele/internal/sys"
)

// A Dir creates files in one directory, or spread over its sub-directories. Its
// methods are safe for concurrent use.
//
// It holds the directory by a descriptor: if the directory is renamed, the Dir
// follows, but the paths in its errors stay the same. (Off Linux it holds the
// directory by name.)
//
// Errors are *fs.PathError. Op is "create", "touch", "publish" or "sync"; Path
// begins with the directory's name. If descriptors have run out, the cause is a
// *LimitError. The zero Dir is not open: its methods fail with fs.ErrInvalid.
type Dir struct {
	name     string
	prefix   string // name and a separator; "" in the zero Dir
	power    bool
	confined bool // by Options.Root
	oneMount bool
	use      sys.CreateUse
	width    int // hexadecimal digits of a sub-directory's name

	durable   []atomic.Bool // by shard, at level Power: its own entry is durable
	noUnnamed atomic.Bool   // the file system has no O_TMPFILE
	syncs     sharedsync.Group[int]

	uses gate.Gate // entered while root is in use, so that Close waits
	root sys.Dir
}

// Create creates the file name and opens it for reading and writing. An existing
// name fails with fs.ErrExist unless Options.Existing says otherwise. perm is
// before umask.
//
// When Create returns, the name survives what Options.Level says; a crash during
// Create leaves the file or nothing (durability.OldOrNew). The caller syncs what
// it writes to the file.
//
// A name that is empty, ".", "..", or contains a slash or a NUL byte fails with
// fs.ErrInvalid. At level Power an error with Op "sync" means that the file was
// created and its name is not known to be durable.
func (d *Dir) Create(name string, perm fs.FileMode) (*os.File, error) {
	p, err := d.locate("create", name)
	if err != nil {
		return nil, err
	}
	if err := d.acquire("create", p.path); err != nil {
		return nil, err
	}
	defer d.release()
	f, err := d.create(p, perm, true)
	if err != nil {
		return nil, err
	}
	if err := d.syncShard(p.shard); err != nil {
		f.Close() // nothing was written
		return nil, err
	}
	return f, nil
}

// Touch is Create without opening the file. It needs no descriptor.
func (d *Dir) Touch(name string, perm fs.FileMode) error {
	p, err := d.locate("touch", name)
	if err != nil {
		return err
	}
	if err := d.acquire("touch", p.path); err != nil {
		return err
	}
	defer d.release()
	if _, err := d.create(p, perm, false); err != nil {
		return err
	}
	return d.syncShard(p.shard)
}

// tries is the number of tries to create a file in a sub-directory that another
// process keeps removing.
const tries = 10

// create creates a file, and its sub-directory if that is missing. It syncs
// nothing except, at level Power, the sub-directory's own entry.
//
// The number of goroutines in it is not bounded: bounds of 1 to 8 were slower on
// two cores, idle or busy, by a tenth and more.
func (d *Dir) create(p location, perm fs.FileMode, open bool) (f *os.File, err error) {
	op := "touch"
	if open {
		op = "create"
	}
	err = d.inShard(op, p, func() (err error) {
		if !open {
			return d.touch(p, perm)
		}
		f, err = d.open(p, perm)
		return err
	})
	return f, err
}

// open opens the file, which Options.Existing may allow to exist.
func (d *Dir) open(p location, perm fs.FileMode) (f *os.File, err error) {
	if d.confined {
		f, err = d.root.OpenFileBeneath(p.rel, p.path, os.O_CREATE|os.O_RDWR|int(d.use), perm, d.oneMount)
	} else {
		f, err = d.root.CreateFile(p.rel, p.path, perm, d.use)
	}
	if err != nil || d.use == sys.CreateNew {
		return f, err
	}
	// An existing file may be a device or a FIFO.
	fi, err := f.Stat()
	if err == nil && !fi.Mode().IsRegular() {
		err = errNotRegular
	}
	if err != nil {
		f.Close() // nothing was written
		return nil, err
	}
	return f, nil
}

// errNotRegular is the error for an existing device, FIFO or socket.
var errNotRegular = invalid("not a regular file")

// within calls f with a directory and the name of p's file relative to it. That
// is the directory of d, from which one call reaches the sub-directory and may
// follow a symlink in its place; if d is confined it is the sub-directory.
func (d *Dir) within(p location, f func(at sys.Dir, name string) error) error {
	if !d.confined || p.shard == rootShard {
		return f(d.root, p.rel)
	}
	sub, err := d.openShard(p.shard, sys.ForPath)
	if err != nil {
		return err
	}
	defer sub.Close() // nothing was written through it
	return f(sub, p.name())
}

func (d *Dir) openShard(shard int, use sys.DirUse) (sys.Dir, error) {
	if d.confined {
		return d.root.OpenBeneath(d.shardName(shard), use, d.oneMount)
	}
	return d.root.Open(d.shardName(shard), use)
}

// inShard calls f, which creates a name, and creates the sub-directory if that is
// missing.
func (d *Dir) inShard(op string, p location, f func() error) error {
	for try := 1; ; try++ {
		if p.shard != rootShard && d.power && !d.durable[p.shard].Load() {
			if err := d.makeShards(p.shard); err != nil {
				return err
			}
		}
		err := f()
		if err == nil {
			return nil
		}
		if p.shard == rootShard || try == tries || !errors.Is(err, fs.ErrNotExist) {
			return fail(op, p.path, err)
		}
		if err := d.makeShards(p.shard); err != nil {
			return err
		}
	}
}

func (d *Dir) touch(p location, perm fs.FileMode) error {
	err := d.within(p, func(at sys.Dir, name string) error { return at.TouchFile(name, perm) })
	if d.use == sys.CreateNew || !errors.Is(err, fs.ErrExist) {
		return err
	}
	f, err := d.open(p, perm)
	if err != nil {
		return err
	}
	return f.Close()
}

// makeShards creates sub-directories and, at level Power, makes their entries
// durable by one sync.
func (d *Dir) makeShards(shards ...int) error {
	for _, s := range shards {
		if err := d.root.Mkdir(d.shardName(s), 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
			return fail("mkdir", d.shardPath(s), err)
		}
	}
	if !d.power {
		return nil
	}
	if err := d.syncShard(rootShard); err != nil {
		return err
	}
	for _, s := range shards {
		d.durable[s].Store(true)
	}
	return nil
}

// syncShard makes, at level Power, the names in a sub-directory durable.
func (d *Dir) syncShard(shard int) error {
	if !d.power {
		return nil
	}
	err := d.syncs.Do(shard, func() error {
		if shard == rootShard {
			return d.root.Sync()
		}
		sub, err := sys.OpenToSync("", func(_ string, use sys.DirUse) (sys.Dir, error) { return d.openShard(shard, use) })
		if isLimit(err) {
			// It needs no descriptor: the goroutine that would close one may be
			// waiting for this sync.
			return d.root.SyncFS()
		}
		if err != nil {
			return err
		}
		return errors.Join(sub.Sync(), sub.Close())
	})
	if err != nil {
		return fail("sync", d.shardPath(shard), err)
	}
	return nil
}

// Close waits for the calls under way and closes the directory. Open files stay
// open. Later calls fail with fs.ErrClosed, those that the function of a Batch
// makes meanwhile included.
//
// The function of a Batch must not call Close, which would wait for it.
func (d *Dir) Close() error {
	if !d.opened() {
		return fail("close", d.name, errNotOpen)
	}
	if !d.uses.Close() {
		return fail("close", d.name, fs.ErrClosed)
	}
	if err := d.root.Close(); err != nil {
		return fail("close", d.name, err)
	}
	return nil
}

func (d *Dir) acquire(op, path string) error {
	switch {
	case !d.opened():
		return fail(op, path, errNotOpen)
	case !d.uses.Enter():
		return fail(op, path, fs.ErrClosed)
	}
	return nil
}

// opened reports whether OpenDir returned d.
func (d *Dir) opened() bool { return d != nil && d.prefix != "" }

// errNotOpen is the error of a zero value.
var errNotOpen = invalid("not open: the zero value of its type")

func (d *Dir) release() { d.uses.Leave() }

// ctxErr returns the error of a ctx that is done, with its cause.
func ctxErr(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if cause == err {
		return err
	}
	return fmt.Errorf("%w: %w", err, cause)
}

func fail(op, path string, err error) error {
	return &fs.PathError{Op: op, Path: path, Err: limited(err)}
}
