package logql

import (
	"github.com/stele-go/stele/logql/internal/window"
	"github.com/stele-go/stele/logstore"
)

// rowCodes number the rows of a batch: rows with equal codes have equal fields.
type rowCodes struct {
	codes []uint32 // by row
	size  int      // codes are below it

	made  []uint32 // codes, unless they are those of a field
	pairs map[uint64]uint32
	most  int // pairs that there were
}

// mapEntryBytes is about what an entry of a map of numbers takes.
const mapEntryBytes = 32

func (r *rowCodes) weight() int64 { return 4*int64(cap(r.made)) + mapEntryBytes*int64(r.most) }

// set numbers the rows by all fields but one, unless that is -1. It reports false if that takes a
// map, and there is to be none.
func (r *rowCodes) set(fields []logstore.FieldColumn, without, rows int, maps bool) bool {
	r.codes, r.size = nil, 1
	for i := range fields {
		if i != without && !r.join(fields[i].Codes, max(fields[i].Len(), 1), maps) {
			return false
		}
	}
	if r.codes == nil {
		r.codes = append(r.made[:0], make([]uint32, rows)...)
		r.made = r.codes
	}
	return true
}

// join tells rows apart by one more field, whose codes are below n, as set does.
func (r *rowCodes) join(codes []uint32, n int, maps bool) bool {
	if r.codes == nil || r.size == 1 {
		r.codes, r.size = codes, n
		return true
	}
	if n == 1 {
		return true
	}
	if cap(r.made) < len(r.codes) {
		r.made = make([]uint32, len(r.codes))
	}
	r.made = r.made[:len(r.codes)]
	if uint64(r.size)*uint64(n) <= 4*uint64(len(r.codes)) {
		for i, code := range r.codes {
			r.made[i] = code*uint32(n) + codes[i]
		}
		r.codes, r.size = r.made, r.size*n
		return true
	}
	if !maps {
		return false
	}
	if r.pairs == nil {
		r.pairs = map[uint64]uint32{}
	}
	clear(r.pairs)
	for i, code := range r.codes {
		pair := uint64(code)<<32 | uint64(codes[i])
		n, ok := r.pairs[pair]
		if !ok {
			n = uint32(len(r.pairs))
			r.pairs[pair] = n
		}
		r.made[i] = n
	}
	r.codes, r.size, r.most = r.made, len(r.pairs), max(r.most, len(r.pairs))
	return true
}

// A rowMemo remembers a number for rows of a batch that are alike: by class of streams, and code.
type rowMemo struct {
	dense  [][]int32 // by class, nil but for those that are used
	used   []int     // classes of the batch
	free   []int32   // of which dense are made
	all    []int32
	sparse map[uint64]int32
	most   int  // numbers that sparse had
	maps   bool // sparse may be used
}

// arrays returns how many bytes are needed for a batch of so many rows, but for the map.
func (m *rowMemo) arrays(rows int) int64 { return 4 * int64(8*rows+1<<12) }

func (m *rowMemo) weight() int64 {
	return 4*int64(len(m.all)) + classBytes*int64(cap(m.dense)) + mapEntryBytes*int64(max(m.most, len(m.sparse)))
}

// classBytes is what a class takes in rowMemo.dense and rowMemo.used.
const classBytes = 32

// begin forgets all for a batch.
func (m *rowMemo) begin(rows int, maps bool) {
	for _, class := range m.used {
		m.dense[class] = nil
	}
	m.used = m.used[:0]
	if n := 8*rows + 1<<12; len(m.all) < n {
		m.all = make([]int32, n)
	}
	m.free, m.maps = m.all, maps
	m.most = max(m.most, len(m.sparse))
	clear(m.sparse)
}

// A memo is the part of a rowMemo for a class. The zero value remembers nothing.
type memo struct {
	dense  []int32
	sparse map[uint64]int32
	class  uint64
}

// of returns the memo of a class, of codes below size.
func (m *rowMemo) of(class, size int) memo {
	for class >= len(m.dense) {
		m.dense = append(m.dense, nil)
	}
	if m.dense[class] == nil && size <= len(m.free) {
		m.dense[class], m.free = m.free[:size:size], m.free[size:]
		clear(m.dense[class])
		m.used = append(m.used, class)
	}
	if d := m.dense[class]; d != nil {
		return memo{dense: d}
	}
	if !m.maps {
		return memo{}
	}
	if m.sparse == nil {
		m.sparse = map[uint64]int32{}
	}
	return memo{sparse: m.sparse, class: uint64(class) << 32}
}

// remembers reports whether what is put is there to be got.
func (m *memo) remembers() bool { return m.dense != nil || m.sparse != nil }

// get returns the number of a code, 0 for a code without one.
func (m *memo) get(code uint32) int32 {
	if m.dense != nil {
		return m.dense[code]
	}
	return m.sparse[m.class|uint64(code)]
}

func (m *memo) put(code uint32, n int32) {
	if m.dense != nil {
		m.dense[code] = n
	} else if m.sparse != nil {
		m.sparse[m.class|uint64(code)] = n
	}
}

// groupCounts are how many rows of the groups are at times from <= t < to, which are in the same
// windows. They are not in the accumulators yet.
type groupCounts struct {
	function *window.Function
	from, to int64
	in       bool // these times are in a window
	at       int64

	numbers map[*group]int32 // from 1 on
	groups  []*group
	counts  []int64
	changed []int32
}

// number returns the number of a group, from 1 on.
func (c *groupCounts) number(g *group) int32 {
	n := c.numbers[g]
	if n == 0 {
		c.groups, c.counts = append(c.groups, g), append(c.counts, 0)
		n = int32(len(c.groups))
		c.numbers[g] = n
	}
	return n
}

func (c *groupCounts) add(group int32) {
	if c.counts[group-1] == 0 {
		c.changed = append(c.changed, group-1)
	}
	c.counts[group-1]++
}

// move goes on to the times around t.
func (c *groupCounts) move(t int64, charge func(int64) error) error {
	err := c.flush(charge)
	c.from, c.to, c.in = c.function.Span(t)
	c.at = t
	return err
}

// flush adds the counts to the accumulators.
func (c *groupCounts) flush(charge func(int64) error) error {
	for _, i := range c.changed {
		n := c.counts[i]
		c.counts[i] = 0
		if !c.in {
			continue
		}
		if err := c.groups[i].accumulator.AddMany(c.at, n, 0, charge); err != nil {
			return err
		}
	}
	c.changed = c.changed[:0]
	return nil
}
