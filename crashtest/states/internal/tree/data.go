package tree

import (
	"slices"
	"syscall"
	"time"
)

// maxFile is the largest size of a file in bytes: all of it is in memory.
const maxFile = 1 << 30

// file returns the file with the number id, which may no longer have a name.
func (t *Tree) file(id uint64) (*Node, error) {
	n := t.Nodes[id]
	switch {
	case n == nil:
		return nil, syscall.ENOENT
	case n.Is(TypeDir):
		return nil, syscall.EISDIR
	case !n.Is(TypeFile):
		return nil, syscall.EINVAL
	}
	return n, nil
}

// Read copies bytes from off, and returns fewer at the end of the file.
func (t *Tree) Read(id uint64, b []byte, off int64) (int, error) {
	n, err := t.file(id)
	if err != nil {
		return 0, err
	}
	if _, err := t.Inject.before(callRead, t.path(id)); err != nil {
		return 0, err
	}
	if off >= int64(len(n.Data)) {
		return 0, nil
	}
	return copy(b, n.Data[off:]), nil
}

// Write writes b at off, or the first half of it if a fault says so.
func (t *Tree) Write(id uint64, b []byte, off int64) (int, error) {
	n, err := t.file(id)
	if err != nil {
		return 0, err
	}
	if off < 0 || off > maxFile-int64(len(b)) {
		return 0, syscall.EFBIG
	}
	short, err := t.Inject.before(callWrite, t.path(id))
	if err != nil {
		return 0, err
	}
	if short {
		b = b[:len(b)/2]
	}
	if len(b) == 0 {
		return 0, nil
	}
	t.Record(&Op{Kind: OpWrite, Node: id, Off: off, Len: int64(len(b)), Size: int64(len(n.Data)), Path: t.path(id), Data: slices.Clone(b)})
	n.resize(max(int64(len(n.Data)), off+int64(len(b))))
	copy(n.Data[off:], b)
	return len(b), nil
}

// resize copies shared data and makes it size bytes long, with zeros at the end.
func (n *Node) resize(size int64) {
	if n.Shared {
		n.Data, n.Shared = slices.Clone(n.Data), false
	}
	have := int64(len(n.Data))
	if size > have {
		n.Data = slices.Grow(n.Data, int(size-have))
	}
	n.Data = n.Data[:size]
	if size > have {
		clear(n.Data[have:])
	}
	n.Mtime = time.Now()
}

// Truncate sets the size of the file id.
func (t *Tree) Truncate(id uint64, size int64) error {
	n, err := t.file(id)
	if err != nil {
		return err
	}
	if size < 0 || size > maxFile {
		return syscall.EFBIG
	}
	if _, err := t.Inject.before(callTruncate, t.path(id)); err != nil {
		return err
	}
	if size == int64(len(n.Data)) {
		return nil
	}
	t.Record(&Op{Kind: OpTruncate, Node: id, Len: size, Size: int64(len(n.Data)), Path: t.path(id)})
	n.resize(size)
	return nil
}

// Allocate is fallocate(2): it zeroes the range if zero, and makes the file
// longer unless keepSize. It reserves no space: this disk is full only where a
// fault says so.
func (t *Tree) Allocate(id uint64, off, length int64, zero, keepSize bool) error {
	n, err := t.file(id)
	if err != nil {
		return err
	}
	if off < 0 || length <= 0 {
		return syscall.EINVAL
	}
	if off > maxFile-length {
		return syscall.EFBIG
	}
	if _, err := t.Inject.before(callAllocate, t.path(id)); err != nil {
		return err
	}
	size := int64(len(n.Data))
	end := off + length
	if keepSize {
		end = min(end, size)
	}
	if !zero {
		off = max(off, size) // keep the content
	}
	if off >= end {
		return nil
	}
	t.Record(&Op{Kind: OpZero, Node: id, Off: off, Len: end - off, Size: size, Path: t.path(id)})
	n.resize(max(size, end))
	clear(n.Data[off:end])
	return nil
}

// Size is st_size; it means nothing for a directory.
func (n *Node) Size() int64 {
	switch {
	case n.Is(TypeLink):
		return int64(len(n.Target))
	case n.Is(TypeDir):
		return 0
	}
	return int64(len(n.Data))
}
