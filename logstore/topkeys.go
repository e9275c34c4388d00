package logstore

import (
	"container/heap"
	"math"
)

// maxTopKeys is the highest limit of a query whose bound is tracked.
const maxTopKeys = 1 << 13

// topKeys holds the lowest keys found so far, as many as the limit of the
// query. Entries beyond all of them need not be read.
type topKeys struct {
	limit int
	keys  keyHeap
}

// add adds a key.
func (n *topKeys) add(key int64) {
	switch {
	case len(n.keys) < n.limit:
		heap.Push(&n.keys, key)
	case key < n.keys[0]:
		n.keys[0] = key
		heap.Fix(&n.keys, 0)
	}
}

// bound returns the highest key that an entry may still have within the limit.
func (n *topKeys) bound() int64 {
	if n == nil || len(n.keys) < n.limit {
		return math.MaxInt64
	}
	return n.keys[0]
}

// A keyHeap has the highest key first.
type keyHeap []int64

func (h keyHeap) Len() int           { return len(h) }
func (h keyHeap) Less(i, j int) bool { return h[i] > h[j] }
func (h keyHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *keyHeap) Push(x any)        { *h = append(*h, x.(int64)) }
func (h *keyHeap) Pop() any {
	last := len(*h) - 1
	x := (*h)[last]
	*h = (*h)[:last]
	return x
}
