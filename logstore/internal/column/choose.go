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

// sampleSize is the most numbers of a sequence that are looked at to choose its form.
const sampleSize = 128

var xlogxTable = func() (t [sampleSize + 1]float64) {
	for i := range t[1:] {
		t[i+1] = float64(i+1) * math.Log2(float64(i+1))
	}
	return t
}()

func xlogx(n int) float64 { return xlogxTable[min(n, sampleSize)] }

// A sample is some runs of a sequence: differences need neighbours.
type sample struct {
	q           []uint64
	run, stride int
}

func sampleOf(q []uint64) sample {
	const runs = 4
	size := min(max(len(q)/4, sampleSize/2), sampleSize)
	if len(q) <= size {
		return sample{q, len(q), len(q)}
	}
	run := size / runs
	return sample{q, run, (len(q) - run) / (runs - 1)}
}

// choose finds the best way to write q, whose largest number is top, by a sample of it.
func (e *intsEncoder) choose(q []uint64, top uint64) choice {
	width := bits.Len64(top)
	best := choice{bits: 8 + len(q)*width}
	s := sampleOf(q)
	repeated := e.measure(s)
	best = best.better(e.tallies[0].cost(len(q), orderNone))
	if delta := e.tallies[1].cost(len(q), orderDelta); delta.bits < best.bits {
		best = delta.better(e.measureDelta2(s))
	}
	if repeated && top < 1<<62 {
		best = best.better(e.measureRecent(s))
	}
	if width <= 8 && width > 4 {
		best = best.better(e.measureDirect(s))
	}
	best.repeats = repeated
	return best
}

func (c choice) better(d choice) choice {
	if d.bits < c.bits {
		return d
	}
	return c
}

// cost takes the tally, and returns the choice of symbols for n numbers.
func (t *tally) cost(n, order int) choice {
	sample := float64(max(t.n, 1))
	code, table, extra := t.take()
	c := choice{symbols: true, order: order, skewed: code/sample < skew}
	c.bits = int((code+extra)*float64(n)/sample + table)
	return c
}

// skew is the entropy, in bits, below which symbols are left to the compressor of the
// text: a Huffman code has at least one bit a symbol.
const skew = 0.7

// measure counts the symbols of the sample, as numbers and as differences. It reports whether many numbers occur more than once.
func (e *intsEncoder) measure(s sample) (repeated bool) {
	var seen [4]uint64 // bits by hashes
	var n, again int
	t := &e.tallies
	for from := 0; from+s.run <= len(s.q); from += s.stride {
		for i := from; i < from+s.run; i++ {
			x := s.q[i]
			h := x * 0x9e3779b97f4a7c15 >> 56
			again += int(seen[h/64] >> (h % 64) & 1)
			seen[h/64] |= 1 << (h % 64)
			n++
			t[0].add(symbolOf(x))
			if i > 0 {
				t[1].add(symbolOf(Zigzag(int64(x - s.q[i-1]))))
			}
		}
	}
	return again > n/3 // a quarter is what collisions alone give at the full size
}

func (e *intsEncoder) measureDelta2(s sample) choice {
	for from := 0; from+s.run <= len(s.q); from += s.stride {
		for i := max(from, 2); i < from+s.run; i++ {
			e.tallies[0].add(symbolOf(Zigzag(int64(s.q[i] - 2*s.q[i-1] + s.q[i-2]))))
		}
	}
	return e.tallies[0].cost(len(s.q), orderDelta2)
}

func (e *intsEncoder) measureRecent(s sample) choice {
	var r recency
	for from := 0; from+s.run <= len(s.q); from += s.stride {
		for _, x := range s.q[from : from+s.run] {
			e.tallies[0].add(symbolOf(r.rank(x)))
		}
	}
	return e.tallies[0].cost(len(s.q), orderRecent)
}

func (e *intsEncoder) measureDirect(s sample) choice {
	for from := 0; from+s.run <= len(s.q); from += s.stride {
		for _, x := range s.q[from : from+s.run] {
			e.tallies[0].add(byte(x), 0)
		}
	}
	c := e.tallies[0].cost(len(s.q), orderNone)
	c.direct = true
	return c
}
