package block

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stele-go/stele/logstore/internal/template"
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
		var r timeReader
		got, err := allTimes(&r, e.varint, e.bits, len(c.times), false)
		if err != nil || !slices.Equal(got, c.times) {
			t.Errorf("%s: %v, got %.300v", name, err, got)
		}
		e.mark()
		if limit := maxTimeBits2(len(c.times)); len(e.bits) > limit {
			t.Errorf("%s: %d bytes of bits and marks, more than the bound %d", name, len(e.bits), limit)
		}
		if got, err = allTimes(&r, e.varint, e.bits, len(c.times), true); err != nil || !slices.Equal(got, c.times) {
			t.Errorf("%s, with marks: %v, got %.300v", name, err, got)
		}
		checkFirstBytes(t, name, c.times, nil)
		checkFirstBytes(t, name, c.times, template.NewMiner())
	}
}

// Times of a block are right though its lines and metadata were read before, and these need
// their lengths.
func TestTimesAfterLines(t *testing.T) {
	var times []int64
	var v1 Encoder
	v2 := Encoder{Miner: template.NewMiner()}
	rng := rand.New(rand.NewPCG(5, 1))
	for i := range 500 {
		times = append(times, int64(i)*1e9+rng.Int64N(1e9))
		line, meta := fmt.Appendf(nil, "line %d with \xff in it", i), fmt.Appendf(nil, "\xff%d", i%3)
		v1.Add(times[i], line, meta)
		v2.Add(times[i], line, meta)
	}
	for _, e := range []*Encoder{&v1, &v2} {
		p, err := e.Append(nil)
		if err != nil {
			t.Fatal(err)
		}
		var d Decoder
		if err := d.OpenTimes(p); err != nil {
			t.Fatal(err)
		}
		if at, err := d.TimeAt(0); err != nil || at != times[0] {
			t.Errorf("version %d: the first time is %d, %v; want %d", p[0], at, err, times[0])
		}
		if err := errors.Join(d.OpenLines(e.Templates()), d.Lines()); err != nil {
			t.Fatal(err)
		}
		if got, err := d.Times(); err != nil || !slices.Equal(got, times) {
			t.Errorf("version %d: after lines: %v, other times", p[0], err)
		}
	}
}

func allTimes(r *timeReader, p, low []byte, n int, marked bool) ([]int64, error) {
	if err := r.open(p, low, n, marked); err != nil {
		return nil, err
	}
	return r.all()
}

// checkFirstBytes verifies that the first bytes of a block have its times, and that fewer are
// too short.
func checkFirstBytes(t *testing.T, name string, times []int64, miner *template.Miner) {
	t.Helper()
	enc := Encoder{Miner: miner}
	for i, at := range times {
		enc.Add(at, fmt.Appendf(nil, "line %d", i), nil)
	}
	p, err := enc.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	var d Decoder
	read := 0
	for n := 0; n < len(p); n = min(len(p)-1, n+1+n/50) + n/(len(p)-1) {
		err := d.OpenTimes(p[:n])
		if err == nil {
			var got []int64
			if got, err = d.Times(); err == nil && !slices.Equal(got, times) || d.Rows() != len(times) {
				t.Errorf("%s: of %d bytes: got %.300v", name, n, got)
			}
			read++
		}
		if err != nil && (n > 0 && !errors.Is(err, ErrShort) || read > 0) {
			t.Errorf("%s: of %d bytes: %v", name, n, err)
		}
		if d.Lines() == nil {
			t.Errorf("%s: a block is open", name)
		}
	}
	if read == 0 {
		t.Errorf("%s: the first bytes of a block do not have its times", name)
	}
}

// sortedTimes are n times in order, some of them equal.
func sortedTimes(rng *rand.Rand, n int) []int64 {
	times := make([]int64, n)
	at, most := int64(1_700_000_000_000_000_000), int64(1)<<rng.IntN(30)
	regular := rng.IntN(3) == 0
	for i := range times {
		times[i] = at
		if regular {
			at += most
		} else {
			at += rng.Int64N(most)
		}
	}
	return times
}

