package filter

import (
	"cmp"
	"slices"
	"unicode/utf8"
)

// A Needle is the set of keys that a filter must have for a text to match. The
// zero value requires none. It may be used by many goroutines at once.
type Needle struct {
	keys   []uint64 // of tokens, and then of grams
	tokens int      // how many are of tokens
	wide   bool     // made of text that is not ASCII: it depends on the version of Unicode

	variables []variableKey // instead of keys, for filters of variables
	variable  bool          // it is a needle of variables
}

// maxNeedleKeys bounds the keys of each kind: with that many, false positives
// are negligible.
const maxNeedleKeys = 16

// Empty reports whether the needle requires no key, so that every text may
// match.
func (n Needle) Empty() bool {
	if n.variable {
		return len(n.variables) == 0
	}
	return len(n.keys) == 0
}

// OfVariables returns the needle for a search of n's text in what is not literal:
// in a variable, in a variable with bytes of literals around it, or in a text that
// was added whole. A VariableBuilder's filter rules nothing out but such needles. A
// filter of whole lines is tested as with n.
//
// It is right only for lines of which no literal has a key of n: a literal may have
// some of the words of a needle that goes across a slot. The needle of the other
// words alone is right for these.
func (n Needle) OfVariables() Needle {
	n.variable = true
	return n
}

// Substring is the needle of texts that contain s, in any case (see
// ContainsFold). s may begin or end within a word, and within a rune.
//
// It is Empty if s has neither a whole token nor four adjacent letters, such as
// "4711" with nothing around it.
func Substring(s []byte) Needle { return needle(s, false) }

// Word is the needle of texts that contain s as whole tokens, in any case (see
// HasWord).
func Word(s []byte) Needle { return needle(s, true) }

type needleKey struct {
	key   uint64
	bytes int
}

func needle(s []byte, whole bool) Needle {
	text := aligned(s)
	var c tokenizer
	c.reset(text, 0)
	var found []needleKey
	var grams []uint64
	single := false // the last of found is of one dense rune
	for t, ok := c.next(); ok; t, ok = c.next() {
		if t.folded == nil {
			if t.before != 0 && single {
				found = found[:len(found)-1] // two have what one has, and more
			}
			single = t.before == 0
			found = append(found, needleKey{denseKey(t.before, t.dense), t.end - t.start})
			continue
		}
		single = false
		// A token at an end of s may extend beyond it, unless s is whole.
		known := func(end int) bool { return whole || t.start > 0 && end < len(text) }
		if known(t.end) {
			found = append(found, needleKey{wordKey(t.folded), len(t.folded)})
		}
		if startsQuad(text, t.start, t.end) {
			if end := quadAt(text, t.start); end >= 0 && known(end) {
				found = append(found, needleKey{wordKey(text[t.start:end]), end - t.start})
			}
		}
		grams = appendGrams(grams, t.folded)
	}
	// Long words are rare: they come first, as the first missing key ends the
	// search.
	slices.SortStableFunc(found, func(a, b needleKey) int { return cmp.Compare(b.bytes, a.bytes) })
	var n Needle
	for _, k := range found {
		n.add(k.key, maxNeedleKeys)
	}
	n.tokens = len(n.keys)
	for _, k := range grams {
		n.add(k, n.tokens+maxNeedleKeys)
	}
	n.wide = slices.ContainsFunc(text, func(b byte) bool { return b >= utf8.RuneSelf })
	n.variables = variableKeys(text, whole, maxNeedleKeys)
	return n
}

func (n *Needle) add(key uint64, limit int) {
	if len(n.keys) < limit && !slices.Contains(n.keys, key) {
		n.keys = append(n.keys, key)
	}
}

// aligned returns the part of s that has whole runes, wherever in a text s is.
// The first bytes may belong to a rune that begins before s, and the last rune
// may end after it. The bytes around that part are unknown.
func aligned(s []byte) []byte {
	for len(s) > 0 && !utf8.RuneStart(s[0]) {
		s = s[1:]
	}
	for i := max(0, len(s)-(utf8.UTFMax-1)); i < len(s); i++ {
		if utf8.RuneStart(s[i]) && !utf8.FullRune(s[i:]) {
			return s[:i]
		}
	}
	return s
}
