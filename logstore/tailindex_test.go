package logstore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/stele-go/stele/internal/testseed"
)

// An index knows the same tails as a look at each, while tails come and go and memory is
// short. It never takes more than its share.
func TestTailIndex(t *testing.T) {
	seed := testseed.Of(t)
	rnd := rand.New(rand.NewPCG(seed, 5))
	const share = 1500
	forgot := 0
	var x tailIndex
	ts := tails{memory: 8 * share, byTenant: map[string]*tailIndex{"": &x, "other": {}}}
	var list []*tail
	for range 3000 {
		switch op := rnd.IntN(10); {
		case op < 3 && len(list) < 150:
			var sel Selector
			if rnd.IntN(10) > 0 {
				sel = Selector{{Name: "n", Op: MatchOp(rnd.IntN(2)), Value: fmt.Sprint(rnd.IntN(20))}}
			}
			tl := newTail("", sel, nil)
			list = append(list, tl)
			x.add(tl)
		case op < 4 && len(list) > 0:
			i := rnd.IntN(len(list))
			x.remove(list[i])
			list = slices.Delete(list, i, i+1)
		default:
			l := MustLabels("n", fmt.Sprint(rnd.IntN(20)))
			var got []*tail
			before := x.bytes
			ts.indexOf(&x, l).each(func(slot int) {
				if tl := x.slots[slot]; tl != nil {
					got = append(got, tl)
				}
			})
			n := 0
			for _, tl := range list {
				if tl.selects(l) {
					n++
					if !slices.Contains(got, tl) {
						t.Fatalf("%v of stream %v is not found", tl.selector, l)
					}
				}
			}
			bytes := int64(0)
			for l, s := range x.streams {
				bytes += s.size(l)
			}
			if len(got) != n || x.tails != len(list) || bytes > share || x.bytes != bytes || ts.indexed != bytes {
				t.Fatalf("%d tails; want %d; %d in all; want %d; %d, %d and %d bytes; want at most %d", len(got), n, x.tails, len(list), bytes, x.bytes, ts.indexed, share)
			}
			if x.bytes < before {
				forgot++
			}
		}
	}
	if forgot == 0 {
		t.Error("memory was never short")
	}
}

// A tail that is added is asked about a stream once that has entries, and not before.
func TestTailIsAskedLate(t *testing.T) {
	var x tailIndex
	for i := range 100 {
		x.of(MustLabels("n", fmt.Sprint(i)))
	}
	asked := func() (n int) {
		for _, s := range x.streams {
			n += int(s.last)
		}
		return n
	}
	x.add(newTail("", Selector{{Name: "n", Value: "7"}}, nil))
	if n := asked(); n > 0 {
		t.Errorf("a tail was asked about %d streams when it was added", n)
	}
	for range 3 {
		if set, _ := x.of(MustLabels("n", "7")); len(set) != 1 || asked() != 1 {
			t.Errorf("%v, asked about %d streams; want slot 0, and one", set, asked())
		}
	}
}

// Tails that wait cost little memory, no goroutine but the caller's, and appends nothing.
func TestIdleTails(t *testing.T) {
	s := openTest(t, t.TempDir(), anyTime())
	const n = 2000
	before := runtime.NumGoroutine()
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapInuse
	}
	first := heap()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			for range s.Tail(ctx, Query{Selector: Selector{{Name: "app", Value: fmt.Sprint("app", i)}}}) {
			}
		})
	}
	until(t, "they wait", func() bool { return s.tailing() == n })
	if got := runtime.NumGoroutine() - before; got > n+5 {
		t.Errorf("%d goroutines for %d tails", got, n)
	}
	if each := int64(heap()-first) / n; each > 3<<10 {
		t.Errorf("%d bytes of heap for each tail; want at most 3 KiB", each)
	}
	for i := range 100 {
		mustAppend(t, s, one(MustLabels("app", "other"), int64(i), "line"))
	}
	for _, tl := range s.reads.tails.list {
		if tl.selected != nil {
			t.Fatal("a tail looked at a stream that it does not select")
		}
	}
	cancel()
	all.Wait()
}

// BenchmarkIdleTails measures an append of a line beside tails that do not select it.
func BenchmarkIdleTails(b *testing.B) {
	for _, n := range []int{0, 1, 2000} {
		b.Run(fmt.Sprintf("tails=%d", n), func(b *testing.B) {
			s := &Store{reads: newReadPool(256<<20, 2)}
			for i := range n {
				s.reads.tails.add(newTail("", Selector{{Name: "app", Value: fmt.Sprint("app", i)}}, &s.reads.tails.large))
			}
			batch := one(MustLabels("app", "another", "host", "h1"), 1, "a line")
			b.ReportAllocs()
			for b.Loop() {
				s.notifyTails("", batch, new(rejectedSet), 0, 1, 1)
			}
		})
	}
}
