package filter

import (
	"encoding/binary"
	"math/bits"
)

// Keys are 64-bit hashes, and part of the format. Their step is that of wyhash
// (Wang Yi): the product of two 64-bit words, folded to 64 bits. The numbers
// are wyhash's default secret; any others would do.
const (
	secret0 = 0xa0761d6478bd642f
	secret1 = 0xe7037ed1a0b428db
	secret2 = 0x8ebc6af09c88c6e3
	secret3 = 0x589965cc75374cc3
	secret4 = 0x1d8e4e27c47d124f
)

// notZero reserves 0, which is never a key.
func notZero(h uint64) uint64 { return max(h, 1) }

func mum(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}

// wordStep mixes the next 16 bytes of a folded word, zero-padded, into its key,
// which begins as 0. No word contains a zero byte, so no two words have the
// same padded bytes.
func wordStep(h, lo, hi uint64) uint64 { return mum(h^lo^secret0, hi^secret1) }

// wordKey returns the key of a folded word.
func wordKey(folded []byte) (h uint64) {
	for len(folded) >= 16 {
		h = wordStep(h, binary.LittleEndian.Uint64(folded), binary.LittleEndian.Uint64(folded[8:]))
		folded = folded[16:]
	}
	if len(folded) > 0 {
		var p [16]byte
		copy(p[:], folded)
		h = wordStep(h, binary.LittleEndian.Uint64(p[:]), binary.LittleEndian.Uint64(p[8:]))
	}
	return notZero(h)
}

// denseKey returns the key of a dense rune (before is 0) or of two.
func denseKey(before, r rune) uint64 {
	return notZero(mum(uint64(uint32(before))<<32|uint64(uint32(r))^secret2, secret3))
}

// Eight bytes at once.
const (
	ones  = 0x0101010101010101
	highs = 0x80 * ones
)

// alnum sets the highest bit of each byte of w that is an ASCII letter or digit.
func alnum(w uint64) uint64 {
	x := w &^ highs // so that no sum below carries into the next byte
	l := x | 0x20*ones
	letters := (l + (0x80-'a')*ones) &^ (l + (0x7f-'z')*ones)
	digits := (x + (0x80-'0')*ones) &^ (x + (0x7f-'9')*ones)
	return (letters | digits) &^ w & highs
}

// foldASCII turns letters into capitals. All bytes must be letters, digits or
// 0.
func foldASCII(w uint64) uint64 { return w &^ (w & (0x40 * ones) >> 1) }

// byteMask[n] keeps the first n of 16 bytes.
var byteMask = func() (t [17][2]uint64) {
	for n := range t {
		for i := range n {
			t[n][i/8] |= 0xff << (8 * (i % 8))
		}
	}
	return t
}()
