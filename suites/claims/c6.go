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
)

// The variants of C6.
const (
	c6One    = "one caller"
	c6AtOnce = "16 at once"
)

const c6Callers = 16

// The initialisations of C6: the claim does not tell which it was. 8.2 us are
// its time for one caller.
const (
	initFile    = "file"
	initCompute = "compute"
	c6Compute   = 8200 * time.Nanosecond
)

// c6Init returns what a sync.Once is to do in operation i. All runs in the
// block's folder.
func c6Init(kind string) func(i int64) func() error {
	if kind == initFile {
		return func(i int64) func() error {
			return func() error {
				return touch("f"+strconv.FormatInt(i, 10), os.O_CREATE|os.O_EXCL|os.O_WRONLY)
			}
		}
	}
	s := newStopwatch(c6Compute)
	return func(int64) func() error {
		return func() error { runtime.KeepAlive(chain(1, s.steps)); return nil }
	}
}

// c6 reports two times of a caller: from the beginning of its call of Do, and
// from when all were let go, in which it waits for a processor too.
func c6(kind string) lab.Experiment {
	what := map[string]string{initFile: "creates a file", initCompute: "computes for 8.2 us"}[kind]
	p := kill
	if kind == initCompute {
		p.Level = durability.None
	}
	return lab.Experiment{
		Suite: "claims", Name: "C6", Params: run.Params{"init": kind},
		Question: "What does an initialisation cost under sync.Once, alone and with 16 callers at once?",
		Op:       "one new sync.Once, done, whose function " + what, MaxOps: 20_000,
		Variants: []lab.Variant{
			{Name: c6One, Doc: "one goroutine calls Do", Promise: p, Baseline: true,
				Run: inDir(func(b *lab.B) error { return runOnces(b, c6Init(kind), 1) })},
			{Name: c6AtOnce, Doc: "16 goroutines that have waited for it are let go and call Do", Promise: p,
				Run: inDir(func(b *lab.B) error { return runOnces(b, c6Init(kind), c6Callers) })},
		},
	}
}

// callerTimes are the times of callers, in nanoseconds.
type callerTimes struct{ call, released *run.Histogram }

func (t *callerTimes) report(b *lab.B) {
	for _, r := range []struct {
		name string
		hist *run.Histogram
	}{{"call", t.call}, {"released", t.released}} {
		b.Report(r.name+"_mean_ns", r.hist.Mean())
		b.Report(r.name+"_p99_ns", r.hist.Quantile(0.99))
	}
}

// An onceRound is a Once and a gate at which its callers wait.
type onceRound struct {
	gate     chan struct{}
	released time.Time // before gate is closed
	once     sync.Once
	init     func() error
	err      error // of init; set under once
}

// runOnces gives each operation a new Once. One caller is the goroutine of the
// loop; more are there before the timer starts.
func runOnces(b *lab.B, makeInit func(i int64) func() error, callers int) error {
	times := callerTimes{run.NewHistogram(), run.NewHistogram()}
	defer times.report(b)
	if callers == 1 {
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
	rounds := make(chan *onceRound)
	call, released := make([]int64, callers), make([]int64, callers)
	var ready, done, end sync.WaitGroup
	for i := range callers {
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
		ready.Add(callers)
		done.Add(callers)
		for range callers {
			rounds <- r
		}
		ready.Wait()
		r.released = time.Now()
		close(r.gate)
		done.Wait()
		for i := range callers {
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
	file, compute := c6(initFile), c6(initCompute)
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

// judgeC6 asks for the claimed ratios to the one caller.
func judgeC6(ev *evidence, file, compute string) judgement {
	const mean, tail = 147.6 / 8.2, 428 / 8.2
	var answers []answer
	text := ""
	for _, c := range []struct{ what, id string }{{"Creating a file", file}, {"Computing for 8.2 us", compute}} {
		alone := ev.metric(c.id, c6One, "call_mean_ns")
		text += fmt.Sprintf("%s: one caller %s; of 16 at once", c.what, nanos(alone))
		for _, since := range []struct{ metric, what string }{{"call", " a call"}, {"released", ", from when they were let go,"}} {
			m, t := ev.metric(c.id, c6AtOnce, since.metric+"_mean_ns"), ev.metric(c.id, c6AtOnce, since.metric+"_p99_ns")
			answers = append(answers, claimedFactor(quotient(m, alone), mean), claimedFactor(quotient(t, alone), tail))
			text += fmt.Sprintf("%s %s on average (%s of one), p99 %s (%s)", since.what,
				nanos(m), factor(quotient(m, alone)), nanos(t), factor(quotient(t, alone)))
		}
		text += ". "
	}
	why := fmt.Sprintf("A caller among 16 was asked to take at least %.0fx of one alone on average and %.0fx in the 99th percentile (the claim less %.0f %%), whatever the initialisation does, counted from its call of Do and from when all were let go.",
		mean*(1-slack), tail*(1-slack), 100*slack)
	verdict, why := decide(why, "the initialisation, on what is counted as a caller's time, and whether the mean or the 99th percentile is asked for", answers...)
	return judgement{text[:len(text)-1], verdict, why}
}
