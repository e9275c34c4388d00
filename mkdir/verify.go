package mkdir

import (
	"io/fs"
	"strings"

	"github.com/stele-go/stele/internal/sys"
)

// Verify is All that asks the disk about a directory which the Maker knows, by
// one system call (confined: two), and makes it again where it is gone. What it
// made survives what Options.Level says.
//
// It is for whoever has reason to think that the Maker is wrong, such as a file
// that cannot be made in the directory for fs.ErrNotExist. All would answer
// from memory, and for ever.
//
// A directory that another process has removed and made again is found to be
// there. At level Power Forget it first, if that process may not have synced
// it.
func (m *Maker) Verify(rel string, perm fs.FileMode) error {
	path, err := clean(rel)
	if err != nil {
		return &fs.PathError{Op: "mkdir", Path: rel, Err: err}
	}
	if ok, err := m.verified(path); ok || err != nil {
		return err
	}
	return m.all(path, perm)
}

// verified reports whether path is known and there. If it is known and not
// there everything is forgotten.
func (m *Maker) verified(path string) (bool, error) {
	if err := m.acquire(path); err != nil {
		return false, err
	}
	defer m.release()
	if !m.known.has(path) {
		return false, nil
	}
	err := m.look(path)
	switch {
	case err == nil:
		return true, nil
	case notThere(err):
		m.known.clear() // what else rests on it, or what it rested on, may be gone too
		return false, nil
	}
	return false, m.fail(path, err)
}

// look asks whether path, as the Maker reaches it, is a directory.
func (m *Maker) look(path string) error {
	if m.confined {
		d, err := m.openBeneath(path, sys.ForPath)
		if err != nil {
			return err
		}
		return d.Close()
	}
	fi, err := m.root.Stat(path)
	if err == nil && !fi.IsDir {
		return errNotDir
	}
	return err
}

// Forget has the Maker forget the directory rel and all below it, so that the
// next All asks the disk. At level Power it forgets the directories above too,
// up to the root, whose entries may be as new as that of rel: they are synced
// again. Forget(".") forgets everything. No directory is touched, and nothing
// fails: what the Maker does not know, a path that it refuses too, it need not
// forget.
//
// Calls that are under way and rely on what is forgotten begin again. Forget
// looks at all that the Maker remembers: about a millisecond with a full cache.
func (m *Maker) Forget(rel string) {
	path, err := clean(rel)
	if err != nil || m.known == nil {
		return
	}
	if path == "." {
		m.known.clear()
		return
	}
	m.known.forget(func(known string) bool {
		return isWithin(known, path) || m.power && isWithin(path, known)
	})
}

// isWithin reports whether path is dir or below it.
func isWithin(path, dir string) bool {
	return strings.HasPrefix(path, dir) && (len(path) == len(dir) || path[len(dir)] == '/')
}
