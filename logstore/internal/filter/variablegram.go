package filter

// A gram of a variable is a few adjacent bytes of one of its tokens, for needles
// that begin or end inside a token. The bytes of runes that are not ASCII count as
// letters.
type gramKind uint8

const (
	letterGram gramKind = 1 << iota // three letters
	digitGram                       // four digits
	mixedGram                       // four bytes, both letters and digits
)

const (
	letterGramBytes = 3
	digitGrams      = 10_000 // all of them
)

func isDigit(c byte) bool { return c-'0' <= 9 }

// gramRuns counts the letters and digits before an offset of a token.
type gramRuns struct{ n, letters, digits int }

// add adds a byte of a folded token, and returns the kinds of grams that end with it.
func (r *gramRuns) add(c byte) (kinds gramKind) {
	r.n++
	if isDigit(c) {
		r.digits, r.letters = r.digits+1, 0
	} else {
		r.digits, r.letters = 0, r.letters+1
	}
	if r.letters >= letterGramBytes {
		kinds = letterGram
	}
	switch {
	case r.n < gramBytes || r.letters >= gramBytes:
		return kinds
	case r.digits >= gramBytes:
		return digitGram
	}
	return kinds | mixedGram
}

// letterGramKey returns the key of three letters.
func letterGramKey(p []byte) uint64 {
	return gramKey4(uint32(p[0]) | uint32(p[1])<<8 | uint32(p[2])<<16)
}

// digitGramOf returns the number of four digits.
func digitGramOf(p []byte) uint64 {
	return uint64(p[0]-'0')*1000 + uint64(p[1]-'0')*100 + uint64(p[2]-'0')*10 + uint64(p[3]-'0')
}

// digitGramKey returns the key of four digits, given by their number.
func digitGramKey(n uint64) uint64 {
	return gramKey([]byte{byte('0' + n/1000), byte('0' + n/100%10), byte('0' + n/10%10), byte('0' + n%10)})
}

const (
	// Numbers of fewer digits are no keys: a block has most of those with up to
	// three, and the grams of digits tell of those with four or five.
	keyDigits = 6
	// Tokens of so many bytes that have letters and digits are no keys: most are
	// the middle parts of UUIDs. Each is a gram.
	noKeyMixed = 4
)

// isVariableKey reports whether a folded word is a key when it is in a slot.
func isVariableKey(folded []byte) bool {
	digits := 0
	for _, c := range folded {
		if isDigit(c) {
			digits++
		}
	}
	switch digits {
	case 0:
		return true
	case len(folded):
		return digits >= keyDigits
	}
	return len(folded) != noKeyMixed
}
