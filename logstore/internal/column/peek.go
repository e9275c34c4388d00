package column

import (
	"bytes"
	"encoding/binary"
	"slices"
	"unicode/utf8"
)

// A Share is how many values of a column pass a test.
type Share uint8

const (
	Some Share = iota // it is not known
	None
	All
)

// Peek tells how many values of a column pass a test, by the packed bytes alone: as of
// Open, which need not have been called. It tells None only of a column that Open does not
// refuse, or that has no such value.
func Peek(packed []byte, t Test) Share {
	if len(packed) == 0 || packed[0]&flagMiss != 0 || len(t.Text) == 0 {
		return Some
	}
	t = t.plain()
	if share := fitShare(packed, t); share != Some {
		return share
	}
	if t.isASCII() && !mayFit(packed, t) {
		return None
	}
	return Some
}

// mayFit reports whether the numbers of a column without misses may pass a test, by their range.
func mayFit(packed []byte, t Test) bool {
	kind, param, p := KindOf(packed), 0, packed[1:]
	if packed[0]&flagWidth != 0 || kind == Decimal {
		if len(p) == 0 {
			return true
		}
		param, p = int(p[0]), p[1:]
	}
	return mayNumbers(kind, param, p, t)
}

// fitShare tells how many of the values that are no misses pass a test, by their kind alone.
func fitShare(packed []byte, t Test) Share {
	kind := KindOf(packed)
	if !t.isASCII() || len(t.Text) == 0 {
		return Some
	}
	switch kind {
	case Integer, Hex, HexUpper, Decimal, IPv4, HexBytes:
		if !mayAlphabet(kind, t) {
			return None
		}
		if kind == IPv4 && t.Op == Contains && len(t.Text) == 1 && t.Text[0] == '.' {
			return All
		}
	case UUID:
		return uuidShape.share(t)
	case Time:
		if len(packed) > 2 {
			return timeShare(formOfBytes(packed[1], packed[2]), t)
		}
	}
	return Some
}

// plain returns the test without folding where that changes nothing.
func (t Test) plain() Test {
	t.Fold = t.Fold && !caseless(t.Text)
	return t
}

// isASCII reports whether no letter of ASCII is equal to a rune of the text beyond ASCII.
func (t Test) isASCII() bool {
	return !t.Fold || !slices.ContainsFunc(t.Text, func(b byte) bool { return b >= utf8.RuneSelf })
}

// PeekText is Peek by the text bytes as well.
func PeekText(packed, text []byte, t Test) Share {
	switch {
	case len(packed) == 0:
		return Some
	case packed[0] == byte(Constant):
		size, n := binary.Uvarint(packed[1:])
		if n != len(packed)-1 || size != uint64(len(text)) {
			return Some
		}
		if t.Holds(text) {
			return All
		}
		return None
	case packed[0] == byte(Text) && !t.Fold && len(t.Text) > 0 && !bytes.Contains(text, t.Text):
		return None
	}
	return Some
}

// PeekWithout is Peek for a column whose text bytes do not have the text of the test, which is not
// folded, in them: it looks at dictionaries and at values that do not fit as well. Only None tells
// more than Peek.
func PeekWithout(packed []byte, t Test) Share {
	if len(packed) == 0 || len(t.Text) == 0 || t.Fold {
		return Some
	}
	switch kind := KindOf(packed); kind {
	case Constant, Text:
		return None
	case Dictionary:
		if _, n := binary.Uvarint(packed[1:]); n > 0 && packed[0] == byte(Dictionary) {
			return peekEntries(packed[1+n:], t)
		}
	default:
		if may, ok := fitMay(packed, t); ok && !may {
			return None
		}
	}
	return Some
}

// FitMayPass reports whether it is known that numbers may pass a test, of a column with other values
// as well: so its part tells nothing more; see OpenPart.
func FitMayPass(packed []byte, t Test) bool {
	may, ok := fitMay(packed, t.plain())
	return ok && may
}

// peekEntries is PeekWithout for the values of a dictionary.
func peekEntries(packed []byte, t Test) Share {
	if len(packed) == 0 {
		return Some
	}
	if kind := KindOf(packed); kind <= Text {
		return None
	}
	return Peek(packed, t)
}

// fitMay reports whether numbers of a column may pass a test, by their kind and their range. ok is
// false for columns of other kinds, and unless the values that do not fit are texts.
func fitMay(packed []byte, t Test) (may, ok bool) {
	if len(packed) == 0 || packed[0]&flagMiss == 0 || len(t.Text) == 0 || !t.isASCII() {
		return false, false
	}
	kind, param, p := KindOf(packed), 0, packed[1:]
	if kind < Integer || kind > IPv4 {
		return false, false
	}
	if packed[0]&flagWidth != 0 || kind == Decimal {
		if len(p) == 0 {
			return false, false
		}
		param, p = int(p[0]), p[1:]
	}
	_, n := binary.Uvarint(p)
	if n <= 0 || len(p) < n+2 {
		return false, false
	}
	switch p = p[n:]; {
	case p[0] == byte(Constant):
		p = p[1:]
	case p[0] == byte(Text) && p[1] > 0:
		p = p[2:]
	default:
		return false, false
	}
	if _, n = binary.Uvarint(p); n <= 0 { // bytes of text
		return false, false
	}
	return fitShare(packed, t) != None && mayNumbers(kind, param, p[n:], t), true
}

