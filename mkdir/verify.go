package mkdir

import (
	"io/fs"
	"strings"

	"github.com/stele-go/stele/internal/sys"
)

// Verify is All that looks up a known directory on disk, by one system call
// (confined: two), and creates it again if it was removed. The directories
// created survive what Options.Level says.
//
// Call it when there is reason to think that the Maker is wrong, for example when
// creating a file in the directory fails with fs.ErrNotExist. All would go on
// answering from memory.
//
// A directory that another process has removed and created again counts as
// existing. At level Power call Forget first if that process may not have synced
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

// verified reports whether path is known and exists. If it is known and missing,
// verified clears known.
func (m *Maker) verified(path string) (bool, error) {
	if err := m.acquire(path); err != nil {
		return false, err
	}
	defer m.release()
	if !m.known.has(path) {
		return false, nil
	}
	err := m.lookUp(path)
	switch {
	case err == nil:
		return true, nil
	case notThere(err):
		m.known.clear() // directories above and below may be missing too
		return false, nil
	}
	return false, m.fail(path, err)
}

// lookUp returns an error unless path, as the Maker reaches it, is a directory.
func (m *Maker) lookUp(path string) error {
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

// Forget makes the Maker forget the directory rel and all below it, so that the
// next All looks them up on disk. At level Power it also forgets the directories
// above, up to the root, whose entries may be as new as that of rel: they are
// synced again. Forget(".") forgets everything. Forget makes no system call, and
// ignores a path that the Maker does not know or refuses.
//
// Calls under way that rely on a forgotten directory start again. Forget scans
// the whole cache: about a millisecond when it is full.
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
