package template

import (
	"bytes"
	"hash/crc32"
	"slices"
	"sync/atomic"
)

// A Pattern is a template with that which finds it again: a hash of its line without
// the words, and one with those that are not in slots.
type Pattern struct {
	template Template
	literals [][]byte // of the template
	slots    []uint16 // which tokens are slots
	contexts []uint32 // of each slot; see context

	block    atomic.Uint32 // the last that used it, see Miner.blocks
	skeleton uint64
	key      uint64
	terms    []uint64 // of each token, 0 for a variable, wildTerm for a word in a slot
	wild     []uint16 // which words are in slots
}

// plain is the pattern of lines without another.
var plain = &Pattern{template: Plain, literals: [][]byte{nil, nil}, slots: []uint16{0}, contexts: []uint32{0}}

// Template returns the template.
func (p *Pattern) Template() Template { return p.template }

// Contexts returns for each slot a hash of what stands before it. Variables whose
// context is the same belong together, also those of different patterns.
func (p *Pattern) Contexts() []uint32 { return p.contexts }

// newPattern makes a pattern of a line. The words at the places wild become slots.
func newPattern(line []byte, tokens []token, s *signature) *Pattern {
	p := &Pattern{skeleton: s.skeleton, key: s.key, wild: s.wild, terms: slices.Clone(s.terms)}
	at := uint32(0)
	for i, t := range tokens {
		if t.term == 0 || slices.Contains(s.wild, uint16(i)) {
			p.slots = append(p.slots, uint16(i))
			p.literals = append(p.literals, bytes.Clone(line[at:t.from]))
			at = t.to
		}
	}
	p.literals = append(p.literals, bytes.Clone(line[at:]))
	if len(p.slots) > MaxSlots {
		return nil
	}
	p.template = New(p.literals...)
	p.contexts = make([]uint32, len(p.slots))
	for i, s := range p.slots {
		if t := tokens[s]; t.to-t.from == uuidBytes && isUUID(line, int(t.from)) {
			p.contexts[i] = uuidContext
			continue
		}
		p.contexts[i] = crc32.ChecksumIEEE([]byte(p.context(i)))
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

// uuidContext is the context of all UUIDs: the same one often is in lines of different
// patterns that tell of the same request.
const uuidContext = 1

// contextBytes is how much of the literal before a slot tells what the slot has.
const contextBytes = 24

// context returns what stands before slot i, which tells variables of different
// patterns that belong together: the end of the literal before it, if that has letters,
// such as the key of a field; else the context of the slot before it and the literal.
func (p *Pattern) context(i int) string {
	var chain []byte
	for ; ; i-- {
		lit := p.literals[i]
		if i == 0 {
			return "^" + string(lit) + string(chain)
		}
		if bytes.ContainsFunc(lit, func(r rune) bool { return r >= 0x80 || classes[r] != isDelimiter }) {
			return string(lit[max(0, len(lit)-contextBytes):]) + string(chain)
		}
		chain = append([]byte("\x00"+string(lit)), chain...)
	}
}

// size returns about how many bytes of memory the pattern takes.
func (p *Pattern) size() int {
	return 512 + 3*len(p.template.Key()) + 16*len(p.terms) + 40*len(p.slots)
}
