package segment2

import (
	"slices"
	"testing"
)

// A flipped bit of the header or of the index is found, and nothing else is read.
func TestVerifyIndex(t *testing.T) {
	k := specimen(t)
	card := k.open(t, false).card
	filters := *card.section(TypeFilters)
	for at := 0; at < int(k.open(t, false).card.info.Size); at += 7 {
		p := slices.Clone(k.p)
		p[at] ^= 1 << (at % 8)
		err := card.VerifyIndex(t.Context(), memory{p: p})
		// The card has the section table and the footer.
		end := card.sections[len(card.sections)-1]
		inside := int64(at) >= card.sections[0].off && int64(at) < end.off+end.bytes
		want := at < headerSize || inside && (int64(at) < filters.off || int64(at) >= filters.off+filters.bytes)
		if isCorrupt(err) != want || err != nil && !want {
			t.Errorf("a bit at %d: %v", at, err)
		}
	}
}
