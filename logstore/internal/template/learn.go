package template

import "bytes"

// Learn adds the pattern of a line that has a template, which other lines were found to
// share before: it is known then as if its lines had come again. It reports whether there
// is such a pattern: each slot of the template must be a token of the line, or a chunk.
func (m *Miner) Learn(t Template, line []byte) bool {
	if t.Slots() > MaxSlots || len(line) > maxTemplate {
		return false
	}
	var s scanner
	for _, chunks := range [...]bool{false, true} {
		divided := s.scan
		if chunks {
			divided = s.scanChunks
		}
		if !divided(line) {
			continue
		}
		of, ok := signatureOf(t, line, &s)
		if !ok {
			continue
		}
		if p := newPattern(line, s.tokens, &of, chunks); p != nil {
			m.mu.Lock()
			defer m.mu.Unlock()
			if m.hasSpace(&of) {
				m.add(p)
				if chunks {
					m.chunks.Store(true)
				}
				return true
			}
		}
		return false
	}
	return false
}

// signatureOf returns the signature of a line that has a template, whose slots are tokens
// of the scanner.
func signatureOf(t Template, line []byte, s *scanner) (of signature, ok bool) {
	of = signature{skeleton: s.skeleton, key: s.key, lines: minLines}
	slot, end := 0, 0 // of the tokens before
	isNext := func(from uint32) bool { return slot < t.Slots() && int(from) == end+len(t.Literal(slot)) }
	for i, token := range s.tokens {
		term := token.term
		switch {
		case isNext(token.from) && bytes.HasPrefix(line[end:], t.Literal(slot)):
			if slot, end = slot+1, int(token.to); term != 0 {
				of.wild = append(of.wild, uint16(i))
				of.key += wildTerm(i) - term
				term = wildTerm(i)
			}
		case term == 0:
			return of, false // a variable that is no slot
		}
		of.terms = append(of.terms, term)
	}
	return of, slot == t.Slots() && bytes.Equal(line[end:], t.Literal(slot))
}

// hasSpace reports whether the patterns of a skeleton may become more. mu is held.
func (m *Miner) hasSpace(of *signature) bool {
	f := m.patterns.Load().family(of.skeleton)
	return f == nil || len(f.patterns) < maxFamily && (of.wild == nil || len(f.wild) < maxWild)
}
