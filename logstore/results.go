package logstore

import (
	"cmp"
	"math/bits"
	"strings"
	"sync"
	"unsafe"
)

// found are entries of one candidate, copied, in the order of the search.
type found struct {
	rows []foundRow
	next int
	data []byte // lines, each followed by its metadata
	// Where they are from: a block, or a memtable. That is not kept.
	block *blockSource
	mem   *name
	rank  uint64
}

type foundRow struct {
	time       int64
	span, row  uint32 // of the block; of an entry in memory its position and place
	off        uint32
	line, meta uint32 // bytes
}

const foundRowBytes = int64(unsafe.Sizeof(foundRow{}))

func (f *found) head() *foundRow { return &f.rows[f.next] }

func (f *found) name(r *foundRow) *name {
	if f.mem != nil {
		return f.mem
	}
	return f.block.spans[r.span].name
}

// place tells rows of one stream with equal times apart.
func (f *found) place(r *foundRow) (rank uint64, run int) {
	if f.mem != nil {
		return f.rank, int(r.span)
	}
	return f.rank, f.block.spans[r.span].run
}

// compare is the order of Forward.
func compareFound(f, g *found) int {
	a, b := f.head(), g.head()
	if a.time != b.time {
		return cmp.Compare(a.time, b.time)
	}
	if n, m := f.name(a), g.name(b); n != m {
		return strings.Compare(n.order, m.order)
	}
	rankA, runA := f.place(a)
	rankB, runB := g.place(b)
	switch {
	case rankA != rankB:
		return cmp.Compare(rankA, rankB)
	case runA != runB:
		return cmp.Compare(runA, runB)
	}
	return cmp.Compare(a.row, b.row)
}

// bytes is what it holds in memory.
func (f *found) bytes() int64 {
	return int64(cap(f.data)) + int64(cap(f.rows))*foundRowBytes + int64(unsafe.Sizeof(*f))
}

// foundPools keep the memory of what was found, by its size, 1 KiB to 1 MiB, so
// that little is never kept in much.
type foundPools [11]sync.Pool

func poolOf(size int64) int { return max(0, bits.Len64(uint64(size-1))-10) }

// get returns one with room for rows with size bytes of lines and metadata.
func (ps *foundPools) get(rows int, size int64) *found {
	pool := poolOf(size)
	if pool >= len(ps) {
		return &found{rows: make([]foundRow, 0, rows), data: make([]byte, 0, size)}
	}
	f, _ := ps[pool].Get().(*found)
	if f == nil {
		f = &found{data: make([]byte, 0, 1024<<pool)}
	}
	if cap(f.rows) < rows || cap(f.rows) > 4*rows+64 {
		f.rows = make([]foundRow, 0, rows)
	}
	return f
}

func (ps *foundPools) put(f *found) {
	pool := poolOf(int64(cap(f.data)))
	if pool >= len(ps) {
		return
	}
	*f = found{rows: f.rows[:0], data: f.data[:0]}
	ps[pool].Put(f)
}

// A merge has, of all that was found, what comes next on top.
type merge struct {
	backward bool
	heap     []*found
}

func (m *merge) less(a, b *found) bool {
	d := compareFound(a, b)
	return d < 0 != m.backward && d != 0
}

func (m *merge) push(f *found) {
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

// advance takes the top's first row away, and returns the top if it had no other.
func (m *merge) advance() (empty *found) {
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
