package logstore

import (
	"sync"
	"sync/atomic"
)

// chunkSize is how much memory a memtable takes at once.
const chunkSize = 1 << 20

// A chunkPool keeps chunks for other memtables: they are most of the memory of
// a store, and if each new one were the garbage collector's, the process would
// grow to twice of that.
type chunkPool struct {
	mu   sync.Mutex
	free [][]byte
	most int // chunks that are kept
}

func (p *chunkPool) get() []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	if last := len(p.free) - 1; last >= 0 {
		c := p.free[last]
		p.free[last] = nil
		p.free = p.free[:last]
		return c
	}
	return make([]byte, chunkSize)
}

// put takes back chunks. One that was made for a longer record is left to the
// garbage collector.
func (p *chunkPool) put(chunks [][]byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range chunks {
		if len(c) == chunkSize && len(p.free) < p.most {
			p.free = append(p.free, c)
		}
	}
}

// An arena is memory for the records of one memtable. It hands out pieces that
// stay where they are until all of it is given back.
type arena struct {
	pool  *chunkPool
	taken func(bytes int64) // told of each chunk

	mu     sync.Mutex
	used   int // of the last chunk that is shared
	last   uint32
	chunks atomic.Pointer[[][]byte] // changed with mu held
}

// reserve returns n bytes, and where they are.
func (a *arena) reserve(n int) (p []byte, chunk, off uint32) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if n > chunkSize {
		c := make([]byte, n)
		return c, a.add(c), 0
	}
	if a.chunks.Load() == nil || a.used+n > chunkSize {
		a.last, a.used = a.add(a.pool.get()), 0
	}
	from := a.used
	a.used += n
	return a.chunk(a.last)[from:a.used:a.used], a.last, uint32(from)
}

// add makes c the last chunk. mu is held.
func (a *arena) add(c []byte) uint32 {
	var old [][]byte
	if p := a.chunks.Load(); p != nil {
		old = *p
	}
	// Readers see the old slice or the new; they share what they both have.
	now := append(old, c)
	a.chunks.Store(&now)
	a.taken(int64(len(c)))
	return uint32(len(now) - 1)
}

func (a *arena) chunk(i uint32) []byte { return (*a.chunks.Load())[i] }

// release gives all memory back. Nobody may hold a piece of it.
func (a *arena) release() {
	if p := a.chunks.Swap(nil); p != nil {
		a.pool.put(*p)
	}
}
