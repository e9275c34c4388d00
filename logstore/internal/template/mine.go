package template

import (
	"cmp"
	"slices"
	"unsafe"
)

const (
	// minWords is how many different words make a slot of a place.
	minWords = 4
	// minLines is how many lines make a pattern without slots for words: with fewer, its
	// entry in the dictionary takes more than it saves.
	minLines = 4
	// mineWork bounds the terms that are looked at to mine the lines of one block.
	mineWork = 1 << 18
)

// A grouping mines lines of one skeleton, and keeps its memory.
type grouping struct {
	order      []int
	signatures []*signature
	memory     []*signature // those that were made for the lines of this skeleton, and free ones
	made       int
	byKey      map[uint64]*signature
	counts     map[uint64]int
	work       int // terms that may still be looked at
}

// weight returns about how many bytes of memory the grouping keeps.
func (g *grouping) weight() int64 {
	const entry = 32 // of a map
	n := 8*int64(cap(g.order)+cap(g.signatures)+cap(g.memory)) + entry*int64(len(g.byKey)+len(g.counts))
	for _, s := range g.memory {
		n += int64(unsafe.Sizeof(*s)) + 8*int64(cap(s.own)) + 2*int64(cap(s.wild))
	}
	return n
}

// A signature is lines that have the same words, but for those at the places wild.
type signature struct {
	skeleton, key uint64
	terms         []uint64 // of each token: 0 for a variable, wildTerm for any word
	wild          []uint16
	lines         int
	example       int // a pending line, -1: it is a pattern

	own []uint64 // memory for terms
}

// signature returns an empty signature.
func (g *grouping) signature() *signature {
	if g.made == len(g.memory) {
		g.memory = append(g.memory, new(signature))
	}
	s := g.memory[g.made]
	g.made++
	*s = signature{own: s.own[:0]}
	return s
}

// mine adds patterns of pending lines to the miner.
//
// Lines of one skeleton differ in their words alone. Where four of them or more are the
// same but for the word at one place, that is a slot; and so on among the patterns that
// come of it. Of the others, those become patterns that come a second time. This is
// the idea of Drain (He et al., ICWS 2017), with the skeleton in place of its tree.
func (p *Parser) mine(text []byte, chunks bool) {
	m, g := p.miner, &p.groups
	m.mu.Lock()
	defer m.mu.Unlock()
	g.order = g.order[:0]
	for i := range p.pending {
		g.order = append(g.order, i)
	}
	slices.SortStableFunc(g.order, func(a, b int) int { return cmp.Compare(p.pending[a].skeleton, p.pending[b].skeleton) })
	g.work = mineWork
	for rest := g.order; len(rest) > 0 && g.work > 0; {
		n := 1
		for n < len(rest) && p.pending[rest[n]].skeleton == p.pending[rest[0]].skeleton {
			n++
		}
		p.collect(rest[:n])
		g.join()
		p.learn(text, chunks)
		rest = rest[n:]
	}
}

// collect makes the signatures of pending lines of one skeleton, and of its patterns.
func (p *Parser) collect(lines []int) {
	g, first := &p.groups, &p.pending[lines[0]]
	g.signatures, g.made = g.signatures[:0], 0
	if g.byKey == nil {
		g.byKey, g.counts = make(map[uint64]*signature), make(map[uint64]int)
	}
	clear(g.byKey)
	add := func(s *signature) {
		g.byKey[s.key] = s
		g.signatures = append(g.signatures, s)
		g.work -= len(s.terms)
	}
	if f := p.miner.patterns.Load().family(first.skeleton); f != nil {
		for _, known := range f.patterns {
			if len(known.terms) == first.tokens && g.work > 0 {
				s := g.signature()
				s.skeleton, s.key, s.terms, s.wild, s.example = known.skeleton, known.key, known.terms, known.wild, -1
				add(s)
			}
		}
	}
	for _, i := range lines {
		l := &p.pending[i]
		if l.tokens != first.tokens || g.work <= 0 {
			continue
		}
		s := g.byKey[l.key]
		if s == nil {
			s = g.signature()
			for _, t := range p.tokens[l.first:][:l.tokens] {
				s.own = append(s.own, t.term)
			}
			s.skeleton, s.key, s.terms, s.example = l.skeleton, l.key, s.own, i
			add(s)
		}
		s.lines++
	}
}

// join joins signatures that differ in the word at one place, the most first, for as
// long as there are minWords of them.
func (g *grouping) join() {
	for len(g.signatures) >= minWords {
		place, most, key := -1, minWords-1, uint64(0)
		for i, term := range g.signatures[0].terms {
			if term == 0 {
				continue
			}
			if g.work -= len(g.signatures); g.work < 0 {
				return
			}
			clear(g.counts)
			for _, s := range g.signatures {
				k := s.key - s.terms[i]
				g.counts[k]++
				if n := g.counts[k]; n > most {
					place, most, key = i, n, k
				}
			}
		}
		if place < 0 {
			return
		}
		g.joinAt(place, key)
	}
}

// joinAt joins the signatures whose key without the word at a place is key.
func (g *grouping) joinAt(place int, key uint64) {
	wildcard := wildTerm(place)
	joined := g.signature()
	joined.key, joined.example = key+wildcard, -1
	kept := g.signatures[:0]
	for _, s := range g.signatures {
		if s.key-s.terms[place] != key {
			kept = append(kept, s)
			continue
		}
		joined.lines += s.lines
		if joined.example < 0 {
			joined.example = s.example
		}
		if joined.terms == nil {
			joined.own = append(joined.own, s.terms...)
			joined.own[place] = wildcard
			joined.skeleton, joined.terms = s.skeleton, joined.own
			joined.wild = append(slices.Clone(s.wild), uint16(place))
			slices.Sort(joined.wild)
			joined.wild = slices.Compact(joined.wild)
		}
	}
	g.signatures = append(kept, joined)
}

// learn adds the patterns of the signatures that lines have. mu of the miner is held.
func (p *Parser) learn(text []byte, chunks bool) {
	m := p.miner
	for _, s := range p.groups.signatures {
		if s.example < 0 || s.lines == 0 {
			continue
		}
		if s.wild == nil && s.lines < minLines && !m.sawEnough(s.key, s.lines) {
			continue
		}
		if !m.hasSpace(s) {
			continue
		}
		l := &p.pending[s.example]
		if line := text[l.line.From:l.line.To]; len(line) <= maxTemplate {
			if found := newPattern(line, p.tokens[l.first:][:l.tokens], s, chunks); found != nil {
				m.add(found)
				if chunks {
					m.chunks.Store(true)
				}
			}
		}
	}
}
