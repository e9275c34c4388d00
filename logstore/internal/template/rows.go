package template

import "slices"

// Variables are those of the lines of one template in a block.
type Variables interface {
	// Rows returns how many lines there are.
	Rows() int
	// May reports whether a condition may hold for the variable of any line.
	May(c *Condition) bool
	// Match sets the bits of the lines for whose variable the condition holds, and clears
	// none.
	Match(dst []uint64, c *Condition)
	// Bounds returns the bounds of the variables in a slot.
	Bounds(slot int) Bounds
	// Walk goes on with the variables in a slot.
	Walk(w *Walk, slot int)
}

// A Matches tells which lines of a template in a block pass a test, by their bits: those
// of Sure do, those of May that are not of Sure may, others do not. Bits behind the last
// line are 0.
type Matches struct{ May, Sure []uint64 }

// A Scanner evaluates plans over variables, and keeps its memory. It is for one goroutine.
// The zero value is ready.
type Scanner struct {
	plan      *Plan
	id        uint32
	judge     *judge
	vars      Variables
	rows      int
	words     int
	free      [][]uint64
	bounds    []Bounds // by slot
	walk      Walk
	condition Condition // not in a variable, which each call would allocate
	known     ByteSet   // the slots whose bounds are known
}

// Scan returns which lines of a template in a block pass the test of a plan. The result is
// valid until the next call.
func (s *Scanner) Scan(p *Plan, id uint32, v Variables) Matches {
	s.plan, s.id, s.vars, s.rows = p, id, v, v.Rows()
	s.words = (s.rows + 63) / 64
	s.known = ByteSet{}
	if s.judge == nil {
		s.judge = &judge{
			needle:  func(leaf int) Verdict { return s.plan.needle(leaf, s.id) },
			indexed: func(*Expr) Verdict { return Maybe },
			always:  func(x *Expr) bool { return s.plan.matches(x, s.id) },
		}
	}
	s.judge.template = p.index.dictionary.At(id)
	var m Matches
	if v := p.Verdict(id); v == Maybe {
		m = s.part(p.query.root)
	} else {
		m = s.whole(v)
	}
	s.give(m.May)
	s.give(m.Sure)
	s.plan, s.vars, s.judge.template = nil, nil, Template{}
	return m
}

// take returns bits that are 0.
func (s *Scanner) take() []uint64 {
	n := len(s.free)
	if n == 0 {
		return make([]uint64, s.words)
	}
	b := s.free[n-1]
	s.free = s.free[:n-1]
	b = slices.Grow(b[:0], s.words)[:s.words]
	clear(b)
	return b
}

func (s *Scanner) give(b []uint64) { s.free = append(s.free, b) }

// boundsOf returns the bounds of the variables in a slot.
func (s *Scanner) boundsOf(slot int) *Bounds {
	s.bounds = slices.Grow(s.bounds[:0], MaxSlots)[:MaxSlots]
	if !s.known.Has(byte(slot)) {
		s.known.Add(byte(slot))
		s.bounds[slot] = s.vars.Bounds(slot)
	}
	return &s.bounds[slot]
}

// fill sets the bits of all lines.
func (s *Scanner) fill(b []uint64) {
	for i := range b {
		b[i] = ^uint64(0)
	}
	if rest := s.rows & 63; rest > 0 {
		b[len(b)-1] = 1<<rest - 1
	}
}

// whole returns the matches of a verdict.
func (s *Scanner) whole(v Verdict) Matches {
	m := Matches{s.take(), s.take()}
	if v != Never {
		s.fill(m.May)
	}
	if v == Always {
		s.fill(m.Sure)
	}
	return m
}

func (s *Scanner) scan(x *Expr) Matches {
	if v := x.verdict(s.judge); v != Maybe {
		return s.whole(v)
	}
	return s.part(x)
}

