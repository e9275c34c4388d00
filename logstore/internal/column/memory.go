package column

import "unsafe"

// A Memory is the memory of the columns of one block: what a column decodes is as large as
// the largest of the last blocks then, however large a column of the same number once was. The
// zero value is ready. It is for one goroutine.
type Memory struct {
	nums  arena[int64]
	small arena[uint32]
	words arena[uint64]
	spans arena[Span]
	bytes arena[byte]
	drawn int // bytes that were taken for drawn text since Reset

	finders [4]*digitFinder // the last one that was used is the first; nil are at the end
}

// finder returns a finder of digits in so many integers.
func (m *Memory) finder(p []byte, n int) *digitFinder {
	i := 0
	for i < len(m.finders)-1 && m.finders[i] != nil && string(m.finders[i].text[:m.finders[i].n]) != string(p) {
		i++
	}
	f := m.finders[i]
	if f == nil {
		f = new(digitFinder)
	}
	if string(f.text[:f.n]) != string(p) {
		f.set(p)
	}
	copy(m.finders[1:i+1], m.finders[:i])
	m.finders[0] = f
	f.use(n)
	return f
}

// Reset takes back all memory. Columns that have some must be opened again before they are
// used.
func (m *Memory) Reset() {
	m.nums.reset()
	m.small.reset()
	m.words.reset()
	m.spans.reset()
	m.bytes.reset()
	m.drawn = 0
}

// Bytes returns n bytes of the memory, in which anything may be.
func (m *Memory) Bytes(n int) []byte { return m.bytes.take(n) }

// grow returns p with space for n bytes more, and some behind them, which may be written.
func (m *Memory) grow(p []byte, n int) []byte {
	if need := len(p) + n + slack; cap(p) < need {
		if len(p) > 0 {
			need = max(need, 2*cap(p))
		}
		m.drawn += need
		p = append(m.bytes.take(need)[:0], p...)
	}
	return p
}

// Weight returns how many bytes of memory are kept.
func (m *Memory) Weight() int64 {
	n := int64(0)
	for _, f := range m.finders {
		if f != nil {
			n += int64(unsafe.Sizeof(*f))
			if f.fours != nil {
				n += int64(unsafe.Sizeof(*f.fours))
			}
		}
	}
	return n + m.nums.weight() + m.small.weight() + m.words.weight() + m.spans.weight() + m.bytes.weight()
}

// An arena is memory for values of one type. It grows to what was taken between two calls
// of reset.
type arena[T any] struct {
	free  []T
	all   []T // that free is the end of
	taken int
	kept  int // values of all slices since reset
	idle  int // calls of reset in a row before which little of all was taken
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

const (
	// arenaStep is the most values that an arena takes more than it is asked for.
	arenaStep = 16 << 10
	// maxArena is the most bytes of an arena that are kept by reset: more than blocks of lines
	// need.
	maxArena = 32 << 20
	// maxIdle is how many blocks in a row need an eighth of an arena or less before it is let go.
	maxIdle = 64
)

func (a *arena[T]) reset() {
	if a.idle++; a.taken > len(a.all)/8 {
		a.idle = 0
	}
	var v T
	switch n := a.taken + a.taken/8; {
	case max(n, len(a.all)) > maxArena/int(unsafe.Sizeof(v)), a.idle > maxIdle && len(a.all) > arenaStep:
		a.all, a.idle = nil, 0
	case a.kept > len(a.all): // it was in pieces
		a.all = make([]T, n)
	}
	a.free, a.taken, a.kept = a.all, 0, len(a.all)
}

func (a *arena[T]) weight() int64 {
	var v T
	return int64(max(a.kept, len(a.all))) * int64(unsafe.Sizeof(v))
}
