package column

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// TestDigitFinder compares both ways of finding digits, of few and of many numbers, with texts.
func TestDigitFinder(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	found := [maxDigits]int{} // by digits that are looked for
	for k := range 600 {
		var f digitFinder
		digits := fmt.Sprintf("%0*d", 1+rng.IntN(6), rng.IntN(1<<rng.IntN(20)))
		if k%2 == 0 {
			digits = fmt.Sprintf("%019d", rng.Uint64N(1e19))[:1+k/2%(maxDigits-1)]
		}
		f.set([]byte(digits))
		for i := range 60 {
			if i == 30 {
				f.use(fewMet + 1)
			}
			u, width := rng.Uint64()>>rng.IntN(64), rng.IntN(12)
			if rng.IntN(2) == 0 {
				u = uint64(rng.IntN(30))
			}
			if rng.IntN(4) == 0 { // it has them, or all but one, and perhaps others around
				s := digits + fmt.Sprint(rng.IntN(1000))
				if j := rng.IntN(2 * len(digits)); j < len(digits) {
					s = s[:j] + fmt.Sprint(rng.IntN(10)) + s[j+1:]
				}
				if rng.IntN(2) == 0 {
					s = fmt.Sprint(rng.IntN(100)) + s
				}
				u, _ = strconv.ParseUint(s[:min(len(s), maxDigits-1)], 10, 64)
			}
			text := fmt.Sprintf("%0*d", width, u)
			got := f.in(u, width)
			if got != strings.Contains(text, digits) {
				t.Fatalf("%s in %s: %v", digits, text, got)
			}
			if got {
				found[len(digits)]++
			}
		}
	}
	for n, times := range found {
		if n > 0 && times == 0 {
			t.Errorf("no %d digits were found", n)
		}
	}
}

// TestMatchDigitsOfHex finds digits in numbers, raw bytes and parts without making their texts.
func TestMatchDigitsOfHex(t *testing.T) {
	var e Encoder
	var c Column
	rng := rand.New(rand.NewPCG(8, 8))
	hex := func(int) string { return fmt.Sprintf("%x", rng.Uint64()>>rng.IntN(64)|1<<12) }
	bytesOf := func(int) string { return fmt.Sprintf("%016x%016x", rng.Uint64(), rng.Uint64()) }
	missing := func(f func(int) string) func(int) string {
		return func(i int) string {
			if i%25 == 7 {
				return fmt.Sprintf("no-%03x", rng.IntN(1<<12))
			}
			return f(i)
		}
	}
	for i, of := range []struct {
		kind Kind
		text func(int) string
	}{
		{Hex, hex},
		{Hex, missing(hex)},
		{HexUpper, func(int) string { return fmt.Sprintf("%08X", rng.Uint32()) }},
		{UUID, func(int) string { return uuid(rng) }},
		{UUID, missing(func(int) string { return uuid(rng) })},
		{HexBytes, bytesOf},
		{HexBytes, missing(bytesOf)},
		{Pattern, func(int) string { return fmt.Sprintf("blk-%d:%d", rng.IntN(1e6), rng.Int32()) }},
		{Pattern, func(int) string { return fmt.Sprintf("%d/%d", rng.IntN(1e6), rng.Int32()) }},
	} {
		v := texts(500, of.text)
		packed, text := encode(&e, v, rowTimes(len(v)))
		if KindOf(packed) != of.kind {
			t.Fatalf("column %d is of kind %v; want %v", i, KindOf(packed), of.kind)
		}
		if err := c.Open(packed, text, len(v), nil); err != nil {
			t.Fatal(err)
		}
		if want := strings.HasPrefix(v[7], "no-"); (c.misses != nil) != want {
			t.Fatalf("column %d has values that do not fit: %v; want %v", i, !want, want)
		}
		passed := 0
		for range 300 {
			part := partOf(rng, v[rng.IntN(len(v))])
			hits := make([]uint64, (len(v)+63)/64)
			c.Match(hits, Test{Text: []byte(part)})
			for i, s := range v {
				if hit := hits[i/64]>>(i%64)&1 != 0; hit != strings.Contains(s, part) {
					t.Fatalf("%q in %q of a %v column: %v", part, s, of.kind, hit)
				} else if hit {
					passed++
				}
			}
		}
		if passed == 0 {
			t.Errorf("nothing was found in a %v column", of.kind)
		}
	}
}

// partOf returns a part of a value, mostly short, sometimes in the other case or with another digit
// at its end.
func partOf(rng *rand.Rand, s string) string {
	from, most := rng.IntN(len(s)), 5
	if rng.IntN(3) == 0 {
		from, most = rng.IntN(2), 17
	}
	part := s[from : from+1+rng.IntN(min(len(s)-from, most))]
	switch rng.IntN(8) {
	case 0:
		return strings.ToUpper(part)
	case 1:
		return strings.ToLower(part)
	case 2:
		return part[:len(part)-1] + string("0123456789abcdef"[rng.IntN(16)])
	}
	return part
}
