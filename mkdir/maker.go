package mkdir

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/internal/sys"
)

// Options are the settings of a Maker. The zero value is the safe one, but
// for Confined: by default symlinks below the root are followed, as
// os.MkdirAll does.
type Options struct {
	// Level is what a finished All, Batch or Undo survives. Power, the
	// default, syncs the parents of whatever is not known to be durable, and
	// needs read permission on them. Kill does not sync. None is the same as
	// Kill: a directory that is made is in the kernel.
	Level durability.Level
	// Confined refuses every symlink below the root; see the package comment.
	Confined bool
	// Workers is how many goroutines a Batch uses at most, each with a system
	// call under way. The default, 0, is GOMAXPROCS but at most 8.
	Workers int
	// CacheSize is how many directories the Maker remembers at most. The
	// default, 0, is 65,536. Each takes about 100 bytes and its path, so
	// about 10 MB when full.
	CacheSize int
}

const (
	defaultCacheSize = 1 << 16
	maxWorkers       = 8 // beyond it the file system's journal is the limit
)

// A Maker makes directories below one root. It may be used by many goroutines
// at once.
//
// It holds the root by a descriptor: if the root is renamed, the Maker goes
// with it, and if the root is removed, every creation fails with
// fs.ErrNotExist. (Off Linux, an unconfined Maker holds the root by name.)
//
// Errors are *fs.PathError. Op is "mkdir" or "sync", and Path begins with the
// root's name; only a path that is refused is named as it was given.
type Maker struct {
	name     string // of the root, for errors
	power    bool
	confined bool
	workers  int

	known *known // at level Power: and durable, with all that is above
	syncs sys.SharedSync[string]

	mu     sync.RWMutex // read-held while root is in use, so that Close waits
	root   sys.Dir
	closed bool
}

// OpenRoot opens the directory dir, which must exist. Close it after use.
func OpenRoot(dir string, o Options) (*Maker, error) {
	fail := func(err error) (*Maker, error) {
		return nil, &fs.PathError{Op: "mkdir.OpenRoot", Path: dir, Err: err}
	}
	if o.Level > durability.None || o.Workers < 0 || o.CacheSize < 0 {
		return fail(fmt.Errorf("%w: %+v", fs.ErrInvalid, o))
	}
	m := &Maker{
		name:     dir,
		power:    o.Level == durability.Power,
		confined: o.Confined,
		workers:  o.Workers,
	}
	if m.workers == 0 {
		m.workers = min(runtime.GOMAXPROCS(0), maxWorkers)
	}
	if o.CacheSize == 0 {
		o.CacheSize = defaultCacheSize
	}
	m.known = newKnown(o.CacheSize)
	if m.power && !sys.CanSyncDir {
		return fail(fmt.Errorf("level power: this system cannot sync a directory: %w", errors.ErrUnsupported))
	}
	use := sys.ForPath
	if m.power {
		use = sys.ForSync
	}
	root, err := sys.OpenDir(dir, use)
	if err != nil {
		return fail(err)
	}
	if m.confined {
		if root, err = sys.Confine(root); err != nil {
			return fail(err)
		}
	}
	m.root = root
	return m, nil
}

// All makes the directory rel, which is relative to the root and separated by
// slashes, and whatever of its parents is missing. What it made survives what
// Options.Level says; a crash in the middle leaves the path up to some level
// (durability.Prefix). perm, before umask, is for every directory it makes.
//
// A known directory costs no system call, no lock and no allocation, and is
// not looked for on disk; see the package comment. "." is the root. Other "."
// and empty elements are dropped and ".." is resolved by its words alone, so
// that "link/.." is the root. A path that is empty, absolute or leaves the
// root is refused with fs.ErrInvalid.
//
// At level Power an error may mean that the directory is there but not known
// to be durable. Calling All again syncs again. Whether data that a failed
// fsync(2) has dropped can ever reach the disk is for the file system to say.
func (m *Maker) All(rel string, perm fs.FileMode) error {
	if m.known.has(rel) {
		return nil
	}
	return m.all(rel, perm)
}

