package logstore

import (
	"math/bits"
	"slices"
	"sync"
)

// A rowPool keeps lists of rows for other heads. In each memtable the list of
// each stream grows from nothing; without the pool most of what a batch
// allocates, and what the garbage collector has to take back, would be these.
//
// Who gives a list back sees to it that nobody reads it: a head copies what it
// tells, under its lock. A nil pool keeps nothing.
type rowPool struct {
	mu   sync.Mutex
	free [len(rowSizes)][][]memRow
	kept int64 // bytes
	max  int64
}

// rowSizes are how many rows lists have room for: twice as many as the one
// before as long as they are small, and then by so little more that what a list
// grows by at once is within what a pacer leaves free.
var rowSizes = func() (sizes [52]int) {
	n := 4
	for i := range sizes {
		sizes[i] = n
		if n < 4096 {
			n *= 2
		} else {
			n += 1 << (bits.Len(uint(n)) - 3)
		}
	}
	return sizes
}()

// grow returns a list with the rows of list, and room for n more.
func (p *rowPool) grow(list []memRow, n int) []memRow {
	need := len(list) + n
	if need <= cap(list) {
		return list
	}
	now := append(p.get(need), list...)
	p.put(list)
	return now
}

// get returns an empty list with room for n rows.
func (p *rowPool) get(n int) []memRow {
	class, _ := slices.BinarySearch(rowSizes[:], n)
	if class == len(rowSizes) {
		return make([]memRow, 0, n+n/4)
	}
	if p != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		if free := p.free[class]; len(free) > 0 {
			last := len(free) - 1
			list := free[last]
			free[last] = nil
			p.free[class] = free[:last]
			p.kept -= int64(cap(list)) * memRowSize
			return list
		}
	}
	return make([]memRow, 0, rowSizes[class])
}

// put takes back a list that nobody reads any more.
func (p *rowPool) put(list []memRow) {
	class, ok := slices.BinarySearch(rowSizes[:], cap(list))
	if p == nil || !ok {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := int64(cap(list)) * memRowSize; p.kept+n <= p.max {
		p.free[class] = append(p.free[class], list[:0])
		p.kept += n
	}
}
