//go:build !linux

package sys

import (
	"io/fs"
	"os"
)

// Read reads at the file's offset.
func (t Temp) Read(b []byte) (int, error) {
	n, err := t.f.Read(b)
	return n, bare(err)
}

// ReadAt fills b from the offset off on, or tells why it is not full.
func (t Temp) ReadAt(b []byte, off int64) (int, error) {
	n, err := t.f.ReadAt(b, off)
	return n, bare(err)
}

// WriteAt writes all of b at off, or tells how much of it and why not more.
func (t Temp) WriteAt(b []byte, off int64) (int, error) {
	n, err := t.f.WriteAt(b, off)
	return n, bare(err)
}

// Seek sets the file's offset.
func (t Temp) Seek(off int64, whence int) (int64, error) {
	n, err := t.f.Seek(off, whence)
	return n, bare(err)
}

// Truncate sets the file's size, in bytes.
func (t Temp) Truncate(size int64) error { return bare(t.f.Truncate(size)) }

// Stat tells about the file, under the name name.
func (t Temp) Stat(name string) (fs.FileInfo, error) {
	fi, err := t.f.Stat()
	if err != nil {
		return nil, bare(err)
	}
	return namedInfo{fi, name}, nil
}

type namedInfo struct {
	fs.FileInfo
	name string
}

func (i namedInfo) Name() string { return i.name }

// Symlink makes the symlink name, which must not be there, with the target.
func (d Dir) Symlink(target, name string) error {
	if d.root != nil {
		return bareLink(d.root.Symlink(target, name))
	}
	return bareLink(os.Symlink(target, d.path(name)))
}
