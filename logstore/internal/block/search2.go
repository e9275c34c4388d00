package block

import (
	"math/bits"
	"slices"

	"github.com/stele-go/stele/logstore/internal/column"
	"github.com/stele-go/stele/logstore/internal/template"
)

// Search returns which rows of the open block pass the test of a plan for its dictionary:
// rows of Sure do, those of May that are not of Sure may, others do not. Row i is bit i%64
// of word i/64. The bits are valid until the next call. ok is false for a block of version
// 1, of which it tells nothing.
func (d *Decoder) Search(p *template.Plan) (m template.Matches, ok bool, err error) {
	if d.decoding == nil {
		return m, false, errNotOpen
	}
	if d.decoding != &d.version2 {
		return m, false, nil
	}
	m, err = d.version2.search(p)
	return m, err == nil, err
}

// LinesOf decodes metadata, and the lines of the rows whose bits are set, for Line and Meta.
// Other lines of a block of version 2 are empty until Lines is called.
func (d *Decoder) LinesOf(rows []uint64) error {
	if d.decoding != &d.version2 {
		return d.Lines()
	}
	if !d.rows.lines.empty() && !d.partly {
		return nil
	}
	if err := d.Metadata(); err != nil {
		return err
	}
	d.rows.lines.reset()
	err := d.version2.linesOf(&d.rows.lines, rows)
	if d.partly = err == nil; !d.partly {
		d.rows.lines.reset()
	}
	return err
}

// A search2 is the memory of searches in blocks of version 2.
type search2 struct {
	scanner template.Scanner
	vars    variables2
	// By template of the table, where its bits begin in bits, first of May and then of Sure.
	starts []uint32
	bits   []uint64
	orders []uint32
	hits   []uint64
	values []uint64 // of a column, as bits
	// By slot of all templates, where its words begin among those of its column; and how many
	// words a column has.
	areas, sizes []uint32
	users        []uint32 // of a column, the slots; and where those of each template begin
	usersOf      []uint32
	uses         []uint32 // of a column, by template: how many slots have it
	lines        []uint32 // of each row, which line of its template it is; none: it is not known
	all          template.Matches

	// conditions are those that were met in the block; results are by condition and column.
	conditions []condition2
	pools      []share2 // by condition: whether texts without sections of their own have its text
	last       int
	results    []result2
	walk       template.Walk
	places     []column.Place
	// textPlaces are those of textColumns, one of each.
	textPlaces  []column.Place
	textColumns []uint32
	// parts are of columns of which a part was opened; partOf says which, by column.
	parts  keptColumns
	used   int // of parts
	partOf []int32
	counts counting
}

// The part of a column in partOf: one more than its place in parts, or else one of these.
const (
	partUnknown = 0
	partNone    = -1
)

// release forgets the plan of the last search, and its texts.
func (s *search2) release() {
	s.scanner, s.vars, s.walk = template.Scanner{}, variables2{}, template.Walk{}
	clear(s.conditions[:cap(s.conditions)])
	s.parts.release()
}

// weight returns about how many bytes of memory are kept.
func (s *search2) weight() int64 {
	return s.parts.weight() + 8*int64(cap(s.bits)+cap(s.hits)+cap(s.values)+cap(s.all.May)+cap(s.all.Sure)+cap(s.results)) + 40*int64(cap(s.conditions)) +
		4*int64(cap(s.starts)+cap(s.orders)+cap(s.areas)+cap(s.sizes)+cap(s.users)+cap(s.usersOf)+cap(s.partOf)+cap(s.textColumns)+cap(s.uses)+cap(s.lines)) + int64(cap(s.pools)) + s.counts.weight() +
		40*int64(cap(s.places)+cap(s.textPlaces))
}

// A condition2 is a condition on any slot.
type condition2 struct {
	op   template.Op
	fold bool
	text *byte
	size int
}

// A result2 is what is known of the values of a column and a condition.
type result2 struct {
	share share2
	// hits is one more than where the lines begin in search2.hits for whose variables the
	// condition holds, slot by slot: see search2.areas. 0: it is not known.
	hits uint32
}

type share2 uint8

const (
	shareUnknown share2 = iota
	shareNone
	shareSome // perhaps none
	shareAll
)

// maxResults bounds the results that are kept, if there are more than a few conditions.
const maxResults = 1 << 16

// begin prepares the memory for a block.
func (d *decoder2) begin() *search2 {
	s := &d.searches
	s.hits, s.bits, s.starts = s.hits[:0], s.bits[:0], s.starts[:0]
	s.conditions, s.pools, s.results, s.areas = s.conditions[:0], s.pools[:0], s.results[:0], s.areas[:0]
	s.partOf, s.used = append(s.partOf[:0], make([]int32, len(d.head.columns))...), 0
	s.textPlaces, s.textColumns, s.lines = s.textPlaces[:0], s.textColumns[:0], s.lines[:0]
	s.vars.d, s.vars.err = d, nil
	return s
}

