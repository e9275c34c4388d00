package filter

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"testing"
)

func TestSets(t *testing.T) {
	var b SetBuilder
	for _, n := range []int{0, 1, 2, 3, 7, 100, 1000, 50_000} {
		for i := range n {
			b.Add(KeyOf(fmt.Sprint("key", i)))
			b.Add(KeyOf([]byte(fmt.Sprint("key", i))))
		}
		set := b.Append(nil)
		for i := range n {
			if !InSet(set, KeyOf(fmt.Sprint("key", i))) {
				t.Fatalf("key %d of %d is not in the set", i, n)
			}
		}
		wrong := 0
		for i := range 20_000 {
			if InSet(set, KeyOf(fmt.Sprint("other", i))) {
				wrong++
			}
		}
		if most := 20_000 * 2 / 256; wrong > most || !IsSet(set) || len(set) > 2+6*max(n, 2) {
			t.Errorf("%d keys: %d bytes; %d of 20,000 others seem to be there, want at most %d", n, len(set), wrong, most)
		}
		t.Logf("%d keys: %d bytes", n, len(set))
	}
}

// Keys are part of the format.
func TestKeys(t *testing.T) {
	for s, want := range map[string]uint64{
		"":                  0x2afa3043c0fbb4d2,
		"a":                 0xc993d9c0afd1d96,
		"0123456789abcdef":  0xec7c7db9f78ae054,
		"0123456789abcdef0": 0x4bb1894735ce1a1a,
		"a key of more than 32 bytes, as labels have": 0x76f6235beb06dce0,
	} {
		if got := KeyOf(s); got != want || got != KeyOf([]byte(s)) {
			t.Errorf("%q: %#x; want %#x", s, got, want)
		}
	}
	// Zeros count, and so does each byte.
	seen := map[uint64]int{}
	for n := range 70 {
		p := make([]byte, n)
		seen[KeyOf(p)]++
		for i := range p {
			p[i] = 1
			seen[KeyOf(p)]++
			p[i] = 0
		}
	}
	if want := 70 + 70*69/2; len(seen) != want {
		t.Errorf("%d keys of %d strings", len(seen), want)
	}
	// One bit of the input changes half of the bits.
	r := rand.New(rand.NewPCG(1, 2))
	changed := 0
	for range 2000 {
		p := make([]byte, 1+r.IntN(40))
		for i := range p {
			p[i] = byte(r.Uint32())
		}
		before := KeyOf(p)
		p[r.IntN(len(p))] ^= 1 << r.IntN(8)
		changed += bits.OnesCount64(before ^ KeyOf(p))
	}
	if mean := float64(changed) / 2000; mean < 31.5 || mean > 32.5 {
		t.Errorf("a bit of the input changes %.2f bits of the key", mean)
	}
}

func FuzzSet(f *testing.F) {
	var b SetBuilder
	b.Add(5)
	f.Add(b.Append(nil), uint64(5))
	f.Add([]byte{everyKey}, uint64(6))
	f.Fuzz(func(t *testing.T, set []byte, key uint64) {
		if !InSet(set, key) && !IsSet(set) {
			t.Error("a set that is not well-formed rules a key out")
		}
	})
}
