// Package listpool keeps slices for use again, by size: a list that grows takes a
// larger one and gives back its own.
package listpool

import (
	"math/bits"
	"slices"
	"sync"
	"unsafe"
)

// A Pool keeps lists of T, which has no pointers. In each memtable the list
// of the rows of each stream grows from nothing; without the pool, these lists would
// be most of what a batch allocates.
//
// A list that is put back must have no reader. A nil pool keeps nothing. Many
// goroutines may use a pool at once.
type Pool[T any] struct {
	mu   sync.Mutex
	free [len(sizes)][][]T
	kept int64 // bytes
	max  int64
}

// New returns a pool that keeps at most most bytes of lists.
func New[T any](most int64) *Pool[T] { return &Pool[T]{max: most} }

// size returns the bytes of an item.
func (p *Pool[T]) size() int64 {
	var zero T
	return int64(unsafe.Sizeof(zero))
}

// sizes are the capacities of lists: powers of two while they are small, and
// then growing by so little that the growth of a list stays within what a
// throttle leaves free.
var sizes = func() (list [54]int) {
	n := 1
	for i := range list {
		list[i] = n
		if n < 4096 {
			n *= 2
		} else {
			n += 1 << (bits.Len(uint(n)) - 3)
		}
	}
	return list
}()

// Grow returns a list with the items of list, and capacity for n more.
func (p *Pool[T]) Grow(list []T, n int) []T {
	need := len(list) + n
	if need <= cap(list) {
		return list
	}
	now := append(p.Get(need), list...)
	p.Put(list)
	return now
}

// Get returns an empty list with capacity for n items.
func (p *Pool[T]) Get(n int) []T {
	class, _ := slices.BinarySearch(sizes[:], n)
	if class == len(sizes) {
		return make([]T, 0, n+n/4)
	}
	if p != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		if free := p.free[class]; len(free) > 0 {
			last := len(free) - 1
			list := free[last]
			free[last] = nil
			p.free[class] = free[:last]
			p.kept -= int64(cap(list)) * p.size()
			return list
		}
	}
	return make([]T, 0, sizes[class])
}

// Bytes returns the memory of the lists.
func (p *Pool[T]) Bytes() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.kept
}

// Clear gives up all lists.
func (p *Pool[T]) Clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.free[:])
	p.kept = 0
}

// Put takes back a list that has no reader.
func (p *Pool[T]) Put(list []T) {
	class, ok := slices.BinarySearch(sizes[:], cap(list))
	if p == nil || !ok {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := int64(cap(list)) * p.size(); p.kept+n <= p.max {
		p.free[class] = append(p.free[class], list[:0])
		p.kept += n
	}
}
