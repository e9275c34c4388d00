package template

import (
	"bytes"
	"hash/maphash"
	"slices"
	"sort"
	"sync"
	"unicode/utf8"

	"github.com/stele-go/stele/logstore/internal/filter"
)

// A literalIndex finds which templates of a dictionary have a text in a literal, and which may
// have it across the ends of slots. It is immutable, and safe for concurrent use.
//
// Templates have many literals in common: each literal is searched once.
type literalIndex struct {
	dictionary *Dictionary
	text       []byte        // all different literals, with a byte between them
	lower      func() []byte // text in lower case, of ASCII
	literals   []indexed
	ids        []uint32 // of the templates with a literal; see indexed
	slots      []bool   // by template: whether it has slots
}

// An indexed literal is text[from:to]; in order.
type indexed struct {
	from, to uint32
	ids      uint32 // where the templates with it begin in literalIndex.ids
	first    [2]byte
	last     [2]byte
	// before: a slot comes behind the literal in some template; after: before it. wide: it
	// has bytes that are not of ASCII.
	before, after, wide bool
}

// newIndex returns the index of a dictionary to which no template is added any more.
func newIndex(d *Dictionary) *literalIndex {
	x := &literalIndex{dictionary: d, text: make([]byte, 0, d.Bytes()), slots: make([]bool, d.Len())}
	b := indexBuilder{x: x, seed: maphash.MakeSeed(), table: make([]int32, 1024)}
	for id, t := range d.All() {
		n := t.Slots()
		if n > 0 {
			x.slots[id] = true
		}
		for i := range n + 1 {
			if l := t.Literal(i); len(l) > 0 || 0 < i && i < n {
				b.add(l, id, i < n, i > 0)
			}
		}
	}
	b.finish()
	return x
}

// An indexBuilder collects literals.
type indexBuilder struct {
	x     *literalIndex
	seed  maphash.Seed
	table []int32 // of literals, by their hashes; number + 1
	uses  []use
}

// A use is a literal of a template.
type use struct{ literal, template uint32 }

func (b *indexBuilder) add(l []byte, id uint32, before, after bool) {
	i := b.number(l)
	e := &b.x.literals[i]
	e.before, e.after = e.before || before, e.after || after
	b.uses = append(b.uses, use{uint32(i), id})
}

// number returns the number of a literal, which it adds if it is new.
func (b *indexBuilder) number(l []byte) int {
	if 2*len(b.x.literals) >= len(b.table) {
		b.grow()
	}
	at := b.hash(l) & uint32(len(b.table)-1)
	for ; b.table[at] != 0; at = (at + 1) & uint32(len(b.table)-1) {
		e := &b.x.literals[b.table[at]-1]
		if string(b.x.text[e.from:e.to]) == string(l) {
			return int(b.table[at] - 1)
		}
	}
	from := len(b.x.text)
	b.x.text = append(append(b.x.text, l...), 0)
	e := indexed{from: uint32(from), to: uint32(from + len(l)), wide: !isASCII(l)}
	copy(e.first[:], l)
	copy(e.last[:], l[max(0, len(l)-2):])
	b.x.literals = append(b.x.literals, e)
	b.table[at] = int32(len(b.x.literals))
	return len(b.x.literals) - 1
}

func (b *indexBuilder) grow() {
	b.table = make([]int32, 2*len(b.table))
	for i, e := range b.x.literals {
		at := b.hash(b.x.text[e.from:e.to]) & uint32(len(b.table)-1)
		for b.table[at] != 0 {
			at = (at + 1) & uint32(len(b.table)-1)
		}
		b.table[at] = int32(i + 1)
	}
}

func (b *indexBuilder) hash(l []byte) uint32 { return uint32(maphash.Bytes(b.seed, l)) }

// finish lists the templates of each literal.
func (b *indexBuilder) finish() {
	x := b.x
	x.ids = make([]uint32, len(b.uses))
	for _, u := range b.uses {
		x.literals[u.literal].ids++
	}
	end := uint32(0)
	for i := range x.literals {
		end += x.literals[i].ids
		x.literals[i].ids = end
	}
	for _, u := range slices.Backward(b.uses) {
		e := &x.literals[u.literal]
		e.ids--
		x.ids[e.ids] = u.template
	}
	x.lower = sync.OnceValue(func() []byte { return toLower(x.text) })
}

// users returns the templates that have literal i.
func (x *literalIndex) users(i int) []uint32 {
	end := len(x.ids)
	if i+1 < len(x.literals) {
		end = int(x.literals[i+1].ids)
	}
	return x.ids[x.literals[i].ids:end]
}

// A reach is where lines of a template may have a needle.
type reach uint8

const (
	reachNone   reach = iota
	reachSlot         // within the variable of one slot
	reachAcross       // also across the ends of slots, not within a literal
	reachAsk          // Needle.In tells
	reachAll          // every line has it
)

