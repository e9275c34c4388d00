package column

import "unsafe"

// A Memory is the memory of the columns of one block: what a column decodes is as large as
// the largest block then, however large a column of the same number once was. The zero value
// is ready. It is for one goroutine.
type Memory struct {
	nums  arena[int64]
	small arena[uint32]
	words arena[uint64]
	spans arena[Span]
	bytes arena[byte]
}

// Reset takes back all memory. Columns that have some must be opened again before they are
// used.
func (m *Memory) Reset() {
	m.nums.reset()
	m.small.reset()
	m.words.reset()
	m.spans.reset()
	m.bytes.reset()
}

// Bytes returns n bytes of the memory, in which anything may be.
func (m *Memory) Bytes(n int) []byte { return m.bytes.take(n) }

// grow returns p with space for n bytes more, and some behind them, which may be written.
func (m *Memory) grow(p []byte, n int) []byte {
	if need := len(p) + n + slack; cap(p) < need {
		if len(p) > 0 {
			need = max(need, 2*cap(p))
		}
		p = append(m.bytes.take(need)[:0], p...)
	}
	return p
}

// Weight returns how many bytes of memory are kept.
func (m *Memory) Weight() int64 {
	return m.nums.weight() + m.small.weight() + m.words.weight() + m.spans.weight() + m.bytes.weight()
}

// An arena is memory for values of one type. It grows to what was taken between two calls
// of reset.
type arena[T any] struct {
	free  []T
	all   []T // that free is the end of
	taken int
	kept  int // values of all slices since reset
}

// take returns n values, in which anything may be.
func (a *arena[T]) take(n int) []T {
	a.taken += n
	if n > len(a.free) {
		a.all = make([]T, max(n, min(a.taken, arenaStep)))
		a.free = a.all
		a.kept += len(a.all)
	}
	p := a.free[:n:n]
	a.free = a.free[n:]
	return p
}

// arenaStep is the most values that an arena takes more than it is asked for.
const arenaStep = 16 << 10

func (a *arena[T]) reset() {
	if a.kept > len(a.all) { // it was in pieces
		a.all = make([]T, a.taken+a.taken/8)
	}
	a.free, a.taken, a.kept = a.all, 0, len(a.all)
}

func (a *arena[T]) weight() int64 {
	var v T
	return int64(max(a.kept, len(a.all))) * int64(unsafe.Sizeof(v))
}