// Searches among the times of two runs find what a search of all times finds, whatever was
// decoded before.
func TestSearchTimes(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 9))
	var r timeReader
	var e timesEncoder
	for range 300 {
		first := sortedTimes(rng, 1+rng.IntN(3*pieceRows))
		times := append(slices.Clone(first), sortedTimes(rng, rng.IntN(3*pieceRows))...)
		marked := rng.IntN(4) > 0
		e.encode(times)
		if marked {
			e.mark()
		}
		if err := r.open(e.varint, e.bits, len(times), marked); err != nil {
			t.Fatal(err)
		}
		for range 5 {
			from, to := 0, len(first)
			if rng.IntN(2) == 0 {
				from, to = len(first), len(times)
			}
			from += rng.IntN(to - from + 1)
			at := times[rng.IntN(len(times))] + rng.Int64N(3) - 1
			want, _ := slices.BinarySearch(times[from:to], at)
			if got, err := r.search(from, to, at); err != nil || got != from+want {
				t.Fatalf("the first of rows %d to %d of %d from %d on is %d, %v; want %d", from, to, len(times), at, got, err, from+want)
			}
			if got, err := r.between(from, to); err != nil || !slices.Equal(got[from:to], times[from:to]) {
				t.Fatalf("rows %d to %d of %d: %v, other times", from, to, len(times), err)
			}
		}
	}
}

// The span of times is that of the block that is open.
func TestSpanOfTimes(t *testing.T) {
	var r timeReader
	var e timesEncoder
	for _, times := range [][]int64{{5, 3, 9}, {7}, {-1, 4, math.MaxInt64}} {
		e.encode(times)
		if err := r.open(e.varint, e.bits, len(times), false); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if first, last, err := r.span(); err != nil || first != slices.Min(times) || last != slices.Max(times) {
				t.Errorf("the times %d are from %d to %d, %v", times, first, last, err)
			}
		}
	}
}

// Few rows are decoded for a search.
func TestSearchFewTimes(t *testing.T) {
	var r timeReader
	var e timesEncoder
	times := sortedTimes(rand.New(rand.NewPCG(1, 1)), 20*pieceRows+1)
	e.encode(times)
	e.mark()
	if err := r.open(e.varint, e.bits, len(times), true); err != nil {
		t.Fatal(err)
	}
	if _, err := r.search(0, len(times), times[1000]); err != nil || r.left != 20 {
		t.Errorf("%d of 21 pieces are left, %v", r.left, err)
	}
}

// Marks that lie are damage, or nothing is found by them.
func FuzzMarks(f *testing.F) {
	rng := rand.New(rand.NewPCG(7, 7))
	var e timesEncoder
	for _, n := range []int{1, 2, pieceRows, pieceRows + 1, 3*pieceRows - 1} {
		times := sortedTimes(rng, n)
		e.encode(times)
		e.mark()
		f.Add(slices.Clone(e.varint), slices.Clone(e.bits), uint16(n), times[n/2])
	}
	f.Fuzz(func(t *testing.T, p, low []byte, n uint16, at int64) {
		var whole, some timeReader
		rows := int(n)%(4*pieceRows) + 1
		if len(p) > maxSection(sectionTimes, rows) || len(low) > maxTimeBits2(rows) || some.open(p, low, rows, true) != nil {
			return
		}
		bits := timeBits(rows, int(some.width))
		times, err := allTimes(&whole, p, low[:bits], rows, false)
		got, markedErr := allTimes(&some, p, low, rows, true)
		if markedErr == nil && (err != nil || !slices.Equal(times, got)) {
			t.Fatalf("times by marks are %v, %v; want %v", got, err, times)
		}
		if err := some.open(p, low, rows, true); err != nil {
			t.Fatal(err)
		}
		found, err := some.search(0, rows, at)
		if markedErr == nil && (err != nil || slices.IsSorted(times) && found != first(times, at)) {
			t.Fatalf("the first at %d of %v is %d, %v", at, times, found, err)
		}
		for k := range some.marks { // a piece is that of the times, or it is refused
			if got, err := some.between(k*pieceRows, min(rows, (k+1)*pieceRows)); markedErr == nil && (err != nil || !slices.Equal(got[k*pieceRows:min(rows, (k+1)*pieceRows)], times[k*pieceRows:min(rows, (k+1)*pieceRows)])) {
				t.Fatalf("piece %d: %v", k, err)
			}
		}
	})
}

func first(times []int64, at int64) int {
	i, _ := slices.BinarySearch(times, at)
	return i
}
