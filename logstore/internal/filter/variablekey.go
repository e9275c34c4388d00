package filter

import (
	"cmp"
	"slices"
)

// A variableKey is a key that the filter of variables must have for a needle to
// match.
type variableKey struct {
	key   uint64
	kind  gramKind // 0: a token; the key of a gram of digits is their number
	bytes int
}

// variableKeys returns the keys of a needle: those of tokens, long ones first,
// and then grams, at most limit of each.
func variableKeys(text []byte, whole bool, limit int) []variableKey {
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
			tokens = append(tokens, variableKey{key: denseKey(t.before, t.dense), bytes: t.end - t.start})
			continue
		}
		single = false
		known := func(end int) bool { return whole || t.start > 0 && end < len(text) }
		if known(t.end) && isVariableKey(t.folded) {
			tokens = append(tokens, variableKey{key: wordKey(t.folded), bytes: len(t.folded)})
		}
		if startsQuad(text, t.start, t.end) {
			if end := quadAt(text, t.start); end >= 0 && known(end) {
				tokens = append(tokens, variableKey{key: wordKey(text[t.start:end]), bytes: end - t.start})
			}
		}
		grams = appendVariableGrams(grams, t.folded)
	}
	slices.SortStableFunc(tokens, func(a, b variableKey) int { return cmp.Compare(b.bytes, a.bytes) })
	slices.SortStableFunc(grams, func(a, b variableKey) int { return cmp.Compare(b.kind, a.kind) }) // rare ones first
	return append(distinct(tokens, limit), distinct(grams, limit)...)
}

// appendVariableGrams appends the grams of a folded token, or of a part of one.
func appendVariableGrams(dst []variableKey, folded []byte) []variableKey {
	var runs gramRuns
	for i, c := range folded {
		kinds := runs.add(c)
		if kinds&letterGram != 0 {
			dst = append(dst, variableKey{key: letterGramKey(folded[i-2:]), kind: letterGram})
		}
		if kinds&digitGram != 0 {
			dst = append(dst, variableKey{key: digitGramOf(folded[i-3:]), kind: digitGram})
		}
		if kinds&mixedGram != 0 {
			dst = append(dst, variableKey{key: gramKey(folded[i-3:]), kind: mixedGram})
		}
	}
	return dst
}

// distinct returns the first of the keys, each once, up to limit.
func distinct(keys []variableKey, limit int) (list []variableKey) {
	for _, k := range keys {
		if len(list) < limit && !slices.ContainsFunc(list, func(o variableKey) bool { return o.key == k.key && o.kind == k.kind }) {
			list = append(list, k)
		}
	}
	return list
}
