package claims

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/newfile"
	"github.com/stele-go/stele/suites/files"
	"github.com/stele-go/stele/suites/job"
)

// ringSizes are the capacities of the claim.
var ringSizes = [...]int{512, 1024, 2048}

func nameRing(size int) string { return "ring of " + strconv.Itoa(size) }

// The variants of the report's own ring, which loses requests when it is full, or waits.
func nameDrop(size int) string { return nameRing(size) + ", drops (as coded)" }
func nameWait(size int) string { return nameRing(size) + ", waits (as meant)" }

const variantOneByOne = "openat and close, one by one"

// floodGoroutines is how many goroutines submit without waiting.
const floodGoroutines = 16

// Metrics of the variants of C9.
const (
	answerTime    = "answer_ns"      // mean time from a request until its file is created and closed
	overflowShare = "overflow_share" // of requests that found the ring full
)

// ring creates files through a bounded ring, drained 64 at a time or after 1 ms.
func ring(b *lab.B, size, goroutines int, waiting bool) error {
	return inOpenDir(b, func(d *newfile.Dir) error {
		q, err := newfile.NewQueue(d, newfile.QueueOptions{Capacity: size, Batch: 64, Linger: time.Millisecond})
		if err != nil {
			return err
		}
		return errors.Join(submitAll(b, q, goroutines, waiting), q.Close())
	})
}

// submitAll requests a file for each operation. A request that finds the ring full is
// counted and then waits, so that every block makes all of its files. waiting: a goroutine
// requests its next file once it has the last.
func submitAll(b *lab.B, q *newfile.Queue, goroutines int, waiting bool) error {
	names := distinctNames(b)
	var overflow, waited atomic.Int64
	all := files.NewAnswers()
	err := b.Parallel(goroutines, func(w *lab.Worker) error {
		mine := make(chan struct{}, 1)
		for w.Loop() {
			begin := time.Now()
			r := newfile.Request{Name: names[w.I()*int64(goroutines)+int64(w.ID)], Done: func(f *os.File, err error) {
				if err == nil {
					err = f.Close()
				}
				waited.Add(int64(time.Since(begin)))
				all.Answer(err)
				if waiting {
					mine <- struct{}{}
				}
			}}
			all.Expect()
			err := q.TrySubmit(r)
			if errors.Is(err, newfile.ErrFull) {
				overflow.Add(1)
				err = q.Submit(context.Background(), r)
			}
			if err != nil {
				all.Answer(err)
				return err
			}
			if waiting {
				<-mine
			}
		}
		return all.Wait()
	})
	b.Report(overflowShare, float64(overflow.Load())/float64(b.N))
	b.Report(answerTime, float64(waited.Load())/float64(b.N))
	return err
}

func c9(name, op string, goroutines int, waiting bool) lab.Experiment {
	e := lab.Experiment{
		Suite: "claims", Name: name, Question: "What does a larger ring of creation requests gain?",
		Op: op, MaxOps: files.PerBlock, MaxRounds: lab.MinRounds, // shown
	}
	for _, size := range ringSizes {
		e.Variants = append(e.Variants, lab.Variant{
			Name: nameRing(size), Promise: kept, Baseline: size == ringSizes[0],
			Doc: fmt.Sprintf("newfile.Queue of %d requests, drained 64 at a time or after 1 ms", size),
			Run: func(b *lab.B) error { return ring(b, size, goroutines, waiting) },
		})
	}
	return e
}

// Metrics of the ring with one producer.
const (
	enqueueTime  = "enqueue_mean_ns"  // from the intended start until the request is in the ring
	callbackTime = "callback_mean_ns" // until its file is created and closed
	servedRate   = "created_per_second"
)

// c9Rates are shares of the consumer's rate at which requests come.
var c9Rates = [...]int{50, 90}

const (
	c9Requests = 8_000 // of a block
	// c9Burst is the most requests that come at once: more than the smallest ring holds, and
	// fewer than the others do.
	c9Burst = 900
	c9Probe = 300 // files that a block creates before, to find the consumer's rate
)

// c9Open has requests of one producer come in bursts, at a share of the consumer's rate.
func c9Open(rate int) lab.Experiment {
	e := lab.Experiment{
		Suite: "claims", Name: "C9-bursts", Params: run.Params{"rate": strconv.Itoa(rate)}, Question: "What does a larger ring of creation requests gain?",
		Op:  fmt.Sprintf("one request for a file, in bursts of up to %d, at %d %% of the rate at which files can be created one by one", c9Burst, rate),
		Ops: c9Requests, MaxRounds: 10,
		Variants: []lab.Variant{{
			Name: variantOneByOne, Doc: "A: the producer creates each file itself", Promise: kept, Baseline: true,
			Run: inDir(func(b *lab.B) error { return burstsOneByOne(b, rate) }),
		}},
	}
	for _, wait := range []bool{false, true} {
		for _, size := range ringSizes {
			v := lab.Variant{Name: nameDrop(size), Promise: kept, Doc: "B as coded: fixed entries, head and tail, a consumer that polls; a request that finds the ring full is lost, and its file not made"}
			if wait {
				v.Name, v.Doc = nameWait(size), "B as meant: the producer waits while the ring is full"
			}
			v.Run = inDir(func(b *lab.B) error { return burstsThroughRing(b, rate, size, wait) })
			e.Variants = append(e.Variants, v)
		}
	}
	return e
}