// longest is the most bytes of a value of a kind.
var longest = [...]int{Integer: maxDigits + 1, Hex: 16, HexUpper: 16, Decimal: maxDigits + 2, IPv4: 15, HexBytes: 2 * hexBytesMost}

// alphabets are the bytes of values of the kinds of numbers.
var alphabets = [...]byteSet{
	Integer: setOf("-0123456789"), Decimal: setOf("-.0123456789"), IPv4: setOf(".0123456789"),
	Hex: setOf(lowerAlphabet), HexUpper: setOf(upperAlphabet), HexBytes: setOf(lowerAlphabet),
}

func setOf(s string) (b byteSet) {
	b.add(s)
	return b
}

// mayAlphabet reports whether values of a kind may have all bytes of the text.
func mayAlphabet(kind Kind, t Test) bool {
	if len(t.Text) > longest[kind] {
		return false
	}
	set := &alphabets[kind]
	run := 0
	for _, b := range t.Text {
		if !t.meets(set, b) {
			return false
		}
		if run++; b == '.' {
			run = 0
		}
		if kind == IPv4 && run > 3 {
			return false
		}
	}
	return true
}

// meets reports whether a set has a byte of the text, which is of ASCII if it is folded.
func (t Test) meets(set *byteSet, b byte) bool {
	return set.has(b) || t.Fold && b|0x20 >= 'a' && b|0x20 <= 'z' && set.has(b^0x20)
}

// A shape has the bytes that values of one length have at each place.
type shape []*byteSet

var (
	digitSet  = setOf(allDigits)
	firstSets = map[byte]*byteSet{ // of the first digit
		'm': new(setOf("01")), 'd': new(setOf("0123")), 'e': new(setOf(" 123")), 'H': new(setOf("012")), 'M': new(setOf("012345")), 'S': new(setOf("012345")),
	}
	hexSet    = setOf(lowerAlphabet)
	dashSet   = setOf("-")
	uuidShape = func() (s shape) {
		for i := range uuidLength {
			if i == 8 || i == 13 || i == 18 || i == 23 {
				s = append(s, &dashSet)
			} else {
				s = append(s, &hexSet)
			}
		}
		return s
	}()
	layoutShapes = func() (all [len(layouts)]shape) {
		for i := range all {
			all[i] = shapeOf(&parsedLayouts[i])
		}
		return all
	}()
)

// shapeOf returns the shape of times of a layout, without fractions.
func shapeOf(l *layout) (s shape) {
	for _, f := range l.fields {
		for k := range int(f.width) {
			set := &digitSet
			switch {
			case f.width == 1:
				set = new(setOf(string(f.letter)))
			case f.letter == 'b':
				set = everyThird(monthNames[k:])
			case f.letter == 'a':
				set = everyThird(dayNames[k:])
			case k == 0 && firstSets[f.letter] != nil:
				set = firstSets[f.letter]
			}
			s = append(s, set)
		}
	}
	return s
}

func everyThird(names string) *byteSet {
	var b byteSet
	for i := 0; i < len(names); i += 3 {
		b.add(names[i : i+1])
	}
	return &b
}

var fractionSets = func() (s [len(fractions)]byteSet) {
	for i, b := range fractions {
		s[i] = setOf(string(rune(b)))
	}
	return s
}()

var zuluSet = setOf("Z")

// maxTime is more bytes than a time has.
const maxTime = 64

// timeShare tells how many times of a form pass a test.
func timeShare(f timeForm, t Test) Share {
	if !f.valid() {
		return Some
	}
	var room [maxTime]*byteSet
	return f.shape(room[:0]).share(t)
}

// shape appends what times of a form have, which is valid.
func (f timeForm) shape(s shape) shape {
	whole := layoutShapes[f.layout]
	at := parsedLayouts[f.layout].fraction
	s = append(s, whole[:at]...)
	if f.before() > 0 {
		s = append(s, &fractionSets[f.fraction])
	}
	for range f.digits {
		s = append(s, &digitSet)
	}
	if s = append(s, whole[at:]...); f.zulu > 0 {
		s = append(s, &zuluSet)
	}
	return s
}

// share tells how many values of the shape pass a test.
func (s shape) share(t Test) Share {
	last := len(s) - len(t.Text)
	if last < 0 || t.Op == Equal && last > 0 {
		return None
	}
	from := 0
	switch t.Op {
	case HasPrefix:
		last = 0
	case HasSuffix:
		from = last
	}
	share := None
	for at := from; at <= last; at++ {
		switch s[at:].begins(t) {
		case All:
			return All
		case Some:
			share = Some
		}
	}
	return share
}

// begins tells how many values have the text at their beginning.
func (s shape) begins(t Test) Share {
	share := All
	for i, b := range t.Text {
		if !t.meets(s[i], b) {
			return None
		}
		if !s[i].single() || t.Fold {
			share = Some
		}
	}
	return share
}
