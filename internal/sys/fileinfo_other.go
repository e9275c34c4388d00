//go:build !linux

package sys

import (
	"io/fs"
	"os"
)

// FileInfo is what is kept of a file when another takes its name. Windows has
// no owner of the kind.
type FileInfo struct {
	Mode     fs.FileMode
	UID, GID int
}

// Same is not known here, and not denied.
func (fi FileInfo) Same(FileInfo) bool { return true }

// InfoOf tells about the open file f.
func InfoOf(f *os.File) (FileInfo, error) { return Temp{f}.Info() }

// Info tells about name, and does not follow it if it is a symlink.
func (d Dir) Info(name string) (FileInfo, error) {
	lstat := os.Lstat
	if d.root != nil {
		lstat = d.root.Lstat
	}
	fi, err := lstat(d.path(name))
	if err != nil {
		return FileInfo{}, bare(err)
	}
	return infoOf(fi), nil
}
