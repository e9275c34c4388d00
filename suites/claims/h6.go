package claims

import (
	"fmt"
	"strconv"
	"sync"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/headers"
	"github.com/stele-go/stele/suites/job"
)

const h6Buffer = 1 << 10

// h6Goroutines has two numbers: one goroutine makes fewer than the claimed 12.4 million
// allocations a second at the claimed 182 ns.
var h6Goroutines = []int{1, 16}

// use stands for a program's use of a buffer. It is not inlined, so the buffer escapes to
// the heap.
//
//go:noinline
func use(w func([]byte), buf []byte) { w(buf) }

func h6(goroutines int) lab.Experiment {
	head := headers.Head(headerLen)
	write := func(buf []byte) { copy(buf, head) }
	variant := func(name, doc string, op func() func()) lab.Variant {
		return lab.Variant{Name: name, Doc: doc, Promise: job.NothingWritten(), Run: func(b *lab.B) error {
			one := op()
			return b.Parallel(goroutines, func(w *lab.Worker) error {
				for w.Loop() {
					one()
				}
				return nil
			})
		}}
	}
	fresh := variant(madeFresh, "A: make", func() func() {
		return func() { use(write, make([]byte, h6Buffer)) }
	})
	return lab.Experiment{
		Suite: "claims", Name: "H6", Params: run.Params{"goroutines": strconv.Itoa(goroutines)},
		Question: "Is a pooled buffer faster than a fresh one?",
		Op:       "one buffer of 1 KiB, into which 128 bytes are written", Stateless: true,
		Variants: firstIsBaseline(fresh, variant(fromPool, "B: sync.Pool", func() func() {
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
		Statement:   "a 1 KiB buffer, fresh (A), pooled (B)",
		Claimed:     "182 ns, 12.4M allocations/s; 47 ns, 0.3M",
		Promise:     noneText,
		Experiments: experiments(h6, h6Goroutines...),
		judge:       judgeH6,
	}
}

func judgeH6(ev *evidence) judgement {
	const speed, rate = 182. / 47, 12.4 / 0.3
	var answers []answer
	text := ""
	for _, n := range h6Goroutines {
		id := idOf(h6(n))
		s := ev.speedup(id, fromPool)
		allocations := func(v string) run.Estimate { // a second
			return quotient(scaled(ev.metric(id, v, "allocs_per_op"), 1e9), ev.time(id, v))
		}
		a, b := allocations(madeFresh), allocations(fromPool)
		answers = append(answers, claimedFactor(s, speed), claimedFactor(quotient(a, b), rate))
		text += fmt.Sprintf("By %d: A %s, %.2fM allocations/s; B %s, %.2fM/s; B %s as fast. ", n,
			nanos(ev.time(id, madeFresh)), a.Median/1e6, nanos(ev.time(id, fromPool)), b.Median/1e6, factor(s))
	}
	why := fmt.Sprintf("B had to be at least %.2fx as fast and to allocate %.0fx less often (the claim less %.0f %%), by one goroutine and by %d.",
		speed*(1-slack), rate*(1-slack), 100*slack, h6Goroutines[len(h6Goroutines)-1])
	return decide(text, why, "the number of goroutines, and on time or allocations", answers...)
}
