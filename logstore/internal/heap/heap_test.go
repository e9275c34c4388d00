package heap

import (
	"container/heap"
	"math/rand/v2"
	"testing"

	"github.com/stele-go/stele/internal/testseed"
)

type pair struct{ key, tie int64 }

// A reference is container/heap.
type reference []pair

func (r reference) Len() int { return len(r) }
func (r reference) Less(i, j int) bool {
	return r[i].key < r[j].key || r[i].key == r[j].key && r[i].tie < r[j].tie
}
func (r reference) Swap(i, j int) { r[i], r[j] = r[j], r[i] }
func (r *reference) Push(x any)   { *r = append(*r, x.(pair)) }
func (r *reference) Pop() any {
	last := len(*r) - 1
	x := (*r)[last]
	*r = (*r)[:last]
	return x
}

// Random pushes, pops and fixes leave the same top as container/heap.
func TestAgainstContainerHeap(t *testing.T) {
	rnd := rand.New(rand.NewPCG(testseed.Of(t), 1))
	for range 200 {
		keys := 1 + rnd.Int64N(40)
		h := Heap[int64]{Less: func(a, b int64) bool { return a < b }}
		var r reference
		for step := range rnd.Int64N(400) {
			switch k := rnd.IntN(5); {
			case k < 2 || len(r) == 0:
				p := pair{rnd.Int64N(keys) - keys/2, step}
				h.Push(p.tie, p.key)
				heap.Push(&r, p)
			case k == 2:
				if got, want := h.Pop(), heap.Pop(&r).(pair); got != want.tie {
					t.Fatalf("Pop returned item %d; want %v", got, want)
				}
			default:
				key := rnd.Int64N(keys) - keys/2
				h.FixTop(key)
				r[0].key = key
				heap.Fix(&r, 0)
			}
			if len(h.Items) != len(r) {
				t.Fatalf("%d items; want %d", len(h.Items), len(r))
			}
			if len(r) > 0 && (pair{h.Items[0].Key, h.Items[0].Value}) != r[0] {
				t.Fatalf("the top is %v; want %v", h.Items[0], r[0])
			}
		}
	}
}

// Without Less, keys come out in order, and each item once.
func TestWithoutLess(t *testing.T) {
	rnd := rand.New(rand.NewPCG(testseed.Of(t), 2))
	var h Heap[int]
	keys := make([]int64, 500)
	for i := range keys {
		keys[i] = rnd.Int64N(100)
		h.Push(i, keys[i])
	}
	seen := map[int]bool{}
	for last := int64(-1); len(h.Items) > 0; {
		i := h.Pop()
		if keys[i] < last || seen[i] {
			t.Fatalf("item %d with key %d came after key %d, or twice", i, keys[i], last)
		}
		last, seen[i] = keys[i], true
	}
	if len(seen) != len(keys) {
		t.Errorf("%d items of %d", len(seen), len(keys))
	}
	for _, it := range h.Items[:cap(h.Items)] {
		if it.Value != 0 {
			t.Fatal("a popped item is still referenced")
		}
	}
}
