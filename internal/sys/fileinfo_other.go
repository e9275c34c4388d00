//go:build !linux

package sys

import (
	"io/fs"
	"os"
)

// FileInfo is the owner, mode and identity of a file, which its replacement takes over.
// Windows has no such owner.
type FileInfo struct {
	Mode     fs.FileMode
	UID, GID int
}

// Same returns true: files have no identity here.
func (fi FileInfo) Same(FileInfo) bool { return true }

// InfoOf describes the open file f.
func InfoOf(f *os.File) (FileInfo, error) { return Temp{f}.Info() }

// Info describes the file name, without following a symlink.
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
