package logstore

import (
	"cmp"
	"encoding/binary"
	"slices"
	"sync"
	"unsafe"

	"github.com/stele-go/stele/logstore/internal/listpool"
)

// A memRow is an entry in memory. It locates the line without a pointer, which
// the garbage collector would have to follow.
type memRow struct {
	time  int64
	pos   uint32 // position of its record, counted from memtable.base
	off   uint32 // of the line, in the chunk
	size  uint32 // of the line, times two; the lowest bit is set if metadata follow
	chunk uint16 // of the memtable's arena
	place uint16 // rank of the entry among those of its stream in the record
}

// maxPlaces is how many entries of one stream a record has at most. A record of
// an older program may have more; the further ones have the last place.
const maxPlaces = 1<<16 - 1

func (r memRow) lineLen() int  { return int(r.size >> 1) }
func (r memRow) hasMeta() bool { return r.size&1 != 0 }

// compareRows is the order of a stream: by time, and for equal times as they
// were appended, that is by position, and within a record by offset.
func compareRows(a, b memRow) int {
	switch {
	case a.time != b.time:
		return cmp.Compare(a.time, b.time)
	case a.pos != b.pos:
		return cmp.Compare(a.pos, b.pos)
	}
	return cmp.Compare(a.off, b.off)
}

const memRowSize = int64(unsafe.Sizeof(memRow{}))

// An insertion moves at most maxShift rows, and maxShiftPerRow for each inserted
// row. Appenders that share a stream overtake each other by a few.
const (
	maxShift       = 64
	maxShiftPerRow = 4
)

// A memStream is the entries of one stream in one memtable.
type memStream struct {
	of *stream // set before a reader finds it

	mu   sync.Mutex
	rows []memRow // ordered
	// late are the rows that were too late to be inserted into rows. They are
	// sorted when they are read.
	late     []memRow
	unsorted bool
	ordinal  uint32 // in the segment that it is sealed into, once it is
	min, max int64  // times, if there are rows
	raw      int64  // bytes of lines and metadata
}

// rowTotals describe the rows of a memStream. Without rows the times mean
// nothing.
type rowTotals struct{ min, max, rows, raw int64 }

func (h *memStream) totals() rowTotals {
	h.mu.Lock()
	defer h.mu.Unlock()
	return rowTotals{h.min, h.max, int64(len(h.rows) + len(h.late)), h.raw}
}

// add adds rows, which it may reorder, to lists from pool, and returns how many
// bytes of memory that took.
func (h *memStream) add(pool *listpool.Pool[memRow], rows []memRow, raw int64) (grown int64) {
	if !slices.IsSortedFunc(rows, compareRows) {
		slices.SortFunc(rows, compareRows)
	}
	first, last := rows[0].time, rows[len(rows)-1].time
	h.mu.Lock()
	defer h.mu.Unlock()
	before := cap(h.rows) + cap(h.late)
	if len(h.rows) == 0 {
		h.min, h.max = first, last
	}
	h.min, h.max = min(h.min, first), max(h.max, last)
	h.raw += raw
	if i, near := placeOf(h.rows, len(h.rows)-maxShift-maxShiftPerRow*len(rows), rows[0]); near {
		h.rows = mergeFrom(pool.Grow(h.rows, len(rows)), i, rows)
	} else {
		h.late, h.unsorted = append(pool.Grow(h.late, len(rows)), rows...), true
	}
	return int64(cap(h.rows)+cap(h.late)-before) * memRowSize
}

// placeOf returns the index at which a row belongs in rows, which are sorted, if that is floor
// or more. It looks at the last rows first, as most appenders overtake few others, and each row
// farther away may be one that the processor waits for.
func placeOf(rows []memRow, floor int, r memRow) (i int, near bool) {
	const last = 8
	floor, i = max(0, floor), len(rows)
	for stop := max(floor, i-last); i > stop; i-- {
		if compareRows(rows[i-1], r) < 0 {
			return i, true
		}
	}
	if floor > 0 && compareRows(rows[floor-1], r) >= 0 {
		return 0, false
	}
	n, _ := slices.BinarySearchFunc(rows[floor:i], r, compareRows)
	return floor + n, true
}

// mergeFrom merges two sorted lists into the memory of the first. No row of the
// second belongs before index i of the first.
func mergeFrom(into []memRow, i int, rows []memRow) []memRow {
	n := len(into)
	into = append(into, rows...)
	if i == n {
		return into
	}
	// From the end, so that no row is overwritten before it is read.
	a, b := n-1, len(rows)-1
	for w := len(into) - 1; b >= 0; w-- {
		if a >= i && compareRows(into[a], rows[b]) > 0 {
			into[w] = into[a]
			a--
		} else {
			into[w] = rows[b]
			b--
		}
	}
	return into
}

// between appends the rows in [from, to), sorted, to dst.
func (h *memStream) between(dst []memRow, from, to int64) []memRow {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sortLate()
	return mergeRows(dst, rowsBetween(h.rows, from, to), rowsBetween(h.late, from, to))
}

// all returns all rows, sorted. Nothing may be added any more. The lists are
// from pool.
func (h *memStream) all(pool *listpool.Pool[memRow]) []memRow {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.late) > 0 {
		h.sortLate()
		rows, late := h.rows, h.late
		h.rows, h.late = mergeRows(pool.Get(len(rows)+len(late)), rows, late), nil
		pool.Put(rows)
		pool.Put(late)
	}
	return h.rows
}

// release returns the lists to the pool.
func (h *memStream) release(pool *listpool.Pool[memRow]) {
	h.mu.Lock()
	defer h.mu.Unlock()
	pool.Put(h.rows)
	pool.Put(h.late)
	h.rows, h.late = nil, nil
}

func (h *memStream) sortLate() {
	if h.unsorted {
		slices.SortFunc(h.late, compareRows)
		h.unsorted = false
	}
}

// rowsBetween returns the sorted rows in [from, to).
func rowsBetween(rows []memRow, from, to int64) []memRow {
	byTime := func(r memRow, t int64) int { return cmp.Compare(r.time, t) }
	first, _ := slices.BinarySearchFunc(rows, from, byTime)
	rows = rows[first:]
	last, _ := slices.BinarySearchFunc(rows, to, byTime)
	return rows[:last]
}

// mergeRows appends a and b, both sorted, to dst.
func mergeRows(dst, a, b []memRow) []memRow {
	for len(a) > 0 && len(b) > 0 {
		if compareRows(a[0], b[0]) < 0 {
			dst, a = append(dst, a[0]), a[1:]
		} else {
			dst, b = append(dst, b[0]), b[1:]
		}
	}
	return append(append(dst, a...), b...)
}

// metaAfter returns the metadata that follow a line.
func metaAfter(p []byte) []byte {
	n, w := binary.Uvarint(p)
	return p[w : w+int(n)]
}