// reaches returns the reach of a needle by template.
func (x *literalIndex) reaches(n *Needle) []reach {
	list := make([]reach, len(x.slots))
	for i, s := range x.slots {
		if s {
			list[i] = reachSlot
		}
	}
	mark := func(i int, r reach) {
		for _, id := range x.users(i) {
			list[id] = max(list[id], r)
		}
	}
	if n.anywhere() {
		for i := range list {
			list[i] = reachAsk
		}
		return list
	}
	inside := reachAsk
	if n.kind == Bytes && !n.cut() {
		inside = reachAll
	}
	x.within(n.text, n.kind == Folded, func(i int) bool { mark(i, inside); return true })
	if e := n.edges(); e != nil {
		for i := range x.literals {
			if l := &x.literals[i]; e.meet(l) && n.across(l, x.text[l.from:l.to]) {
				mark(i, reachAcross)
			}
		}
	}
	return list
}

// anywhere reports whether literals are not searched for the needle.
func (n *Needle) anywhere() bool {
	return len(n.all) == 0 || n.blind || n.kind == Folded && !isASCII(n.all)
}

// variable returns needles of the whole words of ASCII of a needle that no literal has: if a line
// has the needle, these words are at least in part in variables.
func (x *literalIndex) variable(n *Needle) (list []filter.Needle) {
	if n.anywhere() {
		return nil
	}
	for from := 1; from < len(n.text) && len(list) < maxVariable; from++ {
		end := from
		for end < len(n.text) && inWord(n.text[end]) {
			end++
		}
		if word := n.text[from:end]; end > from && end < len(n.text) && !inWord(n.text[from-1]) && isASCII(word) && !x.has(word, n.kind == Folded) {
			list = append(list, filter.Word(word).OfVariables())
		}
		from = end
	}
	return list
}

const maxVariable = 4

// has reports whether a literal may have a text.
func (x *literalIndex) has(s []byte, folded bool) (has bool) {
	x.within(s, folded, func(int) bool { has = true; return false })
	return has
}

// within calls f for literals that have a text, until it returns false; if the text is
// folded, which is of ASCII then, also for those of other text that may have it.
func (x *literalIndex) within(s []byte, folded bool, f func(i int) bool) {
	text := x.text
	if folded {
		text, s = x.lower(), toLower(s)
		if bytes.ContainsAny(s, "ks") { // the Kelvin sign is a K, and the long s an S
			for i := range x.literals {
				if x.literals[i].wide && !f(i) {
					return
				}
			}
		}
	}
	for from := 0; from < len(text); {
		at := bytes.Index(text[from:], s)
		if at < 0 {
			return
		}
		at += from
		i := sort.Search(len(x.literals), func(i int) bool { return int(x.literals[i].from) > at }) - 1
		if end := int(x.literals[i].to); at+len(s) <= end {
			if !f(i) {
				return
			}
			from = end + 1
		} else { // in two literals
			from = at + 1
		}
	}
}

// edges are the bytes of a needle, of which a literal has some at an end where a slot is,
// if the needle is across that end.
type edges struct {
	fold        bool
	first, last byte
	bytes       ByteSet
	pairs       [1 << 10]uint64 // of neighbours
}

// newEdges returns the edges of a needle, nil if it is too short to be across an end.
func newEdges(n *Needle) *edges {
	if len(n.text) < 2 {
		return nil
	}
	e := &edges{fold: n.kind == Folded}
	for i := range n.text {
		b := e.byte(n.text[i])
		e.bytes.Add(b)
		if i > 0 {
			pair := uint16(e.last)<<8 | uint16(b)
			e.pairs[pair>>6] |= 1 << (pair & 63)
		} else {
			e.first = b
		}
		e.last = b
	}
	return e
}

func (e *edges) byte(b byte) byte {
	if e.fold {
		return lower[b]
	}
	return b
}

// meet reports whether the needle may be across an end of a literal.
func (e *edges) meet(l *indexed) bool {
	a, b, c, d := e.byte(l.first[0]), e.byte(l.first[1]), e.byte(l.last[0]), e.byte(l.last[1])
	switch {
	case l.to == l.from, e.fold && (a|b|c|d) >= utf8.RuneSelf:
		return true
	case l.to == l.from+1:
		return e.bytes.Has(a)
	}
	return l.before && (d == e.first || e.hasPair(c, d)) || l.after && (a == e.last || e.hasPair(a, b))
}

// across reports whether a needle may be across an end of a literal, which is text.
func (n *Needle) across(l *indexed, text []byte) bool {
	if n.kind == Folded || len(text) == 0 {
		return true
	}
	for at := 1; l.after && at < len(n.text); at++ {
		if n.text[at] == text[0] {
			if _, ok := n.meet(text, at); ok {
				return true
			}
		}
	}
	for size := 1; l.before && size <= min(len(text), len(n.text)-1); size++ {
		if bytes.HasSuffix(text, n.text[:size]) {
			return true
		}
	}
	return false
}

func (e *edges) hasPair(a, b byte) bool {
	pair := uint16(a)<<8 | uint16(b)
	return e.pairs[pair>>6]>>(pair&63)&1 != 0
}
