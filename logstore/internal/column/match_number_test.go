package column

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestDigitFinder compares both ways of finding digits, of few and of many numbers, with texts.
func TestDigitFinder(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	found := 0
	for range 300 {
		var f digitFinder
		digits := fmt.Sprintf("%0*d", 1+rng.IntN(6), rng.IntN(1<<rng.IntN(20)))
		f.set([]byte(digits))
		for i := range 60 {
			if i == 30 {
				f.use(fewMet + 1)
			}
			u, width := rng.Uint64()>>rng.IntN(64), rng.IntN(12)
			if rng.IntN(2) == 0 {
				u = uint64(rng.IntN(30))
			}
			text := fmt.Sprintf("%0*d", width, u)
			got := f.in(u, width)
			if got != strings.Contains(text, digits) {
				t.Fatalf("%s in %s: %v", digits, text, got)
			}
			if got {
				found++
			}
		}
	}
	if found == 0 {
		t.Error("no digits were found")
	}
}

// TestMatchDigitsOfHex finds digits in numbers, raw bytes and parts without making their texts.
func TestMatchDigitsOfHex(t *testing.T) {
	var e Encoder
	var c Column
	rng := rand.New(rand.NewPCG(8, 8))
	columns := map[Kind][]string{
		Hex:      texts(500, func(int) string { return fmt.Sprintf("%x", rng.Uint64()>>rng.IntN(64)|1<<12) }),
		HexUpper: texts(500, func(int) string { return fmt.Sprintf("%08X", rng.Uint32()) }),
		UUID:     texts(500, func(int) string { return uuid(rng) }),
		HexBytes: texts(500, func(int) string { return fmt.Sprintf("%016x%016x", rng.Uint64(), rng.Uint64()) }),
		Pattern:  texts(500, func(int) string { return fmt.Sprintf("blk-%d:%d", rng.IntN(1e6), rng.Int32()) }),
	}
	for kind, v := range columns {
		packed, text := encode(&e, v, rowTimes(len(v)))
		if KindOf(packed) != kind {
			t.Fatalf("a %v column; want %v", KindOf(packed), kind)
		}
		if err := c.Open(packed, text, len(v), nil); err != nil {
			t.Fatal(err)
		}
		passed := 0
		for range 300 {
			s := v[rng.IntN(len(v))]
			from := rng.IntN(len(s))
			part := s[from : from+1+rng.IntN(min(len(s)-from, 5))]
			hits := make([]uint64, (len(v)+63)/64)
			c.Match(hits, Test{Text: []byte(part)})
			for i, s := range v {
				if hit := hits[i/64]>>(i%64)&1 != 0; hit != strings.Contains(s, part) {
					t.Fatalf("%q in %q of a %v column: %v", part, s, kind, hit)
				} else if hit {
					passed++
				}
			}
		}
		if passed == 0 {
			t.Errorf("nothing was found in a %v column", kind)
		}
	}
}
