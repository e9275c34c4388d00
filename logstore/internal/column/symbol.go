package column

import "math/bits"

// A number is written as a symbol, which is a byte, and extra bits. Numbers below 16 are
// their own symbols. Each power of two above has four symbols, by the two bits below the
// highest one; the bits below these are the extra bits.
const firstSymbols = 16

var symbolTable = func() (t [256]struct {
	base  uint64
	extra uint8
}) {
	for s := range t {
		if s < firstSymbols {
			t[s].base = uint64(s)
			continue
		}
		e := uint(s-firstSymbols)/4 + 4
		t[s].base = uint64(4+s%4) << (e - 2)
		t[s].extra = uint8(e - 2)
	}
	return t
}()

// symbolOf returns the symbol of u and the number of its extra bits.
func symbolOf(u uint64) (symbol byte, extra uint) {
	if u < firstSymbols {
		return byte(u), 0
	}
	e := uint(bits.Len64(u)) - 1
	return byte(firstSymbols + (e-4)*4 + uint(u>>(e-2)&3)), e - 2
}

// Zigzag numbers the integers: 0, -1, 1, -2, ... are 0, 1, 2, 3, ...
func Zigzag(v int64) uint64 { return uint64(v<<1 ^ v>>63) }

func unzigzag(u uint64) int64 { return int64(u>>1) ^ -int64(u&1) }

// A recency is the numbers that came last, in the order of their last use.
type recency struct {
	last [recent]uint64
	n    int
	next uint64 // one more than the largest number so far
}

// recent is how many numbers are told by their rank. The symbol after the ranks says that
// a number is one more than the largest before; others follow.
const recent = firstSymbols - 1

// rank returns what stands for v, and brings v to the front.
func (r *recency) rank(v uint64) uint64 {
	if r.last[0] == v && r.n > 0 {
		return 0
	}
	for i := 1; i < r.n; i++ {
		if r.last[i] == v {
			r.front(i, v)
			return uint64(i)
		}
	}
	u := v + recent + 1
	if v == r.next {
		u = recent
	}
	r.push(v)
	return u
}

// front brings v, which is at i, to the front.
func (r *recency) front(i int, v uint64) {
	for ; i > 0; i-- {
		r.last[i] = r.last[i-1]
	}
	r.last[0] = v
}

func (r *recency) push(v uint64) {
	if r.n < recent {
		r.n++
	}
	copy(r.last[1:r.n], r.last[:r.n-1])
	r.last[0] = v
	if v >= r.next {
		r.next = v + 1
	}
}

// number reverses rank. It returns false if no number has that rank.
func (r *recency) number(u uint64) (uint64, bool) {
	if u < recent {
		if int(u) >= r.n {
			return 0, false
		}
		v := r.last[u]
		r.front(int(u), v)
		return v, true
	}
	v := r.next
	if u > recent {
		v = u - recent - 1
	}
	r.push(v)
	return v, true
}