const c9Flags = syscall.O_WRONLY | syscall.O_CREAT | syscall.O_EXCL | syscall.O_CLOEXEC

// createOne is openat and close.
func createOne(name string) error {
	fd, err := syscall.Open(name, c9Flags, 0o644)
	if err != nil {
		return err
	}
	return syscall.Close(fd)
}

// bursts calls request for each operation at its intended start, which is a time since begun.
func bursts(b *lab.B, rate int, request func(name string, due time.Duration) error) (begun time.Time, err error) {
	names := distinctNames(b)
	begun = time.Now()
	for i := range c9Probe {
		if err := createOne("probe_" + strconv.Itoa(i)); err != nil {
			return begun, err
		}
	}
	each := time.Since(begun) / c9Probe * 100 / time.Duration(rate)
	var due time.Duration
	left := 0
	for b.Loop() {
		if b.I() == 0 { // Loop collects garbage before it
			begun = time.Now()
		}
		if left == 0 {
			left = 1 + b.Rand.IntN(c9Burst)
			// The time that so many take on average, spread at random.
			due += time.Duration(b.Rand.ExpFloat64() * float64(each) * float64(left))
			for time.Since(begun) < due {
				runtime.Gosched()
			}
		}
		left--
		if err := request(names[b.I()], due); err != nil {
			return begun, err
		}
	}
	return begun, nil
}

func burstsOneByOne(b *lab.B, rate int) error {
	finished := job.NewTimer()
	var clock time.Time
	begun, err := bursts(b, rate, func(name string, due time.Duration) error {
		if clock.IsZero() {
			clock = time.Now().Add(-due)
		}
		err := createOne(name)
		finished.Since(clock.Add(due))
		return err
	})
	b.Report(callbackTime, finished.Hist.Mean())
	b.Report(enqueueTime, finished.Hist.Mean())
	b.Report(servedRate, float64(b.N)/time.Since(begun).Seconds())
	b.Report(overflowShare, 0)
	return err
}

func burstsThroughRing(b *lab.B, rate, size int, wait bool) error {
	enqueued, finished := job.NewTimer(), job.NewTimer()
	created, lost := 0, 0
	// Made before the timer starts: to touch 2,048 pages takes longer than to touch 1,024.
	r := newCreateRing(size, time.Time{}, func(due, now time.Duration) {
		finished.Hist.Record(max(1, int64(now-due)))
		created++
	})
	begun, err := bursts(b, rate, func(name string, due time.Duration) error {
		if r.begun.IsZero() {
			r.begun = time.Now().Add(-due)
			go r.consume()
		}
		ok := r.push(name, 0o644, c9Flags, due)
		if !ok {
			lost++
		}
		for !ok && wait {
			runtime.Gosched()
			ok = r.push(name, 0o644, c9Flags, due)
		}
		if ok {
			enqueued.Hist.Record(max(1, int64(time.Since(r.begun)-due)))
		}
		return nil
	})
	if r.begun.IsZero() { // the consumer was not started
		return err
	}
	err = errors.Join(err, r.close())
	b.Report(servedRate, float64(created)/time.Since(begun).Seconds())
	b.Report(enqueueTime, enqueued.Hist.Mean())
	b.Report(callbackTime, finished.Hist.Mean())
	b.Report(overflowShare, float64(lost)/float64(b.N))
	return err
}

func claimC9() Claim {
	open := experiments(c9Open, c9Rates[:]...)
	callers := c9("C9-callers", "one new empty file, requested by one of 1,000 goroutines that wait for theirs", publishedFiles, true)
	flood := c9("C9-flood", "one new empty file, requested by one of 16 goroutines that do not wait", floodGoroutines, false)
	return Claim{
		ID: "C9",
		Source: reportC.source("4.2",
			"A ring of 1,024 creation requests is the knee: 248,900 requests/s at 22.7 us with no overflow, against 215,600 at 18.3 us with 512 and no more with 2,048."),
		Statement:   "asynchronous creation over a bounded ring of 512, 1,024, 2,048, one producer, drained at 64 requests or after 1 ms",
		Claimed:     "18.3, 22.7, 41.9 us; 215.6k, 248.9k, 249.1k/s; overflow 0.02 %, 0, 0",
		Promise:     "kill, old or new, all variants: survives kill -9, not a power cut",
		Experiments: append(open, callers, flood),
		judge:       func(ev *evidence) judgement { return judgeC9(ev, open, callers.ID(), flood.ID()) },
	}
}

