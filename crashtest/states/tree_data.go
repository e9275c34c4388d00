package states

import (
	"slices"
	"syscall"
	"time"
)

// maxFile is the largest size of a file in bytes: all of it is in memory.
const maxFile = 1 << 30

// file returns the file with the number id, which may no longer have a name.
func (t *tree) file(id uint64) (*node, error) {
	n := t.nodes[id]
	switch {
	case n == nil:
		return nil, syscall.ENOENT
	case n.is(typeDir):
		return nil, syscall.EISDIR
	case !n.is(typeFile):
		return nil, syscall.EINVAL
	}
	return n, nil
}

// read copies bytes from off, and returns fewer at the end of the file.
func (t *tree) read(id uint64, b []byte, off int64) (int, error) {
	n, err := t.file(id)
	if err != nil {
		return 0, err
	}
	if _, err := t.inject.before(callRead, t.path(id)); err != nil {
		return 0, err
	}
	if off >= int64(len(n.data)) {
		return 0, nil
	}
	return copy(b, n.data[off:]), nil
}

func (t *tree) write(id uint64, b []byte, off int64) (int, error) {
	n, err := t.file(id)
	if err != nil {
		return 0, err
	}
	if off < 0 || off > maxFile-int64(len(b)) {
		return 0, syscall.EFBIG
	}
	short, err := t.inject.before(callWrite, t.path(id))
	if err != nil {
		return 0, err
	}
	if short {
		b = b[:len(b)/2]
	}
	if len(b) == 0 {
		return 0, nil
	}
	t.record(&op{Kind: opWrite, Node: id, Off: off, Len: int64(len(b)), Size: int64(len(n.data)), Path: t.path(id), Data: slices.Clone(b)})
	n.resize(max(int64(len(n.data)), off+int64(len(b))))
	copy(n.data[off:], b)
	return len(b), nil
}

// resize copies shared data and makes it size bytes long, with zeros at the end.
func (n *node) resize(size int64) {
	if n.shared {
		n.data, n.shared = slices.Clone(n.data), false
	}
	have := int64(len(n.data))
	if size > have {
		n.data = slices.Grow(n.data, int(size-have))
	}
	n.data = n.data[:size]
	if size > have {
		clear(n.data[have:])
	}
	n.mtime = time.Now()
}

func (t *tree) truncate(id uint64, size int64) error {
	n, err := t.file(id)
	if err != nil {
		return err
	}
	if size < 0 || size > maxFile {
		return syscall.EFBIG
	}
	if _, err := t.inject.before(callTruncate, t.path(id)); err != nil {
		return err
	}
	if size == int64(len(n.data)) {
		return nil
	}
	t.record(&op{Kind: opTruncate, Node: id, Len: size, Size: int64(len(n.data)), Path: t.path(id)})
	n.resize(size)
	return nil
}

// allocate is fallocate(2): it zeroes the range if zero, and makes the file
// longer unless keepSize. It reserves no space: this disk is full only where a
// fault says so.
func (t *tree) allocate(id uint64, off, length int64, zero, keepSize bool) error {
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
	if _, err := t.inject.before(callAllocate, t.path(id)); err != nil {
		return err
	}
	size := int64(len(n.data))
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
	t.record(&op{Kind: opZero, Node: id, Off: off, Len: end - off, Size: size, Path: t.path(id)})
	n.resize(max(size, end))
	clear(n.data[off:end])
	return nil
}

// size is st_size; it means nothing for a directory.
func (n *node) size() int64 {
	switch {
	case n.is(typeLink):
		return int64(len(n.target))
	case n.is(typeDir):
		return 0
	}
	return int64(len(n.data))
}
