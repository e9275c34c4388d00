package column

import "slices"

// A Span is where a text is within others.
type Span struct{ From, To uint32 }

const (
	// drawnValues is the most values that Draw makes text of at once: as many as the
	// fastest memory has space for, with those of other columns.
	drawnValues = 128
	// drawnBytes is how many bytes of text end a Draw.
	drawnBytes = 32 << 10
	// maxAllDrawn is how many bytes all columns of a Memory take for text that they draw: then
	// each draws one value at a time. It is more than blocks of lines need.
	maxAllDrawn = 32 << 20
)

// A chunk is the text of consecutive values.
type chunk struct {
	text  []byte
	spans []Span
}

// Draw returns the texts of value i, which is below Count, and of some that follow. They
// are valid until the next call for the same column. To read up to len(text) bytes is no
// error, whatever the spans: those behind a value have no meaning, but let it be copied in
// pieces of one size.
func (c *Column) Draw(i int) (text []byte, spans []Span) {
	n := min(c.count-i, drawnValues)
	if cap(c.chunk.spans) < n {
		c.chunk.spans = c.memory.spans.take(min(c.count, drawnValues))
	}
	spans = c.chunk.spans[:n]
	switch c.how {
	case Constant:
		for j := range spans {
			spans[j] = Span{0, uint32(len(c.text))}
		}
		return c.text[:cap(c.text)], spans
	case Text:
		drawTexts(spans, c.starts[i:], c.ends)
		return c.text[:cap(c.text)], spans
	case Dictionary:
		if text, ok := c.drawDictionary(spans, c.nums[i:]); ok {
			return text, spans
		}
	}
	if c.memory.drawn > maxAllDrawn {
		n = 1
	}
	c.chunk.text, c.chunk.spans = c.chunk.text[:0], c.chunk.spans[:0]
	c.write(i, n)
	return c.chunk.text[:cap(c.chunk.text)], c.chunk.spans
}

func drawTexts(spans []Span, starts []uint32, ends uint32) {
	starts = starts[:len(spans)+1]
	for j := range spans {
		spans[j] = Span{starts[j], starts[j+1] - ends}
	}
}

// drawDictionary is Draw of values of a dictionary with these numbers. ok is false if its
// texts are too long, or those of all columns.
func (c *Column) drawDictionary(spans []Span, nums []int64) (text []byte, ok bool) {
	d, ends := c.subs[0], uint32(0)
	var starts []uint32
	switch {
	case d.kind == Text:
		text, starts, ends = d.text, d.starts, d.ends
	default:
		if !c.drawn.done {
			c.drawn.fill(d)
		}
		if text, starts = c.drawn.text, c.drawn.starts; len(starts) == 0 {
			return nil, false
		}
	}
	nums = nums[:len(spans)]
	for j, k := range nums {
		two := starts[k : k+2 : k+2]
		spans[j] = Span{two[0], two[1] - ends}
	}
	return text[:cap(text)], true
}

// reserve returns the chunk's text with space for n bytes more, and some behind them, all
// of which is its length; and the length that it had.
func (c *Column) reserve(n int) (text []byte, at int) {
	text = c.memory.grow(c.chunk.text, n)
	return text[:cap(text)], len(c.chunk.text)
}

// slack is how many bytes behind a text may be written at most.
const slack = 48

// write appends values from i on to the chunk, at most n.
func (c *Column) write(i, n int) {
	var misses chunk
	for end := i + n; i < end && len(c.chunk.text) <= drawnBytes; {
		switch {
		case c.how != withMisses:
			i += c.writeFit(i, end-i)
		case c.isMiss[i/64]>>(i%64)&1 != 0:
			if len(misses.spans) == 0 {
				misses.text, misses.spans = c.misses.Draw(int(c.missed[i]))
			}
			s := misses.spans[0]
			misses.spans = misses.spans[1:]
			text, at := c.reserve(int(s.To - s.From))
			to := at + copy(text[at:], misses.text[s.From:s.To])
			c.chunk.text, c.chunk.spans = text[:to], append(c.chunk.spans, Span{uint32(at), uint32(to)})
			i++
		default:
			run := 1
			for i+run < end && c.isMiss[(i+run)/64]>>((i+run)%64)&1 == 0 {
				run++
			}
			i += c.writeFit(i-int(c.missed[i]), run)
		}
	}
}

// writeFit appends values that fit, from the i-th on: n, or fewer if they are long. It
// returns how many.
func (c *Column) writeFit(i, n int) int {
	switch c.kind {
	case Integer:
		c.writeIntegers(c.nums[i : i+n])
	case Hex:
		c.writeHex(c.nums[i:i+n], hexLower)
	case HexUpper:
		c.writeHex(c.nums[i:i+n], hexUpper)
	case Decimal:
		c.writeDecimals(c.nums[i:i+n], c.scales[i:i+n])
	case IPv4:
		c.writeIPv4(c.nums[i : i+n])
	case UUID:
		c.writeUUIDs(i, n)
	case HexBytes:
		c.writeHexBytes(i, n)
	case Time:
		c.writeTimes(c.nums[i : i+n])
	case Pattern:
		return c.writePattern(i, n)
	default: // a dictionary of long texts
		from := len(c.chunk.text)
		text := c.subs[0].AppendValue(c.chunk.text, int(c.nums[i]))
		c.chunk.text, c.chunk.spans = slices.Grow(text, slack), append(c.chunk.spans, Span{uint32(from), uint32(len(text))})
		return 1
	}
	return n
}

// writePattern is writeFit of a pattern.
func (c *Column) writePattern(i, n int) int {
	parts := c.subs[:c.parts]
	if cap(c.pieces) < len(parts) {
		c.pieces = make([]chunk, maxParts)
	}
	c.pieces = c.pieces[:len(parts)]
	for k, p := range parts {
		c.pieces[k].text, c.pieces[k].spans = p.Draw(i)
		n = min(n, len(c.pieces[k].spans))
	}
	size := c.sizeOf(n)
	for size > drawnBytes && n > 1 {
		n /= 2
		size = c.sizeOf(n)
	}
	text, at := c.reserve(size)
	for j := range n {
		from := at
		at += put(text, at, c.literals[0])
		for k := range parts {
			p := &c.pieces[k]
			s := p.spans[j]
			at += put(text, at, p.text[s.From:s.To])
			at += put(text, at, c.literals[k+1])
		}
		c.chunk.spans = append(c.chunk.spans, Span{uint32(from), uint32(at)})
	}
	c.chunk.text = text[:at]
	return n
}

// sizeOf returns the bytes of the next n values of a pattern.
func (c *Column) sizeOf(n int) (size int) {
	for _, lit := range c.literals {
		size += n * len(lit)
	}
	for k := range c.parts {
		for _, s := range c.pieces[k].spans[:n] {
			size += int(s.To - s.From)
		}
	}
	return size
}

// put copies p to text[at:], which has slack bytes more than p. It returns the length of p.
func put(text []byte, at int, p []byte) int {
	if len(p) <= short && cap(p) >= short {
		*(*[short]byte)(text[at : at+short]) = *(*[short]byte)(p[:short])
	} else {
		copy(text[at:], p)
	}
	return len(p)
}
