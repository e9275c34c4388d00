package newfile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/internal/sys"
)

// Existing says what is done with a name that is there already.
type Existing int

const (
	// Refuse it, with fs.ErrExist; a symlink too, wherever it leads.
	Refuse Existing = iota
	// Truncate the file that is there.
	Truncate
	// Keep the file that is there, with what is in it.
	Keep
)

// Options are the settings of a Dir. The zero value is the safe one: names
// survive a power cut, no file that is there is touched, and all files are in
// the folder itself.
type Options struct {
	// Level is what the name of a file survives once the function that made
	// it has returned. Power, the default, syncs the folder that holds it. Kill
	// does not sync. None is the same as Kill: a name is in the kernel. What is
	// written into the file is not covered; see the package comment.
	Level durability.Level
	// Shards is the number of sub-folders that the files are spread over: 0,
	// 16, 256 or 4096. See Path for the layout. At level Kill the folder is
	// given, for good, the attribute T of chattr(1), by which ext4 spreads new
	// sub-folders over the disk, so that they do not wait for each other.
	Shards int
	// Existing says what is done with a name that is there already. With
	// Truncate and Keep a symlink is refused with ELOOP (off Linux followed).
	Existing Existing
}

// A Dir makes files in one folder, or spread over its sub-folders. It may be
// used by many goroutines at once.
//
// It holds the folder by a descriptor: if the folder is renamed, the Dir goes
// with it, though the names it tells stay what they were. (Off Linux it holds
// the folder by name.)
//
// Errors are *fs.PathError. Op is "create", "touch", "publish" or "sync"; Path
// begins with the folder's name. If descriptors have run out, the cause is a
// *LimitError.
type Dir struct {
	name   string
	prefix string // name and a separator
	power  bool
	use    sys.CreateUse
	width  int // hexadecimal digits of a sub-folder's name

	durable   []atomic.Bool // by shard, at level Power: its own entry is
	noUnnamed atomic.Bool   // the file system has no O_TMPFILE
	syncs     sys.SharedSync[int]

	mu     sync.RWMutex // read-held while root is in use, so that Close waits
	root   sys.Dir
	closed bool
}

// OpenDir opens the folder dir, which must exist. Close it after use.
// Sub-folders are made when the first file is made in them, with mode 0777
// before umask.
//
// Where the system cannot sync a folder (Windows) level Power is refused with
// errors.ErrUnsupported.
func OpenDir(dir string, o Options) (*Dir, error) {
	fail := func(err error) (*Dir, error) {
		return nil, &fs.PathError{Op: "newfile.OpenDir", Path: dir, Err: limited(err)}
	}
	d := &Dir{name: dir, power: o.Level == durability.Power}
	switch o.Existing {
	case Refuse:
		d.use = sys.CreateNew
	case Truncate:
		d.use = sys.CreateEmpty
	case Keep:
		d.use = sys.CreateOpen
	default:
		return fail(fmt.Errorf("%w: %+v", fs.ErrInvalid, o))
	}
	switch o.Shards {
	case 0:
	case 16:
		d.width = 1
	case 256:
		d.width = 2
	case 4096:
		d.width = 3
	default:
		return fail(fmt.Errorf("%w: %d shards; want 0, 16, 256 or 4096", fs.ErrInvalid, o.Shards))
	}
	if o.Level > durability.None {
		return fail(fmt.Errorf("%w: %+v", fs.ErrInvalid, o))
	}
	d.durable = make([]atomic.Bool, o.Shards)
	use := sys.ForPath
	if d.power {
		if !sys.CanSyncDir {
			return fail(fmt.Errorf("level power: this system cannot sync a directory: %w", errors.ErrUnsupported))
		}
		use = sys.ForSync
	}
	root, err := sys.OpenDir(dir, use)
	if err != nil {
		return fail(err)
	}
	d.root = root
	d.prefix = dir
	if !os.IsPathSeparator(dir[len(dir)-1]) {
		d.prefix += string(os.PathSeparator)
	}
	if o.Shards > 0 && !d.power {
		// Files of one block group share its bitmap and, by 16, blocks of its
		// inode table: who makes files there waits for others, and for reads.
		// At level Power it is worth more that few blocks are written by a sync.
		root.Unrelated() // a hint: where it cannot be given, things are as ever
	}
	return d, nil
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
		f, err = d.root.CreateFile(p.rel, p.path, perm, d.use)
		return err
	})
	return f, err
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
	err := d.root.TouchFile(p.rel, perm)
	if d.use == sys.CreateNew || !errors.Is(err, fs.ErrExist) {
		return err
	}
	f, err := d.root.CreateFile(p.rel, p.path, perm, d.use)
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
		sub, err := d.root.Open(d.shardName(shard), sys.ForSync)
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
// open. Every later call fails with fs.ErrClosed.
func (d *Dir) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return fail("close", d.name, fs.ErrClosed)
	}
	d.closed = true
	if err := d.root.Close(); err != nil {
		return fail("close", d.name, err)
	}
	return nil
}

func (d *Dir) acquire(op, path string) error {
	d.mu.RLock()
	if d.closed {
		d.mu.RUnlock()
		return fail(op, path, fs.ErrClosed)
	}
	return nil
}

func (d *Dir) release() { d.mu.RUnlock() }

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
