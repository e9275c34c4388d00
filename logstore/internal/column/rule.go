package column

import "slices"

// A Rule says which values may stand where a text is expected, by their bytes.
type Rule struct {
	// A value with one of these bytes breaks the rule: bit b%64 of word b/64 is byte b.
	Forbidden [4]uint64
	// Check, unless nil, is asked of values with one of these bytes, and of empty ones. Those
	// for which it is false break the rule. It must not keep them.
	Doubtful [4]uint64
	Check    func(value []byte) bool
	// Numbers says that Check is true for integers and decimals without leading zeros.
	Numbers bool
}

// suspect returns the bytes without which a value that is not empty keeps the rule.
func (r *Rule) suspect() byteSet {
	s := byteSet(r.Forbidden)
	if r.Check != nil {
		s.union(byteSet(r.Doubtful))
	}
	return s
}

// Holds reports whether v keeps the rule.
func (r *Rule) Holds(v []byte) bool {
	forbidden, doubtful := byteSet(r.Forbidden), byteSet(r.Doubtful)
	doubt := len(v) == 0
	for _, b := range v {
		if forbidden.has(b) {
			return false
		}
		doubt = doubt || doubtful.has(b)
	}
	return !doubt || r.Check == nil || r.Check(v)
}

// kindBytes returns the bytes that values of a kind may have, nil if these are all.
func kindBytes(k Kind) *byteSet {
	switch k {
	case Integer, Decimal, IPv4, Hex, HexUpper, HexBytes:
		return &alphabets[k]
	case UUID:
		return &uuidAlphabet
	case Time:
		return &timeBytes
	}
	return nil
}

var uuidAlphabet = setOf(lowerAlphabet + "-")

// timeBytes are those of times in all layouts.
var timeBytes = func() (s byteSet) {
	for _, p := range layouts {
		s.add(p)
	}
	for _, p := range [...]string{allDigits, monthNames, dayNames, ".,:Z"} {
		s.add(p)
	}
	return s
}()

// keeps reports whether all values of a kind keep the rule. plain says that they have no
// leading zeros.
func (r *Rule) keeps(k Kind, plain bool) bool {
	s := kindBytes(k)
	if s == nil {
		return false
	}
	if r.Check == nil || r.Numbers && plain && (k == Integer || k == Decimal) {
		return !s.meets(byteSet(r.Forbidden))
	}
	return !s.meets(r.suspect())
}

func (s *byteSet) meets(t byteSet) bool {
	return s[0]&t[0]|s[1]&t[1]|s[2]&t[2]|s[3]&t[3] != 0
}

// MayBreak reports whether a value of a column may break the rule, by the first of its
// packed bytes alone.
func (r *Rule) MayBreak(packed []byte) bool {
	return len(packed) > 0 && (packed[0]&flagMiss != 0 || !r.keeps(KindOf(packed), packed[0]&flagWidth == 0))
}

// Breaks sets the bits in dst of the values that break the rule, as Match does, and reports
// whether there are some.
func (c *Column) Breaks(dst []uint64, r *Rule) (some bool) {
	if c.count == 0 {
		return false
	}
	if c.misses == nil {
		return c.breaks(dst, r, c.count)
	}
	n := c.misses.count
	hits := c.bits(0, c.count-n)
	some = c.breaks(hits, r, c.count-n)
	missHits := c.bits(1, n)
	if !c.misses.Breaks(missHits, r) && !some {
		return false
	}
	c.mergeMisses(dst, hits, missHits)
	return true
}

// breaks is Breaks for the n values that are no misses.
func (c *Column) breaks(dst []uint64, r *Rule, n int) (some bool) {
	switch c.kind {
	case Constant:
		if some = !r.Holds(c.text); some {
			setAll(dst, n)
		}
		return some
	case Text:
		return c.breaksText(dst, r)
	case Dictionary:
		c.clearBroken(c.subs[0].count)
		if !c.subs[0].Breaks(c.broken, r) {
			return false
		}
		any := uint64(0)
		for i, x := range c.nums {
			breaks := c.broken[x/64] >> (x % 64) & 1
			any |= breaks
			dst[i/64] |= breaks << (i % 64)
		}
		return any != 0 // no value has some of the entries if the encoder was another
	case Pattern:
		if c.patternKeeps(r, n) {
			return false
		}
	default:
		if r.keeps(c.kind, c.param <= 1 || c.kind == Decimal) {
			return false
		}
	}
	v, broken := c.room, false
	for i := range n {
		if !c.again(i) {
			v = c.appendFit(v[:0], i)
			broken = !r.Holds(v)
		}
		if broken {
			some = true
			dst[i/64] |= 1 << (i % 64)
		}
	}
	c.room = v
	return some
}

// patternKeeps reports whether no byte of a literal, nor of a part of the n values that fit,
// is one that the rule asks about.
func (c *Column) patternKeeps(r *Rule, n int) bool {
	parts := Rule{Forbidden: r.suspect()}
	size := 0
	for _, lit := range c.literals {
		size += len(lit)
		if !parts.Holds(lit) {
			return false
		}
	}
	if size == 0 { // a value may be empty
		return false
	}
	for _, part := range c.subs[:c.parts] {
		if c.clearBroken(n); part.Breaks(c.broken, &parts) {
			return false
		}
	}
	return true
}

// clearBroken makes room for the bits of n values of a column within c.
func (c *Column) clearBroken(n int) {
	words := (n + 63) / 64
	c.broken = slices.Grow(c.broken[:0], words)[:words]
	clear(c.broken)
}

// breaksText looks for the bytes that the rule asks about in all texts at once.
func (c *Column) breaksText(dst []uint64, r *Rule) (some bool) {
	if r.Check != nil {
		for i := range c.count {
			if c.starts[i+1]-c.starts[i] == c.ends && !r.Check(nil) {
				some = true
				dst[i/64] |= 1 << (i % 64)
			}
		}
	}
	var f byteFinder
	if c.ends > 0 { // no text has the separator
		f.find(r.suspect(), c.text[len(c.text)-1])
	} else {
		f.findAll(r.suspect())
	}
	i := 0
	for at := f.next(c.text, 0); at < len(c.text); at = f.next(c.text, int(c.starts[i])) {
		for int(c.starts[i+1]) <= at {
			i++
		}
		if !r.Holds(c.text[c.starts[i] : c.starts[i+1]-c.ends]) {
			some = true
			dst[i/64] |= 1 << (i % 64)
		}
		i++
	}
	return some
}
