//go:build !linux

package sys

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
)

// CanSyncDir is whether this system can make a directory's entries durable. Windows
// cannot for the directory handles that an ordinary user may open.
const CanSyncDir = runtime.GOOS != "windows" && runtime.GOOS != "plan9" && runtime.GOOS != "js" && runtime.GOOS != "wasip1"

// A Dir is an open directory, here a name: the portable calls have no
// descriptor-relative form that follows symlinks out of the directory.
// Confined to a root, it is an os.Root.
type Dir struct {
	name string
	root *os.Root
}

// DirUse is what a directory is opened for.
type DirUse int

const (
	// ForPath is only for naming files below it.
	ForPath DirUse = iota
	// ForSync is for syncing its entries.
	ForSync
)

// DirInfo is the result of Stat and Lstat. Born is 0.
type DirInfo struct {
	IsDir     bool
	IsSymlink bool
	Born      int64
}

// OpenDir opens the directory name, following symlinks.
func OpenDir(name string, _ DirUse) (Dir, error) {
	if name == "" { // to filepath.Abs, the working directory
		return Dir{}, syscall.ENOENT
	}
	abs, err := filepath.Abs(name)
	if err != nil {
		return Dir{}, err
	}
	return openName(abs)
}

// CurrentDir stands for the working directory of the process at the time of each
// call. It need not be closed.
func CurrentDir() Dir { return Dir{name: "."} }

// Unrelated fails: the attribute is not available.
func (d Dir) Unrelated() error { return Unavailable() }

func openName(name string) (Dir, error) {
	fi, err := os.Stat(name)
	if err != nil {
		return Dir{}, bare(err)
	}
	if !fi.IsDir() {
		return Dir{}, syscall.ENOTDIR
	}
	return Dir{name: name}, nil
}

// Confine returns d in a form whose methods do not leave it. It takes ownership of d.
func Confine(d Dir) (Dir, error) {
	r, err := os.OpenRoot(d.name)
	if err != nil {
		return Dir{}, bare(err)
	}
	return Dir{name: d.name, root: r}, nil
}

// Mkdir creates the directory path.
func (d Dir) Mkdir(path string, perm fs.FileMode) error {
	if d.root != nil {
		return bare(d.root.Mkdir(path, perm.Perm())) // os.Root refuses other bits
	}
	return bare(os.Mkdir(d.join(path), perm))
}

// Open opens the directory path, following symlinks.
func (d Dir) Open(path string, _ DirUse) (Dir, error) {
	if d.root != nil {
		return d.openIn(path)
	}
	return openName(d.join(path))
}

// OpenChild opens the directory name, a single component. A symlink is followed while it
// stays inside, as by os.Root.
func (d Dir) OpenChild(name string, _ DirUse) (Dir, error) { return d.openIn(name) }

// Rmdir removes the empty directory path. All other files fail with ENOTDIR.
func (d Dir) Rmdir(path string) error {
	fi, err := d.Lstat(path)
	if err != nil {
		return err
	}
	if !fi.IsDir {
		return syscall.ENOTDIR
	}
	if d.root != nil {
		return bare(d.root.Remove(path))
	}
	return bare(os.Remove(d.join(path)))
}

// Stat follows a symlink at the end of path.
func (d Dir) Stat(path string) (DirInfo, error) {
	if d.root != nil {
		return dirInfo(d.root.Stat(path))
	}
	return dirInfo(os.Stat(d.join(path)))
}

// Lstat does not follow a symlink at the end of path.
func (d Dir) Lstat(path string) (DirInfo, error) {
	if d.root != nil {
		return dirInfo(d.root.Lstat(path))
	}
	return dirInfo(os.Lstat(d.join(path)))
}

// Sync makes the directory's entries durable. On macOS os.File.Sync is
// F_FULLFSYNC, which empties the device's write cache too.
func (d Dir) Sync() error {
	if !CanSyncDir {
		return errors.ErrUnsupported
	}
	var (
		f   *os.File
		err error
	)
	if d.root != nil {
		f, err = d.root.Open(".")
	} else {
		f, err = os.Open(d.name)
	}
	if err != nil {
		return bare(err)
	}
	err = f.Sync()
	return bare(errors.Join(err, f.Close()))
}

// Close closes the directory.
func (d Dir) Close() error {
	if d.root != nil {
		return d.root.Close()
	}
	return nil
}

// join returns path joined to the name of d. In the zero Dir it returns "", not a path in
// the working directory.
func (d Dir) join(path string) string {
	if d.name == "" {
		return ""
	}
	return filepath.Join(d.name, filepath.FromSlash(path))
}

func dirInfo(fi fs.FileInfo, err error) (DirInfo, error) {
	if err != nil {
		return DirInfo{}, bare(err)
	}
	return DirInfo{IsDir: fi.IsDir(), IsSymlink: fi.Mode()&fs.ModeSymlink != 0}, nil
}
