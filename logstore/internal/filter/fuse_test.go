package filter

import (
	"math/rand/v2"
	"testing"
)

// For any number of keys, few attempts and little space are needed.
func TestBuildSizes(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 3))
	var p peeler
	var sizes []int
	for n := range 600 {
		sizes = append(sizes, n)
	}
	for n := 600; n < 40_000; n += n / 16 {
		sizes = append(sizes, n)
	}
	attempts, total, slotsOfAll := 0, 0, 0
	for _, n := range sizes {
		keys := make([]uint64, n)
		for i := range keys {
			keys[i] = rng.Uint64()
		}
		f, seed, slots, ok := p.build(keys)
		if !ok || len(slots) != f.slots() {
			t.Fatalf("%d keys: no filter, or of %d slots instead of %d", n, len(slots), f.slots())
		}
		for _, k := range keys {
			if !f.has(slots, hashOf(k, seed)) {
				t.Fatalf("%d keys: one is missed", n)
			}
		}
		if seed > 12 {
			t.Errorf("%d keys: %d attempts", n, seed+1)
		}
		if max := 2*n + 16; len(slots) > max {
			t.Errorf("%d keys: %d slots", n, len(slots))
		}
		attempts += int(seed) + 1
		if n >= 1000 {
			total += n
			slotsOfAll += len(slots)
		}
	}
	mean, space := float64(attempts)/float64(len(sizes)), float64(slotsOfAll)/float64(total)
	t.Logf("%.2f attempts; %.3f bytes a key, of a thousand and more", mean, space)
	if mean > 1.4 || space > 1.3 {
		t.Errorf("%.2f attempts; %.3f bytes a key", mean, space)
	}
}

// Keys that fit no filter cost some attempts, and then make a filter that rules
// nothing out.
func TestNoFilterFits(t *testing.T) {
	var p peeler
	if _, _, _, ok := p.build([]uint64{7, 7}); ok {
		t.Error("equal keys were put in order")
	}
	f, seed, slots, ok := p.build([]uint64{7, 8})
	if !ok || !f.has(slots, hashOf(7, seed)) || !f.has(slots, hashOf(8, seed)) {
		t.Error("not usable after a failure")
	}
}
