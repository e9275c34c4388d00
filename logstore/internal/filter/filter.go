// Package filter tests which blocks of lines cannot match a search.
//
// A Builder makes the filter of a block from its texts: a set of keys, with
// false positives at a rate of one in 256. A Needle is the set of keys that
// every matching text must have. Keys are hashes of
//
//   - the tokens: the longest runs of letters, digits and marks of every script,
//     with the case folded (the smallest rune that unicode.SimpleFold leads to);
//   - of scripts without spaces, and Hangul, each rune, and each two that follow
//     each other;
//   - four numbers with points between them, as in an address;
//   - each four letters that follow each other in a token, for needles that begin
//     or end inside one.
//
// A VariableBuilder makes the filter of a block whose lines are templates and
// variables. It has other keys, fewer bits of each, and none of what literals have;
// see there.
//
// # Layout
//
// One filter, or a list of them, one for each block that was joined:
//
//	one:   | 1 | flags | major | minor | segment bits | seed | CRC-32C (4) | slots ... |
//	list:  | 2 | length | one | length | one | ...
//	every: | 3 |
//
//	of variables: | 4 | flags | major | minor | CRC-32C (4) |
//	              | tokens: bits | segment bits | seed | 0 | segments (4) |
//	              | grams:  bits | segment bits | seed | 0 | segments (4) |
//	              | token slots ... | gram slots ... | digits (1250) |
//
// Of one, flag 1: the keys include the groups of four letters. Major and minor are the
// version of Unicode that defines letters. A segment has 1<<bits slots of a
// byte; there are at least three segments, or none if there are no keys. Type
// fuse describes the slots of a key. The checksum, little-endian, covers all
// bytes before and after it. A length is an unsigned varint. The filter "every"
// seems to have every key: it rules nothing out.
//
// Of variables, the flags say which grams the filter tells about: those of three
// letters (1), and of letters and digits mixed (2), are among the grams' slots; of
// four digits either these are (4), or digits has a bit for each number of four
// digits (8), from the lowest bit of its first byte on. All other grams may be in
// the block. Type packedFuse describes slots. Numbers of four bytes are
// little-endian, and the checksum covers all other bytes.
package filter

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math/bits"
	"strconv"
	"strings"
	"unicode"
)

const (
	versionOne       = 1
	versionList      = 2
	versionEvery     = 3
	versionVariables = 4

	atFlags   = 1
	atUnicode = 2
	atBits    = 4
	atSeed    = 5
	atSum     = 6
	oneHeader = 10

	flagGrams = 1

	maxSegmentBits = 18
)

// unicodeVersion is the version of the tables of package unicode. Another
// version may classify a rune differently.
var unicodeVersion = func() (v [2]byte) {
	for i, part := range strings.SplitN(unicode.Version, ".", 3)[:2] {
		n, _ := strconv.ParseUint(part, 10, 8)
		v[i] = byte(n)
	}
	return v
}()

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func sumOf(one []byte) uint32 {
	return crc32.Update(crc32.Checksum(one[:atSum], castagnoli), castagnoli, one[oneHeader:])
}

// Append appends the filter of all added texts.
func (b *Builder) Append(dst []byte) []byte {
	keys, flags := resize(b.list, b.tokens.n+b.grams.n)[:0], byte(0)
	for k := range b.tokens.all {
		keys = append(keys, k)
	}
	if b.grams.n <= b.bytes/bytesPerGram {
		flags = flagGrams
		for k := range b.grams.all {
			if !b.tokens.has(k) {
				keys = append(keys, k)
			}
		}
	}
	b.list = keys
	f, seed, slots, ok := b.peeler.build(keys)
	if !ok {
		return append(dst, versionEvery)
	}
	at := len(dst)
	dst = append(dst, versionOne, flags, unicodeVersion[0], unicodeVersion[1], f.segmentBits, seed, 0, 0, 0, 0)
	dst = append(dst, slots...)
	binary.LittleEndian.PutUint32(dst[at+atSum:], sumOf(dst[at:]))
	return dst
}

