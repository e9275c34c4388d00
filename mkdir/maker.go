package mkdir

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"

	"github.com/stele-go/stele/internal/sharedsync"
	"github.com/stele-go/stele/internal/sys"
)

// A Maker creates directories below one root. Its methods are safe for concurrent
// use.
//
// It holds the root by a descriptor: if the root is renamed, the Maker follows;
// if the root is removed, every creation fails with fs.ErrNotExist. (Off Linux,
// an unconfined Maker holds the root by name.)
//
// Errors are *fs.PathError. Op is "mkdir" or "sync". Path begins with the root's
// name, except that a refused path is as it was given. The zero Maker is not
// open: its methods fail with fs.ErrInvalid.
type Maker struct {
	name     string // of the root, for errors
	power    bool
	confined bool
	oneMount bool
	undo     bool
	workers  int

	known *known // existing directories; at level Power durable ones, with all above
	syncs sharedsync.Group[string]

	mu     sync.RWMutex // read-held while root is in use, so that Close waits
	root   sys.Dir
	closed bool
}

// All creates the directory rel and its missing parents. rel is relative to the
// root and separated by slashes. perm, before umask, is the mode of every
// directory created. They survive what Options.Level says; a crash during All
// leaves the path up to some level (durability.Prefix).
//
// A known directory costs no system call, no lock and no allocation, and is not
// looked up on disk: see Verify. "." is the root. Other "." and empty elements are
// dropped and ".." is resolved lexically, so that "link/.." is the root. A path
// that is empty, absolute or leaves the root fails with fs.ErrInvalid.
//
// At level Power an error may mean that the directory exists but is not known to
// be durable. A further All syncs again. Whether data that a failed fsync(2) has
// dropped can still reach the disk depends on the file system.
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
		if from, err = m.climb(path, from, perm, &epoch, func(sys.Dir, string, int) {}); err != nil {
			return err
		}
		err = m.syncAbove(path, from)
		if err != nil && !notThere(err) {
			return err
		}
		if err != nil { // a directory was moved away meanwhile
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
		// A directory that this call relied on was removed, perhaps created
		// again, and may not be durable: start again from the root.
	}
	return m.fail(path, fs.ErrNotExist)
}

// syncAbove syncs, at level Power, the parent of every level of path after its
// first `from` bytes.
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

// Close waits for the calls under way and closes the root. Later calls fail with
// fs.ErrClosed.
func (m *Maker) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(); err != nil {
		return m.fail("", err)
	}
	m.closed = true
	m.known.close() // All would go on answering from it
	if err := m.root.Close(); err != nil {
		return m.fail("", err)
	}
	return nil
}

func (m *Maker) acquire(path string) error {
	m.mu.RLock()
	if err := m.usable(); err != nil {
		m.mu.RUnlock()
		return m.fail(path, err)
	}
	return nil
}

func (m *Maker) usable() error {
	switch {
	case m.known == nil:
		return invalid("not open: want a Maker that OpenRoot returned")
	case m.closed:
		return fs.ErrClosed
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
		d, err := m.open(path)
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

// open opens the directory path to sync it.
func (m *Maker) open(path string) (sys.Dir, error) {
	open := m.root.Open
	if m.confined {
		open = m.openBeneath
	}
	return sys.OpenToSync(path, open)
}

func (m *Maker) openBeneath(path string, use sys.DirUse) (sys.Dir, error) {
	return m.root.OpenBeneath(path, use, m.oneMount)
}

// enter returns the directory relative to which the children of path are created,
// and the length of the part of their paths that it stands for. Unconfined that
// is the root: one mkdirat of a longer path costs less than an open and a close.
func (m *Maker) enter(path string) (d sys.Dir, prefix int, err error) {
	if !m.confined || path == "" {
		return m.root, 0, nil
	}
	d, err = m.openBeneath(path, sys.ForPath)
	return d, len(path) + 1, err
}

// leave closes a directory that enter returned.
func (m *Maker) leave(d sys.Dir) {
	if d != m.root {
		d.Close() // nothing was written through it
	}
}

func (m *Maker) fail(path string, err error) error {
	return &fs.PathError{Op: "mkdir", Path: m.join(path), Err: err}
}

func (m *Maker) join(path string) string { return filepath.Join(m.name, path) }
