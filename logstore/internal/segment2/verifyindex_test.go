package segment2

import (
	"slices"
	"testing"
)

// A flipped bit of the header or of the index is found, and nothing else is read.
func TestVerifyIndex(t *testing.T) {
	k := specimen(t)
	card := k.open(t, false).card
	i := slices.IndexFunc(card.sections, func(s section) bool { return s.kind != TypeFilters })
	index := int(card.sections[i].off)
	for at := 0; at < int(k.open(t, false).card.info.Size); at += 7 {
		p := slices.Clone(k.p)
		p[at] ^= 1 << (at % 8)
		err := card.VerifyIndex(t.Context(), memory{p: p})
		// The card has the section table and the footer.
		end := card.sections[len(card.sections)-1]
		want := at < headerSize || at >= index && at < int(end.off+end.bytes)
		if isCorrupt(err) != want || err != nil && !want {
			t.Errorf("a bit at %d, with the index from %d: %v", at, index, err)
		}
	}
}
