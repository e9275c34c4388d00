package logstore

import (
	"math/bits"
	"slices"
	"sync"
)

// A rowPool keeps lists of rows for other memStreams. In each memtable the list
// of each stream grows from nothing; without the pool, these lists would be
// most of what a batch allocates.
//
// A list that is put back must have no reader: a memStream copies rows out
// under its lock. A nil pool keeps nothing.
type rowPool struct {
	mu   sync.Mutex
	free [len(rowSizes)][][]memRow
	kept int64 // bytes
	max  int64
}

// rowSizes are the capacities of lists: powers of two while they are small, and
// then growing by so little that the growth of a list stays within what a
// throttle leaves free.
var rowSizes = func() (sizes [54]int) {
	n := 1
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

// grow returns a list with the rows of list, and capacity for n more.
func (p *rowPool) grow(list []memRow, n int) []memRow {
	need := len(list) + n
	if need <= cap(list) {
		return list
	}
	now := append(p.get(need), list...)
	p.put(list)
	return now
}

// get returns an empty list with capacity for n rows.
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

// bytes returns the memory of the lists.
func (p *rowPool) bytes() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.kept
}

// clear gives up all lists.
func (p *rowPool) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.free[:])
	p.kept = 0
}

// put takes back a list that has no reader.
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
