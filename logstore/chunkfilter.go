package logstore

import (
	"sync"
	"sync/atomic"
)

// A memtable has no filter. What a rare word costs there is to look at every
// line, some 60 ns each; to look for the word in all the lines of a chunk at
// once costs a tenth of that, and mostly it is in none of them.

// A literalNeed reports whether a text may have in it a line that a filter
// wants. nil: nobody knows. It is about lines only, not about metadata.
type literalNeed func(text []byte) bool

func needLiteral(s []byte) literalNeed {
	if len(s) == 0 {
		return nil
	}
	at := rareByte(s)
	return func(text []byte) bool { return containsRare(text, s, at) }
}

// allLiterals is what all of needs ask for.
func allLiterals(needs []literalNeed) literalNeed {
	var known []literalNeed
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

// anyLiteral is what one of needs asks for.
func anyLiteral(needs []literalNeed) literalNeed {
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

// absent remembers, for one query, which chunks of memtables have no line that
// its filter wants. It may be used by many goroutines at once.
type absent struct {
	need literalNeed // nil: nothing is known

	mu    sync.Mutex
	known map[*memtable][]atomic.Uint32 // by chunk
}

const (
	chunkUnknown = iota
	chunkAbsent
	chunkPresent
)

// chunks returns what is known of the chunks of m that are full and that nobody
// writes to any more. It is for from.
func (a *absent) chunks(m *memtable) []atomic.Uint32 {
	if a.need == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	list, ok := a.known[m]
	if !ok {
		if a.known == nil {
			a.known = map[*memtable][]atomic.Uint32{}
		}
		list = make([]atomic.Uint32, m.arena.len())
		a.known[m] = list
	}
	return list
}

// from reports whether chunk i of m, of which list is known, has no line that
// is wanted. Several goroutines may look at once: they find the same.
func (a *absent) from(list []atomic.Uint32, m *memtable, i uint32) bool {
	if int(i) >= len(list) {
		return false
	}
	known := list[i].Load()
	if known == chunkUnknown {
		known = chunkPresent
		if text := m.arena.quiet(i); text != nil && !a.need(text) {
			known = chunkAbsent
		}
		list[i].Store(known)
	}
	return known == chunkAbsent
}
