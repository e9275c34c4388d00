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

// variableGrams calls yield for each gram of a folded token, or of a part of one,
// with where it begins. The key of digits is their number.
func variableGrams(p []byte, yield func(kind gramKind, key uint64, at int)) {
	letters, digits := 0, 0
	for i, c := range p {
		if isDigit(c) {
			letters, digits = 0, digits+1
		} else {
			letters, digits = letters+1, 0
		}
		if letters >= letterGramBytes {
			yield(letterGram, gramKey([]byte{p[i-2], p[i-1], c, 0}), i-2)
		}
		switch at := i + 1 - gramBytes; {
		case at < 0:
		case digits >= gramBytes:
			yield(digitGram, digitGramOf(p[at:]), at)
		case letters < gramBytes:
			yield(mixedGram, gramKey(p[at:]), at)
		}
	}
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
