package column

import (
	"bytes"
)

// A Column reads the values of one column. Open may be called again, for another column;
// the Column keeps its memory. It is for one goroutine. The zero value is ready for Open, and
// has memory of its own.
type Column struct {
	kind     Kind
	how      Kind // the kind, or withMisses
	count    int
	param    int      // the width of integers, the bytes of raw values, digits after the point
	nums     []int64  // numbers, or which value of the dictionary each is
	scales   []int64  // for decimals: digits after the point that are left out
	text     []byte   // texts, and raw bytes
	starts   []uint32 // of texts, and one more; the byte that ends a text is the last before the next
	ends     uint32   // bytes between texts, 0 or 1
	subs     []*Column
	parts    int      // how many of subs the column has
	misses   *Column  // values that do not fit, or nil
	missed   []uint32 // for each value: how many misses there are before; with misses only
	isMiss   []uint64 // bits of these values
	spare    *Column  // memory for misses
	room     []byte   // of one value
	form     timeForm
	stamp    timeStamp
	literals [][]byte // of a pattern
	pieces   []chunk  // of its parts: see Draw
	limit    limits
	drawn    drawing
	chunk    chunk // of Draw
	memory   *Memory
	held     bool        // it was opened since Release
	heavier  bool        // it may be, than when it was weighed
	weighed  int64       // see Weight
	private  bool        // the memory is for this column alone
	floats   []float64   // of a dictionary, or of misses
	hits     [2][]uint64 // bits of values that pass a test, of parts of the column
	broken   []uint64    // bits of values of a column within it that break a rule
	address  *addressTest
	partHits []uint64   // see OpenPart
	fit      fitNumbers // likewise
}

// New returns a Column that takes its memory from m.
func New(m *Memory) *Column { return &Column{memory: m} }

// Open reads a column of count values, at most MaxCount, that Append wrote: packed and
// text are its bytes of the two sections, times those of the rows of its values, in
// nanoseconds, or nil unless TimesNeeded says that they are needed. Open verifies all that
// is decoded later, and returns an error that wraps ErrDamaged. The Column keeps packed and
// text. Whatever the bytes, it takes at most some 1,000 bytes of memory a value. For text that
// Draw and AppendValue make, all columns of a Memory take at most some 32 MiB more, and then a
// few times as much as one value of each.
func (c *Column) Open(packed, text []byte, count int, times []int64) error {
	c.count, c.kind = 0, Text
	if count < 0 || count > MaxCount {
		return damaged("%d values; want 0 to %d", count, MaxCount)
	}
	if count == 0 {
		if len(packed)+len(text) > 0 {
			return damaged("%d and %d bytes of no values", len(packed), len(text))
		}
		return nil
	}
	c.prepare()
	r := readers.Get().(*reader)
	defer readers.Put(r)
	r.packed, r.text, r.times, r.columns = packed, text, times, 0
	err := c.open(r, 0, count)
	if err == nil && len(r.packed)+len(r.text) > 0 {
		err = damaged("%d and %d bytes after the values", len(r.packed), len(r.text))
	}
	r.packed, r.text, r.times = nil, nil, nil
	if err != nil {
		c.count = 0
	}
	return err
}

// Release forgets the values, and keeps memory for the next ones only.
func (c *Column) Release() {
	if c == nil || !c.held {
		return
	}
	c.held, c.heavier = false, true
	for _, s := range c.subs {
		s.Release()
	}
	c.spare.Release()
	c.count, c.kind, c.how, c.misses, c.parts = 0, Text, Text, nil, 0
	c.nums, c.scales, c.text, c.starts, c.missed, c.isMiss = nil, nil, nil, nil, nil, nil
	c.drawn, c.chunk, c.address, c.fit = drawing{}, chunk{}, nil, fitNumbers{}
	clear(c.literals[:cap(c.literals)])
	clear(c.pieces[:cap(c.pieces)])
	c.literals = c.literals[:0]
}

