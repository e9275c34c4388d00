package iojob

import (
	"math"
	"math/rand/v2"
)

// An operation is one read or write.
type operation struct {
	write bool
	off   int64
	n     int
}

// A source draws the operations of one thread.
type source struct {
	job        *Job
	rng        *rand.Rand
	shares     int64 // of all block sizes
	from, to   int64 // the part of the file that a sequential thread goes round in
	at         int64
	zipf       func() uint64
	zipfBlocks int64
	scatter    int64
}

func newSource(j *Job, rng *rand.Rand, thread int) *source {
	s := &source{job: j, rng: rng}
	for _, b := range j.Blocks {
		s.shares += b.Share
	}
	// Each sequential thread has a part of its own, whose start suits direct I/O.
	unit := j.largest()
	part := j.Size / int64(j.Threads) / unit * unit
	s.from = part * int64(thread)
	s.to, s.at = s.from+part, s.from
	if j.Pattern == patternZipf {
		s.zipfBlocks = j.Size / unit
		s.zipf = newZipf(rng, j.Theta, s.zipfBlocks)
		s.scatter = coprime(s.zipfBlocks)
	}
	return s
}

func (s *source) next() operation {
	o := operation{n: s.block()}
	o.write = s.job.writes() && (!s.job.reads() || s.rng.IntN(100) >= s.job.Reads)
	n := int64(o.n)
	switch s.job.Pattern {
	case patternSeq:
		if s.at+n > s.to {
			s.at = s.from
		}
		o.off = s.at
		s.at += n
	case patternZipf:
		// Popular blocks lie all over the file, as a hash would have them.
		rank := int64(s.zipf())
		o.off = mulmod(rank, s.scatter, s.zipfBlocks) * s.job.largest()
	default:
		o.off = s.rng.Int64N(s.job.Size/n) * n
	}
	return o
}

func (s *source) block() int {
	blocks := s.job.Blocks
	if len(blocks) == 1 {
		return blocks[0].Bytes
	}
	x := s.rng.Int64N(s.shares)
	for _, b := range blocks {
		if x -= b.Share; x < 0 {
			return b.Bytes
		}
	}
	return blocks[0].Bytes // not reached
}

// newZipf returns a function that draws ranks from 0 to n-1, where rank k is drawn in
// proportion to (k+1)^-theta.
func newZipf(rng *rand.Rand, theta float64, n int64) func() uint64 {
	if theta > 1 {
		return rand.NewZipf(rng, theta, 1, uint64(n-1)).Uint64
	}
	// Gray et al., Quickly Generating Billion-Record Synthetic Databases, 1994.
	zeta := zetaOf(n, theta)
	alpha := 1 / (1 - theta)
	eta := (1 - math.Pow(2/float64(n), 1-theta)) / (1 - zetaOf(2, theta)/zeta)
	return func() uint64 {
		u := rng.Float64()
		switch uz := u * zeta; {
		case uz < 1 || n == 1:
			return 0
		case uz < 1+math.Pow(0.5, theta):
			return 1
		}
		return min(uint64(float64(n)*math.Pow(eta*u-eta+1, alpha)), uint64(n-1))
	}
}

// zetaOf returns the sum of k^-theta for k from 1 to n: exactly for the first terms,
// by the integral for the others.
func zetaOf(n int64, theta float64) (sum float64) {
	const exact = 100_000
	for k := int64(1); k <= min(n, exact); k++ {
		sum += math.Pow(float64(k), -theta)
	}
	if n > exact {
		power := func(x float64) float64 { return math.Pow(x, 1-theta) / (1 - theta) }
		sum += power(float64(n)+0.5) - power(exact+0.5)
	}
	return sum
}

// coprime returns a number that is coprime to n and about 0.618 of it, so that its
// multiples modulo n take each value once and lie far apart.
func coprime(n int64) int64 {
	for c := max(int64(0.6180339887*float64(n)), 1); ; c++ {
		if gcd(c, n) == 1 {
			return c
		}
	}
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// mulmod returns a*b modulo n, for numbers whose product may overflow.
func mulmod(a, b, n int64) int64 {
	if n < 1<<31 {
		return a % n * (b % n) % n
	}
	var r int64
	for a %= n; b > 0; b >>= 1 {
		if b&1 == 1 {
			r = (r + a) % n
		}
		a = a * 2 % n
	}
	return r
}
