package template

import (
	"bytes"
	"hash/crc32"
	"math"
	"slices"
	"sync/atomic"
)

// A Pattern is a template with that which finds it again: a hash of its line without
// the words, and one with those that are not in slots.
type Pattern struct {
	template Template
	literals [][]byte // of the template
	slots    []uint16 // which tokens are slots
	contexts []uint32 // of each slot; see contextOf
	shapes   []shape  // of each slot

	miner    *Miner        // that found it; a Clone has it too
	block    atomic.Uint32 // the last of miner that used it, see Miner.blocks
	skeleton uint64
	key      uint64
	terms    []uint64 // of each token, 0 for a variable, wildTerm for a word in a slot
	wild     []uint16 // which words are in slots
}

// plain is the pattern of lines without another.
var plain = &Pattern{template: Plain, literals: [][]byte{nil, nil}, slots: []uint16{0}, contexts: []uint32{0}, shapes: make([]shape, 1)}

// Template returns the template.
func (p *Pattern) Template() Template { return p.template }

// IsPlain reports whether the pattern is that of lines without another, whose template is
// Plain.
func (p *Pattern) IsPlain() bool { return p == plain }

// Contexts returns for each slot a hash of what stands before it. Variables whose
// context is the same belong together, also those of different patterns.
func (p *Pattern) Contexts() []uint32 { return p.contexts }

// newPattern makes a pattern of a line and its tokens, or chunks. The words at the places
// wild become slots.
func newPattern(line []byte, tokens []token, s *signature, chunks bool) *Pattern {
	p := &Pattern{skeleton: s.skeleton, key: s.key, wild: s.wild, terms: slices.Clone(s.terms)}
	at := uint32(0)
	for i, t := range tokens {
		if t.term == 0 || slices.Contains(s.wild, uint16(i)) {
			p.slots = append(p.slots, uint16(i))
			p.literals = append(p.literals, bytes.Clone(line[at:t.from]))
			p.shapes = append(p.shapes, shapeOf(line[t.from:t.to], t.term != 0, chunks))
			at = t.to
		}
	}
	p.literals = append(p.literals, bytes.Clone(line[at:]))
	if len(p.slots) > MaxSlots {
		return nil
	}
	p.template = New(p.literals...)
	p.contexts = make([]uint32, len(p.slots))
	context := crc32.ChecksumIEEE([]byte("^"))
	for i, s := range p.slots {
		context = contextOf(context, p.literals[i], i == 0)
		p.contexts[i] = context
		if t := tokens[s]; t.to-t.from == uuidBytes && isUUID(line, int(t.from)) {
			p.contexts[i] = uuidContext
		}
	}
	return p
}

// matches reports whether the line has the literals of the pattern around the tokens in
// its slots.
func (p *Pattern) matches(line []byte, tokens []token) bool {
	if len(tokens) != len(p.terms) {
		return false // a hash has collided
	}
	at := uint32(0)
	for i, s := range p.slots {
		t := &tokens[s]
		if string(line[at:t.from]) != string(p.literals[i]) {
			return false
		}
		at = t.to
	}
	return string(line[at:]) == string(p.literals[len(p.slots)])
}

// A shape is how a variable looks.
type shape struct {
	length uint16 // of times and UUIDs, 0: as long as there are letters and digits
	gaps   uint64 // if it has a length: which of the first bytes are neither
	dotted bool   // and points with a digit behind
	word   bool   // without digits
	chunk  bool   // up to the end of a chunk
}

func shapeOf(variable []byte, word, chunk bool) shape {
	s := shape{word: word, chunk: chunk}
	if chunk && bytes.ContainsFunc(variable, func(r rune) bool { return r < 0x80 && chunkEnds[r] }) {
		return fixedShape(variable) // a time
	}
	if chunk {
		return s
	}
	for i, b := range variable {
		switch {
		case classes[b] != isDelimiter || i == 0 && b == '-':
		case b == '.':
			s.dotted = true
		default:
			return fixedShape(variable)
		}
	}
	return s
}

// fixedShape is the shape of a time or a UUID.
func fixedShape(variable []byte) shape {
	s := shape{length: uint16(min(len(variable), math.MaxUint16))}
	for i, b := range variable[:min(len(variable), 64)] {
		if classes[b] == isDelimiter {
			s.gaps |= 1 << i
		}
	}
	return s
}

// fixedEnd is end of a shape with a length.
func (s shape) fixedEnd(line []byte, i int) int {
	end := i + int(s.length)
	if end > len(line) || classes[line[end-1]] == isDelimiter {
		return 0
	}
	gaps, all := uint64(0), uint8(0)
	for k, b := range line[i:min(end, i+64)] {
		c := classes[b]
		all |= c
		if c == isDelimiter {
			gaps |= 1 << k
		}
	}
	if gaps != s.gaps || all&isDigit == 0 {
		return 0
	}
	return end
}

// end returns where the variable of the shape ends that is at i in the line, 0 if there
// is none.
func (s shape) end(line []byte, i int) int {
	if s.length > 0 {
		return s.fixedEnd(line, i)
	}
	if s.chunk {
		if i == len(line) || chunkEnds[line[i]] {
			return 0
		}
		end, digits := chunkEnd(line, i)
		if digits == s.word {
			return 0
		}
		return end
	}
	if i < len(line) && line[i] == '-' && !s.word {
		i++
	}
	all := uint8(0)
	for ; i < len(line); i++ {
		c := classes[line[i]]
		all |= c
		if c == isDelimiter && !(s.dotted && line[i] == '.' && i+1 < len(line) && classes[line[i+1]] == isDigit) {
			break
		}
	}
	if all == 0 || s.word != (all&isDigit == 0) {
		return 0
	}
	return i
}

// follow appends the variables of a line to spans if it has the literals of the pattern,
// with variables of the same shapes between them. It finds fewer lines than the tokens
// do, but faster. The line is at from in its text.
func (p *Pattern) follow(spans []Span, line []byte, from int) ([]Span, bool) {
	at, before := 0, len(spans)
	for i, s := range p.shapes {
		lit := p.literals[i]
		if len(line)-at <= len(lit) || string(line[at:at+len(lit)]) != string(lit) {
			return spans[:before], false
		}
		at += len(lit)
		end := s.end(line, at)
		if end == 0 {
			return spans[:before], false
		}
		spans = append(spans, Span{uint32(from + at), uint32(from + end)})
		at = end
	}
	if string(line[at:]) != string(p.literals[len(p.shapes)]) {
		return spans[:before], false
	}
	return spans, true
}

// uuidContext is the context of all UUIDs: the same one often is in lines of different
// patterns that tell of the same request.
const uuidContext = 1

// contextBytes is how much of the literal before a slot tells what the slot has.
const contextBytes = 24

// contextOf returns a hash of what stands before a slot, which tells variables of different
// patterns that belong together: the end of the literal before it, if that has letters,
// such as the key of a field; else the context of the slot before it, and the literal.
func contextOf(before uint32, literal []byte, first bool) uint32 {
	if !first && bytes.ContainsFunc(literal, func(r rune) bool { return r >= 0x80 || classes[r] != isDelimiter }) {
		return crc32.ChecksumIEEE(literal[max(0, len(literal)-contextBytes):])
	}
	return crc32.Update(before, crc32.IEEETable, append([]byte{0}, literal...))
}

// size returns about how many bytes of memory the pattern takes.
func (p *Pattern) size() int {
	return 512 + 3*len(p.template.Key()) + 16*len(p.terms) + 40*len(p.slots)
}