// prepare sees to it that there is memory to open the column.
func (c *Column) prepare() {
	if c.memory == nil {
		c.memory, c.private = new(Memory), true
	}
	if c.private {
		c.memory.Reset()
	}
}

// Kind returns how the values are kept.
func (c *Column) Kind() Kind { return c.kind }

// Count returns the number of values.
func (c *Column) Count() int { return c.count }

// KindOf returns the kind of a column by the first of its packed bytes. A column without
// bytes has no values.
func KindOf(packed []byte) Kind {
	if len(packed) == 0 {
		return Constant
	}
	return Kind(packed[0] & kindMask)
}

// TimesNeeded reports whether Open needs the times of the rows.
func TimesNeeded(packed []byte) bool { return KindOf(packed) == Time }

// open reads a column of count values from r.
func (c *Column) open(r *reader, depth, count int) error {
	if r.columns++; r.columns > maxColumns || depth > maxDepth {
		return damaged("more than %d columns within one, or more than %d deep", maxColumns, maxDepth)
	}
	head, err := r.byte()
	if err != nil {
		return err
	}
	c.kind, c.count, c.param, c.misses, c.parts, c.held = Kind(head&kindMask), count, 0, nil, 0, true
	c.how, c.limit.known, c.drawn, c.chunk = c.kind, false, drawing{}, chunk{}
	switch c.kind {
	case Constant, Text, Dictionary:
		if head != byte(c.kind) {
			return damaged("%v with flags %#x", c.kind, head)
		}
	}
	switch c.kind {
	case Constant:
		return c.openConstant(r)
	case Text:
		return c.openText(r)
	case Dictionary:
		return c.openDictionary(r, depth)
	case Integer, Hex, HexUpper, Decimal, IPv4:
		return c.openNumbers(r, depth, head)
	case UUID, HexBytes:
		return c.openRaw(r, depth, head)
	case Time:
		return c.openTimes(r, depth, head)
	case Pattern:
		return c.openPattern(r, depth, head)
	}
	return damaged("%v", c.kind)
}

func (c *Column) openConstant(r *reader) error {
	n, err := r.between(0, len(r.text), "bytes of a constant")
	if err != nil {
		return err
	}
	c.text, err = take(&r.text, n)
	return err
}

func (c *Column) openText(r *reader) error {
	mode, err := r.byte()
	if err != nil {
		return err
	}
	if int(mode) > len(separators) {
		return damaged("separator %d", mode)
	}
	if mode > 0 {
		return c.openSeparated(r, separators[mode-1])
	}
	if r.places, err = r.ints(r.places, c.count); err != nil {
		return err
	}
	c.ends = 0
	c.starts = c.memory.small.take(c.count + 1)
	at := uint64(0)
	for i, n := range r.places {
		c.starts[i] = uint32(at)
		if at += uint64(n); uint64(n) > uint64(len(r.text)) || at > uint64(len(r.text)) {
			return damaged("texts are longer than %d bytes", len(r.text))
		}
	}
	c.starts[c.count] = uint32(at)
	c.text, err = take(&r.text, int(at))
	return err
}

func (c *Column) openSeparated(r *reader, separator byte) error {
	n, err := r.between(c.count, len(r.text), "bytes of texts")
	if err != nil {
		return err
	}
	c.text, _ = take(&r.text, n)
	c.ends = 1
	c.starts = c.memory.small.take(c.count + 1)
	at := 0
	for i := range c.count {
		c.starts[i] = uint32(at)
		k := bytes.IndexByte(c.text[at:], separator)
		if k < 0 {
			return damaged("%d texts; want %d", i, c.count)
		}
		at += k + 1
	}
	c.starts[c.count] = uint32(at)
	if at != len(c.text) {
		return damaged("%d bytes after the texts", len(c.text)-at)
	}
	return nil
}

