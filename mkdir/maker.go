package mkdir

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"

	"github.com/stele-go/stele/internal/sys"
)

// A Maker makes directories below one root. It may be used by many goroutines
// at once.
//
// It holds the root by a descriptor: if the root is renamed, the Maker goes
// with it, and if the root is removed, every creation fails with
// fs.ErrNotExist. (Off Linux, an unconfined Maker holds the root by name.)
//
// Errors are *fs.PathError. Op is "mkdir" or "sync", and Path begins with the
// root's name; only a path that is refused is named as it was given. The zero
// Maker is not open: its methods fail with fs.ErrInvalid.
type Maker struct {
	name     string // of the root, for errors
	power    bool
	confined bool
	oneMount bool
	undo     bool
	workers  int

	known *known // at level Power: and durable, with all that is above
	syncs sys.SharedSync[string]

	mu     sync.RWMutex // read-held while root is in use, so that Close waits
	root   sys.Dir
	closed bool
}

// All makes the directory rel, which is relative to the root and separated by
// slashes, and whatever of its parents is missing. What it made survives what
// Options.Level says; a crash in the middle leaves the path up to some level
// (durability.Prefix). perm, before umask, is for every directory it makes.
//
// A known directory costs no system call, no lock and no allocation, and is
// not looked for on disk: see Verify. "." is the root. Other "."
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
		if from, err = m.climb(path, from, perm, &epoch, func(sys.Dir, string, int) {}); err != nil {
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
	if err := m.usable(); err != nil {
		return m.fail("", err)
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
	if err := m.usable(); err != nil {
		m.mu.RUnlock()
		return m.fail(path, err)
	}
	return nil
}

func (m *Maker) usable() error {
	switch {
	case m.known == nil:
		return fmt.Errorf("%w: a Maker that OpenRoot did not open", fs.ErrInvalid)
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

// enter returns the directory in which the children of path are to be made,
// and how many bytes of their paths it stands for. Unconfined that is the
// root: one mkdirat of a longer path costs less than an open and a close.
func (m *Maker) enter(path string) (d sys.Dir, cut int, err error) {
	if !m.confined || path == "" {
		return m.root, 0, nil
	}
	d, err = m.openBeneath(path, sys.ForPath)
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
