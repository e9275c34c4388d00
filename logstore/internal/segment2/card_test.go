package segment2

import (
	"fmt"
	"testing"
)

// A card rules out the tenants that a segment does not have, also where there are too
// many for their ranges, and counts what that takes.
func TestCardOfManyTenants(t *testing.T) {
	for _, c := range []struct {
		tenants    int
		rulesOut   bool
		mostWeight int64 // beside that of a card of one tenant
	}{{1, true, 0}, {cardTenants, true, cardTenants * 200}, {cardTenants + 1, true, 4 * (cardTenants + 1)}, {1000, true, 4000}, {cardHashes + 1, false, 0}} {
		var rows []row
		for i := range c.tenants {
			k := streamKey{fmt.Sprintf("tenant-%05d", i), labelsOf("app", "a")}
			rows = append(rows, row{streamKey: k, time: 1_700_000_000_000, id: ID{uint64(i) + 1, 0}, line: "line"})
		}
		p := pack(t, rows, Info{Upto: 1e6}, 1<<20, 1000).p
		card := must(OpenCard(memory{p: p}, int64(len(p))))
		for i := range c.tenants {
			if !card.MaySelect(fmt.Sprintf("tenant-%05d", i), nil) {
				t.Errorf("%d tenants: tenant %d is ruled out", c.tenants, i)
			}
		}
		found := 0
		for i := range 1000 {
			if card.MaySelect(fmt.Sprintf("other-%05d", i), nil) {
				found++
			}
		}
		if c.rulesOut && found > 2 || !c.rulesOut && found != 1000 {
			t.Errorf("%d tenants: %d of 1000 others may be there", c.tenants, found)
		}
		if card.Slim().hashes != nil || !card.Slim().MaySelect("other", nil) {
			t.Errorf("%d tenants: a slim card rules something out", c.tenants)
		}
		x := card.Index(memory{p: p}, mapCache{})
		last := fmt.Sprintf("tenant-%05d", c.tenants-1)
		if low, high, err := x.(*index2).tenant(t.Context(), last); err != nil || int(high) != c.tenants || high-low != 1 {
			t.Errorf("%d tenants: the last has the streams from %d to %d, %v", c.tenants, low, high, err)
		}
		bare := *card
		bare.tenants, bare.hashes = nil, nil
		if w := card.Weight() - bare.Weight(); w > c.mostWeight+200 || c.rulesOut && w == 0 {
			t.Errorf("%d tenants take %d bytes of a card", c.tenants, w)
		}
	}
}
