package wal

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
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

// report returns the exported form of t.
func (t tornTail) report(g *segment) *TornTail {
	return &TornTail{File: g.path, Offset: t.off, Bytes: t.end(g) - t.off, Records: t.records}
}

// searchTornTail looks for records with positions from lo to hi at every byte
// from off on. A false find needs such a position and 32 bits of a salted
// checksum; a record from before the file was recycled, or one within a payload,
// has another salt or offset.
func searchTornTail(g *segment, off int64, lo, hi Position) (tornTail, error) {
	t := tornTail{off: off, written: off, filled: off}
	var whole scanner
	buf := make([]byte, min(searchChunk, g.size-off))
	// Chunks overlap by a head less one byte, as a head may begin in the last
	// bytes of a chunk.
	for at := off; at < g.size; at += searchChunk - (headerSize - 1) {
		b := buf[:min(int64(len(buf)), g.size-at)]
		if n, err := g.file.ReadAt(b, at); err == io.EOF {
			b = b[:n]
		} else if err != nil {
			return t, fmt.Errorf("wal: %w", err)
		}
		// No head is all zeros, so none begins after filled.
		filled := len(trimZeros(b))
		if filled > 0 {
			t.filled = at + int64(filled)
		}
		b = b[:min(filled+headerSize, len(b))]
		for i := 0; i+headerSize <= len(b); i++ {
			p := Position(binary.LittleEndian.Uint64(b[i+16:]))
			if p < lo || p > hi {
				continue
			}
			o := at + int64(i)
			var r record
			if !r.parse(b[i:i+headerSize], g.seed, o) || r.typ < typeData || r.typ > typePad || r.next > g.size || r.durable() < firstOffset {
				continue
			}
			t.heads++
			t.written = max(t.written, r.next)
			if r.durable() > off && t.proof == 0 {
				t.proof = o
			}
			whole.reset(g, o, 0)
			switch _, err := whole.next(g.size); err {
			case nil:
				t.records++
			case errInvalid:
			default:
				return t, err
			}
		}
	}
	return t, nil
}

// trimZeros returns b without trailing zeros.
func trimZeros(b []byte) []byte {
	var zeros [4096]byte
	for len(b) >= len(zeros) && bytes.Equal(b[len(b)-len(zeros):], zeros[:]) {
		b = b[:len(b)-len(zeros)]
	}
	return bytes.TrimRight(b, "\x00")
}