// sub returns memory for a column within c.
func (c *Column) sub() *Column {
	if c.parts == len(c.subs) {
		c.subs = append(c.subs, new(Column))
	}
	c.parts++
	s := c.subs[c.parts-1]
	s.memory = c.memory
	return s
}

func (c *Column) openDictionary(r *reader, depth int) error {
	k, err := r.between(1, c.count, "distinct values")
	if err != nil {
		return err
	}
	if err := c.sub().open(r, depth+1, k); err != nil {
		return err
	}
	if c.nums, err = r.ints(c.memory.nums.take(c.count), c.count); err != nil {
		return err
	}
	for _, x := range c.nums {
		if uint64(x) >= uint64(k) {
			return damaged("value %d of a dictionary of %d", x, k)
		}
	}
	return nil
}

// openMisses reads the values that do not fit, if there are some. It returns how many do.
func (c *Column) openMisses(r *reader, depth int, head byte) (fit int, err error) {
	if head&flagMiss == 0 {
		return c.count, nil
	}
	n, err := r.between(1, c.count-1, "values that do not fit")
	if err != nil {
		return 0, err
	}
	if c.spare == nil {
		c.spare = new(Column)
	}
	c.misses, c.how = c.spare, withMisses
	c.misses.memory = c.memory
	return c.count - n, c.misses.open(r, depth+1, n)
}

// openPlaces reads which values do not fit, if some do not.
func (c *Column) openPlaces(r *reader) (err error) {
	if c.misses == nil {
		return nil
	}
	if r.places, err = r.ints(r.places, c.misses.count); err != nil {
		return err
	}
	c.isMiss = c.memory.words.take((c.count + 63) / 64)
	clear(c.isMiss)
	last := int64(-1)
	for _, x := range r.places {
		if x <= last || x >= int64(c.count) {
			return damaged("value %d after %d of %d does not fit", x, last, c.count)
		}
		last = x
		c.isMiss[x/64] |= 1 << (x % 64)
	}
	c.missed = c.memory.small.take(c.count)
	n := uint32(0)
	for i := range c.missed {
		c.missed[i] = n
		n += uint32(c.isMiss[i/64] >> (i % 64) & 1)
	}
	return nil
}

func (c *Column) openNumbers(r *reader, depth int, head byte) (err error) {
	if head&flagWidth != 0 || c.kind == Decimal {
		param, err := r.byte()
		if err != nil {
			return err
		}
		c.param = int(param)
	}
	if head&^(flagWidth|flagMiss) != byte(c.kind) || c.param > maxParam[c.kind] {
		return damaged("%v with flags %#x and width %d", c.kind, head, c.param)
	}
	fit, err := c.openMisses(r, depth, head)
	if err != nil {
		return err
	}
	if c.nums, err = r.ints(c.memory.nums.take(fit), fit); err != nil {
		return err
	}
	if c.kind == Decimal {
		if err := c.openScales(r, fit); err != nil {
			return err
		}
	}
	return c.openPlaces(r)
}

// maxParam is the largest width, or digits after the point, of a kind.
var maxParam = [...]int{Integer: maxDigits, Hex: 16, HexUpper: 16, Decimal: maxScale, IPv4: 0}

// openScales reads how many digits after the point are left out of each of n decimals.
func (c *Column) openScales(r *reader, n int) (err error) {
	if c.scales, err = r.ints(c.memory.nums.take(n), n); err != nil {
		return err
	}
	for i, s := range c.scales {
		if uint64(s) > uint64(c.param) || s > 0 && c.nums[i]%int64(powers[s]) != 0 {
			return damaged("%d of %d digits after the point of %d are left out", s, c.param, c.nums[i])
		}
	}
	return nil
}

