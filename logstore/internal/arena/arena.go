// Package arena provides memory for the records of memtables: pieces of chunks that
// are taken at once, stay where they are, and are released together. It is mapped
// outside of the heap, where the system can do that.
package arena

import (
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/stele-go/stele/internal/sys"
)

// ChunkSize is how many bytes of memory an arena takes at once.
const ChunkSize = 1 << 20

// A Pool keeps chunks for other arenas. Chunks are most of the memory of a store. If chunks were on the heap, the garbage
// collector would let the process grow to twice their size. So they are cut
// from one mapping. An arena refers to the pool, and the mapping lives as long
// as the pool.
type Pool struct {
	mu      sync.Mutex
	free    []*chunkMem
	dropped []*chunkMem // free ones whose memory the kernel has
	max     int         // chunks
	mapped  *mapping
	used    int  // bytes of mapped that have become chunks
	closed  bool // chunks that are put back return to the kernel
}

// chunkMem is the memory of a chunk.
type chunkMem struct {
	mem    []byte
	mapped bool
}

// A mapping is memory outside the heap.
type mapping struct{ mem []byte }

// NewPool returns a pool that keeps at most most chunks: all arenas have that many
// in the mapping, and further ones on the heap.
func NewPool(most int) *Pool { return &Pool{max: most} }

func newMapping(size int) *mapping {
	mem, err := mapMemory(size)
	if err != nil {
		return new(mapping) // chunks come from the heap
	}
	m := &mapping{mem}
	runtime.AddCleanup(m, func(mem []byte) { sys.Munmap(mem) }, mem)
	return m
}

func (p *Pool) get() *chunkMem {
	p.mu.Lock()
	defer p.mu.Unlock()
	if last := len(p.free) - 1; last >= 0 {
		c := p.free[last]
		p.free[last] = nil
		p.free = p.free[:last]
		return c
	}
	if last := len(p.dropped) - 1; last >= 0 {
		c := p.dropped[last]
		p.dropped = p.dropped[:last]
		return c
	}
	if p.mapped == nil {
		p.mapped = newMapping(p.max * ChunkSize)
	}
	if rest := p.mapped.mem[p.used:]; len(rest) > 0 {
		p.used += ChunkSize
		return &chunkMem{rest[:ChunkSize:ChunkSize], true}
	}
	return &chunkMem{mem: make([]byte, ChunkSize)}
}

// put takes chunks back. It keeps chunks on the heap only if there is no
// mapping, max at most, and none that was made for a longer record.
func (p *Pool) put(chunks []chunk) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range chunks {
		switch {
		case c.mapped && p.closed:
			p.drop(c.chunkMem)
		case c.mapped || !p.closed && len(c.mem) == ChunkSize && len(p.free) < p.max && len(p.mapped.mem) == 0:
			p.free = append(p.free, c.chunkMem)
		}
	}
}

// Kept returns the bytes of free chunks.
func (p *Pool) Kept() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return int64(len(p.free)) * ChunkSize
}

// Mapped returns the bytes outside of the heap that the kernel does not have: those
// of free chunks and of chunks in use.
func (p *Pool) Mapped() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return int64(p.used - len(p.dropped)*ChunkSize)
}

// Trim gives up free memory until at most most bytes are kept.
func (p *Pool) Trim(most int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for int64(len(p.free))*ChunkSize > most && len(p.free) > 0 {
		last := len(p.free) - 1
		if c := p.free[last]; c.mapped {
			p.drop(c)
			p.dropped = append(p.dropped, c)
		}
		p.free[last] = nil
		p.free = p.free[:last]
	}
}

// drop returns the memory of a chunk to the kernel. It stays readable: as
// zeros.
func (p *Pool) drop(c *chunkMem) {
	// An error leaves it as it is until the mapping goes.
	_ = sys.Madvise(c.mem, sys.MemDontNeed)
}

// Close returns the memory of all free chunks to the kernel; that of the others
// follows as they are put back.
func (p *Pool) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, c := range p.free {
		if c.mapped {
			p.drop(c)
		}
	}
	p.free = nil
}

// An Arena is memory for the records of one memtable. Its pieces stay where they
// are until all of it is released. Many goroutines may use it at once.
type Arena struct {
	pool    *Pool
	onAlloc func(bytes int64) // called for each chunk

	mu        sync.Mutex
	rest      []byte                  // unused part of the last shared chunk
	lastChunk uint32                  // that chunk
	chunks    atomic.Pointer[[]chunk] // changed with mu held
}

// A chunk is memory that pieces are cut from.
type chunk struct {
	*chunkMem
	writers *atomic.Int32 // pieces that are not yet written
}

// Init makes an arena that takes its chunks from pool. onAlloc is called with the
// bytes of each.
func (a *Arena) Init(pool *Pool, onAlloc func(bytes int64)) { a.pool, a.onAlloc = pool, onAlloc }

// Reserve returns n bytes, and their location. The caller calls Finish once they
// are written.
func (a *Arena) Reserve(n int) (p []byte, chunk, off uint32) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if n > ChunkSize {
		p = make([]byte, n)
		return p, a.add(&chunkMem{mem: p}, 1), 0
	}
	if n > len(a.rest) {
		c := a.pool.get()
		a.rest = c.mem
		a.lastChunk = a.add(c, 0)
	}
	(*a.chunks.Load())[a.lastChunk].writers.Add(1)
	p, off = a.rest[:n:n], uint32(ChunkSize-len(a.rest))
	a.rest = a.rest[n:]
	return p, a.lastChunk, off
}

// add makes mem the last chunk. mu is held.
func (a *Arena) add(mem *chunkMem, writers int32) uint32 {
	var old []chunk
	if p := a.chunks.Load(); p != nil {
		old = *p
	}
	c := chunk{mem, new(atomic.Int32)}
	c.writers.Store(writers)
	// Readers see the old slice or the new; both share the old chunks.
	now := append(old, c)
	a.chunks.Store(&now)
	a.onAlloc(int64(len(mem.mem)))
	return uint32(len(now) - 1)
}

// Finish ends the writing of a piece of chunk i.
func (a *Arena) Finish(i uint32) { (*a.chunks.Load())[i].writers.Add(-1) }

// Immutable returns chunk i if nothing will be written to it any more, else
// nil. Beyond the last piece it has old contents.
func (a *Arena) Immutable(i uint32) []byte {
	a.mu.Lock()
	shared := i == a.lastChunk && len(a.rest) > 0
	a.mu.Unlock()
	c := (*a.chunks.Load())[i]
	if shared || c.writers.Load() != 0 {
		return nil
	}
	return c.mem
}

// Len returns the number of chunks.
func (a *Arena) Len() int {
	if p := a.chunks.Load(); p != nil {
		return len(*p)
	}
	return 0
}

// Chunk returns the memory of chunk i.
func (a *Arena) Chunk(i uint32) []byte { return (*a.chunks.Load())[i].mem }

// Release returns all memory to the pool. No piece may be in use.
func (a *Arena) Release() {
	if p := a.chunks.Swap(nil); p != nil {
		a.pool.put(*p)
	}
}
