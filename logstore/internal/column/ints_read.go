package column

import (
	"encoding/binary"
	"slices"
	"sync"

	"github.com/klauspost/compress/huff0"
)

// A reader takes the parts of a column from its two sections.
type reader struct {
	packed, text []byte
	times        []int64
	columns      int // so far
	huff         huff0.Scratch
	symbols      []byte
	distinct     []int64
	index        []int64
	places       []int64 // of values that do not fit, or lengths of texts
}

// readers are shared: a block has many columns, and each is opened once.
var readers = sync.Pool{New: func() any { return new(reader) }}

func (r *reader) byte() (byte, error) {
	if len(r.packed) == 0 {
		return 0, damaged("it ends early")
	}
	b := r.packed[0]
	r.packed = r.packed[1:]
	return b, nil
}

func (r *reader) uvarint() (uint64, error) {
	u, n := binary.Uvarint(r.packed)
	if n <= 0 {
		return 0, damaged("it ends within a number")
	}
	r.packed = r.packed[n:]
	return u, nil
}

// between reads a number from least to most.
func (r *reader) between(least, most int, what string) (int, error) {
	u, err := r.uvarint()
	if err != nil {
		return 0, err
	}
	if u < uint64(least) || u > uint64(most) {
		return 0, damaged("%d %s; want %d to %d", u, what, least, most)
	}
	return int(u), nil
}

func (r *reader) varint() (int64, error) {
	u, err := r.uvarint()
	return unzigzag(u), err
}

// take takes n bytes of a section. They are for reading alone: others follow them.
func take(section *[]byte, n int) ([]byte, error) {
	if n > len(*section) {
		return nil, damaged("%d bytes where %d are needed", len(*section), n)
	}
	p := (*section)[:n]
	*section = (*section)[n:]
	return p, nil
}

// ints reads a sequence of n integers, at least one, into the memory of dst.
func (r *reader) ints(dst []int64, n int) ([]int64, error) {
	return r.intsAt(0, dst, n)
}

func (r *reader) intsAt(level int, dst []int64, n int) ([]int64, error) {
	head, err := r.byte()
	if err != nil {
		return dst, err
	}
	if head == formDistinct && level == 0 {
		return r.intsDistinct(dst, n)
	}
	base, err := r.varint()
	if err != nil {
		return dst, err
	}
	unit := uint64(1)
	if head&flagUnit != 0 {
		if unit, err = r.uvarint(); err != nil {
			return dst, err
		}
	}
	switch head & formMask {
	case formConstant:
		if head != formConstant {
			return dst, damaged("a constant with flags %#x", head)
		}
		dst = slices.Grow(dst[:0], n)[:n]
		for i := range dst {
			dst[i] = base
		}
		return dst, nil
	case formBits:
		width, err := r.byte()
		if err != nil || width > 64 || head&^flagUnit != formBits {
			return dst, damaged("integers of %d bits, flags %#x", width, head)
		}
		p, err := take(&r.packed, bytesFor(n, uint(width)))
		if err != nil {
			return dst, err
		}
		dst = slices.Grow(dst[:0], n)[:n]
		unpack(dst, p, uint(width), base, int64(unit))
		return dst, nil
	}
	top, err := r.uvarint()
	if err != nil {
		return dst, err
	}
	if dst, err = r.intsSymbols(head, dst, n); err != nil {
		return dst, err
	}
	most := uint64(0)
	for i, u := range dst {
		most = max(most, uint64(u))
		dst[i] = base + u*int64(unit)
	}
	if most > top {
		return dst, damaged("a number %d where the largest one is %d", most, top)
	}
	return dst, nil
}

func (r *reader) intsDistinct(dst []int64, n int) ([]int64, error) {
	k, err := r.between(1, n, "distinct integers")
	if err != nil {
		return dst, err
	}
	if r.distinct, err = r.intsAt(1, r.distinct, k); err != nil {
		return dst, err
	}
	if r.index, err = r.intsAt(1, r.index, n); err != nil {
		return dst, err
	}
	dst = slices.Grow(dst[:0], n)[:n]
	distinct := r.distinct
	for i, x := range r.index {
		if uint64(x) >= uint64(len(distinct)) {
			return dst, damaged("integer %d of %d", x, len(distinct))
		}
		dst[i] = distinct[x]
	}
	return dst, nil
}

