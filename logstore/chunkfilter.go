package logstore

import (
	"sync"
	"sync/atomic"
)

// A memtable has no filter. What a rare word costs there is to look at every
// line, some 60 ns each; to look for the word in all the lines of a chunk at
// once costs a tenth of that, and mostly it is in none of them.

// A textTest reports whether a text may have in it a line that a filter
// wants. nil: nobody knows. It is about lines only, not about metadata.
type textTest func(text []byte) bool

func literalTest(s []byte) textTest {
	if len(s) == 0 {
		return nil
	}
	at := rareByte(s)
	return func(text []byte) bool { return containsRare(text, s, at) }
}

// allTests is what all of needs ask for.
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

// anyTest is what one of needs asks for.
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

// chunkFilter remembers, for one query, which chunks of memtables have no line that
// its filter wants. It may be used by many goroutines at once.
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

// results returns what is known of the chunks of m that are full and that nobody
// writes to any more. It is for from.
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
		list = make([]atomic.Uint32, m.arena.len())
		a.byMemtable[m] = list
	}
	return list
}

// excludes reports whether chunk i of m, of which list is known, has no line that
// is wanted. Several goroutines may look at once: they find the same.
func (a *chunkFilter) excludes(list []atomic.Uint32, m *memtable, i uint32) bool {
	if int(i) >= len(list) {
		return false
	}
	known := list[i].Load()
	if known == chunkUnknown {
		known = chunkIncluded
		if text := m.arena.immutable(i); text != nil && !a.test(text) {
			known = chunkExcluded
		}
		list[i].Store(known)
	}
	return known == chunkExcluded
}
