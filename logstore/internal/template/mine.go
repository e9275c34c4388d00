package template

import (
	"cmp"
	"slices"
)

const (
	// minWords is how many different words make a slot of a place.
	minWords = 4
	// minLines is how many lines make a pattern without slots for words.
	minLines = 2
	// mineWork bounds the terms that are looked at to mine the lines of one block.
	mineWork = 1 << 18
)

// A grouping mines lines of one skeleton, and keeps its memory.
type grouping struct {
	order      []int
	signatures []*signature
	byKey      map[uint64]*signature
	counts     map[uint64]int
	work       int // terms that may still be looked at
}

// A signature is lines that have the same words, but for those at the places wild.
type signature struct {
	skeleton, key uint64
	terms         []uint64 // of each token: 0 for a variable, wildTerm for any word
	wild          []uint16
	lines         int
	example       int // a pending line, -1: it is a pattern
}

// mine adds patterns of pending lines to the miner.
//
// Lines of one skeleton differ in their words alone. Where four of them or more are the
// same but for the word at one place, that is a slot; and so on among the patterns that
// come of it. Of the others, those become patterns that come a second time. This is
// the idea of Drain (He et al., ICWS 2017), with the skeleton in place of its tree.
func (p *Parser) mine(text []byte) {
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
		p.learn(text)
		rest = rest[n:]
	}
}

// collect makes the signatures of pending lines of one skeleton, and of its patterns.
func (p *Parser) collect(lines []int) {
	g, first := &p.groups, &p.pending[lines[0]]
	g.signatures = g.signatures[:0]
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
				add(&signature{known.skeleton, known.key, known.terms, known.wild, 0, -1})
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
			terms := make([]uint64, l.tokens)
			for k, t := range p.tokens[l.first:][:l.tokens] {
				terms[k] = t.term
			}
			s = &signature{l.skeleton, l.key, terms, nil, 0, i}
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
	joined := &signature{key: key + wildcard, example: -1}
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
			joined.skeleton, joined.terms = s.skeleton, slices.Clone(s.terms)
			joined.terms[place] = wildcard
			joined.wild = append(slices.Clone(s.wild), uint16(place))
			slices.Sort(joined.wild)
			joined.wild = slices.Compact(joined.wild)
		}
	}
	g.signatures = append(kept, joined)
}

// learn adds the patterns of the signatures that lines have. mu of the miner is held.
func (p *Parser) learn(text []byte) {
	m := p.miner
	for _, s := range p.groups.signatures {
		if s.example < 0 || s.lines == 0 {
			continue
		}
		if s.wild == nil && s.lines < minLines && !m.sawBefore(s.key) {
			continue
		}
		if f := m.patterns.Load().family(s.skeleton); f != nil && (len(f.patterns) >= maxFamily || s.wild != nil && len(f.wild) >= maxWild) {
			continue
		}
		l := &p.pending[s.example]
		if line := text[l.line.From:l.line.To]; len(line) <= maxTemplate {
			if found := newPattern(line, p.tokens[l.first:][:l.tokens], s); found != nil {
				m.add(found)
			}
		}
	}
}