func (m *Maker) all(rel string, perm fs.FileMode) error {
	path, err := clean(rel)
	if err != nil {
		return &fs.PathError{Op: "mkdir", Path: rel, Err: err}
	}
	if err := m.acquire(path); err != nil {
		return err
	}
	defer m.release()
	if path == "." || m.known.has(path) {
		return nil
	}
	path = strings.Clone(path) // for the cache

	for range tries {
		epoch := m.known.epoch.Load()
		from := len(parent(path))
		for from > 0 && !m.known.has(path[:from]) {
			from = len(parent(path[:from]))
		}
		if from, err = m.climb(path, from, perm, &epoch, func(int) {}); err != nil {
			return err
		}
		err = m.syncAbove(path, from)
		if err != nil && !notThere(err) {
			return err
		}
		if err != nil { // somebody has moved it away meanwhile
			m.known.clear()
			continue
		}
		dirs := make([]knownDir, 0, 1+strings.Count(path[from:], "/"))
		for end := from; end < len(path); {
			end = levelEnd(path, end)
			dirs = append(dirs, knownDir{path: path[:end]})
		}
		if m.known.add(dirs, epoch) || !m.power {
			return nil
		}
		// What this call relied on was removed and perhaps made again, and
		// may not be durable: once more, from the root.
	}
	return m.fail(path, fs.ErrNotExist)
}

// syncAbove syncs, at level Power, the parent of every level of path after
// its first `from` bytes.
func (m *Maker) syncAbove(path string, from int) error {
	if !m.power {
		return nil
	}
	for end := from; end < len(path); end = levelEnd(path, end) {
		if err := m.syncDir(path[:end]); err != nil {
			return err
		}
	}
	return nil
}

// Close waits for the calls under way and closes the root. Every later call
// fails with fs.ErrClosed.
func (m *Maker) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return m.fail("", fs.ErrClosed)
	}
	m.closed = true
	m.known.close() // else it would go on answering
	if err := m.root.Close(); err != nil {
		return m.fail("", err)
	}
	return nil
}

func (m *Maker) acquire(path string) error {
	m.mu.RLock()
	if m.closed {
		m.mu.RUnlock()
		return m.fail(path, fs.ErrClosed)
	}
	return nil
}

func (m *Maker) release() { m.mu.RUnlock() }

// syncDir makes the entries of the directory path durable; "" is the root.
func (m *Maker) syncDir(path string) error {
	err := m.syncs.Do(path, func() error {
		if path == "" {
			return m.root.Sync()
		}
		d, err := m.open(path, sys.ForSync)
		if err != nil {
			return err
		}
		return errors.Join(d.Sync(), d.Close())
	})
	if err != nil {
		return &fs.PathError{Op: "sync", Path: m.join(path), Err: err}
	}
	return nil
}

func (m *Maker) open(path string, use sys.DirUse) (sys.Dir, error) {
	if m.confined {
		return m.root.OpenBeneath(path, use)
	}
	return m.root.Open(path, use)
}

// enter returns the directory in which the children of path are to be made,
// and how many bytes of their paths it stands for. Unconfined that is the
// root: one mkdirat of a longer path costs less than an open and a close.
func (m *Maker) enter(path string) (d sys.Dir, cut int, err error) {
	if !m.confined || path == "" {
		return m.root, 0, nil
	}
	d, err = m.root.OpenBeneath(path, sys.ForPath)
	return d, len(path) + 1, err
}

func (m *Maker) leave(d sys.Dir) {
	if d != m.root {
		d.Close() // nothing was written through it
	}
}

func (m *Maker) fail(path string, err error) error {
	return &fs.PathError{Op: "mkdir", Path: m.join(path), Err: err}
}

func (m *Maker) join(path string) string { return filepath.Join(m.name, path) }
