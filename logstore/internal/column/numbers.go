package column

import "slices"

// exact is the end of the integers that float64 has all of.
const exact = 1 << 53

// AppendNumbers appends a number for each value: that of its text, for integers and
// decimals without making the text, rounded as strconv.ParseFloat rounds it; for all other
// values what parse returns, which is called once for each value of a dictionary. parse
// must not keep the text.
func (c *Column) AppendNumbers(dst []float64, parse func(text []byte) float64) []float64 {
	from := len(dst)
	dst = slices.Grow(dst, c.count)[:from+c.count]
	c.numbers(dst[from:], parse)
	return dst
}

func (c *Column) numbers(dst []float64, parse func(text []byte) float64) {
	if c.count == 0 {
		return
	}
	if c.misses == nil {
		c.fitNumbers(dst, parse)
		return
	}
	n := c.misses.count
	c.fitNumbers(dst[n:], parse)
	c.floats = slices.Grow(c.floats[:0], n)[:n]
	c.misses.numbers(c.floats, parse)
	fit, miss := dst[n:], c.floats
	for i := range dst { // fit is never behind what is written
		if c.isMiss[i/64]>>(i%64)&1 != 0 {
			dst[i], miss = miss[0], miss[1:]
		} else {
			dst[i], fit = fit[0], fit[1:]
		}
	}
}

// fitNumbers fills dst with the numbers of the values that are no misses.
func (c *Column) fitNumbers(dst []float64, parse func(text []byte) float64) {
	switch c.kind {
	case Constant:
		x := parse(c.text)
		for i := range dst {
			dst[i] = x
		}
	case Integer:
		for i, v := range c.nums {
			dst[i] = float64(v)
		}
	case Dictionary:
		d := c.subs[0]
		c.floats = slices.Grow(c.floats[:0], d.count)[:d.count]
		d.numbers(c.floats, parse)
		for i, k := range c.nums {
			dst[i] = c.floats[k]
		}
	default:
		c.parseNumbers(dst, parse)
	}
}

// parseNumbers makes text of values, but of decimals that are exact as they are.
func (c *Column) parseNumbers(dst []float64, parse func(text []byte) float64) {
	unit := float64(1)
	if c.kind == Decimal {
		unit = float64(powers[c.param])
	}
	text := c.room
	for i := range dst {
		if c.kind == Decimal && uint64(c.nums[i]+exact) <= 2*exact {
			dst[i] = float64(c.nums[i]) / unit
			continue
		}
		text = c.appendFit(text[:0], i)
		dst[i] = parse(text)
	}
	c.room = text
}
