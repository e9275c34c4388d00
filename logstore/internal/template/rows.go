package template

// Variables are those of the lines of one template in a block.
type Variables interface {
	// Rows returns how many lines there are.
	Rows() int
	// May reports whether a condition may hold for the variable of any line.
	May(c *Condition) bool
	// Match sets the bits of the lines for whose variable the condition holds, and clears
	// none. exact is false if it may have set others.
	Match(dst []uint64, c *Condition) (exact bool)
	// Bounds returns the bounds of the variables in a slot.
	Bounds(slot int) *Bounds
}

// A Matches tells which lines of a template in a block pass a test, by their bits: those
// of Sure do, those of May that are not of Sure may, others do not. Bits behind the last
// line are 0.
type Matches struct{ May, Sure []uint64 }

// A Scanner evaluates plans over variables, and keeps its memory. It is for one goroutine.
// The zero value is ready.
type Scanner struct {
	plan  *Plan
	id    uint32
	judge *judge
	vars  Variables
	rows  int
	words int
	free  [][]uint64
}

// Scan returns which lines of a template in a block pass the test of a plan. The result is
// valid until the next call.
func (s *Scanner) Scan(p *Plan, id uint32, v Variables) Matches {
	s.plan, s.id, s.vars, s.rows = p, id, v, v.Rows()
	s.words = (s.rows + 63) / 64
	s.judge = p.judge(id)
	m := s.scan(p.query.root)
	s.give(m.May)
	s.give(m.Sure)
	s.vars, s.judge = nil, nil
	return m
}

// take returns bits that are 0.
func (s *Scanner) take() []uint64 {
	n := len(s.free)
	if n == 0 || cap(s.free[n-1]) < s.words {
		return make([]uint64, s.words)
	}
	b := s.free[n-1][:s.words]
	s.free = s.free[:n-1]
	clear(b)
	return b
}

func (s *Scanner) give(b []uint64) { s.free = append(s.free, b) }

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
	switch v := x.verdict(s.judge); {
	case v != Maybe:
		return s.whole(v)
	case x.op == exprNeedle:
		return s.needle(x.leaf)
	case x.op == exprIndexed:
		return s.whole(Maybe)
	case x.op == exprMatch:
		m := s.scan(x.kids[0])
		clear(m.Sure)
		return m
	case x.op == exprNot:
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
	n, t := s.plan.query.needles[leaf], s.plan.index.dictionary.At(s.id)
	var across [][]Condition
	if s.plan.reach[leaf][s.id] != reachSlot {
		a := s.plan.answer(leaf, s.id)
		if a.full {
			within := n.In(t, s.vars.Bounds)
			a = &within
		}
		if a.Every {
			return s.whole(Maybe)
		}
		across = a.Across
	}
	m := Matches{s.take(), s.take()}
	c := Condition{Op: HasText, Fold: n.kind == Folded && hasCase(n.text), Text: n.text}
	for c.Slot = range t.Slots() {
		if s.vars.May(&c) {
			s.one(m, n, c)
		}
	}
	for _, list := range across {
		s.all(m, n, list)
	}
	return m
}

// one adds the lines that meet a condition.
func (s *Scanner) one(m Matches, n *Needle, c Condition) {
	if !n.exact() {
		s.vars.Match(m.May, &c)
		return
	}
	found := s.take()
	exact := s.vars.Match(found, &c)
	or(m.May, found)
	if exact {
		or(m.Sure, found)
	}
	s.give(found)
}

// all adds the lines that meet all conditions of a list.
func (s *Scanner) all(m Matches, n *Needle, list []Condition) {
	for i := range list {
		if !s.vars.May(&list[i]) {
			return
		}
	}
	met, one, exact := s.take(), s.take(), n.exact()
	s.fill(met)
	for i := range list {
		clear(one)
		exact = s.vars.Match(one, &list[i]) && exact
		if and(met, one); empty(met) {
			break
		}
	}
	or(m.May, met)
	if exact {
		or(m.Sure, met)
	}
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