func judgeC9(ev *evidence, open []lab.Experiment, callers, flood string) judgement {
	lack := ev.processors(2) // one is the consumer's
	var parts []part
	for i, rate := range c9Rates {
		for _, w := range []struct {
			how  string
			name func(int) string
		}{{"as coded", nameDrop}, {"as meant", nameWait}} {
			parts = append(parts, ev.c9Parts(open[i].ID(), fmt.Sprintf("%s, %d %% of the consumer's rate", w.how, rate), w.name, lack)...)
		}
	}
	for _, load := range []struct{ what, id string }{{"1,000 goroutines that wait for their files", callers}, {"16 that do not", flood}} {
		text := ""
		for _, size := range ringSizes {
			name := nameRing(size)
			text += fmt.Sprintf("; %d: %.1fk/s, %s to the answer, overflow %s", size, 1e6/ev.time(load.id, name).Median,
				nanos(ev.metric(load.id, name, answerTime)), shareText(ev.metric(load.id, name, overflowShare)))
		}
		parts = append(parts, figureOf(load.what+", Stele's ring", text[2:]))
	}
	return ruling(fmt.Sprintf("One producer's requests come in bursts of up to %d; times count from the intended start. The report's latency can only be that to enqueue: 215,600/s at 18.3 us are 4 in flight, while 64 take 0.3 ms to come.", c9Burst), parts...)
}

// c9Parts returns the parts on the rings of one kind under one load.
func (ev *evidence) c9Parts(id, cond string, name func(int) string, lack string) []part {
	ratio := func(above, below int, metric string) run.Estimate {
		return ev.ratioOf(id, metric, name(ringSizes[above]), name(ringSizes[below]))
	}
	over := func(i int) run.Estimate { return ev.metric(id, name(ringSizes[i]), overflowShare) }
	return []part{
		direction("rate of 1,024 against 512", ratio(1, 0, servedRate)).under(cond).needs(lack),
		same("rate of 2,048 against 1,024", ratio(2, 1, servedRate)).under(cond).needs(lack),
		claimed("time to enqueue or to the answer, 2,048 against 1,024", ratio(2, 1, enqueueTime), 41.9/22.7).under(cond + ", to enqueue").needs(lack),
		claimed("time to enqueue or to the answer, 2,048 against 1,024", ratio(2, 1, callbackTime), 41.9/22.7).under(cond + ", to the callback").needs(lack),
		onlyFirstOverflows(over(0), over(1), over(2)).under(cond).needs(lack),
		figureOf("512, 1,024, 2,048 ("+cond+")", fmt.Sprintf("%.0f, %.0f, %.0f files/s; to enqueue %s, %s, %s; to the callback %s, %s, %s; one by one %.0f files/s, %s",
			ev.metric(id, name(ringSizes[0]), servedRate).Median, ev.metric(id, name(ringSizes[1]), servedRate).Median, ev.metric(id, name(ringSizes[2]), servedRate).Median,
			nanos(ev.metric(id, name(ringSizes[0]), enqueueTime)), nanos(ev.metric(id, name(ringSizes[1]), enqueueTime)), nanos(ev.metric(id, name(ringSizes[2]), enqueueTime)),
			nanos(ev.metric(id, name(ringSizes[0]), callbackTime)), nanos(ev.metric(id, name(ringSizes[1]), callbackTime)), nanos(ev.metric(id, name(ringSizes[2]), callbackTime)),
			ev.metric(id, variantOneByOne, servedRate).Median, nanos(ev.metric(id, variantOneByOne, callbackTime)))),
	}
}

// onlyFirstOverflows returns the part that asks whether requests are lost in the first ring and
// in no other: an interval has to begin above 0, or to end there.
func onlyFirstOverflows(a, b, c run.Estimate) part {
	p := part{
		what: "only the ring of 512 overflows", est: b, lo: math.Inf(-1), hi: 0,
		figure: fmt.Sprintf("%s; %s; %s of the requests find the ring full", shareText(a), shareText(b), shareText(c)),
	}
	if c.Hi > b.Hi {
		p.est = c
	}
	switch {
	case a.Lo > 0 && b.Hi == 0 && c.Hi == 0:
		p.answer = yes
	case a.Hi == 0 || b.Lo > 0 || c.Lo > 0:
		p.answer = no
	case a.Lo == 0 && b.Hi == 0 && c.Hi == 0:
		p.est = a
	}
	return p.measured()
}
