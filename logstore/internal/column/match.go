package column

import (
	"bytes"
	"math/bits"
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/stele-go/stele/logstore/internal/filter"
)

// An Op is what a [Test] asks of a value.
type Op uint8

const (
	Contains  Op = iota // the value has the text in it
	HasPrefix           // it begins with the text
	HasSuffix           // it ends with the text
	Equal               // it is the text
)

// A Test is a question to the values of a column.
type Test struct {
	Op   Op
	Fold bool // under Unicode case folding, as of filter.ContainsFold; Text is UTF-8
	Text []byte
}

// Holds reports whether v passes the test.
func (t Test) Holds(v []byte) bool {
	if t.Fold {
		return t.holdsFolded(v)
	}
	switch t.Op {
	case Contains:
		return bytes.Contains(v, t.Text)
	case HasPrefix:
		return bytes.HasPrefix(v, t.Text)
	case HasSuffix:
		return bytes.HasSuffix(v, t.Text)
	default:
		return bytes.Equal(v, t.Text)
	}
}

func (t Test) holdsFolded(v []byte) bool {
	switch t.Op {
	case Contains:
		return filter.ContainsFold(v, t.Text)
	case HasPrefix:
		_, ok := cutFolded(v, t.Text)
		return ok
	case HasSuffix:
		at := len(v)
		for range utf8.RuneCount(t.Text) {
			_, size := utf8.DecodeLastRune(v[:at])
			at -= size
		}
		v = v[at:]
	}
	rest, ok := cutFolded(v, t.Text)
	return ok && len(rest) == 0
}

// cutFolded returns what follows s in v, which begins with s if case is folded.
func cutFolded(v, s []byte) (rest []byte, ok bool) {
	for len(s) > 0 {
		a, n := utf8.DecodeRune(v)
		b, m := utf8.DecodeRune(s)
		if a != b {
			c := unicode.SimpleFold(a)
			for c != a && c != b {
				c = unicode.SimpleFold(c)
			}
			if c != b {
				return v, false
			}
		}
		if n == 0 || a == utf8.RuneError && n != m { // a byte that is no UTF-8
			return v, false
		}
		v, s = v[n:], s[m:]
	}
	return v, true
}

// May reports whether a value may pass the test, by the lengths, the alphabet and the
// range of all values: false means that none does.
func (c *Column) May(t Test) bool {
	if c.count == 0 {
		return false
	}
	b := c.limits()
	if t.Fold {
		return b.mayFold(t.Text)
	}
	if len(t.Text) > b.most || t.Op == Equal && len(t.Text) < b.least {
		return false
	}
	for _, x := range t.Text {
		if !b.bytes.has(x) {
			return false
		}
	}
	return true
}

// Match sets the bits in dst of the values that pass the test. dst has at least
// (Count()+63)/64 words, value i is bit i%64 of word i/64; other bits stay as they are.
func (c *Column) Match(dst []uint64, t Test) {
	t = t.plain()
	if c.misses == nil && c.count > 0 && !t.Fold && c.matchNumber(dst, t) || !c.May(t) {
		return
	}
	if c.misses == nil {
		c.match(dst, t, c.count)
		return
	}
	n := c.misses.count
	hits := c.bits(0, c.count-n)
	switch c.fitShare(t) {
	case All:
		setAll(hits, c.count-n)
	case Some:
		c.match(hits, t, c.count-n)
	}
	missHits := c.bits(1, n)
	c.misses.Match(missHits, t)
	if anyBit(hits) || anyBit(missHits) {
		c.mergeMisses(dst, hits, missHits)
	}
}

func anyBit(words []uint64) bool {
	return slices.ContainsFunc(words, func(w uint64) bool { return w != 0 })
}

