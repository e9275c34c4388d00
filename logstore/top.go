package logstore

import (
	"math"

	"github.com/stele-go/stele/logstore/internal/heap"
)

// maxTopKeys is the highest limit of a query whose bound is tracked.
const maxTopKeys = 1 << 13

// topKeys holds the lowest keys found so far, as many as the limit of the
// query. Entries beyond all of them need not be read.
type topKeys struct {
	limit int
	keys  heap.Heap[struct{}] // by complement, so that the highest is on top
}

// add adds a key.
func (n *topKeys) add(key int64) {
	switch {
	case len(n.keys.Items) < n.limit:
		n.keys.Push(struct{}{}, ^key)
	case key < ^n.keys.Items[0].Key:
		n.keys.FixTop(^key)
	}
}

// bound returns the highest key that an entry may still have within the limit.
func (n *topKeys) bound() int64 {
	if n == nil || len(n.keys.Items) < n.limit {
		return math.MaxInt64
	}
	return ^n.keys.Items[0].Key
}
