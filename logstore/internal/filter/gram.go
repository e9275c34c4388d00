package filter

import "encoding/binary"

// Grams are for needles that begin or end inside a word: each four adjacent
// letters of a word are a key.
//
// Grams have no digits. A program logs few words, and their grams cost half a
// byte a line; grams of numbers and ids would cost more than all other keys.
// Keeping one gram of a window of three (winnowing: Schleimer, Wilkerson,
// Aiken, SIGMOD 2003) saves 0.3 bytes a line, but then a needle must have six
// letters, and false positives rise from 0.3 to 7 % of blocks.
const gramBytes = 4

// A block with more than one gram in bytesPerGram bytes of text has codes made
// of letters rather than words, and its filter has no grams.
const bytesPerGram = 32

// appendGrams appends the grams of a folded word, or of a part of one. The
// bytes of runes that are not ASCII count as letters.
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

func gramKey(p []byte) uint64 { return gramKey4(binary.LittleEndian.Uint32(p)) }

// gramKey4 is gramKey of the first byte lowest.
func gramKey4(p uint32) uint64 { return notZero(mum(uint64(p)^secret4, secret2)) }
