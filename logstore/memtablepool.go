package logstore

import (
	"github.com/stele-go/stele/logstore/internal/arena"
	"github.com/stele-go/stele/logstore/internal/listpool"
)

// A memtablePool keeps memory of released memtables for the next ones: chunks of
// their records, and lists of their rows.
type memtablePool struct {
	chunks *arena.Pool
	rows   *listpool.Pool[memRow]
}

// newMemtablePool returns a pool for memtables of at most most bytes together.
func newMemtablePool(most int64) memtablePool {
	return memtablePool{arena.NewPool(int(most / arena.ChunkSize)), listpool.New[memRow](most / 4)}
}

// kept returns the bytes that are kept.
func (p *memtablePool) kept() int64 { return p.chunks.Kept() + p.rows.Bytes() }

// trim gives up free memory until at most most bytes are kept: rows are kept longest,
// as lists of them are small and many.
func (p *memtablePool) trim(most int64) {
	rows := p.rows.Bytes()
	p.chunks.Trim(most - rows)
	if rows > max(0, most) {
		p.rows.Clear()
	}
}
