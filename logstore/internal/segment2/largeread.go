package segment2

import (
	"bytes"
	"slices"
)

// minHole consecutive zeros end a read of more than MaxRead: a sparse file may
// have any size with only its footer on disk. No part of an index that large has
// as many, as its entries are not zero: so at least a 32nd of the memory is on
// the disk.
const minHole = 128 << 10

var zeros [minHole]byte

// ReadPieces appends the n bytes at off to dst, in pieces of MaxRead, so that
// memory grows with the bytes that have been read. After an error dst is
// returned as it was.
func ReadPieces(src Source, dst []byte, n, off int64, block int) ([]byte, error) {
	p, long := dst, n > MaxRead
	for n > 0 {
		at, k := len(p), min(n, MaxRead)
		p = slices.Grow(p, int(k))[:at+int(k)]
		if err := ReadFull(src, p[at:], off, block); err != nil {
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