// part is scan for a test that some lines may pass.
func (s *Scanner) part(x *Expr) Matches {
	switch x.op {
	case exprNeedle:
		return s.needle(x.leaf)
	case exprIndexed:
		return s.whole(Maybe)
	case exprMatch:
		return s.match(x)
	case exprNot:
		m := s.scan(x.kids[0])
		s.invert(m.May)
		s.invert(m.Sure)
		return Matches{m.Sure, m.May}
	}
	m := s.whole(Always)
	if x.op == exprAny {
		clear(m.May)
		clear(m.Sure)
	}
	for _, k := range x.kids {
		of := s.scan(k)
		if x.op == exprAny {
			or(m.May, of.May)
			or(m.Sure, of.Sure)
		} else {
			and(m.May, of.May)
			and(m.Sure, of.Sure)
		}
		s.give(of.May)
		s.give(of.Sure)
		if x.op == exprAll && empty(m.May) {
			break
		}
	}
	return m
}

func (s *Scanner) invert(b []uint64) {
	for i := range b {
		b[i] = ^b[i]
	}
	if rest := s.rows & 63; rest > 0 {
		b[len(b)-1] &= 1<<rest - 1
	}
}

// needle returns which lines have a needle that some may have.
func (s *Scanner) needle(leaf int) Matches {
	n, t := s.plan.query.needles[leaf], s.judge.template
	var across [][]Condition
	if s.plan.reach[leaf][s.id] != reachSlot {
		a := s.plan.answer(leaf, s.id)
		if a.full {
			within := n.In(t, s.boundsOf)
			a = &within
		}
		if a.Every || a.Verdict == Always {
			return s.whole(a.Verdict)
		}
		across = a.Across
	}
	m := Matches{s.take(), s.take()}
	c := &s.condition
	*c = n.condition()
	for c.Slot = range t.Slots() {
		if s.vars.May(c) {
			s.vars.Match(m.May, c)
		}
	}
	for _, list := range across {
		s.all(m.May, list)
	}
	if n.exact() {
		copy(m.Sure, m.May)
	}
	return m
}

// match tells which lines may have a match, and which surely do: those that have one within a
// variable.
func (s *Scanner) match(x *Expr) Matches {
	if x.automaton != nil && !s.mayMatch(x.automaton) {
		return s.whole(Never)
	}
	var m Matches
	if x.kids[0].selective {
		m = s.scan(x.kids[0])
		clear(m.Sure)
	} else {
		m = s.whole(Maybe)
	}
	if x.automaton != nil && !empty(m.May) {
		s.within(m.Sure, x.automaton)
	}
	return m
}

// mayMatch reports whether any line may have a match.
func (s *Scanner) mayMatch(a *Automaton) bool {
	t, w := s.judge.template, &s.walk
	if !wholeRunes(t) {
		return true
	}
	w.Begin(a)
	for i := 0; i <= t.Slots() && !w.May; i++ {
		if w.Text(t.Literal(i)); i < t.Slots() && !w.May {
			s.vars.Walk(w, i)
		}
	}
	return w.May
}

// within adds the lines that have a match within a variable.
func (s *Scanner) within(dst []uint64, a *Automaton) {
	t := s.judge.template
	if !a.local || !wholeRunes(t) {
		return
	}
	c := &s.condition
	*c = Condition{Op: HasMatch, Text: a.name, Automaton: a}
	for c.Slot = range t.Slots() {
		if s.vars.May(c) {
			s.vars.Match(dst, c)
		}
	}
}

// all adds the lines that meet all conditions of a list.
func (s *Scanner) all(dst []uint64, list []Condition) {
	for i := range list {
		if !s.vars.May(&list[i]) {
			return
		}
	}
	if len(list) == 1 {
		s.vars.Match(dst, &list[0])
		return
	}
	met, one := s.take(), s.take()
	s.fill(met)
	for i := range list {
		clear(one)
		s.vars.Match(one, &list[i])
		if and(met, one); empty(met) {
			break
		}
	}
	or(dst, met)
	s.give(met)
	s.give(one)
}

func and(dst, with []uint64) {
	for i, b := range with {
		dst[i] &= b
	}
}

func or(dst, with []uint64) {
	for i, b := range with {
		dst[i] |= b
	}
}

func empty(b []uint64) bool {
	for _, w := range b {
		if w != 0 {
			return false
		}
	}
	return true
}