func (c *Column) openRaw(r *reader, depth int, head byte) error {
	c.param = 16
	if c.kind == HexBytes {
		width, err := r.byte()
		if err != nil {
			return err
		}
		c.param = int(width)
	}
	if head&^flagMiss != byte(c.kind) || c.param == 0 || c.param > hexBytesMost {
		return damaged("%v of %d bytes with flags %#x", c.kind, c.param, head)
	}
	fit, err := c.openMisses(r, depth, head)
	if err != nil {
		return err
	}
	if c.text, err = take(&r.packed, fit*c.param); err != nil {
		return err
	}
	return c.openPlaces(r)
}

// A drawing is the texts of all values of a dictionary, if they are not too many bytes.
type drawing struct {
	values
	done bool
}

// maxDrawn is the most bytes of a drawing.
const maxDrawn = 1 << 20

func (t *drawing) fill(d *Column) {
	t.done = true
	if d.memory.drawn > maxAllDrawn {
		return
	}
	starts := append(d.memory.small.take(d.count + 1)[:0], 0)
	for len(starts) <= d.count {
		text, spans := d.Draw(len(starts) - 1)
		for _, s := range spans {
			p := text[s.From:s.To]
			if len(t.text)+len(p) > maxDrawn {
				t.reset()
				return
			}
			t.text = append(d.memory.grow(t.text, len(p)), p...)
			starts = append(starts, uint32(len(t.text)))
		}
	}
	t.starts = starts
}

// AppendValue appends value i, from 0 to Count()-1. It may also write up to 16 bytes behind
// the result, within its capacity.
func (c *Column) AppendValue(dst []byte, i int) []byte { return c.appendAs(c.how, dst, i) }

// appendFit appends the i-th value that fits.
func (c *Column) appendFit(dst []byte, i int) []byte { return c.appendAs(c.kind, dst, i) }

// appendAny appends value i of a column that has misses.
func (c *Column) appendAny(dst []byte, i int) []byte {
	k := int(c.missed[i])
	if c.isMiss[i/64]>>(i%64)&1 != 0 {
		return c.misses.AppendValue(dst, k)
	}
	return c.appendFit(dst, i-k)
}

// withMisses, instead of a kind, says that some values are misses.
const withMisses Kind = kindMask

// appendAs is AppendValue for values that are kept that way.
func (c *Column) appendAs(how Kind, dst []byte, i int) []byte {
	switch how {
	case withMisses:
		return c.appendAny(dst, i)
	case Constant:
		return appendShort(dst, c.text)
	case Text:
		return appendShort(dst, c.text[c.starts[i]:c.starts[i+1]-c.ends])
	case Dictionary:
		return c.appendEntry(dst, int(c.nums[i]))
	case Integer:
		return appendInteger(dst, c.nums[i], c.param)
	case Decimal:
		s := c.scales[i]
		return appendDecimal(dst, c.nums[i]/int64(powers[s]), c.param-int(s))
	case UUID:
		return appendUUID(dst, c.text[i*16:][:16])
	case HexBytes:
		return appendHexText(dst, c.text[i*c.param:][:c.param])
	case Pattern:
		return c.appendPattern(dst, i)
	}
	return c.appendNumber(dst, c.nums[i])
}

// appendNumber appends the value of a column of one number for each value that has that
// number.
func (c *Column) appendNumber(dst []byte, v int64) []byte {
	switch c.kind {
	case Hex:
		return appendHex(dst, v, c.param, lowerAlphabet)
	case HexUpper:
		return appendHex(dst, v, c.param, upperAlphabet)
	case IPv4:
		return appendIPv4(dst, v)
	case Time:
		return c.form.append(dst, v, &c.stamp)
	}
	return appendInteger(dst, v, c.param)
}

// appendEntry appends entry k of a dictionary.
func (c *Column) appendEntry(dst []byte, k int) []byte {
	d := c.subs[0]
	if d.kind == Text {
		return d.AppendValue(dst, k)
	}
	if !c.drawn.done {
		c.drawn.fill(d)
	}
	if len(c.drawn.starts) == 0 {
		return d.AppendValue(dst, k)
	}
	return appendShort(dst, c.drawn.at(k))
}
