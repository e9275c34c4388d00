package logstore

import (
	"sync"
	"sync/atomic"
)

// A memtable has no block filters. Searching one line for a rare word takes
// some 60 ns. Searching all lines of a chunk at once takes a tenth of that per
// line, and mostly the word is in none of them.

// A textTest reports whether a text may contain a line that a filter matches.
// nil means unknown. Metadata is not considered.
type textTest func(text []byte) bool

func literalTest(s []byte) textTest {
	if len(s) == 0 {
		return nil
	}
	rare, second := rareBytes(s)
	return func(text []byte) bool { return indexRare(text, s, rare, second) >= 0 }
}

// allTests is true where all tests are.
func allTests(needs []textTest) textTest {
	var known []textTest
	for _, n := range needs {
		if n != nil {
			known = append(known, n)
		}
	}
	if len(known) == 0 {
		return nil
	}
	return func(text []byte) bool {
		for _, n := range known {
			if !n(text) {
				return false
			}
		}
		return true
	}
}

// anyTest is true where one of the tests is.
func anyTest(needs []textTest) textTest {
	for _, n := range needs {
		if n == nil {
			return nil
		}
	}
	return func(text []byte) bool {
		for _, n := range needs {
			if n(text) {
				return true
			}
		}
		return false
	}
}

// A chunkFilter remembers, for one query, which chunks of memtables have no
// line that its filter matches. Many goroutines may use it at once.
type chunkFilter struct {
	test textTest // nil: nothing is known

	mu         sync.Mutex
	byMemtable map[*memtable][]atomic.Uint32 // by chunk
}

const (
	chunkUnknown = iota
	chunkExcluded
	chunkIncluded
)

// results returns the results for the chunks of m so far, for excludes.
func (a *chunkFilter) results(m *memtable) []atomic.Uint32 {
	if a.test == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	list, ok := a.byMemtable[m]
	if !ok {
		if a.byMemtable == nil {
			a.byMemtable = map[*memtable][]atomic.Uint32{}
		}
		list = make([]atomic.Uint32, m.arena.Len())
		a.byMemtable[m] = list
	}
	return list
}

// excludes reports whether chunk i of m has no matching line. Goroutines that
// test a chunk at the same time get the same result.
func (a *chunkFilter) excludes(list []atomic.Uint32, m *memtable, i uint32) bool {
	if int(i) >= len(list) {
		return false
	}
	known := list[i].Load()
	if known == chunkUnknown {
		known = chunkIncluded
		if text := m.arena.Immutable(i); text != nil && !a.test(text) {
			known = chunkExcluded
		}
		list[i].Store(known)
	}
	return known == chunkExcluded
}
