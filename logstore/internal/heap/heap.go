// Package heap provides a binary heap of items that are ordered by an int64.
//
// The keys lie in the heap itself. So a comparison follows no pointer and calls
// no function, except for two items with equal keys.
package heap

// An Item is a value and its key.
type Item[T any] struct {
	Value T
	Key   int64
}

// A Heap has the item with the lowest key on top. The zero value is empty.
type Heap[T any] struct {
	Items []Item[T] // Items[0] is the top
	// Less reports whether a comes before b, which has the same key. If it is
	// nil, items with equal keys are in no order.
	Less func(a, b T) bool
}

func (h *Heap[T]) before(a, b *Item[T]) bool {
	return a.Key < b.Key || a.Key == b.Key && h.Less != nil && h.Less(a.Value, b.Value)
}

// Push adds an item.
func (h *Heap[T]) Push(value T, key int64) {
	h.Items = append(h.Items, Item[T]{value, key})
	items := h.Items
	for i := len(items) - 1; i > 0; {
		up := (i - 1) / 2
		if !h.before(&items[i], &items[up]) {
			return
		}
		items[i], items[up] = items[up], items[i]
		i = up
	}
}

// Pop removes the top, and returns its value. The heap must not be empty.
func (h *Heap[T]) Pop() T {
	items := h.Items
	top, last := items[0].Value, len(items)-1
	items[0], items[last] = items[last], Item[T]{}
	h.Items = items[:last]
	h.down()
	return top
}

// FixTop gives the top another key, and moves it to its place.
func (h *Heap[T]) FixTop(key int64) {
	h.Items[0].Key = key
	h.down()
}

// down moves the top to its place.
func (h *Heap[T]) down() {
	items := h.Items
	for i := 0; ; {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(items); child++ {
			if h.before(&items[child], &items[least]) {
				least = child
			}
		}
		if least == i {
			return
		}
		items[i], items[least] = items[least], items[i]
		i = least
	}
}
