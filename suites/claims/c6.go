package claims

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"time"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/job"
)

// The variants of C6.
const (
	c6One    = "one caller"
	c6AtOnce = "16 at once"
)

const c6Callers = 16

// The initialisations of C6, which the claim does not name. 8.2 us is its time for one
// caller.
const (
	initFile    = "file"
	initCompute = "compute"
	c6Compute   = 8200 * time.Nanosecond
)

// A c6Init is a function for sync.Once. open returns it for each operation of a block,
// which runs in the block's directory.
type c6Init struct {
	kind, what string
	promise    run.Promise
	open       func() func(i int64) func() error
}

var c6Inits = [...]c6Init{
	{initFile, "creates a file", kill, func() func(int64) func() error {
		return func(i int64) func() error {
			return func() error {
				return touch("f"+strconv.FormatInt(i, 10), os.O_CREATE|os.O_EXCL|os.O_WRONLY)
			}
		}
	}},
	{initCompute, "computes for 8.2 us", job.Promise(durability.None, durability.Prefix), func() func(int64) func() error {
		s := newStopwatch(c6Compute)
		return func(int64) func() error {
			return func() error { runtime.KeepAlive(chain(1, s.steps)); return nil }
		}
	}},
}

// c6 reports two times of a caller: from its call of Do, and from the release of all
// callers, which includes its wait for a processor.
func c6(init c6Init) lab.Experiment {
	return lab.Experiment{
		Suite: "claims", Name: "C6", Params: run.Params{"init": init.kind},
		Question: "What does an initialisation cost under sync.Once, alone and with 16 callers at once?",
		Op:       "one new sync.Once, whose function " + init.what, MaxOps: 20_000,
		Variants: []lab.Variant{
			{Name: c6One, Doc: "one goroutine calls Do", Promise: init.promise, Baseline: true,
				Run: inDir(func(b *lab.B) error { return runOneCaller(b, init.open()) })},
			{Name: c6AtOnce, Doc: "16 waiting goroutines are released and call Do", Promise: init.promise,
				Run: inDir(func(b *lab.B) error { return runCallers(b, init.open()) })},
		},
	}
}

// callerTimes has the times of callers, in nanoseconds.
type callerTimes struct{ call, released *run.Histogram }

func newCallerTimes() callerTimes { return callerTimes{run.NewHistogram(), run.NewHistogram()} }

func (t *callerTimes) report(b *lab.B) {
	for _, r := range []struct {
		name string
		hist *run.Histogram
	}{{"call", t.call}, {"released", t.released}} {
		b.Report(r.name+"_mean_ns", r.hist.Mean())
		b.Report(r.name+"_p99_ns", r.hist.Quantile(0.99))
	}
}

// A onceRound is a Once and the gate where its callers wait.
type onceRound struct {
	gate     chan struct{}
	released time.Time // before gate is closed
	once     sync.Once
	init     func() error
	err      error // of init; set under once
}

// runOneCaller calls Do of a new Once in each operation.
func runOneCaller(b *lab.B, makeInit func(i int64) func() error) error {
	times := newCallerTimes()
	defer times.report(b)
	for b.Loop() {
		r := onceRound{init: makeInit(b.I())}
		start := time.Now()
		r.once.Do(func() { r.err = r.init() })
		took := int64(time.Since(start))
		times.call.Record(took)
		times.released.Record(took)
		if r.err != nil {
			return r.err
		}
	}
	return nil
}

// runCallers has c6Callers goroutines call Do of a new Once in each operation. They are
// started before the timer.
func runCallers(b *lab.B, makeInit func(i int64) func() error) error {
	times := newCallerTimes()
	defer times.report(b)
	rounds := make(chan *onceRound)
	var call, released [c6Callers]int64
	var ready, done, end sync.WaitGroup
	for i := range c6Callers {
		end.Go(func() {
			for r := range rounds {
				ready.Done()
				<-r.gate
				start := time.Now()
				r.once.Do(func() { r.err = r.init() })
				now := time.Now()
				call[i], released[i] = int64(now.Sub(start)), int64(now.Sub(r.released))
				done.Done()
			}
		})
	}
	defer end.Wait()
	defer close(rounds)
	for b.Loop() {
		r := &onceRound{gate: make(chan struct{}), init: makeInit(b.I())}
		ready.Add(c6Callers)
		done.Add(c6Callers)
		for range c6Callers {
			rounds <- r
		}
		ready.Wait()
		r.released = time.Now()
		close(r.gate)
		done.Wait()
		for i := range c6Callers {
			times.call.Record(max(call[i], 1))
			times.released.Record(max(released[i], 1))
		}
		if r.err != nil {
			return r.err
		}
	}
	return nil
}

func claimC6() Claim {
	file, compute := c6(c6Inits[0]), c6(c6Inits[1])
	return Claim{
		ID: "C6",
		Source: reportC.source("2.3",
			"A sync.Once takes 8.2 us (p99 12.5) alone and 147.6 us (428.1) with 16 threads, which queue on its mutex even when the work is done."),
		Statement:   "sync.Once around an initialisation: one caller, 16 at once",
		Claimed:     "8.2 us; 147.6 us mean, 428 us p99",
		Promise:     "kill, prefix where the initialisation creates a file; none where it computes",
		Experiments: []lab.Experiment{file, compute},
		judge:       func(ev *evidence) judgement { return judgeC6(ev, file.ID(), compute.ID()) },
	}
}

// judgeC6 compares the ratios to the one caller with the claimed ones.
func judgeC6(ev *evidence, file, compute string) judgement {
	const mean, tail = 147.6 / 8.2, 428 / 8.2
	var answers []answer
	text := ""
	for _, c := range []struct{ what, id string }{{"Creating a file", file}, {"Computing for 8.2 us", compute}} {
		alone := ev.metric(c.id, c6One, "call_mean_ns")
		text += fmt.Sprintf("%s: one caller %s; of 16 at once", c.what, nanos(alone))
		for _, since := range []struct{ metric, what string }{{"call", " a call"}, {"released", ", from their release,"}} {
			m, t := ev.metric(c.id, c6AtOnce, since.metric+"_mean_ns"), ev.metric(c.id, c6AtOnce, since.metric+"_p99_ns")
			answers = append(answers, claimedFactor(quotient(m, alone), mean), claimedFactor(quotient(t, alone), tail))
			text += fmt.Sprintf("%s %s on average (%s of one), p99 %s (%s)", since.what,
				nanos(m), factor(quotient(m, alone)), nanos(t), factor(quotient(t, alone)))
		}
		text += ". "
	}
	why := fmt.Sprintf("A caller among 16 had to take at least %.0fx of one alone on average and %.0fx in the 99th percentile (the claim less %.0f %%), with either initialisation, counted from its call of Do and from the release of all.",
		mean*(1-slack), tail*(1-slack), 100*slack)
	return decide(text, why, "the initialisation, on when a caller's time begins, and on mean or 99th percentile", answers...)
}
