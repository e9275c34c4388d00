package wal

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
)

// searchChunk is the number of bytes that are searched at once.
const searchChunk = 1 << 20

// A tornTail is what a segment holds from its first invalid record on.
type tornTail struct {
	off int64 // of the first invalid record
	// proof is the offset of a record that was written after the bytes at off
	// were durable, which makes them damage; or 0.
	proof int64
	// heads counts the valid heads from off on, records those with a valid
	// payload.
	heads, records int
	// written is the end of the records with these heads, filled the end of the
	// bytes that are not zero.
	written, filled int64
}

// exists reports whether a write has begun at off or after.
func (t tornTail) exists(g *segment) bool {
	return t.heads > 0 || g.recycledFrom == 0 && t.filled > t.off
}

// end returns the offset after the last byte that a torn write may have left.
func (t tornTail) end(g *segment) int64 {
	if g.recycledFrom == 0 {
		return t.filled // the rest was zeros
	}
	return t.written
}

// report returns the exported form of t. next is the position that the first
// invalid record would have.
func (t tornTail) report(g *segment, next Position) *TornTail {
	return &TornTail{
		File: g.path, Offset: t.off, Bytes: t.end(g) - t.off, Records: t.records,
		Position: next, Salt: g.salt,
	}
}

// searchTornTail looks for records with positions from lo to hi at every byte
// from off on. A false find needs such a position and 32 bits of a salted
// checksum; a record from before the file was recycled, or one within a payload,
// has another salt or offset.
func searchTornTail(g *segment, off int64, lo, hi Position) (tornTail, error) {
	t := tornTail{off: off, written: off}
	var buf []byte
	filled, err := g.search(off, lo, hi, func(o int64, head []byte) error {
		var r record
		if !r.parse(head, g.seed, o) || !r.fits(g.size) {
			return nil
		}
		t.heads++
		t.written = max(t.written, r.next)
		if r.durable() > off && t.proof == 0 {
			t.proof = o
		}
		whole, err := g.verify(r, head, &buf)
		if whole {
			t.records++
		}
		return err
	})
	t.filled = filled
	return t, err
}

// verify reports whether the payload of r, which has the head head, has the
// right checksum. It reads through buf, which it allocates once.
func (g *segment) verify(r record, head []byte, buf *[]byte) (bool, error) {
	if *buf == nil {
		*buf = make([]byte, 64<<10)
	}
	sum := uint32(0)
	for at := r.off + headerSize; at < r.next; {
		want := min(int64(len(*buf)), r.next-at)
		b, err := g.readAt((*buf)[:want], at)
		if int64(len(b)) < want {
			return false, err
		}
		sum = crc32.Update(sum, castagnoli, b)
		at += int64(len(b))
	}
	return sum == binary.LittleEndian.Uint32(head[4:]), nil
}

// search calls visit with every 24 bytes of g from off on that have a position
// from lo to hi where the head of a record has one. It returns the end of the
// bytes that are not zero. An error of visit ends it.
func (g *segment) search(off int64, lo, hi Position, visit func(o int64, head []byte) error) (filled int64, err error) {
	filled = off
	// What is searched for is often near, so the first chunks are small.
	var buf []byte
	for at, n := off, int64(firstOffset); at < g.size; n = min(2*n, searchChunk) {
		n = min(n, g.size-at)
		if int64(len(buf)) < n {
			buf = make([]byte, n)
		}
		b, err := g.readAt(buf[:n], at)
		if err != nil {
			return filled, err
		}
		// No head is all zeros, so none begins after the last other byte.
		content := len(trimZeros(b))
		if content > 0 {
			filled = at + int64(content)
		}
		b = b[:min(content+headerSize, len(b))]
		for i := 0; i+headerSize <= len(b); i++ {
			p := Position(binary.LittleEndian.Uint64(b[i+16:]))
			if p < lo || p > hi {
				continue
			}
			if err := visit(at+int64(i), b[i:i+headerSize]); err != nil {
				return filled, err
			}
		}
		if at+n == g.size {
			break
		}
		// Chunks overlap by a head less one byte, as a head may begin in the last
		// bytes of a chunk.
		at += n - (headerSize - 1)
	}
	return filled, nil
}

// trimZeros returns b without trailing zeros.
func trimZeros(b []byte) []byte {
	var zeros [4096]byte
	for len(b) >= len(zeros) && bytes.Equal(b[len(b)-len(zeros):], zeros[:]) {
		b = b[:len(b)-len(zeros)]
	}
	return bytes.TrimRight(b, "\x00")
}
