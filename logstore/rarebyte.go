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

// rareBytes returns the indexes of the rarest byte of s, which is not empty, and of the
// rarest of the others: rare again if s has but one.
func rareBytes(s []byte) (rare, second int) {
	return rarestTwo(s, func(c byte) int { return 255 - int(rarity[c]) })
}

// rarestTwo returns the indexes of the two bytes of s that are the least common.
func rarestTwo(s []byte, commonness func(c byte) int) (rare, second int) {
	second = -1
	for i := 1; i < len(s); i++ {
		switch n := commonness(s[i]); {
		case n < commonness(s[rare]):
			rare, second = i, rare
		case second < 0 || n < commonness(s[second]):
			second = i
		}
	}
	return rare, max(second, 0)
}

// indexRare is bytes.Index for long texts that mostly do not contain s. rare and second are
// the indexes of its rarest bytes, equal only if it has but one.
func indexRare(text, s []byte, rare, second int) int {
	fails := 0
	for pos := rare; pos < len(text); {
		i := bytes.IndexByte(text[pos:], s[rare])
		if i < 0 {
			return -1
		}
		begin := pos + i - rare
		if bytes.HasPrefix(text[begin:], s) {
			return begin
		}
		pos += i + 1
		// The byte is not rare here. To stop at it takes longer than to look at both.
		if fails++; fails > 8+pos>>8 && len(s) > 1 {
			begin = pos - rare
			if i := indexPair(text[begin:], s, min(rare, second), max(rare, second)); i >= 0 {
				return begin + i
			}
			return -1
		}
	}
	return -1
}
