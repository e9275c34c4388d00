package column

// Skim tells how many values of a column pass a test, as Peek does, by a part of what Open
// reads: by the values of a dictionary, or by those that do not fit, without their numbers.
// It opens a part of the column with the memory of c, which is not open then.
func (c *Column) Skim(packed, text []byte, count int, t Test) Share {
	if c.count = 0; len(packed) == 0 || count == 0 || count > MaxCount {
		return Some
	}
	if t = t.plain(); packed[0] != byte(Dictionary) && (packed[0]&flagMiss == 0 || fitShare(packed, t) != None) {
		return Some
	}
	r := readers.Get().(*reader)
	defer readers.Put(r)
	r.packed, r.text, r.times, r.columns = packed, text, nil, 1
	c.parts = 0
	of, err := c.skim(r, count)
	r.packed, r.text = nil, nil
	if err != nil { // which Open tells
		return Some
	}
	hits := c.bits(0, of.count)
	of.Match(hits, t)
	for _, w := range hits {
		if w != 0 {
			return Some
		}
	}
	return None
}

// skim opens the column of the values of a dictionary, or of those that do not fit.
func (c *Column) skim(r *reader, count int) (of *Column, err error) {
	head, _ := r.byte()
	kind, before := Kind(head&kindMask), 0
	switch {
	case kind == Time:
		before = 2
	case kind == Decimal, kind == HexBytes, head&flagWidth != 0:
		before = 1
	}
	if _, err := take(&r.packed, before); err != nil {
		return nil, err
	}
	skipped, least, most := count, 1, count
	if kind != Dictionary {
		most = count - 1
	}
	n, err := r.between(least, most, "values within the column")
	if err != nil {
		return nil, err
	}
	if kind != Dictionary {
		skipped = n
	}
	if err := r.skip(0, skipped); err != nil {
		return nil, err
	}
	of = c.sub()
	return of, of.open(r, 1, n)
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
