package claims

import (
	"fmt"
	"math"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/headers"
	"github.com/stele-go/stele/suites/job"
)

// The variants of H8: what the pool was given before the burst.
const (
	h8Cold      = "no warm-up"
	h8Warm      = "8 buffers put in"
	h8Collected = "8 buffers put in, then two collections"
)

// h8Bursts are the goroutines of a first burst; of the last the claim says nothing.
var h8Bursts = []int{8, 64, 1000}

// h8New counts the buffers that the pool had to make in a burst.
const h8New = "buffers_made_per_op"

// h8 releases goroutines together onto a pool that no burst has used before. held: each
// keeps its buffer until all have one, as goroutines do that wait for I/O. Otherwise each
// gives it back when it has written to it.
func h8(burst int, held bool, processors string) lab.Experiment {
	variant := func(name, doc string, warmUp, collections int) lab.Variant {
		return lab.Variant{Name: name, Doc: doc, Promise: job.NothingWritten(), Run: func(b *lab.B) error {
			took, head := job.NewTimer(), headers.Head(headerLen)
			var made atomic.Int64
			for b.Loop() {
				pool := slicePool(warmUp)
				pool.New = func() any {
					made.Add(1)
					return make([]byte, 0, h6Buffer)
				}
				for range collections {
					runtime.GC()
				}
				took.Hist.Record(max(1, int64(firstBurst(pool, burst, held, head))))
			}
			b.Report(h8New, float64(made.Load())/float64(b.N))
			took.Report(b, "burst")
			return nil
		}}
	}
	e := lab.Experiment{
		Suite: "claims", Name: "H8", Params: run.Params{"burst": strconv.Itoa(burst), "buffers": "given back at once", "processors": processors},
		Question: "Does a pool that was warmed up make fewer buffers in the first burst?",
		Op:       fmt.Sprintf("a new pool, its warm-up, and a first burst of %d goroutines", burst), Stateless: true, MaxOps: 2000, MaxRounds: 10, Env: onProcessors(processors),
		Variants: firstIsBaseline(
			variant(h8Cold, "A: the pool has nothing before the burst", 0, 0),
			variant(h8Warm, "B: one goroutine puts 8 buffers in, which stay with its own processor", h8WarmUp, 0),
			variant(h8Collected, "B, after which the collector runs twice and drops what the pool has", h8WarmUp, 2)),
	}
	if held {
		e.Params["buffers"] = "all held at once"
	}
	return e
}

// firstBurst returns how long the burst takes, from its release to its end.
func firstBurst(pool *sync.Pool, burst int, held bool, head []byte) time.Duration {
	var release, ready, have, done sync.WaitGroup
	release.Add(1)
	ready.Add(burst)
	have.Add(burst)
	write := func(buf []byte) { copy(buf, head) }
	for range burst {
		done.Go(func() {
			ready.Done()
			release.Wait()
			buf := pool.Get().([]byte)
			use(write, buf[:h6Buffer])
			if held {
				have.Done()
				have.Wait()
			}
			//lint:ignore SA6002 as the report codes it: each Put allocates
			pool.Put(buf[:0])
		})
	}
	ready.Wait()
	begun := time.Now()
	release.Done()
	done.Wait()
	return time.Since(begun)
}

func claimH8() Claim {
	c := Claim{
		ID: "H8",
		Source: reportH.source("4.3, Warm-up",
			"Eight slices of 1,024 bytes put into the pool at the start cover most medium loads and lower the allocations of the first burst."),
		Statement: "the first burst of 8, 64 and 1,000 goroutines on a pool without (A) and with (B) 8 buffers put in before",
		Claimed:   "fewer new buffers with the warm-up; no figures",
		Promise:   noneText,
		judge:     judgeH8,
	}
	for _, processors := range processorCounts {
		for _, held := range []bool{false, true} {
			for _, burst := range h8Bursts {
				c.Experiments = append(c.Experiments, h8(burst, held, processors))
			}
		}
	}
	return c
}

// judgeH8 asks whether B makes fewer buffers at a burst of 8 and of 64.
func judgeH8(ev *evidence) judgement {
	var parts []part
	for _, burst := range h8Bursts {
		for _, processors := range processorCounts {
			for _, held := range []bool{false, true} {
				parts = append(parts, ev.h8Parts(burst, h8(burst, held, processors))...)
			}
		}
	}
	return ruling("The pool keeps the 8 buffers with the processor of the goroutine that put them in; others must steal them.", parts...)
}

// h8Parts asks the question of one burst.
func (ev *evidence) h8Parts(burst int, e lab.Experiment) (parts []part) {
	id := e.ID()
	for _, v := range []string{h8Warm, h8Collected} {
		cond := "buffers " + e.Params["buffers"] + ", " + ev.processorsText(e.Params["processors"])
		if v == h8Collected {
			cond += ", two collections before"
		}
		a, b := ev.metric(id, h8Cold, h8New), ev.metric(id, v, h8New)
		p := direction(fmt.Sprintf("new buffers in a burst of %d, A against B", burst), fewerTimes(a, b)).under(cond).
			note(fmt.Sprintf("%.2f against %.2f", a.Median, b.Median))
		if burst == h8Bursts[len(h8Bursts)-1] {
			p = p.onlyShown()
		}
		parts = append(parts, p, figureOf(fmt.Sprintf("a burst of %d takes", burst),
			fmt.Sprintf("A %s, B %s", nanos(ev.metric(id, h8Cold, "burst_mean_ns")), nanos(ev.metric(id, v, "burst_mean_ns")))).under(cond))
	}
	return parts
}

// fewerTimes returns a / b of two counts or times, each of which may be none: none against
// none is the same, and some against none has no limit.
func fewerTimes(a, b run.Estimate) run.Estimate {
	e := quotient(a, b)
	if a.Median == 0 && b.Median == 0 {
		e.Median = 1
	}
	if math.IsNaN(a.Hi) || math.IsNaN(b.Hi) {
		return e // no interval
	}
	if b.Hi == 0 {
		e.Lo = 1
		if a.Lo > 0 {
			e.Lo = math.Inf(1)
		}
	}
	if b.Lo <= 0 {
		e.Hi = 1
		if a.Hi > 0 {
			e.Hi = math.Inf(1)
		}
	}
	return e
}