// intsSymbols reads n numbers that are written as symbols.
func (r *reader) intsSymbols(head byte, dst []int64, n int) ([]int64, error) {
	order := int(head >> orderShift & 3)
	k := n
	var first uint64
	var err error
	if order == orderDelta || order == orderDelta2 {
		if first, err = r.uvarint(); err != nil {
			return dst, err
		}
		k--
	}
	symbols, err := r.readSymbols(int(head&formMask), k)
	if err != nil {
		return dst, err
	}
	dst = slices.Grow(dst[:0], n)[:n]
	if head&flagDirect != 0 {
		if order != orderNone {
			return dst, damaged("symbols with flags %#x", head)
		}
		for i, s := range symbols {
			dst[i] = int64(s)
		}
		return dst, nil
	}
	if err := r.extras(dst[n-k:], symbols); err != nil {
		return dst, err
	}
	return dst, reorder(dst, order, first, head&flagRising != 0)
}

// readSymbols reads k symbols, valid until the next call.
func (r *reader) readSymbols(form, k int) ([]byte, error) {
	switch form {
	case formSymbol:
		s, err := r.byte()
		r.symbols = slices.Grow(r.symbols[:0], k)[:k]
		for i := range r.symbols {
			r.symbols[i] = s
		}
		return r.symbols, err
	case formText:
		return take(&r.text, k)
	case formHuffman:
		if k > maxHuffman {
			return nil, damaged("%d symbols in one code", k)
		}
		size, err := r.between(0, len(r.packed), "bytes of code")
		if err != nil {
			return nil, err
		}
		p, err := take(&r.packed, size)
		if err != nil {
			return nil, err
		}
		_, p, err = huff0.ReadTable(p, &r.huff)
		if err != nil {
			return nil, damaged("%v", err)
		}
		r.symbols = slices.Grow(r.symbols[:0], k)
		out, err := r.huff.Decoder().Decompress1X(r.symbols[:0:k], p)
		if err != nil || len(out) != k {
			return nil, damaged("%d symbols of %d: %v", len(out), k, err)
		}
		return out, nil
	}
	return nil, damaged("integers of form %d", form)
}

// extras makes numbers of symbols and the extra bits that follow.
func (r *reader) extras(dst []int64, symbols []byte) error {
	var total uint
	for _, s := range symbols {
		total += uint(symbolTable[s].extra)
	}
	p, err := take(&r.packed, int(total+7)/8)
	if err != nil {
		return err
	}
	if total == 0 {
		for i, s := range symbols {
			dst[i] = int64(s)
		}
		return nil
	}
	dst = dst[:len(symbols)]
	bit, i := uint(0), 0
	for ; i < len(symbols) && int(bit/8)+9 <= len(p); i++ {
		t := &symbolTable[symbols[i]]
		x := binary.LittleEndian.Uint64(p[bit/8:]) >> (bit % 8)
		width := uint(t.extra)
		if width > 56 {
			x |= uint64(p[bit/8+8]) << (64 - bit%8)
		}
		bit += width
		dst[i] = int64(t.base + x&(1<<(width&63)-1))
	}
	for ; i < len(symbols); i++ {
		t := &symbolTable[symbols[i]]
		dst[i] = int64(t.base)
		if width := uint(t.extra); width > 0 {
			dst[i] += int64(numberAt(p, bit, width))
			bit += width
		}
	}
	return nil
}

// reorder reverses the order in which dst was written: see intsEncoder.ordered.
func reorder(dst []int64, order int, first uint64, rising bool) error {
	last := int64(first)
	switch order {
	case orderDelta:
		dst[0] = last
		rest := dst[1:]
		if rising {
			for i, u := range rest {
				last += u
				rest[i] = last
			}
			return nil
		}
		for i, u := range rest {
			last += unzigzag(uint64(u))
			rest[i] = last
		}
	case orderDelta2:
		var step int64
		dst[0] = last
		rest := dst[1:]
		for i, u := range rest {
			step += unzigzag(uint64(u))
			last += step
			rest[i] = last
		}
	case orderRecent:
		var r recency
		for i, u := range dst {
			v, ok := r.number(uint64(u))
			if !ok {
				return damaged("rank %d before there are so many", u)
			}
			dst[i] = int64(v)
		}
	}
	return nil
}
