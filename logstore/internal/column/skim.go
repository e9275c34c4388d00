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
	err := c.openPart(r, count)
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
		if !t.isASCII() || mayNumbers(c.fit.kind, c.fit.param, c.fit.first, t) {
			return Some
		}
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

// openPart reads a column up to the values of its dictionary, or those that do not fit, and
// opens these.
func (c *Column) openPart(r *reader, count int) error {
	head, _ := r.byte()
	kind, before, most := Kind(head&kindMask), 0, count-1
	switch {
	case kind == Dictionary:
		most = count
	case kind == Time:
		before = 2
	case kind == Decimal, kind == HexBytes, head&flagWidth != 0:
		before = 1
	case kind == Pattern:
		return damaged("a pattern, which is not read in parts")
	}
	params, err := take(&r.packed, before)
	if err != nil {
		return err
	}
	n, err := r.between(1, most, "values within the column")
	if err == nil {
		err = c.open(r, 1, n)
	}
	if err != nil {
		return err
	}
	c.fit = fitNumbers{kind: kind, first: r.packed}
	if before == 1 {
		c.fit.param = int(params[0])
	}
	return nil
}

// fitNumbers are the numbers of the values that fit, in a column of which a part is open.
type fitNumbers struct {
	kind  Kind
	param int
	first []byte // of the packed bytes
}
