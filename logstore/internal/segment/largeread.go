package segment

import (
	"bytes"
	"slices"
)

const (
	// maxRead is the most bytes that are read, and allocated, at once. A sparse
	// file may have any size with only its footer on disk, so memory grows with
	// the bytes that have been read.
	maxRead = 8 << 20

	// minHole consecutive zeros end a read of more than maxRead. Only tables
	// and lists are that large, and they have no more consecutive zeros than
	// one stream's labels: so at least a 32nd of the memory is on the disk.
	minHole = 128 << 10
)

var zeros [minHole]byte

// readPieces appends the n bytes at off to dst. After an error dst is returned
// as it was.
func readPieces(src Source, dst []byte, n, off int64, block int) ([]byte, error) {
	p, long := dst, n > maxRead
	for n > 0 {
		at, k := len(p), min(n, maxRead)
		p = slices.Grow(p, int(k))[:at+int(k)]
		if err := readFull(src, p[at:], off, block); err != nil {
			return dst, err
		}
		if long && hasHole(p[at:]) {
			return dst, corrupt(src, off, block, "%d bytes are zeros, as in a hole of the file", minHole)
		}
		n -= k
		off += k
	}
	return p, nil
}

// hasHole reports whether p has minHole zeros at a multiple of minHole.
func hasHole(p []byte) bool {
	for ; len(p) >= minHole; p = p[minHole:] {
		if bytes.Equal(p[:minHole], zeros[:]) {
			return true
		}
	}
	return false
}

// read reads n bytes at off into the buffer.
func (b *buffer) read(src Source, n, off int64, block int) (err error) {
	b.p, err = readPieces(src, b.p[:0], n, off, block)
	return err
}
