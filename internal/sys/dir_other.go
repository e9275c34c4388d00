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

// CanSyncDir tells whether this system can make a directory's entries
// durable. Windows has no such call for a directory handle that an ordinary
// user may open.
const CanSyncDir = runtime.GOOS != "windows" && runtime.GOOS != "plan9" && runtime.GOOS != "js" && runtime.GOOS != "wasip1"

// A Dir is an open directory, here a name: the portable calls have no
// descriptor-relative form that follows symlinks out of the directory.
// Confined to a root, it is an os.Root.
type Dir struct {
	name string
	root *os.Root
}

// DirUse says what a directory is opened for.
type DirUse int

const (
	// ForPath: only to name what is below it.
	ForPath DirUse = iota
	// ForSync: to sync its entries.
	ForSync
)

// DirInfo is what Stat and Lstat tell. Born is not known here.
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

// CurrentDir stands for the working directory of the process, whichever that
// is when a method is called. It need not be closed.
func CurrentDir() Dir { return Dir{name: "."} }

// Unrelated is not offered here.
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

// Confine returns d in a form whose methods do not leave it, and takes d over.
func Confine(d Dir) (Dir, error) {
	r, err := os.OpenRoot(d.name)
	if err != nil {
		return Dir{}, bare(err)
	}
	return Dir{name: d.name, root: r}, nil
}

// Mkdir makes one directory.
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

// OpenChild opens the directory name, one component. Symlinks are treated as
// os.Root treats them: followed while they stay inside.
func (d Dir) OpenChild(name string, _ DirUse) (Dir, error) { return d.openIn(name) }

// Rmdir removes the empty directory path and refuses anything else with
// ENOTDIR.
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

// Lstat does not.
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

// Close gives the directory back.
func (d Dir) Close() error {
	if d.root != nil {
		return d.root.Close()
	}
	return nil
}

// join names path in d. In the zero Dir, which is no directory, it names
// nothing, and not what is in the working directory.
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
