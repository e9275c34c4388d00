package block

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestTimes(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	many := func(n int, f func(i int) int64) []int64 {
		times := make([]int64, n)
		for i := range times {
			times[i] = f(i)
		}
		return times
	}
	var e timesEncoder
	const now = 1_700_000_000_000_000_000
	at := int64(now)
	for name, c := range map[string]struct {
		times []int64
		most  int // bytes
	}{
		"one":             {[]int64{now}, 11},
		"all the same":    {many(100, func(int) int64 { return now }), 11 + 99},
		"a beat":          {many(100, func(i int) int64 { return now + int64(i)*1e9 }), 11 + 4 + 99},
		"a beat of 15 s":  {many(100, func(i int) int64 { return now + 7 + int64(i)*15e9 }), 11 + 4 + 99},
		"ms by chance":    {many(1000, func(int) int64 { at += rng.Int64N(60) * 1e6; return at }), 11 + 3 + 999 + 250},
		"ns by chance":    {many(1000, func(int) int64 { at += rng.Int64N(1 << 20); return at }), 11 + 999 + 999*15/8 + 1},
		"jumps back":      {[]int64{now, now + 5e9, now - 3e9, now - 3e9, now}, 40},
		"from 0 to 2^63":  {[]int64{0, math.MaxInt64, 0, math.MaxInt64 - 1, 1}, 70},
		"wraps around":    {[]int64{math.MinInt64, math.MaxInt64, 0, math.MinInt64, -1}, 70},
		"a half and back": {[]int64{math.MinInt64, 0, math.MinInt64, 0}, 8 + 10 + 2 + 3},
		"by chance":       {many(1000, func(int) int64 { return int64(rng.Uint64()) }), 20 + 9*999},
	} {
		e.encode(c.times)
		if n := len(e.varint) + len(e.bits); n > c.most {
			t.Errorf("%s: %d bytes, want at most %d", name, n, c.most)
		}
		if limit := maxSection(sectionTimes, len(c.times)); len(e.varint) > limit {
			t.Errorf("%s: %d bytes, more than the bound %d", name, len(e.varint), limit)
		}
		if limit := maxSection(sectionTimeBits, len(c.times)); len(e.bits) > limit {
			t.Errorf("%s: %d bytes of bits, more than the bound %d", name, len(e.bits), limit)
		}
		got, err := parseTimes(nil, e.varint, e.bits, len(c.times))
		if err != nil || !slices.Equal(got, c.times) {
			t.Errorf("%s: %v, got %.300v", name, err, got)
		}
		// The first bytes of a block have its times.
		var enc Encoder
		for i, at := range c.times {
			enc.Add(at, fmt.Appendf(nil, "line %d", i), nil)
		}
		p, err := enc.Append(nil)
		if err != nil {
			t.Fatal(err)
		}
		var dec Decoder
		for n := 0; n <= len(p); n += 1 + n/50 {
			got, err := dec.TimesOf(p[:n])
			if err == nil && !slices.Equal(got, c.times) || err != nil && !errors.Is(err, ErrShort) && !errors.Is(err, ErrDamaged) || err != nil && n == len(p) {
				t.Errorf("%s: of %d bytes: %v, got %.300v", name, n, err, got)
			}
		}
		if dec.Lines() == nil {
			t.Errorf("%s: a block is open", name)
		}
	}
}
