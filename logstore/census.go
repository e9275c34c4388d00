package logstore

import (
	"hash/maphash"
	"math"
	"math/bits"
	"sync"
	"sync/atomic"
	"time"
)

// A census counts the streams that got an entry lately: in the current half hour
// and in the one before. It bounds them, so that a client that makes a stream of
// each line is refused, and nobody else.
//
// It knows streams by hashes of 64 bits, with a seed of its own. Up to
// maxCounted of a half hour are counted exactly; more are estimated from a
// sketch, whose standard error is 0.8 percent. An append asks once a half hour for a stream that
// the store knows (see stream.counted), and for each batch of an unknown one.
type census struct {
	seed maphash.Seed
	most atomic.Int64 // streams

	mu       sync.Mutex
	half     uint32     // number of the current half hour
	current  halfCensus // of it
	before   halfCensus // of the half hour before
	returned int        // streams of before that are in current; where both are exact
	both     *sketch    // of both half hours, unless both are exact
}

const (
	censusHalf = 30 * time.Minute
	maxCounted = 1 << 16
)

func newCensus(most int) *census {
	c := &census{seed: maphash.MakeSeed()}
	c.most.Store(int64(most))
	return c
}

// halfOf returns the number of the half hour, which is not 0.
func halfOf(elapsed time.Duration) uint32 { return uint32(max(0, elapsed)/censusHalf) + 1 }

// admit counts a stream that is about to get an entry, and reports whether it
// may. A known one may always. salt is that of its tenant.
func (c *census) admit(labels string, salt uint64, known bool, half uint32) bool {
	h := max(1, maphash.String(c.seed, labels)^salt)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.turn(half)
	if c.current.has(h) {
		return true
	}
	returns := c.before.has(h)
	if !known && !returns && int64(c.count()) >= c.most.Load() {
		return false
	}
	c.current.add(h)
	if returns {
		c.returned++
	}
	if c.both == nil && c.current.sketch != nil {
		c.both = newSketch()
		c.both.addAll(&c.before)
		c.both.addAll(&c.current)
	}
	if c.both != nil {
		c.both.add(h)
	}
	return true
}

// streams returns how many streams there are at that half hour.
func (c *census) streams(half uint32) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.turn(half)
	return c.count()
}

// count returns how many streams there are. mu is held.
func (c *census) count() int {
	if c.both != nil {
		return c.both.estimate()
	}
	return c.current.exact.n + c.before.exact.n - c.returned
}

// turn begins a half hour. One that is over already has come late. mu is held.
func (c *census) turn(half uint32) {
	if half <= c.half {
		return
	}
	if c.before = c.current; half > c.half+1 {
		c.before = halfCensus{}
	}
	c.half, c.current, c.returned, c.both = half, halfCensus{}, 0, nil
	if c.before.sketch != nil {
		c.both = newSketch()
		c.both.addAll(&c.before)
	}
}

// A halfCensus is the streams of a half hour: exact until there are too many,
// then a sketch.
type halfCensus struct {
	exact  hashSet
	sketch *sketch
}

// has reports whether the stream is counted; a sketch cannot tell.
func (c *halfCensus) has(h uint64) bool { return c.sketch == nil && c.exact.has(h) }

func (c *halfCensus) add(h uint64) {
	if c.sketch == nil && c.exact.n == maxCounted {
		c.sketch = newSketch()
		for _, h := range c.exact.slots {
			if h != 0 {
				c.sketch.add(h)
			}
		}
		c.exact = hashSet{}
	}
	if c.sketch != nil {
		c.sketch.add(h)
		return
	}
	c.exact.add(h)
}

// A hashSet holds hashes, which are not 0, in a table with linear probing.
type hashSet struct {
	slots []uint64 // a power of two, half of them used at most
	n     int
}

// slot returns the index of the hash, or of the empty slot where it belongs.
func (s *hashSet) slot(h uint64) int {
	mask := uint64(len(s.slots) - 1)
	i := h & mask
	for s.slots[i] != 0 && s.slots[i] != h {
		i = (i + 1) & mask
	}
	return int(i)
}

func (s *hashSet) has(h uint64) bool { return s.n > 0 && s.slots[s.slot(h)] == h }

// add adds a hash that is not there.
func (s *hashSet) add(h uint64) {
	if 2*s.n >= len(s.slots) {
		old := s.slots
		s.slots = make([]uint64, max(64, 2*len(old)))
		for _, h := range old {
			if h != 0 {
				s.slots[s.slot(h)] = h
			}
		}
	}
	s.slots[s.slot(h)] = h
	s.n++
}

// A sketch estimates how many different hashes it was given: a HyperLogLog of
// 2^14 registers, with the estimator of Ertl ("New cardinality estimation
// algorithms for HyperLogLog sketches", 2017), which is unbiased for small and
// large numbers alike. Its standard error is 0.8 percent.
type sketch struct {
	registers [1 << sketchBits]uint8
	counts    [maxRank + 1]int // registers by their value
}

const (
	sketchBits = 14
	maxRank    = 64 - sketchBits + 1
)

func newSketch() *sketch {
	k := new(sketch)
	k.counts[0] = len(k.registers)
	return k
}

func (k *sketch) add(h uint64) {
	k.raise(int(h>>(64-sketchBits)), uint8(bits.LeadingZeros64(h<<sketchBits|1<<(sketchBits-1))+1))
}

func (k *sketch) raise(register int, rank uint8) {
	if old := k.registers[register]; rank > old {
		k.registers[register] = rank
		k.counts[old]--
		k.counts[rank]++
	}
}

// addAll adds the streams of a half hour.
func (k *sketch) addAll(c *halfCensus) {
	if c.sketch != nil {
		for i, rank := range c.sketch.registers {
			k.raise(i, rank)
		}
		return
	}
	for _, h := range c.exact.slots {
		if h != 0 {
			k.add(h)
		}
	}
}

func (k *sketch) estimate() int {
	const m = float64(1 << sketchBits)
	z := m * sketchTau(1-float64(k.counts[maxRank])/m)
	for r := maxRank - 1; r >= 1; r-- {
		z = (z + float64(k.counts[r])) / 2
	}
	z += m * sketchSigma(float64(k.counts[0])/m)
	return int(math.Round(m * m / (2 * math.Ln2) / z))
}

// sketchSigma is x + the sum of x^(2^k) * 2^(k-1) for k from 1.
func sketchSigma(x float64) float64 {
	if x == 1 {
		return math.Inf(1)
	}
	z := x
	for y := 1.0; ; y *= 2 {
		x *= x
		last := z
		if z += x * y; z == last {
			return z
		}
	}
}

// sketchTau is a third of 1 - x - the sum of (1-x^(2^-k))^2 * 2^-k for k from 1.
func sketchTau(x float64) float64 {
	if x == 0 || x == 1 {
		return 0
	}
	z := 1 - x
	for y := 0.5; ; y /= 2 {
		x = math.Sqrt(x)
		last := z
		if z -= (1 - x) * (1 - x) * y; z == last {
			return z / 3
		}
	}
}