// mergeMisses sets the bits in dst of the values whose bits are set among those that fit,
// or among misses.
func (c *Column) mergeMisses(dst, hits, missHits []uint64) {
	for i := range c.count {
		k := int(c.missed[i])
		hit := false
		if c.isMiss[i/64]>>(i%64)&1 != 0 {
			hit = missHits[k/64]>>(k%64)&1 != 0
		} else {
			k = i - k
			hit = hits[k/64]>>(k%64)&1 != 0
		}
		if hit {
			dst[i/64] |= 1 << (i % 64)
		}
	}
}

// fitShare tells how many of the values that are no misses pass a test.
func (c *Column) fitShare(t Test) Share {
	if c.kind == Time {
		return timeShare(c.form, t)
	}
	kind := byte(c.kind)
	return fitShare([]byte{kind}, t)
}

// bits returns memory for n bits, which are 0.
func (c *Column) bits(which, n int) []uint64 {
	words := (n + 63) / 64
	c.hits[which] = slices.Grow(c.hits[which][:0], words)[:words]
	clear(c.hits[which])
	return c.hits[which]
}

// match sets the bits of the n values that are no misses and pass the test.
func (c *Column) match(dst []uint64, t Test, n int) {
	switch c.kind {
	case Constant:
		if t.Holds(c.text) {
			setAll(dst, n)
		}
		return
	case Text:
		c.matchText(dst, t)
		return
	case Dictionary:
		c.matchDictionary(dst, t)
		return
	}
	if c.misses != nil && !t.Fold && c.matchNumber(dst, t) {
		return
	}
	v := c.room
	hit := false
	for i := range n {
		if !c.again(i) {
			v = c.appendFit(v[:0], i)
			hit = t.Holds(v)
		}
		if hit {
			dst[i/64] |= 1 << (i % 64)
		}
	}
	c.room = v
}

// again reports whether number i is the same as the one before.
func (c *Column) again(i int) bool {
	switch c.kind {
	case UUID, HexBytes, Pattern:
		return false
	case Decimal:
		return i > 0 && c.nums[i] == c.nums[i-1] && c.scales[i] == c.scales[i-1]
	}
	return i > 0 && c.nums[i] == c.nums[i-1]
}

// caseless reports whether text is ASCII without letters.
func caseless(text []byte) bool {
	for _, b := range text {
		if b >= utf8.RuneSelf || b|0x20 >= 'a' && b|0x20 <= 'z' {
			return false
		}
	}
	return true
}

func setAll(dst []uint64, n int) {
	for i := range n / 64 {
		dst[i] = ^uint64(0)
	}
	if n%64 > 0 {
		dst[n/64] |= 1<<(n%64) - 1
	}
}

func (c *Column) matchDictionary(dst []uint64, t Test) {
	d := c.subs[0]
	hits := c.bits(0, d.count)
	d.Match(hits, t)
	c.matchIndexed(dst, hits)
}

// matchIndexed sets the bits of the values of a dictionary whose distinct values have bits.
func (c *Column) matchIndexed(dst, hits []uint64) {
	d := c.subs[0]
	found := 0
	for _, w := range hits {
		found += bits.OnesCount64(w)
	}
	switch found {
	case 0:
		return
	case d.count:
		setAll(dst, c.count)
		return
	}
	for i, x := range c.nums {
		dst[i/64] |= hits[x/64] >> (x % 64) & 1 << (i % 64)
	}
}

// matchText finds the text in all values at once, if none has the byte between values.
func (c *Column) matchText(dst []uint64, t Test) {
	n := c.count
	if t.Op != Contains || t.Fold || len(t.Text) == 0 {
		for i := range n {
			if t.Holds(c.text[c.starts[i] : c.starts[i+1]-c.ends]) {
				dst[i/64] |= 1 << (i % 64)
			}
		}
		return
	}
	i := 0
	for at := 0; ; {
		k := bytes.Index(c.text[at:], t.Text)
		if k < 0 {
			return
		}
		at += k
		for int(c.starts[i+1]) <= at {
			i++
		}
		if at+len(t.Text) > int(c.starts[i+1]-c.ends) { // it extends into the next value
			at++
			continue
		}
		dst[i/64] |= 1 << (i % 64)
		at = int(c.starts[i+1])
		if i++; i == n {
			return
		}
	}
}

