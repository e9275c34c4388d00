package column

import "slices"

// OpenPart opens those values of a column that decide tests: the values of a dictionary, or
// those that do not fit in another column, without its numbers. They are the values of c
// then. ok is false for other columns, and for bytes that Open refuses, where that is known.
func (c *Column) OpenPart(packed, text []byte, count int) (ok bool) {
	c.count, c.kind = 0, Text
	if len(packed) == 0 || count == 0 || count > MaxCount || packed[0] != byte(Dictionary) && packed[0]&flagMiss == 0 {
		return false
	}
	c.prepare()
	r := readers.Get().(*reader)
	defer readers.Put(r)
	r.packed, r.text, r.times, r.columns = packed, text, nil, 1
	n, err := r.skipToPart(count)
	if err == nil {
		err = c.open(r, 1, n)
	}
	r.packed, r.text = nil, nil
	if err != nil {
		c.count = 0
	}
	return err == nil
}

// Part tells how many values of a column pass a test, as Peek does. c is open for a part of
// it; see OpenPart.
func (c *Column) Part(packed []byte, t Test) Share {
	if t = t.plain(); packed[0] != byte(Dictionary) && fitShare(packed, t) != None {
		return Some
	}
	hits := c.own(c.count)
	c.Match(hits, t)
	for _, w := range hits {
		if w != 0 {
			return Some
		}
	}
	return None
}

// own returns memory for n bits, which are 0, that Match does not use.
func (c *Column) own(n int) []uint64 {
	words := (n + 63) / 64
	c.partHits = slices.Grow(c.partHits[:0], words)[:words]
	clear(c.partHits)
	return c.partHits
}

// skipToPart reads a column up to the values of its dictionary, or those that do not fit, and
// returns how many these are.
func (r *reader) skipToPart(count int) (n int, err error) {
	head, _ := r.byte()
	kind, before, skipped, most := Kind(head&kindMask), 0, count, count
	switch {
	case kind == Time:
		before = 2
	case kind == Decimal, kind == HexBytes, head&flagWidth != 0:
		before = 1
	case kind == Pattern:
		return 0, damaged("a pattern, which is not read in parts")
	}
	if _, err := take(&r.packed, before); err != nil {
		return 0, err
	}
	if kind != Dictionary {
		most = count - 1
	}
	if n, err = r.between(1, most, "values within the column"); err != nil {
		return 0, err
	}
	if kind != Dictionary {
		skipped = n
	}
	return n, r.skip(0, skipped)
}

// skip reads a sequence of n integers, at least one, and does not make them.
func (r *reader) skip(level, n int) error {
	head, err := r.byte()
	if err != nil {
		return err
	}
	if head == formDistinct && level == 0 {
		k, err := r.between(1, n, "distinct integers")
		if err == nil {
			err = r.skip(1, k)
		}
		if err == nil {
			err = r.skip(1, n)
		}
		return err
	}
	if _, err := r.uvarint(); err != nil {
		return err
	}
	if head&flagUnit != 0 {
		if _, err := r.uvarint(); err != nil {
			return err
		}
	}
	switch head & formMask {
	case formConstant:
		return nil
	case formBits:
		width, err := r.byte()
		if err != nil || width > 64 {
			return damaged("integers of %d bits", width)
		}
		_, err = take(&r.packed, bytesFor(n, uint(width)))
		return err
	}
	return r.skipSymbols(head, n)
}

// skipSymbols reads n numbers that are written as symbols, and their extra bits.
func (r *reader) skipSymbols(head byte, n int) error {
	if order := int(head >> orderShift & 3); order == orderDelta || order == orderDelta2 {
		if _, err := r.uvarint(); err != nil {
			return err
		}
		n--
	}
	if head&formMask == formHuffman && head&flagDirect != 0 {
		size, err := r.between(0, len(r.packed), "bytes of code")
		if err == nil {
			_, err = take(&r.packed, size)
		}
		return err
	}
	symbols, err := r.readSymbols(int(head&formMask), n)
	if err != nil || head&flagDirect != 0 {
		return err
	}
	total := uint(0)
	for _, s := range symbols {
		total += uint(symbolTable[s].extra)
	}
	_, err = take(&r.packed, int(total+7)/8)
	return err
}
