package logstore

import (
	"bytes"
	"encoding/binary"
)

// A word has a byte that is 0 if (word - lowBits) &^ word & highBits is not 0: Warren,
// Hacker's Delight, section 6-1.
const (
	lowBits  = 0x0101010101010101
	highBits = 0x8080808080808080
)

// indexPair is bytes.Index for long texts that mostly do not contain s: it looks for two of
// its bytes, of the indexes first < second, at eight places at once. That takes the same
// time however common each of them is; only both together must be rare.
func indexPair(text, s []byte, first, second int) int {
	a, b := lowBits*uint64(s[first]), lowBits*uint64(s[second])
	i := 0
	for gap := second - first; ; i += 16 {
		i = skipWithout(text[min(first, len(text)):], i, gap, a, b)
		if i+second+16 > len(text) {
			break
		}
		for at := i; at < i+16; at++ {
			if text[at+first] == s[first] && bytes.HasPrefix(text[at:], s) {
				return at
			}
		}
	}
	if rest := bytes.Index(text[i:], s); rest >= 0 {
		return i + rest
	}
	return -1
}

// skipWithout returns i, or the first place of those at steps of 16 bytes from it, that may
// have, within 16 bytes, the byte of which a is made with that of b at a distance of gap; or
// one at which less than 16 bytes are left.
func skipWithout(text []byte, i, gap int, a, b uint64) int {
	if len(text) < gap {
		return i
	}
	seconds := text[gap:]
	text = text[:len(seconds)]
	for ; i+16 <= len(seconds); i += 16 {
		f, g := text[i:i+16:i+16], seconds[i:i+16:i+16]
		low := (binary.LittleEndian.Uint64(f) ^ a) | (binary.LittleEndian.Uint64(g) ^ b)
		high := (binary.LittleEndian.Uint64(f[8:]) ^ a) | (binary.LittleEndian.Uint64(g[8:]) ^ b)
		if ((low-lowBits)&^low|(high-lowBits)&^high)&highBits != 0 {
			break
		}
	}
	return i
}
