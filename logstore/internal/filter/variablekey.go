package filter

import (
	"cmp"
	"slices"
	"unicode/utf8"
)

// A variableKey is a key that a line must have for a needle to match: in a literal
// of its template, or in the filter of variables.
type variableKey struct {
	key  uint64
	kind gramKind // 0: a token; the key of a gram of digits is their number
	text []byte   // folded, as a literal has it
}

// maxVariableGrams bounds the grams of a needle: with those of tokens there are
// at most 64 keys.
const maxVariableGrams = 32

// variableKeys returns the keys of a needle: those of tokens, long ones first,
// and then grams.
func variableKeys(text []byte, whole bool) []variableKey {
	var c tokenizer
	c.reset(text, 0)
	var tokens, grams []variableKey
	single := false // the last of tokens is of one dense rune
	for t, ok := c.next(); ok; t, ok = c.next() {
		if t.folded == nil {
			if t.before != 0 && single {
				tokens = tokens[:len(tokens)-1] // two have what one has, and more
			}
			single = t.before == 0
			tokens = append(tokens, denseVariable(t))
			continue
		}
		single = false
		known := func(end int) bool { return whole || t.start > 0 && end < len(text) }
		if known(t.end) && isVariableKey(t.folded) {
			tokens = append(tokens, variableKey{key: wordKey(t.folded), text: slices.Clone(t.folded)})
		}
		if startsQuad(text, t.start, t.end) {
			if end := quadAt(text, t.start); end >= 0 && known(end) {
				tokens = append(tokens, variableKey{key: wordKey(text[t.start:end]), text: text[t.start:end]})
			}
		}
		folded := slices.Clone(t.folded)
		variableGrams(folded, func(kind gramKind, key uint64, at, end int) {
			grams = append(grams, variableKey{key, kind, folded[at:end]})
		})
	}
	slices.SortStableFunc(tokens, func(a, b variableKey) int { return cmp.Compare(len(b.text), len(a.text)) })
	slices.SortStableFunc(grams, func(a, b variableKey) int { return cmp.Compare(b.kind, a.kind) })
	return append(distinct(tokens, maxNeedleKeys), distinct(grams, maxVariableGrams)...)
}

func denseVariable(t token) variableKey {
	var text []byte
	if t.before != 0 {
		text = utf8.AppendRune(text, t.before)
	}
	return variableKey{key: denseKey(t.before, t.dense), text: utf8.AppendRune(text, t.dense)}
}

// distinct returns the first of the keys, each once, up to a number.
func distinct(keys []variableKey, limit int) (list []variableKey) {
	for _, k := range keys {
		if len(list) < limit && !slices.ContainsFunc(list, func(o variableKey) bool { return o.key == k.key && o.kind == k.kind }) {
			list = append(list, k)
		}
	}
	return list
}
