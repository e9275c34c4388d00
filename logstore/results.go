package logstore

import (
	"cmp"
	"math/bits"
	"strings"
	"sync"
	"unsafe"
)

// results are matching entries of one candidate, copied, in the order of the
// search.
type results struct {
	rows []resultRow
	next int
	data []byte // lines, each followed by its metadata
	// block or mem is their source. They do not keep it in memory.
	block *blockSource
	mem   *streamLabels
	rank  uint64
}

type resultRow struct {
	time       int64
	span, row  uint32 // of the block; of an entry in memory its position and offset
	off        uint32
	line, meta uint32 // bytes
}

const resultRowBytes = int64(unsafe.Sizeof(resultRow{}))

func (f *results) first() *resultRow { return &f.rows[f.next] }

func (f *results) name(r *resultRow) *streamLabels {
	if f.mem != nil {
		return f.mem
	}
	return f.block.spans[r.span].streamLabels
}

// tieBreak orders rows of one stream with equal times.
func (f *results) tieBreak(r *resultRow) (rank uint64, run int) {
	if f.mem != nil {
		return f.rank, int(r.span)
	}
	return f.rank, f.block.spans[r.span].run
}

// compareResults is the order of Forward.
func compareResults(f, g *results) int {
	a, b := f.first(), g.first()
	if a.time != b.time {
		return cmp.Compare(a.time, b.time)
	}
	if n, m := f.name(a), g.name(b); n != m {
		return strings.Compare(n.sortKey, m.sortKey)
	}
	rankA, runA := f.tieBreak(a)
	rankB, runB := g.tieBreak(b)
	switch {
	case rankA != rankB:
		return cmp.Compare(rankA, rankB)
	case runA != runB:
		return cmp.Compare(runA, runB)
	}
	return cmp.Compare(a.row, b.row)
}

// bytes returns the memory that f takes.
func (f *results) bytes() int64 {
	return int64(cap(f.data)) + int64(cap(f.rows))*resultRowBytes + int64(unsafe.Sizeof(*f))
}

// resultPools keep the memory of results, by size from 1 KiB to 1 MiB, so that
// small results do not keep large memory.
type resultPools [11]sync.Pool

func poolOf(size int64) int { return max(0, bits.Len64(uint64(size-1))-10) }

// get returns results with capacity for rows with size bytes of lines and
// metadata.
func (ps *resultPools) get(rows int, size int64) *results {
	pool := poolOf(size)
	if pool >= len(ps) {
		return &results{rows: make([]resultRow, 0, rows), data: make([]byte, 0, size)}
	}
	f, _ := ps[pool].Get().(*results)
	if f == nil {
		f = &results{data: make([]byte, 0, 1024<<pool)}
	}
	if cap(f.rows) < rows || cap(f.rows) > 4*rows+64 {
		f.rows = make([]resultRow, 0, rows)
	}
	return f
}

func (ps *resultPools) put(f *results) {
	pool := poolOf(int64(cap(f.data)))
	if pool >= len(ps) {
		return
	}
	*f = results{rows: f.rows[:0], data: f.data[:0]}
	ps[pool].Put(f)
}

// A mergeHeap merges results: the next row of all is on top.
type mergeHeap struct {
	backward bool
	heap     []*results
}

func (m *mergeHeap) less(a, b *results) bool {
	d := compareResults(a, b)
	return d < 0 != m.backward && d != 0
}

func (m *mergeHeap) push(f *results) {
	m.heap = append(m.heap, f)
	for i := len(m.heap) - 1; i > 0; {
		up := (i - 1) / 2
		if !m.less(m.heap[i], m.heap[up]) {
			break
		}
		m.heap[i], m.heap[up] = m.heap[up], m.heap[i]
		i = up
	}
}

// advance removes the top's first row, and returns the top if it had no other.
func (m *mergeHeap) advance() (empty *results) {
	top := m.heap[0]
	if top.next++; top.next == len(top.rows) {
		empty = top
		last := len(m.heap) - 1
		m.heap[0], m.heap[last] = m.heap[last], nil
		m.heap = m.heap[:last]
	}
	for i := 0; ; {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(m.heap); child++ {
			if m.less(m.heap[child], m.heap[least]) {
				least = child
			}
		}
		if least == i {
			return empty
		}
		m.heap[i], m.heap[least] = m.heap[least], m.heap[i]
		i = least
	}
}
