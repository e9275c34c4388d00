package logstore

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"
)

// The estimate is within two percent of the truth from 1 to 10 million.
func TestSketch(t *testing.T) {
	k := newSketch()
	if k.estimate() != 0 {
		t.Errorf("%d of nothing", k.estimate())
	}
	rng := rand.New(rand.NewPCG(3, 4))
	check := 1
	for n := 1; n <= 10_000_000; n++ {
		h := rng.Uint64()
		k.add(h)
		k.add(h)
		if n == check {
			if e := k.estimate(); math.Abs(float64(e-n)) > max(1, 0.02*float64(n)) {
				t.Errorf("%d of %d", e, n)
			}
			check += max(1, check/20)
		}
	}
	// The registers are counted right.
	var counts [maxRank + 1]int
	for _, r := range k.registers {
		counts[r]++
	}
	if counts != k.counts {
		t.Error("counts differ from registers")
	}
}

// A census is compared with maps, over half hours with few streams and many. Its seed
// is random, so an estimate may be five standard errors off.
func TestCensus(t *testing.T) {
	c := newCensus(math.MaxInt)
	var current, before map[int]bool
	rng := rand.New(rand.NewPCG(5, 6))
	for i, n := range []int{10, 1000, 0, maxCounted, 10, maxCounted + 1, 3 * maxCounted, 20, 20, 5000} {
		half := uint32(i + 1)
		before, current = current, map[int]bool{}
		for range n {
			st := rng.IntN(4 * maxCounted)
			current[st] = true
			for range 1 + st%2 {
				if !c.admit(strconv.Itoa(st), 0, false, half) {
					t.Fatal("refused")
				}
			}
		}
		want := len(current)
		for st := range before {
			if !current[st] {
				want++
			}
		}
		exact := len(current) <= maxCounted && len(before) <= maxCounted
		got := c.streams(half)
		if off := math.Abs(float64(got - want)); exact && got != want || off > 0.04*float64(want) {
			t.Errorf("half hour %d: %d streams, want %d (exact %t)", half, got, want, exact)
		}
		if bytes := 8*(len(c.current.exact.slots)+len(c.before.exact.slots)) + 3*int(unsafe.Sizeof(sketch{})); bytes > 2<<20+100<<10 {
			t.Errorf("%d bytes", bytes)
		}
	}
	if n := c.streams(12); n != 0 {
		t.Errorf("%d streams after an hour without any", n)
	}
	// A half hour that is over already counts for the current one.
	c.admit("a", 0, false, 20)
	c.admit("b", 0, false, 19)
	if n := c.streams(20); n != 2 {
		t.Errorf("%d streams", n)
	}
}

func TestCensusRefuses(t *testing.T) {
	for _, most := range []int{1, 10, 2 * maxCounted} {
		c := newCensus(most)
		admitted := 0
		for i := range most + most/4 + 10 {
			if c.admit(strconv.Itoa(i), 0, false, 1) {
				admitted++
			}
		}
		if off := math.Abs(float64(admitted - most)); off > 0 && most <= maxCounted || off > 0.04*float64(most) {
			t.Errorf("%d of at most %d", admitted, most)
		}
		if most <= maxCounted && !c.admit("0", 0, false, 1) || !c.admit("known", 0, true, 1) || c.admit("another", 0, false, 2) {
			t.Errorf("at most %d: a stream that is there is refused, or another is not", most)
		}
		if !c.admit("another", 0, false, 3) { // when only "known" was there lately, at most
			t.Errorf("at most %d: a stream is refused an hour later", most)
		}
	}
}

// A stream a line ends at Options.MaxStreams, and the other streams go on.
func TestMaxStreams(t *testing.T) {
	clock := newTestClock()
	o := small()
	o.Clock, o.MaxStreams = clock, 100
	dir := t.TempDir()
	s := openTest(t, dir, o)
	at := func() int64 { return clock.at(0) }
	old := MustLabels("app", "old")
	mustAppend(t, s, one(old, at(), "x"))
	bomb := func(first, n int) (refused int) {
		t.Helper()
		var b Batch
		for i := range n {
			b = append(b, Stream{MustLabels("id", fmt.Sprint(first+i)), []Entry{{Time: at()}, {Time: at()}}})
		}
		b = append(b, Stream{old, []Entry{{Time: at()}}}, Stream{MustLabels("id", "late"), []Entry{{Time: -1}}})
		err := s.Append(t.Context(), b)
		r, ok := errors.AsType[*RejectedError](err)
		if !ok || r.Accepted != 2*n+1-(len(r.Rejected)-1) {
			t.Fatalf("%v", err)
		}
		if len(r.Rejected) > 1 && (!errors.Is(err, ErrTooManyStreams) || !strings.Contains(err.Error(), "want at most 100 that got entries within an hour (Options.MaxStreams)")) {
			t.Fatal(err)
		}
		return (len(r.Rejected) - 1) / 2
	}
	if n := bomb(0, 90); n != 0 {
		t.Errorf("%d of 90 refused", n)
	}
	// Streams of which all entries are refused do not count.
	if n := bomb(90, 90); n != 81 {
		t.Errorf("%d of 90 more refused", n)
	}
	// Those that are known go on, sealed, and after a restart.
	if n := bomb(0, 99); n != 0 {
		t.Errorf("%d known streams refused", n)
	}
	s.Close()
	s = openTest(t, dir, o)
	if n := bomb(50, 60); n != 11 {
		t.Errorf("after a restart %d refused", n)
	}
	if err := s.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := bomb(50, 60); n != 11 {
		t.Errorf("%d refused after a seal", n)
	}
	clock.ns.Add(int64(40 * time.Minute))
	if n := bomb(100, 10); n != 10 {
		t.Errorf("%d refused after 40 minutes", n)
	}
	clock.ns.Add(int64(40 * time.Minute))
	if n := bomb(100, 10); n != 0 {
		t.Errorf("%d refused when the others have no entries", n)
	}
	if n := s.census.streams(halfOf(clock.Elapsed())); n != 11 {
		t.Errorf("%d streams lately", n)
	}
}

// Appends at the same time overshoot by nothing.
func TestMaxStreamsTogether(t *testing.T) {
	o := small()
	o.MaxStreams = 50
	s := openTest(t, t.TempDir(), o)
	var all sync.WaitGroup
	var kept atomic.Int64
	for g := range 16 {
		all.Go(func() {
			for i := range 10 {
				if s.Append(context.Background(), one(MustLabels("g", fmt.Sprint(g), "i", fmt.Sprint(i)), time.Now().UnixNano(), "x")) == nil {
					kept.Add(1)
				}
			}
		})
	}
	all.Wait()
	if kept.Load() != 50 {
		t.Errorf("%d streams", kept.Load())
	}
}
