package column

// Alphabet tells of a column, by the first of its packed bytes alone, whether all of its
// values have only digits and the signs from '+' to '/', or, with hex, also the letters
// from a to f in either case.
func Alphabet(packed []byte) (digits, hex bool) {
	if len(packed) == 0 || packed[0]&flagMiss != 0 {
		return false, false
	}
	switch KindOf(packed) {
	case Integer, Decimal, IPv4:
		return true, false
	case Hex, HexUpper, UUID, HexBytes:
		return true, true
	}
	return false, false
}
