package wal

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
)

// tearPiece is how many bytes are searched at once.
const tearPiece = 1 << 20

// A tear is what is found at and behind the first place of a segment that
// holds no valid record.
type tear struct {
	off int64 // that place
	// proof is the offset of a record that was written when what was at off
	// was durable; 0: there is none.
	proof int64
	// heads and records are how many heads, and whole records, of this life of
	// the segment are at off and behind.
	heads, records int
	// written is the end of what they say they are, and filled that of what is
	// not zero.
	written, filled int64
}

// torn reports whether somebody has begun to write at off or behind.
func (t tear) torn(g *segment) bool { return t.heads > 0 || g.was == 0 && t.filled > t.off }

// end is behind the last byte that may be left of a torn write.
func (t tear) end(g *segment) int64 {
	if g.was == 0 {
		return t.filled // the rest was zeros
	}
	return t.written
}

// searchTear looks for records with positions from lo to hi at off and behind,
// byte by byte, as nothing tells where they begin. A false find takes such a
// position and 32 bits of a salted checksum; a record of a former life, or one
// within a payload, has another salt or offset.
func searchTear(g *segment, off int64, lo, hi Position) (tear, error) {
	t := tear{off: off, written: off, filled: off}
	var whole scanner
	buf := make([]byte, min(tearPiece, g.size-off))
	// Pieces overlap by all of a head but one byte, as one may begin in the last
	// bytes of a piece.
	for at := off; at < g.size; at += tearPiece - (headerSize - 1) {
		b := buf[:min(int64(len(buf)), g.size-at)]
		if n, err := g.file.ReadAt(b, at); err == io.EOF {
			b = b[:n]
		} else if err != nil {
			return t, fmt.Errorf("wal: %w", err)
		}
		// No head is all zeros: none begins behind filled.
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

// trimZeros returns b without the zeros at its end.
func trimZeros(b []byte) []byte {
	var zeros [4096]byte
	for len(b) >= len(zeros) && bytes.Equal(b[len(b)-len(zeros):], zeros[:]) {
		b = b[:len(b)-len(zeros)]
	}
	return bytes.TrimRight(b, "\x00")
}
