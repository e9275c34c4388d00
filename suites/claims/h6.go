package claims

import (
	"fmt"
	"math"
	"runtime"
	"sync"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/headers"
	"github.com/stele-go/stele/suites/job"
)

const h6Buffer = 1 << 10

// The variants of H6 beside madeFresh.
const (
	h6Coded = "pool as coded: []byte"
	h6Meant = "pool as meant: a pointer"
)

// h6Goroutines are one, and one a processor. The report does not say how many there were:
// one makes fewer than the claimed 12.4 million allocations a second at the claimed 182 ns.
var h6Goroutines = []string{"1", "one a processor"}

// use stands for a program's use of a buffer. It is not inlined, so the buffer escapes to
// the heap.
//
//go:noinline
func use(w func([]byte), buf []byte) { w(buf) }

// slicePool returns the report's pool of buffers, warmed up with eight. Put boxes the slice
// header each time.
func slicePool(warmUp int) *sync.Pool {
	pool := &sync.Pool{New: func() any { return make([]byte, 0, h6Buffer) }}
	for range warmUp {
		//lint:ignore SA6002 as the report codes it: each Put allocates
		pool.Put(make([]byte, 0, h6Buffer))
	}
	return pool
}

// h8WarmUp is how many buffers the report puts into its pool at the start.
const h8WarmUp = 8

func h6(goroutines string) lab.Experiment {
	head := headers.Head(headerLen)
	write := func(buf []byte) { copy(buf, head) }
	variant := func(name, doc string, op func() func()) lab.Variant {
		return lab.Variant{Name: name, Doc: doc, Promise: job.NothingWritten(), Run: func(b *lab.B) error {
			one, n := op(), 1
			if goroutines != "1" {
				n = runtime.GOMAXPROCS(0)
			}
			return b.Parallel(n, func(w *lab.Worker) error {
				for w.Loop() {
					one()
				}
				return nil
			})
		}}
	}
	return lab.Experiment{
		Suite: "claims", Name: "H6", Params: run.Params{"goroutines": goroutines},
		Question: "Is a pooled buffer faster than a fresh one?",
		Op:       "one buffer of 1 KiB, into which 128 bytes are written", Stateless: true,
		Variants: firstIsBaseline(
			variant(madeFresh, "A: make, and the buffer escapes", func() func() {
				return func() { use(write, make([]byte, h6Buffer)) }
			}),
			variant(h6Coded, "B as coded: Put boxes the slice header, an allocation of 24 bytes each time", func() func() {
				pool := slicePool(h8WarmUp)
				return func() {
					buf := pool.Get().([]byte)
					use(write, buf[:h6Buffer])
					//lint:ignore SA6002 as the report codes it: each Put allocates
					pool.Put(buf[:0])
				}
			}),
			variant(h6Meant, "B as meant: the pool has pointers", func() func() {
				pool := &sync.Pool{New: func() any { return new([h6Buffer]byte) }}
				return func() {
					buf := pool.Get().(*[h6Buffer]byte)
					use(write, buf[:])
					pool.Put(buf)
				}
			})),
	}
}

func claimH6() Claim {
	return Claim{
		ID: "H6",
		Source: reportH.source("4.3, Pool effect",
			"A buffer of 1 KiB from a pool takes 47 ns with 0.3M allocations/s, a fresh one 182 ns with 12.4M."),
		Statement:   "a buffer of 1 KiB, fresh (A), from a pool as coded (slices) and as meant (pointers) (B)",
		Claimed:     "182 ns, 12.4M allocations/s; 47 ns, 0.3M",
		Promise:     noneText,
		Experiments: experiments(h6, h6Goroutines...),
		judge:       judgeH6,
	}
}

func judgeH6(ev *evidence) judgement {
	const speed, rate = 182. / 47, 12.4 / 0.3
	var parts []part
	for _, n := range h6Goroutines {
		id := idOf(h6(n))
		allocations := func(v string) run.Estimate { // a second
			return quotient(scaled(ev.metric(id, v, "allocs_per_op"), 1e9), ev.time(id, v))
		}
		for _, w := range []struct{ variant, how string }{{h6Coded, "as coded"}, {h6Meant, "as meant"}} {
			cond := w.how + ", goroutines: " + n
			a, b := allocations(madeFresh), allocations(w.variant)
			fewer := quotient(a, b)
			if b.Lo <= 0 { // there may be none at all
				fewer.Hi = math.Inf(1)
			}
			parts = append(parts,
				claimed("speed of B against A", ev.ratio(id, madeFresh, w.variant), speed).under(cond).
					note(fmt.Sprintf("%s against %s", nanos(ev.time(id, w.variant)), nanos(ev.time(id, madeFresh)))),
				claimed("allocations a second, A against B", fewer, rate).under(cond).
					note(fmt.Sprintf("%.1fM against %.2fM", a.Median/1e6, b.Median/1e6)),
				figureOf("an operation of B", fmt.Sprintf("%.2f allocations, %.0f B", ev.metric(id, w.variant, "allocs_per_op").Median, ev.metric(id, w.variant, "alloc_bytes_per_op").Median)).under(cond))
		}
	}
	return ruling("As coded the pool has slices, and each Put allocates a header of 24 bytes for one: as many allocations as without a pool, of a fortieth of the bytes.", parts...)
}