// Join appends the filter of a block that is merged from several, without
// rebuilding it: the list of their filters. They are tested one after the
// other, so their false positives add up. If one of filters is not well-formed,
// the result rules nothing out.
func Join(dst []byte, filters ...[]byte) []byte {
	if len(filters) == 1 {
		return append(dst, filters[0]...)
	}
	at := len(dst)
	dst = append(dst, versionList)
	for _, f := range filters {
		for part, err := range parts(f) {
			if err != nil || part[0] == versionEvery {
				return append(dst[:at], versionEvery)
			}
			dst = binary.AppendUvarint(dst, uint64(len(part)))
			dst = append(dst, part...)
		}
	}
	return dst
}

// Parts returns how many filters were joined into filter: 1 for one that Append
// made, 0 for one that rules nothing out.
func Parts(filter []byte) (n int) {
	for part, err := range parts(filter) {
		if err != nil || part[0] == versionEvery {
			return 0
		}
		n++
	}
	return n
}

// May reports whether a text of the filter may match the needle. It does not
// verify checksums: call Check for that. A filter that is not well-formed rules
// nothing out, and one of variables rules out needles of variables only.
func May(filter []byte, n Needle) bool {
	if n.Empty() {
		return true
	}
	for part, err := range parts(filter) {
		if err != nil || mayOne(part, n) {
			return true
		}
	}
	return false
}

func mayOne(part []byte, n Needle) bool {
	switch part[0] {
	case versionEvery:
		return true
	case versionVariables:
		return mayVariables(part, n)
	}
	if n.wide && [2]byte(part[atUnicode:]) != unicodeVersion {
		return true
	}
	keys := n.keys
	if part[atFlags]&flagGrams == 0 {
		keys = keys[:n.tokens]
	}
	slots := part[oneHeader:]
	if len(slots) == 0 {
		return len(keys) == 0
	}
	f := fuse{part[atBits], uint32(len(slots)>>part[atBits]) - 2}
	for _, k := range keys {
		if !f.has(slots, hashOf(k, part[atSeed])) {
			return false
		}
	}
	return true
}

var (
	errEmpty = errors.New("filter: 0 bytes")
	errList  = errors.New("filter: a part of the list is longer than the rest")
)

// parts ranges over the filters of a list, or the single one. Each is
// well-formed, so that mayOne can read it.
func parts(filter []byte) func(yield func([]byte, error) bool) {
	return func(yield func([]byte, error) bool) {
		if len(filter) == 0 {
			yield(nil, errEmpty)
			return
		}
		if filter[0] != versionList {
			yield(filter, checkHeader(filter))
			return
		}
		for rest := filter[1:]; len(rest) > 0; {
			n, size := binary.Uvarint(rest)
			if size <= 0 || n == 0 || n > uint64(len(rest)-size) {
				yield(nil, errList)
				return
			}
			part := rest[size : size+int(n)]
			rest = rest[size+int(n):]
			if err := checkHeader(part); !yield(part, err) || err != nil {
				return
			}
		}
	}
}

// checkHeader verifies the header and the size of a single filter.
func checkHeader(one []byte) error {
	switch {
	case one[0] == versionEvery && len(one) == 1:
		return nil
	case one[0] == versionVariables:
		_, err := readVariables(one)
		return err
	case one[0] != versionOne:
		return fmt.Errorf("filter: version %d; want %d to %d", one[0], versionOne, versionVariables)
	case len(one) < oneHeader:
		return fmt.Errorf("filter: %d bytes; want a header of %d", len(one), oneHeader)
	case one[atFlags]&^flagGrams != 0:
		return fmt.Errorf("filter: unknown flags %#x", one[atFlags])
	case len(one) == oneHeader && one[atBits] == 0:
		return nil
	}
	segmentBits, slots := one[atBits], len(one)-oneHeader
	if segmentBits > maxSegmentBits || slots&(1<<segmentBits-1) != 0 || slots>>segmentBits < 3 || bits.Len(uint(slots)) > 31 {
		return fmt.Errorf("filter: %d slots in segments of 1<<%d", slots, segmentBits)
	}
	return nil
}

// Check verifies the header and the checksum of each part of a filter.
func Check(filter []byte) error {
	for part, err := range parts(filter) {
		if err != nil {
			return err
		}
		intact := true
		switch part[0] {
		case versionOne:
			intact = binary.LittleEndian.Uint32(part[atSum:]) == sumOf(part)
		case versionVariables:
			intact = binary.LittleEndian.Uint32(part[atVariableSum:]) == sumOfVariables(part)
		}
		if !intact {
			return errors.New("filter: the checksum does not match")
		}
	}
	return nil
}
