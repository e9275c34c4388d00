package newfile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync/atomic"

	"github.com/stele-go/stele/internal/sys"
)

// A Dir makes files in one folder, or spread over its sub-folders. It may be
// used by many goroutines at once.
//
// It holds the folder by a descriptor: if the folder is renamed, the Dir goes
// with it, though the names it tells stay what they were. (Off Linux it holds
// the folder by name.)
//
// Errors are *fs.PathError. Op is "create", "touch", "publish" or "sync"; Path
// begins with the folder's name. If descriptors have run out, the cause is a
// *LimitError. The zero Dir is not open: its methods fail with fs.ErrInvalid.
type Dir struct {
	name     string
	prefix   string // name and a separator; "" in the zero Dir
	power    bool
	confined bool // by Options.Root
	oneMount bool
	use      sys.CreateUse
	width    int // hexadecimal digits of a sub-folder's name

	durable   []atomic.Bool // by shard, at level Power: its own entry is
	noUnnamed atomic.Bool   // the file system has no O_TMPFILE
	syncs     sys.SharedSync[int]

	uses sys.Gate // entered while root is in use, so that Close waits
	root sys.Dir
}

// Create makes the file name and opens it for reading and writing. Unless
// Options.Existing says otherwise a name that is there is refused with
// fs.ErrExist. perm is before umask.
//
// The name survives what Options.Level says once Create has returned; before,
// a crash leaves the file or nothing (durability.OldOrNew). What is written
// into it is the caller's to sync.
//
// A name that is empty, ".", "..", or holds a slash or a NUL byte is refused
// with fs.ErrInvalid. At level Power an error of Op "sync" means that the file
// was made, and that its name is not known to be durable.
func (d *Dir) Create(name string, perm fs.FileMode) (*os.File, error) {
	p, err := d.place("create", name)
	if err != nil {
		return nil, err
	}
	if err := d.acquire("create", p.path); err != nil {
		return nil, err
	}
	defer d.release()
	f, err := d.make(p, perm, true)
	if err != nil {
		return nil, err
	}
	if err := d.syncShard(p.shard); err != nil {
		f.Close() // nothing was written
		return nil, err
	}
	return f, nil
}

// Touch is Create of a file that nobody opens. It needs no descriptor.
func (d *Dir) Touch(name string, perm fs.FileMode) error {
	p, err := d.place("touch", name)
	if err != nil {
		return err
	}
	if err := d.acquire("touch", p.path); err != nil {
		return err
	}
	defer d.release()
	if _, err := d.make(p, perm, false); err != nil {
		return err
	}
	return d.syncShard(p.shard)
}

// tries is how often a file is tried to be made in a sub-folder that somebody
// else removes each time.
const tries = 10

// make makes a file, and the sub-folder for it. It syncs nothing but, at level
// Power, the sub-folder's own entry.
//
// How many goroutines do so at once is not bounded: bounds of 1 to 8 were
// slower on two cores, idle or busy, by a tenth and more.
func (d *Dir) make(p place, perm fs.FileMode, open bool) (f *os.File, err error) {
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

func (d *Dir) open(p place, perm fs.FileMode) (f *os.File, err error) {
	if d.confined {
		f, err = d.root.OpenFileBeneath(p.rel, p.path, os.O_CREATE|os.O_RDWR|int(d.use), perm, d.oneMount)
	} else {
		f, err = d.root.CreateFile(p.rel, p.path, perm, d.use)
	}
	if err != nil || d.use == sys.CreateNew {
		return f, err
	}
	// What was there may be a device or a FIFO.
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

// errNotRegular: what has the name is no file that can be written or replaced
// like one.
var errNotRegular = badName("not a regular file")

// within calls f with the directory that holds p's file, and its name in that:
// unless d is confined the folder itself, from which one call reaches the
// sub-folder and may follow a symlink in its place.
func (d *Dir) within(p place, f func(at sys.Dir, name string) error) error {
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

// inShard calls f, which makes a name, and makes the sub-folder for it where
// that is missing.
func (d *Dir) inShard(op string, p place, f func() error) error {
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

func (d *Dir) touch(p place, perm fs.FileMode) error {
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

// makeShards makes sub-folders and, at level Power, their entries durable by
// one sync.
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

// syncShard makes, at level Power, the names in a sub-folder durable.
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
			// Needs no descriptor: who waits for this sync may be who would
			// close one.
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

// Close waits for the calls under way and closes the folder. Files made stay
// open. Every later call fails with fs.ErrClosed, one that the function of a
// Batch makes meanwhile too; that function must not call Close itself, which
// would wait for it.
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

// opened reports whether OpenDir made d.
func (d *Dir) opened() bool { return d != nil && d.prefix != "" }

// errNotOpen is the error of a zero value.
var errNotOpen = badName("not open: the zero value of its type")

func (d *Dir) release() { d.uses.Leave() }

// ctxErr is the error of a ctx that is done, with its cause.
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