// matchNumber answers tests of numbers without making text, and returns false if it
// cannot.
func (c *Column) matchNumber(dst []uint64, t Test) bool {
	switch {
	case t.Op == Equal:
		return c.matchEqual(dst, t.Text)
	case c.kind == IPv4 && len(t.Text) > 0:
		c.matchAddresses(dst, t)
		return true
	case c.kind == Decimal && t.Op == Contains && len(t.Text) < maxDigits && classesOf(t.Text) == classDigit:
		c.matchDecimals(dst, t)
		return true
	case (c.kind == Hex || c.kind == HexUpper) && t.Op == Contains && len(t.Text) > 0 && len(t.Text) <= 16:
		return c.matchHex(dst, t.Text)
	case (c.kind == UUID || c.kind == HexBytes) && t.Op == Contains:
		return c.matchRaw(dst, t)
	case c.kind == Pattern && t.Op == Contains:
		return c.matchParts(dst, t)
	case c.kind == Integer && len(t.Text) < maxDigits && classesOf(t.Text) == classDigit:
		switch {
		case t.Op == Contains && len(t.Text) > 0:
			c.matchDigits(dst, t.Text)
			return true
		case t.Op == HasPrefix && c.param <= 1:
			return c.matchPrefix(dst, t.Text)
		case t.Op == HasSuffix && c.param <= 1:
			matchSuffix(dst, c.nums, t.Text)
			return true
		}
	}
	return false
}

func (c *Column) matchEqual(dst []uint64, p []byte) bool {
	switch c.kind {
	case Integer, Hex, HexUpper, IPv4:
		x, _, ok := parseNumber(p, c.kind, c.param)
		for i := 0; ok && i < len(c.nums); i++ {
			if c.nums[i] == x {
				dst[i/64] |= 1 << (i % 64)
			}
		}
		return true
	case UUID, HexBytes:
		var room [hexBytesMost]byte
		raw, ok := room[:0], false
		if c.kind == UUID {
			raw, ok = appendUUIDBytes(raw, p)
		} else if len(p) == 2*c.param {
			raw, ok = appendHexBytes(raw, p)
		}
		for i := 0; ok && i < len(c.text); i += c.param {
			if bytes.Equal(c.text[i:i+c.param], raw) {
				dst[i/c.param/64] |= 1 << (i / c.param % 64)
			}
		}
		return true
	}
	return false
}

// matchPrefix sets the bits of integers that begin with the digits p: those in one of few
// ranges. It returns false if p begins with 0.
func (c *Column) matchPrefix(dst []uint64, p []byte) bool {
	x, ok := parseInteger(p, 1)
	if !ok || x == 0 {
		return false
	}
	top := slices.Max(c.nums)
	var from, to [maxDigits]uint64
	n := 0
	for k := 0; k < maxDigits; k++ {
		over, lo := bits.Mul64(uint64(x), powers[k])
		if over != 0 || top < 0 || lo > uint64(top) {
			break
		}
		from[n], to[n] = lo, lo+powers[k]
		n++
	}
	for i, v := range c.nums {
		for k := range n {
			if uint64(v)-from[k] < to[k]-from[k] && v >= 0 {
				dst[i/64] |= 1 << (i % 64)
			}
		}
	}
	return true
}

// matchSuffix sets the bits of integers that end with the digits p.
func matchSuffix(dst []uint64, nums []int64, p []byte) {
	want := uint64(0)
	for _, d := range p {
		want = want*10 + uint64(d-'0')
	}
	unit := powers[len(p)]
	least := unit / 10 // with fewer digits than p the number ends otherwise
	if len(p) == 1 {
		least = 0
	}
	for i, v := range nums {
		u := uint64(max(v, -v))
		if u >= least && u%unit == want {
			dst[i/64] |= 1 << (i % 64)
		}
	}
}
