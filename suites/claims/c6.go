package claims

import (
	"fmt"
	"runtime/metrics"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/job"
)

// The variants of C6.
const (
	c6One    = "1 goroutine"
	c6AtOnce = "16 goroutines"
)

const (
	c6Callers = 16
	c6Calls   = 2000 // of a done Once by each goroutine, an operation
	c6Timed   = 16   // one of so many calls is timed by itself
)

// Metrics of C6.
const (
	c6Mean      = "call_mean_ns"
	c6Tail      = "call_p99_ns"
	c6MutexWait = "mutex_wait_ns"
)

// A c6User is one goroutine's part of a block.
type c6User struct {
	spent time.Duration // in all its calls
	took  []int64       // of calls timed by themselves, nanoseconds
	_     [64]byte      // no other's figures are on its cache line
}

// reportC6 reports the mean of all calls and the 99th percentile of single ones.
func reportC6(b *lab.B, users []c6User, calls int64) {
	single, spent := job.NewTimer(), time.Duration(0)
	for i := range users {
		spent += users[i].spent
		for _, ns := range users[i].took {
			single.Hist.Record(max(1, ns))
		}
	}
	b.Report(c6Mean, float64(spent)/float64(calls))
	b.Report(c6Tail, single.Hist.Quantile(0.99))
}

// runDone has goroutines call a Once whose function has returned.
func runDone(b *lab.B, goroutines int) error {
	var once sync.Once
	once.Do(func() {})
	users := make([]c6User, goroutines)
	waited := mutexWait()
	for b.Loop() {
		together16(goroutines, func(id int) {
			u := &users[id]
			begun := time.Now()
			for i := range c6Calls {
				if i%c6Timed > 0 {
					once.Do(never)
					continue
				}
				one := time.Now()
				once.Do(never)
				u.took = append(u.took, int64(time.Since(one)))
			}
			u.spent += time.Since(begun)
		})
	}
	b.Report(c6MutexWait, mutexWait()-waited)
	reportC6(b, users, b.N*int64(goroutines)*c6Calls)
	return nil
}

func never() { panic("a Once that is done has called a function") }

// mutexWait returns how long goroutines of this process have waited for mutexes, in
// nanoseconds.
func mutexWait() float64 {
	s := []metrics.Sample{{Name: "/sync/mutex/wait/total:seconds"}}
	metrics.Read(s)
	if s[0].Value.Kind() != metrics.KindFloat64 {
		return 0
	}
	return s[0].Value.Float64() * 1e9
}

// together16 runs f in goroutines that begin at the same time.
func together16(goroutines int, f func(id int)) {
	if goroutines == 1 {
		f(0)
		return
	}
	var ready atomic.Int64
	var end sync.WaitGroup
	gate := make(chan struct{})
	for id := range goroutines {
		end.Go(func() {
			ready.Add(1)
			<-gate
			f(id)
		})
	}
	for ready.Load() < int64(goroutines) {
		time.Sleep(10 * time.Microsecond)
	}
	close(gate)
	end.Wait()
}

// c6Firsts is how many Onces an operation calls for the first time.
const c6Firsts = 50

// runFirst has goroutines call new Onces with an empty function, released together for each.
func runFirst(b *lab.B, goroutines int) error {
	users := make([]c6User, goroutines)
	for b.Loop() {
		for range c6Firsts {
			var once sync.Once
			together16(goroutines, func(id int) {
				begun := time.Now()
				once.Do(func() {})
				took := time.Since(begun)
				users[id].spent += took
				users[id].took = append(users[id].took, int64(took))
			})
		}
	}
	reportC6(b, users, b.N*c6Firsts*int64(goroutines))
	return nil
}

// The calls of C6: the published figures cannot be of a first call, whose function takes 80 ms.
const (
	c6Done  = "done"
	c6First = "first"
)

func c6(call string) lab.Experiment {
	each, op := runDone, fmt.Sprintf("%d calls by each goroutine of a Once that is done", c6Calls)
	if call == c6First {
		each, op = runFirst, fmt.Sprintf("%d first calls by each goroutine, of Onces with an empty function, all released together", c6Firsts)
	}
	variant := func(name string, goroutines int) lab.Variant {
		return lab.Variant{Name: name, Doc: strconv.Itoa(goroutines) + " call Do", Promise: job.NothingWritten(), Baseline: goroutines == 1,
			Run: func(b *lab.B) error { return each(b, goroutines) }}
	}
	return lab.Experiment{
		Suite: "claims", Name: "C6", Params: run.Params{"call": call}, Question: "What does a call of Once.Do cost, alone and with 16 callers at once?",
		Op: op, Ops: 50, Variants: []lab.Variant{variant(c6One, 1), variant(c6AtOnce, c6Callers)},
	}
}

func claimC6() Claim {
	done, first := c6(c6Done), c6(c6First)
	return Claim{
		ID: "C6",
		Source: reportC.source("2.3",
			"A sync.Once takes 8.2 us (p99 12.5) alone and 147.6 us (428.1) with 16 threads, which queue on its mutex even when the work is done."),
		Statement:   "one call of sync.Once.Do: by one goroutine, and by 16 at once; of a Once that is done, and first calls with an empty function",
		Claimed:     "8.2 us, p99 12.5 us; 147.6 us, p99 428.1 us",
		Promise:     noneText,
		Experiments: []lab.Experiment{done, first},
		judge:       func(ev *evidence) judgement { return judgeC6(ev, done.ID(), first.ID()) },
	}
}

func judgeC6(ev *evidence, done, first string) judgement {
	lack := ev.processors(c6Callers)
	var parts []part
	for _, c := range []struct{ how, id string }{{"a Once that is done", done}, {"first calls, released together", first}} {
		parts = append(parts,
			claimed("mean of 16 goroutines against one", ev.ratioOf(c.id, c6Mean, c6AtOnce, c6One), 147.6/8.2).under(c.how).needs(lack),
			claimed("p99 of 16 goroutines against one", ev.ratioOf(c.id, c6Tail, c6AtOnce, c6One), 428.1/12.5).under(c.how).needs(lack),
			figureOf("a call ("+c.how+")", fmt.Sprintf("alone %s, p99 %s; of 16 %s, p99 %s", nanos(ev.metric(c.id, c6One, c6Mean)), nanos(ev.metric(c.id, c6One, c6Tail)),
				nanos(ev.metric(c.id, c6AtOnce, c6Mean)), nanos(ev.metric(c.id, c6AtOnce, c6Tail)))))
	}
	parts = append(parts, figureOf("waiting for a mutex while 16 call a Once that is done", lasting(ev.metric(done, c6AtOnce, c6MutexWait))))
	if m, why := ev.known(done, c6AtOnce, "cache_misses_per_op"); why == "" {
		parts = append(parts, figureOf("cache misses of 16 calling a Once that is done", fmt.Sprintf("%.2f a call", m.Median/(c6Callers*c6Calls))))
	}
	return ruling("The mean counts from a goroutine's first call to its last, and so its waits for a processor; the p99 is of calls timed by themselves, with two readings of the clock.", parts...)
}
