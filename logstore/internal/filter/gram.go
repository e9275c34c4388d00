package filter

import "encoding/binary"

// Grams let a needle that begins or ends inside a word skip blocks too: each
// four letters that follow each other in a word are a key.
//
// Digits are in none. The words of a program are few, and their grams cost half
// a byte a line; those of numbers and ids would cost more than all else. To keep
// only one gram of a window of three (winnowing: Schleimer, Wilkerson, Aiken,
// SIGMOD 2003) saves 0.3 bytes a line, but a needle must then have six letters,
// and 7 % of the blocks that do not have it seem to, instead of 0.3 %.
const gramBytes = 4

// Where a block has more grams than one for so many bytes of text it is not words
// that they are of, but codes made of letters, and the filter goes without.
const bytesPerGram = 32

// appendGrams appends the grams of a folded word, or of a part of one. A byte of
// a rune that is not ASCII counts as a letter.
func appendGrams(dst []uint64, folded []byte) []uint64 {
	letters := 0
	for i, c := range folded {
		if c >= '0' && c <= '9' {
			letters = 0
			continue
		}
		if letters++; letters >= gramBytes {
			dst = append(dst, gramKey(folded[i-gramBytes+1:]))
		}
	}
	return dst
}

func gramKey(p []byte) uint64 {
	return notZero(mum(uint64(binary.LittleEndian.Uint32(p))^secret4, secret2))
}
