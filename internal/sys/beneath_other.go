//go:build !linux

package sys

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// RootDir opens the directory of r again. The result stays open when r is closed.
func RootDir(r *os.Root, _ DirUse) (Dir, error) {
	own, err := r.OpenRoot(".")
	if err != nil {
		return Dir{}, bare(err)
	}
	return Dir{name: r.Name(), root: own}, nil
}

// OpenBeneath opens the directory path, which must be clean (CleanBeneath),
// without leaving d. A symlink fails with ELOOP. One that is put there between the
// check and the open is treated as by os.Root: followed while it stays inside. With
// oneMount it fails with errors.ErrUnsupported.
func (d Dir) OpenBeneath(path string, _ DirUse, oneMount bool) (Dir, error) {
	if oneMount {
		return Dir{}, errors.ErrUnsupported
	}
	if err := d.refuseSymlinks(path); err != nil {
		return Dir{}, err
	}
	return d.openIn(path)
}

// OpenFileBeneath opens the file path as os.Root does, and confines it as OpenBeneath
// does.
func (d Dir) OpenFileBeneath(path, _ string, flags int, perm fs.FileMode, oneMount bool) (*os.File, error) {
	if oneMount {
		return nil, errors.ErrUnsupported
	}
	if err := d.refuseSymlinks(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	r, done, err := d.asRoot()
	if err != nil {
		return nil, err
	}
	defer done()
	f, err := r.OpenFile(path, flags, perm.Perm())
	return f, bare(err)
}

// openIn opens the directory path as os.Root does.
func (d Dir) openIn(path string) (Dir, error) {
	top, done, err := d.asRoot()
	if err != nil {
		return Dir{}, err
	}
	defer done()
	r, err := top.OpenRoot(path)
	if err != nil {
		return Dir{}, bare(err)
	}
	return Dir{name: d.join(path), root: r}, nil
}

func (d Dir) asRoot() (r *os.Root, done func() error, err error) {
	if d.root != nil {
		return d.root, func() error { return nil }, nil
	}
	if r, err = os.OpenRoot(d.name); err != nil {
		return nil, nil, bare(err)
	}
	return r, r.Close, nil
}

// refuseSymlinks returns ELOOP if a component of path is a symlink.
func (d Dir) refuseSymlinks(path string) error {
	for i := range len(path) + 1 {
		if i < len(path) && !isSeparator(path[i]) {
			continue
		}
		switch fi, err := d.Lstat(path[:i]); {
		case err != nil:
			return err
		case fi.IsSymlink:
			return syscall.ELOOP
		}
	}
	return nil
}
