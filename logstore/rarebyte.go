package logstore

import "bytes"

// bytes.Contains looks for the first byte of the substring, which is in most
// lines. In a text as long as a chunk it pays to look for its rarest byte.

// common lists the bytes that logs mostly have, the most common first; all
// others are rarer. Only speed depends on it.
const common = " 0e1t2aroi3ns5.4d67l98c:-upm/,=_h\"bfg[]gvyw;Tk()DAISx\x00\x01'RE{}COPNLMjFUBzWHVGqKXYJQZ@%#&+*"

// rarity is how common a byte is: the higher the rarer.
var rarity = func() (r [256]uint8) {
	for i := range r {
		r[i] = 255
	}
	for i := len(common) - 1; i >= 0; i-- {
		r[common[i]] = uint8(i)
	}
	return r
}()

// rareByte returns the index of the rarest byte of s, which is not empty.
func rareByte(s []byte) int {
	best := 0
	for i, c := range s {
		if rarity[c] > rarity[s[best]] {
			best = i
		}
	}
	return best
}

// indexRare is bytes.Index for long texts that mostly do not contain s. at is the index
// of its rarest byte.
func indexRare(text, s []byte, at int) int {
	fails := 0
	for pos := at; pos < len(text); {
		i := bytes.IndexByte(text[pos:], s[at])
		if i < 0 {
			return -1
		}
		begin := pos + i - at
		if bytes.HasPrefix(text[begin:], s) {
			return begin
		}
		pos += i + 1
		// The byte is not rare here.
		if fails++; fails > 16+pos>>6 {
			if i := bytes.Index(text[pos-at:], s); i >= 0 {
				return pos - at + i
			}
			return -1
		}
	}
	return -1
}
