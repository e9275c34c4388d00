package mkdir

import (
	"errors"
	"io/fs"

	"github.com/stele-go/stele/internal/sys"
)

// tries is the number of tries of a call while another process keeps removing the
// directories that it creates.
const tries = 100

// climb creates the levels of path after its first `from` bytes, which are known.
// If they are missing it clears known, sets epoch to the new one, and starts
// again at the root. It returns the number of bytes on which it relied in the
// end. It calls onCreate for each new level, which is name in d and ends at byte
// end of path.
func (m *Maker) climb(path string, from int, perm fs.FileMode, epoch *uint64, onCreate func(d sys.Dir, name string, end int)) (int, error) {
	for try := 1; ; try++ {
		bad, err := m.levels(path, from, perm, onCreate)
		switch {
		case err == nil:
			return from, nil
		case !notThere(err):
			return from, m.fail(path[:bad], err)
		case from > 0:
			*epoch = m.known.clear()
			from = 0
			continue
		case isNotDir(err), bad == 0, try == tries:
			return 0, m.fail(path[:bad], err)
		}
		// ENOENT is also the error for a dangling symlink, and on some systems
		// for a file in the path.
		if fi, err := m.lstat(path[:bad]); err == nil && fi.IsSymlink {
			return 0, m.fail(path[:bad], errExist) // as os.MkdirAll returns
		} else if err == nil && !fi.IsDir {
			return 0, m.fail(path[:bad], errNotDir)
		}
	}
}

// levels creates the levels of path after its first `from` bytes, each by one
// mkdirat. With an error it returns the end of the level that caused it: the
// parent, if that is missing or no directory.
func (m *Maker) levels(path string, from int, perm fs.FileMode, onCreate func(d sys.Dir, name string, end int)) (int, error) {
	d, prefix, err := m.enter(path[:from])
	if err != nil {
		return from, err
	}
	defer func() { m.leave(d) }()
	for end := from; ; {
		above := end
		end = levelEnd(path, end)
		name := path[prefix:end]
		err := d.Mkdir(name, perm)
		switch {
		case err == nil:
			onCreate(d, name, end)
		case errors.Is(err, fs.ErrExist):
			if end == len(path) {
				return end, m.checkDir(d, name)
			}
		case notThere(err):
			return above, err
		default:
			return end, err
		}
		if end == len(path) {
			return end, nil
		}
		if m.confined {
			next, err := m.child(d, name)
			if err != nil {
				return end, symlinkOr(err, d, name)
			}
			m.leave(d)
			d, prefix = next, end+1
		}
	}
}

// child opens name, one component, in d.
func (m *Maker) child(d sys.Dir, name string) (sys.Dir, error) {
	if m.oneMount {
		return d.OpenBeneath(name, sys.ForPath, true)
	}
	return d.OpenChild(name, sys.ForPath)
}

// checkDir returns, after EEXIST, an error unless name is a directory, and with
// OneMount no mount point.
func (m *Maker) checkDir(d sys.Dir, name string) error {
	if m.oneMount {
		sub, err := m.child(d, name)
		if err != nil {
			return symlinkOr(err, d, name)
		}
		return sub.Close()
	}
	stat := d.Stat
	if m.confined {
		stat = d.Lstat
	}
	switch fi, err := stat(name); {
	case err == nil && fi.IsDir:
		return nil
	case err == nil && fi.IsSymlink:
		return errLoop
	case err == nil:
		return errNotDir
	default:
		// For a dangling symlink os.MkdirAll returns EEXIST.
		if fi, err := d.Lstat(name); err == nil && fi.IsSymlink {
			return errExist
		}
		return err
	}
}

// symlinkOr returns ELOOP for ENOTDIR if name is a symlink, as openat2 does; else
// err.
func symlinkOr(err error, d sys.Dir, name string) error {
	if err == errNotDir {
		if fi, lerr := d.Lstat(name); lerr == nil && fi.IsSymlink {
			return errLoop
		}
	}
	return err
}

// lstat is Lstat of path, as the Maker reaches it.
func (m *Maker) lstat(path string) (sys.DirInfo, error) {
	d, prefix, err := m.enter(parent(path))
	if err != nil {
		return sys.DirInfo{}, err
	}
	defer m.leave(d)
	return d.Lstat(path[prefix:])
}
