package column

import (
	"math"
	"math/bits"
)

// A choice is how to write a sequence of integers.
type choice struct {
	order   int
	symbols bool // else bits of one width
	direct  bool // the numbers are the symbols
	skewed  bool // most symbols are the same: less than a bit each
	repeats bool // many numbers occur more than once
	bits    int  // about what it takes
}

// A tally counts symbols, to tell what they take.
type tally struct {
	counts [256]uint16
	seen   []byte
	n      int
	extra  int
}

func (t *tally) add(s byte, extra uint) {
	if t.counts[s] == 0 {
		t.seen = append(t.seen, s)
	}
	t.counts[s]++
	t.n++
	t.extra += int(extra)
}

// take returns the bits that all symbols take by their entropy, that of their table, and
// the extra bits, and forgets all.
func (t *tally) take() (code, table, extra float64) {
	code = xlogx(t.n)
	for _, s := range t.seen {
		code -= xlogx(int(t.counts[s]))
		t.counts[s] = 0
	}
	table, extra = float64(16+4*len(t.seen)), float64(t.extra)
	if len(t.seen) == 1 {
		table = 8
	}
	t.seen, t.n, t.extra = t.seen[:0], 0, 0
	return max(code, 0), table, extra
}

const sampleSize = 256

var xlogxTable = func() (t [sampleSize + 1]float64) {
	for i := range t[1:] {
		t[i+1] = float64(i+1) * math.Log2(float64(i+1))
	}
	return t
}()

func xlogx(n int) float64 { return xlogxTable[min(n, sampleSize)] }

// choose finds the best way to write q, whose largest number is top, by a sample of it.
func (e *intsEncoder) choose(q []uint64, top uint64) choice {
	width := bits.Len64(top)
	best := choice{bits: 8 + len(q)*width}
	// Runs of the sequence, a quarter of the sample each: differences need neighbours.
	size := min(max(len(q)/8, 64), sampleSize)
	run, stride := size, size
	if len(q) > size {
		run = size / 4
		stride = (len(q) - run) / 3
	} else {
		run, stride = len(q), len(q)
	}
	for order := orderNone; order <= orderRecent; order++ {
		c, n, hits := e.measure(q, run, stride, order)
		if order == orderRecent {
			best.repeats = hits > n/4
		}
		if c.bits < best.bits {
			c.repeats = best.repeats
			best = c
		}
	}
	if width <= 8 && width > 4 {
		for from := 0; from+run <= len(q); from += stride {
			for _, x := range q[from : from+run] {
				e.tally.add(byte(x), 0)
			}
		}
		c := e.cost(len(q))
		c.direct = true
		if c.bits < best.bits {
			c.repeats = best.repeats
			best = c
		}
	}
	return best
}

// cost takes the tally, and returns the choice of symbols for n numbers.
func (e *intsEncoder) cost(n int) choice {
	sample := max(e.tally.n, 1)
	code, table, extra := e.tally.take()
	each := code / float64(sample)
	c := choice{symbols: true, skewed: each < 0.7}
	c.bits = int((code+extra)*float64(n)/float64(sample) + table)
	return c
}

// measure counts the symbols of runs of q in that order. hits are the numbers of the
// sample that were among the recent ones.
func (e *intsEncoder) measure(q []uint64, run, stride, order int) (c choice, n, hits int) {
	var r recency
	for from := 0; from+run <= len(q); from += stride {
		for i := from; i < from+run; i++ {
			u := q[i]
			switch order {
			case orderDelta:
				if i == 0 {
					continue
				}
				u = zigzag(int64(u - q[i-1]))
			case orderDelta2:
				if i < 2 {
					continue
				}
				u = zigzag(int64(u - 2*q[i-1] + q[i-2]))
			case orderRecent:
				if u = r.rank(u); u < recent {
					hits++
				}
			}
			e.tally.add(symbolOf(u))
			n++
		}
	}
	c = e.cost(len(q))
	c.order = order
	return c, n, hits
}
