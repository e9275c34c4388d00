package segment

import (
	"bytes"
	"slices"
)

const (
	// piece is how many bytes are read at once, and made memory for, where a file
	// asks for more. A sparse file has as many bytes as it says, and no more on
	// the disk than its end: so memory grows by what has been read.
	piece = 8 << 20

	// hole is how many zeros end a read of more than a piece. Only tables and lists
	// are as long, and they have no more than those of one stream's labels in a
	// row: so the file has at least a 32nd on the disk of what memory is made for.
	hole = 128 << 10
)

var zeros [hole]byte

// readPieces appends the n bytes at off to dst. After an error dst is returned as
// it was.
func readPieces(src Source, dst []byte, n, off int64, block int) ([]byte, error) {
	p, long := dst, n > piece
	for n > 0 {
		at, k := len(p), min(n, piece)
		p = slices.Grow(p, int(k))[:at+int(k)]
		if err := readFull(src, p[at:], off, block); err != nil {
			return dst, err
		}
		if long && hasHole(p[at:]) {
			return dst, corrupt(src, off, block, "%d bytes are zeros, as in a hole of the file", hole)
		}
		n -= k
		off += k
	}
	return p, nil
}

// hasHole reports whether there is a hole at a multiple of its length.
func hasHole(p []byte) bool {
	for ; len(p) >= hole; p = p[hole:] {
		if bytes.Equal(p[:hole], zeros[:]) {
			return true
		}
	}
	return false
}

// fill reads n bytes at off into the buffer.
func (b *buffer) fill(src Source, n, off int64, block int) (err error) {
	b.p, err = readPieces(src, b.p[:0], n, off, block)
	return err
}