// search evaluates the plan template by template.
func (d *decoder2) search(p *template.Plan) (template.Matches, error) {
	s := d.begin()
	if err := d.openRows(); err != nil {
		return template.Matches{}, err
	}
	partly := false
	for k, t := range d.table {
		words := int(t.Rows+63) / 64
		s.starts = append(s.starts, uint32(len(s.bits)))
		switch p.Verdict(t.ID) {
		case template.Never:
			s.bits = slices.Grow(s.bits, 2*words)[:len(s.bits)+2*words]
			clear(s.bits[len(s.bits)-2*words:])
		case template.Always:
			for range 2 {
				s.bits = appendOnes(s.bits, int(t.Rows))
			}
		default:
			s.vars.template = k
			m := s.scanner.Scan(p, t.ID, &s.vars)
			if s.vars.err != nil {
				return template.Matches{}, s.vars.err
			}
			partly = partly || !slices.Equal(m.May, m.Sure)
			s.bits = append(append(s.bits, m.May...), m.Sure...)
		}
	}
	m := &s.all
	m.May = s.spread(d, m.May[:0], 0)
	if !partly {
		m.Sure = append(m.Sure[:0], m.May...)
	} else {
		m.Sure = s.spread(d, m.Sure[:0], 1)
	}
	return *m, nil
}

// appendOnes appends n bits that are set.
func appendOnes(dst []uint64, n int) []uint64 {
	for ; n >= 64; n -= 64 {
		dst = append(dst, ^uint64(0))
	}
	if n > 0 {
		dst = append(dst, 1<<n-1)
	}
	return dst
}

// spread appends the bits of the lines of each template by their rows: those of May, or, if
// which is 1, of Sure.
func (s *search2) spread(d *decoder2, dst []uint64, which uint32) []uint64 {
	s.orders = s.orders[:0]
	for k, t := range d.table { // where the next bit is
		s.orders = append(s.orders, 64*(s.starts[k]+which*(t.Rows+63)/64))
	}
	bits, next := s.bits, s.orders
	for rows := d.rowsOf; len(rows) > 0; {
		n := min(64, len(rows))
		word := uint64(0)
		for i, k := range rows[:n] {
			at := next[k]
			next[k] = at + 1
			word |= bits[at/64] >> (at % 64) & 1 << i
		}
		dst = append(dst, word)
		rows = rows[n:]
	}
	return dst
}

// variables2 are the variables of one template.
type variables2 struct {
	d        *decoder2
	template int // in the table
	err      error
}

func (v *variables2) Rows() int { return int(v.d.table[v.template].Rows) }

// number returns the column of a slot.
func (v *variables2) number(slot int) uint32 {
	return v.d.head.slots[int(v.d.head.first[v.template])+slot]
}

func (v *variables2) May(c *template.Condition) bool {
	r := v.result(c)
	return r != nil && r.share != shareNone
}

// result returns what is known of the column of a slot, nil after an error. It is valid until
// the next call.
func (v *variables2) result(c *template.Condition) *result2 {
	if v.err != nil {
		return nil
	}
	s, number := &v.d.searches, v.number(c.Slot)
	r := &s.results[s.condition(c, len(v.d.head.columns))+int(number)]
	if r.share == shareUnknown {
		if c.Op == template.HasMatch {
			r.share, v.err = v.d.lookMatch(number, c.Automaton)
		} else {
			r.share, v.err = v.d.look(number, test2(c))
		}
		if v.err != nil {
			return nil
		}
	}
	return r
}

// condition returns where the results of a condition begin, by column.
func (s *search2) condition(c *template.Condition, columns int) int {
	key := condition2{op: c.Op, fold: c.Fold, size: len(c.Text)}
	if len(c.Text) > 0 {
		key.text = &c.Text[0]
	}
	if s.last >= len(s.conditions) || s.conditions[s.last] != key {
		if s.last = slices.Index(s.conditions, key); s.last < 0 {
			if len(s.conditions) > fewConditions && len(s.results) > maxResults {
				s.conditions, s.pools, s.results, s.hits = s.conditions[:0], s.pools[:0], s.results[:0], s.hits[:0]
			}
			s.last = len(s.conditions)
			s.conditions, s.pools = append(s.conditions, key), append(s.pools, shareUnknown)
			n := len(s.results)
			s.results = slices.Grow(s.results, columns)[:n+columns]
			clear(s.results[n:])
		}
	}
	return s.last * columns
}

const fewConditions = 16

func test2(c *template.Condition) column.Test {
	return column.Test{Op: column.Op(c.Op), Fold: c.Fold, Text: c.Text}
}

func (v *variables2) Match(dst []uint64, c *template.Condition) {
	r := v.result(c)
	if r == nil || r.share == shareNone {
		return
	}
	rows := v.Rows()
	if r.share == shareAll {
		setAll(dst, rows)
		return
	}
	number := v.number(c.Slot)
	if int(v.d.head.columns[number].count) == rows { // it has the variables of this slot alone
		matchColumn(v.d.columns.all[number], dst, c)
		return
	}
	if r.hits == 0 {
		if v.err = v.d.project(r, number, c); v.err != nil || r.share == shareNone {
			return
		}
	}
	s := &v.d.searches
	words := s.hits[r.hits-1+s.areas[int(v.d.head.first[v.template])+c.Slot]:]
	for i := range dst[:(rows+63)/64] {
		dst[i] |= words[i]
	}
}

