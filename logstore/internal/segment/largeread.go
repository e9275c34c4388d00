package segment

import (
	"bytes"
	"slices"
)

const (
	// maxRead is how many bytes are read at once, and made memory for, where a file
	// asks for more. A sparse file has as many bytes as it says, and no more on
	// the disk than its end: so memory grows by what has been read.
	maxRead = 8 << 20

	// minHole is how many zeros end a read of more than a piece. Only tables and lists
	// are as long, and they have no more than those of one stream's labels in a
	// row: so the file has at least a 32nd on the disk of what memory is made for.
	minHole = 128 << 10
)

var zeros [minHole]byte

// readPieces appends the n bytes at off to dst. After an error dst is returned as
// it was.
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

// hasHole reports whether there is a hole at a multiple of its length.
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
