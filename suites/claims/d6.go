package claims

import (
	"fmt"
	"runtime"
	"strconv"
	"sync"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/trees"
	"github.com/stele-go/stele/suites/job"
)

const (
	variantRWMutex = "map + RWMutex"
	variantSyncMap = "sync.Map"
)

const (
	cacheGoroutines = 64     // "many": more than the processors of most machines
	knownPaths      = 10_000 // in the cache when the timer starts
)

type pathCache interface {
	known(path string) bool
	add(path string)
}

type rwMutexCache struct {
	mu sync.RWMutex
	m  map[string]struct{}
}

func (c *rwMutexCache) known(path string) bool {
	c.mu.RLock()
	_, ok := c.m[path]
	c.mu.RUnlock()
	return ok
}

func (c *rwMutexCache) add(path string) {
	c.mu.Lock()
	c.m[path] = struct{}{}
	c.mu.Unlock()
}

type syncMapCache struct{ m sync.Map }

func (c *syncMapCache) known(path string) bool { _, ok := c.m.Load(path); return ok }

func (c *syncMapCache) add(path string) { c.m.Store(path, struct{}{}) }

// d6 uses a cache: one operation in writeEvery adds a new path, the others look up a known
// one. 0 adds none, 1 only adds.
func d6(what string, writeEvery int64, op string) lab.Experiment {
	variant := func(name, doc string, make func() pathCache) lab.Variant {
		return lab.Variant{Name: name, Doc: doc, Promise: job.NothingWritten(), Run: func(b *lab.B) error {
			c := make()
			old := trees.CheckoutPaths(knownPaths)
			for _, p := range old {
				c.add(p)
			}
			var fresh []string
			if writeEvery > 0 {
				for i := range b.N/writeEvery + 2*cacheGoroutines {
					fresh = append(fresh, "new-"+strconv.FormatInt(i, 10))
				}
			}
			return b.Parallel(cacheGoroutines, func(w *lab.Worker) error {
				// Each starts elsewhere and strides by a prime, so that they do not
				// move in step.
				at := w.ID * 157
				next := w.ID
				for w.Loop() {
					if writeEvery > 0 && w.I()%writeEvery == 0 {
						c.add(fresh[next])
						next += cacheGoroutines
						continue
					}
					at += 31
					if p := old[at%len(old)]; !c.known(p) {
						return fmt.Errorf("%s has lost %q", name, p)
					}
				}
				return nil
			})
		}}
	}
	return lab.Experiment{
		Suite: "claims", Name: "D6-" + what, Question: "Which path cache is faster under many goroutines?",
		Op: op, MaxOps: 2_000_000,
		Variants: firstIsBaseline(
			variant(variantRWMutex, "A: a map under a reader-writer lock",
				func() pathCache { return &rwMutexCache{m: map[string]struct{}{}} }),
			variant(variantSyncMap, "B: the standard library's concurrent map",
				func() pathCache { return &syncMapCache{} })),
	}
}

func claimD6() Claim {
	read := d6("read", 0, "one look-up of a known path, by 64 goroutines")
	write := d6("write", 1, "one path added, by 64 goroutines")
	mixed := d6("mixed", 10, "nine look-ups to one path added, by 64 goroutines")
	return Claim{
		ID: "D6",
		Source: reportD.source("3.2",
			"On 16 cores a path cache in a sync.Map serves 96,700 reads/s and 21,500 writes/s with a p99 of 0.6 ms, a map under an RWMutex 42,100, 8,300 and 1.8 ms."),
		Statement:   "a path cache under many goroutines: map+RWMutex (A), sync.Map (B)",
		Claimed:     "reads 42.1k and 96.7k/s, writes 8.3k and 21.5k/s, p99 1.8 and 0.6 ms",
		Promise:     noneText,
		Experiments: []lab.Experiment{read, write, mixed},
		judge:       func(ev *evidence) judgement { return judgeD6(ev, read.ID(), write.ID(), mixed.ID()) },
	}
}

func judgeD6(ev *evidence, read, write, mixed string) judgement {
	cpus := ev.place.Environment.GOMAXPROCS
	if cpus == 0 {
		cpus = runtime.GOMAXPROCS(0)
	}
	text := fmt.Sprintf("On %d processors. ", cpus)
	speed := func(what, id string) run.Estimate {
		s := ev.speedup(id, variantSyncMap)
		text += fmt.Sprintf("%s: A %.1fM/s, B %.1fM/s, B %s as fast. ", what,
			1e3/ev.time(id, variantRWMutex).Median, 1e3/ev.time(id, variantSyncMap).Median, factor(s))
		return s
	}
	answers := []answer{
		claimedFactor(speed("Reads", read), 96.7/42.1),
		claimedFactor(speed("Writes", write), 21.5/8.3),
	}
	speed("Mixed", mixed)
	a, whyA := p99(ev.variant(mixed, variantRWMutex))
	b, whyB := p99(ev.variant(mixed, variantSyncMap))
	why := fmt.Sprintf("B had to reach the claimed factors less %.0f %%: %.1fx for reads, %.1fx for writes, a third of the p99 in the mix.",
		100*slack, 96.7/42.1*(1-slack), 21.5/8.3*(1-slack))
	if whyA == "" && whyB == "" {
		text += fmt.Sprintf("p99 in the mix: A %.1f us, B %.1f us.", a/1000, b/1000)
		answers = append(answers, answerIf(a/b >= 1.8/0.6*(1-slack)))
		why += " Operations under a microsecond are timed several at a time, so the p99 is of such groups and has no interval."
	} else {
		answers = append(answers, cannotTell)
		text += "p99 in the mix: " + whyA + whyB + "."
	}
	return decide(text, why, "the mix of operations", answers...)
}
