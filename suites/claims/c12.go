package claims

import (
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/job"
)

// The variants of C12: what a go statement finds.
const (
	c12Reused   = "descriptor and stack of a dead one"
	c12NewStack = "new stack at hand, descriptor of a dead one"
	c12NewBoth  = "new stack at hand, new descriptor"
	c12AllNew   = "new stack from the system, new descriptor"
)

// A burst of C12 is c12Lead starts that are not timed and c12Burst that are. Together they
// must fit into a P's own queue, 256 in Go 1.26 (runtime.p.runq): the rest would move to
// the global queue, at another cost. The lead uses up the dead goroutines that a P keeps,
// 64 at most, whose stacks no collection frees (runtime.gfput).
const (
	c12Lead  = 64
	c12Burst = 128
)

// c12 tells the stages apart by leaving some out. With GOMAXPROCS=1 a go statement finds or
// allocates a descriptor (runtime.g), finds or allocates a stack, and queues the goroutine,
// which runs only after the burst.
//   - A goroutine that ended leaves both to the next one.
//   - A collection returns the stacks of dead goroutines to the runtime's pool and keeps
//     their descriptors (runtime.markrootFreeGStacks).
//   - A goroutine that still runs leaves neither. If it has outgrown its first stack, that
//     stack is free again (runtime.copystack).
func c12() lab.Experiment {
	variant := func(name, doc string, s c12Setting) lab.Variant {
		return lab.Variant{Name: name, Doc: doc, Promise: job.NothingWritten(), Run: func(b *lab.B) error { return runBursts(b, s) }}
	}
	return lab.Experiment{
		Suite: "claims", Name: "C12", Question: "What does starting a goroutine cost, by stage?",
		Op: fmt.Sprintf("%d goroutines started in a row and run; start_ns is one go statement of the last %d", c12Lead+c12Burst, c12Burst),
		// No other goroutine and no collection runs between two go statements.
		Env: []string{"GOMAXPROCS=1", "GOGC=off"}, MaxOps: 100,
		Variants: firstIsBaseline(
			variant(c12Reused, "all goroutines of earlier bursts have ended", c12Setting{}),
			variant(c12NewStack, "the same, and a collection has taken their stacks", c12Setting{collect: true}),
			variant(c12NewBoth, "the goroutines of earlier bursts still run; as many others have outgrown their first stacks", c12Setting{keep: true, stacks: true}),
			variant(c12AllNew, "the goroutines of earlier bursts still run", c12Setting{keep: true})),
	}
}

// A c12Setting says what happens between bursts.
type c12Setting struct {
	collect bool // a collection takes the stacks of dead goroutines
	keep    bool // no goroutine ends before the block does
	stacks  bool // a stack is free for each start, but no descriptor
}

// runBursts reports the median cost of a go statement.
func runBursts(b *lab.B, s c12Setting) error {
	gate := make(chan struct{})
	var began, ended sync.WaitGroup
	if s.stacks {
		n := int(b.N) * (c12Lead + c12Burst)
		began.Add(n)
		for range n {
			ended.Go(func() { needStack(1); began.Done(); <-gate })
		}
		began.Wait()
	}
	body := func() {
		began.Done()
		if s.keep {
			<-gate
		}
		ended.Done()
	}
	burst := func(n int) time.Duration {
		start := time.Now()
		for range n {
			go body()
		}
		return time.Since(start)
	}
	costs := make([]float64, 0, b.N)
	for b.Loop() {
		if s.collect {
			runtime.GC()
		}
		began.Add(c12Lead + c12Burst)
		ended.Add(c12Lead + c12Burst)
		burst(c12Lead)
		costs = append(costs, float64(burst(c12Burst))/c12Burst)
		began.Wait()
		if !s.keep {
			ended.Wait()
		}
	}
	close(gate)
	ended.Wait()
	if len(costs) > 1 {
		costs = costs[1:] // no goroutine had ended before the first burst
	}
	b.Report("start_ns", median(costs))
	return nil
}

// needStack needs more stack than the 2 KiB of a new goroutine.
//
//go:noinline
func needStack(x byte) byte {
	var a [3 << 10]byte
	for i := range a {
		a[i] = x + byte(i)
	}
	return a[int(x)]
}

func claimC12() Claim {
	e := c12()
	return Claim{
		ID: "C12",
		Source: reportC.source("3.1",
			"Starting a goroutine costs 120 ns for its stack, 40 ns for its descriptor and 80 ns for the queue."),
		Statement:   "cost of starting a goroutine, by stage",
		Claimed:     "stack 120 ns, descriptor 40 ns, queueing 80 ns",
		Promise:     noneText,
		Experiments: []lab.Experiment{e},
		judge:       func(ev *evidence) judgement { return judgeC12(ev, e.ID()) },
	}
}

// judgeC12 compares the shares of the stages with the claimed ones. The cost of a stage is
// the difference between a start with it and one without.
func judgeC12(ev *evidence, id string) judgement {
	const total, points = 120 + 40 + 80, 0.10
	start := func(v string) run.Estimate { return ev.metric(id, v, "start_ns") }
	reused, newBoth, allNew := start(c12Reused), start(c12NewBoth), start(c12AllNew)
	rounds := []ofRound{ev.byRound(id, c12Reused, blockMetric("start_ns")), ev.byRound(id, c12NewBoth, blockMetric("start_ns")), ev.byRound(id, c12AllNew, blockMetric("start_ns"))}
	var parts []part
	for _, s := range []struct {
		name    string
		claimed float64
		share   func(x []float64) float64 // of dead goroutine, free stack only, neither
		apart   run.Estimate
	}{
		{"stack", 120, func(x []float64) float64 { return (x[2] - x[1]) / x[2] }, difference(allNew, newBoth)},
		{"descriptor", 40, func(x []float64) float64 { return (x[1] - x[0]) / x[2] }, difference(newBoth, reused)},
		{"queueing and the rest", 80, func(x []float64) float64 { return x[0] / x[2] }, reused},
	} {
		share, ok := overRounds(s.share, rounds...)
		if !ok {
			share = quotient(s.apart, allNew)
		}
		want := s.claimed / total
		parts = append(parts, inRange("share of the "+s.name+" in a wholly new start", share, want-points, want+points, shareText(share),
			fmt.Sprintf("want %.0f %% to %.0f %%", 100*(want-points), 100*(want+points))))
	}
	parts = append(parts, figureOf("a start", fmt.Sprintf("with descriptor and stack of a dead goroutine, the usual case, %s; with a free stack only %s; with neither %s; with a free stack that a collection took from a dead one %s",
		nanos(reused), nanos(newBoth), nanos(allNew), nanos(start(c12NewStack)))))
	return ruling("Stages differ by what a start finds ready; finding a free descriptor and a free stack is in the rest. "+ev.place.Environment.Go, parts...)
}