// matchColumn sets the bits of the values of an open column that pass a condition.
func matchColumn(col *column.Column, dst []uint64, c *template.Condition) {
	if c.Op == template.HasMatch {
		col.MatchFunc(dst, c.Automaton.DigitsAlike(), c.Automaton.Match)
		return
	}
	col.Match(dst, test2(c))
}

func setAll(dst []uint64, n int) {
	for i := range n / 64 {
		dst[i] = ^uint64(0)
	}
	if n%64 > 0 {
		dst[n/64] |= 1<<(n%64) - 1
	}
}

// project finds the lines of all templates whose variables in an open column pass a condition.
func (d *decoder2) project(r *result2, number uint32, c *template.Condition) error {
	s, col := &d.searches, d.columns.all[number]
	s.values = append(s.values[:0], make([]uint64, (col.Count()+63)/64)...)
	matchColumn(col, s.values, c)
	if !slices.ContainsFunc(s.values, func(w uint64) bool { return w != 0 }) {
		r.share = shareNone
		return nil
	}
	if err := d.openRows(); err != nil {
		return err
	}
	if len(s.areas) == 0 {
		s.lay(d)
	}
	r.hits = uint32(len(s.hits)) + 1
	s.hits = append(s.hits, make([]uint64, s.sizes[number])...)
	s.spreadValues(d, number, s.hits[r.hits-1:])
	return nil
}

// lay gives each slot its words among those of its column.
func (s *search2) lay(d *decoder2) {
	s.sizes = append(s.sizes[:0], make([]uint32, len(d.head.columns))...)
	for k, t := range d.table {
		for _, c := range d.head.slots[d.head.first[k]:d.head.first[k+1]] {
			s.areas = append(s.areas, s.sizes[c])
			s.sizes[c] += (t.Rows + 63) / 64
		}
	}
}

// spreadValues sets the bits of the lines whose variables in a column are among values. Those
// of a column are in the order of rows, and then of slots.
func (s *search2) spreadValues(d *decoder2, number uint32, hits []uint64) {
	s.users, s.usersOf = s.users[:0], s.usersOf[:0]
	for k := range d.table {
		s.usersOf = append(s.usersOf, uint32(len(s.users)))
		for g := d.head.first[k]; g < d.head.first[k+1]; g++ {
			if d.head.slots[g] == number {
				s.users = append(s.users, 64*s.areas[g])
			}
		}
	}
	s.usersOf = append(s.usersOf, uint32(len(s.users)))
	s.uses = s.uses[:0]
	for k := range d.table {
		s.uses = append(s.uses, s.usersOf[k+1]-s.usersOf[k])
	}
	s.number(d)
	next, i := nextBit(s.values, 0), 0
	for row := 0; row < len(d.rowsOf) && next >= 0; row += stride {
		rows := d.rowsOf[row:min(row+stride, len(d.rowsOf))]
		n := i
		for _, k := range rows {
			n += int(s.uses[k])
		}
		if next < n {
			s.spreadRows(hits, rows, s.lines[row:], i)
			next = nextBit(s.values, n)
		}
		i = n
	}
}

// stride is how many rows are skipped together if none of their values has a bit.
const stride = 32

// spreadRows is spreadValues for some rows, whose first value is value i. lines are which
// lines of their templates they are.
func (s *search2) spreadRows(hits []uint64, rows []uint16, lines []uint32, i int) {
	for r, k := range rows {
		for _, at := range s.users[s.usersOf[k]:s.usersOf[k+1]] {
			bit := at + lines[r]
			hits[bit/64] |= s.values[i/64] >> (i % 64) & 1 << (bit % 64)
			i++
		}
	}
}

// number finds which line of its template each row is, once for a block.
func (s *search2) number(d *decoder2) {
	if len(s.lines) > 0 {
		return
	}
	s.orders = append(s.orders[:0], make([]uint32, len(d.table))...)
	for _, k := range d.rowsOf {
		s.lines = append(s.lines, s.orders[k])
		s.orders[k]++
	}
}

// nextBit returns the first bit from i on that is set, -1 if none is.
func nextBit(words []uint64, i int) int {
	if i >= 64*len(words) {
		return -1
	}
	w := words[i/64] &^ (1<<(i%64) - 1)
	for k := i / 64; ; w = words[k] {
		if w != 0 {
			return 64*k + bits.TrailingZeros64(w)
		}
		if k++; k == len(words) {
			return -1
		}
	}
}

func (v *variables2) Bounds(slot int) (b template.Bounds) {
	if v.err == nil {
		var col *column.Column
		if col, v.err = v.d.openFor(v.number(slot)); v.err == nil {
			b.Min, b.Max, b.Bytes = col.Bounds()
		}
	}
	return b
}
