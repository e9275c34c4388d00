package listpool

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// A row is an item as memtables have them.
type row struct{ n, _ int64 }

func TestSizes(t *testing.T) {
	last := 0
	for i, n := range sizes {
		if n <= last || i > 0 && n > 2*last || last > 4096 && n > last+last/4 {
			t.Errorf("%d items after %d", n, last)
		}
		last = n
	}
	if last < 4<<20 {
		t.Errorf("no more than %d items", last)
	}
}

func TestPool(t *testing.T) {
	p := New[row](1 << 20)
	rng := rand.New(rand.NewPCG(5, 6))
	var out [][]row
	for range 2000 {
		if len(out) > 0 && rng.IntN(2) == 0 {
			i := rng.IntN(len(out))
			p.Put(out[i])
			out = slices.Delete(out, i, i+1)
			continue
		}
		n := rng.IntN(1 << (1 + rng.IntN(14)))
		list := p.Grow([]row{{n: 7}}, n)
		if len(list) != 1 || list[0].n != 7 || cap(list) < 1+n {
			t.Fatalf("%d items with capacity for %d, wanted %d", len(list), cap(list), 1+n)
		}
		out = append(out, list)
	}
	kept := int64(0)
	for class, free := range p.free {
		for _, list := range free {
			if cap(list) != sizes[class] || len(list) != 0 {
				t.Fatalf("%d items with capacity for %d; want %d", len(list), cap(list), sizes[class])
			}
			kept += int64(cap(list)) * p.size()
		}
	}
	if kept != p.kept || kept > p.max || kept == 0 {
		t.Errorf("%d bytes are kept, %d are counted, at most %d", kept, p.kept, p.max)
	}
	var none *Pool[row]
	none.Put(none.Grow(nil, 10))
}
