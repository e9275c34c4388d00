package labelindex

import (
	"iter"
	"sync/atomic"
)

// A ByNumber maps the numbers of streams to values. Get and All take no lock.
// The zero value is empty.
type ByNumber[T any] struct {
	slots atomic.Pointer[[]atomic.Pointer[T]] // replaced by a larger copy
}

// Get returns the value of n, or nil.
func (t *ByNumber[T]) Get(n uint32) *T {
	slots := t.slots.Load()
	if slots == nil || int64(n) >= int64(len(*slots)) {
		return nil
	}
	return (*slots)[n].Load()
}

// Set sets the value of n; nil removes it. It is for one goroutine at a time.
func (t *ByNumber[T]) Set(n uint32, v *T) {
	var slots []atomic.Pointer[T]
	if p := t.slots.Load(); p != nil {
		slots = *p
	}
	if int(n) >= len(slots) {
		larger := make([]atomic.Pointer[T], max(64, 2*len(slots), int(n)+1))
		for i := range slots {
			larger[i].Store(slots[i].Load())
		}
		t.slots.Store(&larger)
		slots = larger
	}
	slots[n].Store(v)
}

func (t *ByNumber[T]) slotCount() int {
	if slots := t.slots.Load(); slots != nil {
		return len(*slots)
	}
	return 0
}

// All ranges over the values, by number.
func (t *ByNumber[T]) All() iter.Seq2[uint32, *T] {
	return func(yield func(uint32, *T) bool) {
		p := t.slots.Load()
		if p == nil {
			return
		}
		for n := range *p {
			if v := (*p)[n].Load(); v != nil && !yield(uint32(n), v) {
				return
			}
		}
	}
}
