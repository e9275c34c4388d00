package filter

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math/bits"
)

const (
	atVariableSum  = 4
	variableHeader = 8 + 2*packedHeader

	flagLetters   = 1 // grams has those of letters
	flagMixed     = 2 // grams has those of letters and digits
	flagDigits    = 4 // grams has those of digits
	flagDigitBits = 8 // a bit for each gram of digits follows
	variableFlags = flagLetters | flagMixed | flagDigits | flagDigitBits
	digitBitsSize = digitGrams / 8
	maxDigitKeys  = 2000 // above that the bits take less space
	maxDigitBits  = 8192 // of the grams of digits: with more, few needles are ruled out

	// A block whose text has fewer bytes for each gram, or for each byte of bits, has none:
	// its columns take some 5 % of the text, and to search few of them costs little.
	bytesPerVarGram   = 64
	bytesPerDigitByte = 128
)

// Bits of a slot. A needle has one key of a token or two, and then all tell: one
// block of 64 is read for nothing. It has more grams.
const (
	tokenBits = 5
	gramBits  = 4
)

// Append appends the filter of all added lines and texts. It rules out needles of
// variables only, see Needle.OfVariables.
func (b *VariableBuilder) Append(dst []byte) []byte {
	at := len(dst)
	dst = append(dst, versionVariables, 0, unicodeVersion[0], unicodeVersion[1], 0, 0, 0, 0)
	tokens, grams := packedFuse{bits: tokenBits}, packedFuse{bits: gramBits}
	b.list = resize(b.list, b.tokens.n)[:0]
	for k := range b.tokens.all {
		b.list = append(b.list, k)
	}
	slots, ok := b.build(&tokens)
	if !ok {
		return append(dst[:at], versionEvery)
	}
	dst = tokens.appendHeader(dst)
	atGrams := len(dst)
	dst = append(dst, make([]byte, packedHeader)...)
	dst = tokens.appendSlots(dst, slots)
	flags := b.listGrams()
	if slots, ok = b.build(&grams); !ok {
		return append(dst[:at], versionEvery)
	}
	grams.appendHeader(dst[:atGrams])
	dst = grams.appendSlots(dst, slots)
	if flags&flagDigitBits != 0 {
		dst = b.appendDigitBits(dst)
	}
	dst[at+atFlags] = flags
	binary.LittleEndian.PutUint32(dst[at+atVariableSum:], sumOfVariables(dst[at:]))
	return dst
}

// build makes a fuse of b.list. It fails only for keys chosen to make it fail.
func (b *VariableBuilder) build(f *packedFuse) (slots []byte, ok bool) {
	f.fuse, f.seed, slots, ok = b.peeler.build(b.list)
	return slots, ok
}

// listGrams sets b.list to the keys of grams that the filter has, and returns its
// flags.
func (b *VariableBuilder) listGrams() (flags byte) {
	limit := b.bytes / bytesPerVarGram
	b.list = b.list[:0]
	if b.letters.n <= min(maxLetterGrams, limit) {
		flags |= flagLetters
		for k := range b.letters.all {
			b.list = append(b.list, k)
		}
	}
	if b.mixed.n <= min(maxMixedGrams, limit) {
		flags |= flagMixed
		for k := range b.mixed.all {
			b.list = append(b.list, k)
		}
	}
	digits := 0
	for _, w := range b.digits {
		digits += bits.OnesCount64(w)
	}
	switch {
	case digits <= min(maxDigitKeys, limit):
		flags |= flagDigits
		for v := range b.digitGrams {
			b.list = append(b.list, digitGramKey(uint64(v)))
		}
	case digits <= maxDigitBits && digitBitsSize*bytesPerDigitByte <= b.bytes:
		flags |= flagDigitBits
	}
	return flags
}

// digitGrams ranges over the numbers of the grams of digits.
func (b *VariableBuilder) digitGrams(yield func(int) bool) {
	for i, w := range b.digits {
		for ; w != 0; w &= w - 1 {
			v := i*64 + bits.TrailingZeros64(w)
			if !yield(v>>12*1000 + v>>8&15*100 + v>>4&15*10 + v&15) {
				return
			}
		}
	}
}

// appendDigitBits appends a bit for each gram of digits, by its number.
func (b *VariableBuilder) appendDigitBits(dst []byte) []byte {
	at := len(dst)
	dst = append(dst, make([]byte, digitBitsSize)...)
	for v := range b.digitGrams {
		dst[at+v/8] |= 1 << (v % 8)
	}
	return dst
}

// variables is a filter of variables, decoded.
type variables struct {
	flags         byte
	tokens, grams packedFuse
	digits        []byte
}

var errVariablesSize = errors.New("filter: the slots of variables have other sizes than the header says")

// readVariables decodes a filter of variables, without a look at its checksum.
func readVariables(p []byte) (v variables, err error) {
	if len(p) < variableHeader {
		return v, fmt.Errorf("filter: %d bytes; want a header of %d", len(p), variableHeader)
	}
	v.flags = p[atFlags]
	if v.flags&^variableFlags != 0 || v.flags&flagDigits != 0 && v.flags&flagDigitBits != 0 {
		return v, fmt.Errorf("filter: unknown flags %#x", v.flags)
	}
	if v.tokens, err = readPackedFuse(p[8:]); err != nil {
		return v, err
	}
	if v.grams, err = readPackedFuse(p[8+packedHeader:]); err != nil {
		return v, err
	}
	rest := p[variableHeader:]
	for _, f := range []*packedFuse{&v.tokens, &v.grams} {
		n := f.size()
		if n > len(rest) {
			return v, errVariablesSize
		}
		f.slots, rest = rest[:n], rest[n:]
	}
	if v.flags&flagDigitBits != 0 {
		v.digits = rest
	}
	if len(rest) != len(v.digits) || v.digits != nil && len(rest) != digitBitsSize {
		return v, errVariablesSize
	}
	return v, nil
}

// has reports whether the variables may have a key.
func (v *variables) has(k *variableKey) bool {
	switch k.kind {
	case letterGram:
		return v.flags&flagLetters == 0 || v.grams.has(k.key)
	case mixedGram:
		return v.flags&flagMixed == 0 || v.grams.has(k.key)
	case digitGram:
		if v.flags&flagDigitBits != 0 {
			return v.digits[k.key/8]>>(k.key%8)&1 != 0
		}
		return v.flags&flagDigits == 0 || v.grams.has(digitGramKey(k.key))
	}
	return v.tokens.has(k.key)
}

// mayVariables is mayOne for a filter of variables.
func mayVariables(part []byte, n Needle) bool {
	v, err := readVariables(part)
	if err != nil || !n.variable || n.wide && [2]byte(part[atUnicode:]) != unicodeVersion {
		return true
	}
	for i := range n.variables {
		if !v.has(&n.variables[i]) {
			return false
		}
	}
	return true
}

// sumOfVariables is the checksum of a filter of variables.
func sumOfVariables(p []byte) uint32 {
	return crc32.Update(crc32.Checksum(p[:atVariableSum], castagnoli), castagnoli, p[atVariableSum+4:])
}
