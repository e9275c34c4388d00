package claims

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/job"
)

// The load of L1, which the report does not describe: requests that are due at a rate which
// rises until the server does not keep up. Each is a line to keep or, of every few, a query.
const (
	l1Clients = 1024   // requests under way at once, at most: enough to fill the pages of the three levels
	l1First   = 4000.0 // requests a second, at first
	l1Rise    = 1.3
	l1Steps   = 20
	l1Warm    = 20_000.0              // at which the caches are filled before
	l1Step    = 30 * time.Millisecond // of a rate, at least
	l1Fewest  = 300                   // requests of a rate: enough for a p99
	l1Tries   = 2                     // of a rate that is not carried at once
	l1Late    = 30 * time.Millisecond // the p99 from which a rate is not carried: of a longer one overload would not show in a step
	l1Lead    = 2 * time.Millisecond  // before the first request of a rate, for all clients to start
)

// An l1Mix is a share of queries, at a level.
type l1Mix struct {
	every int // requests for each query
	level durability.Level
}

// l1Mixes are the mixes of L1. In the first each switch alone is shown, on and off.
var l1Mixes = []l1Mix{{10, durability.Kill}, {2, durability.Kill}, {10, durability.Power}}

func (m l1Mix) String() string { return fmt.Sprintf("a query of every %d, %v", m.every, m.level) }

// Names of the variants of L1.
const (
	l1AllOff = "all seven off"
	l1AllOn  = "all seven on"
)

func l1OnlyOn(s l1Switch) string  { return "on: " + s.String() }
func l1OnlyOff(s l1Switch) string { return "off: " + s.String() }

func l1(m l1Mix) lab.Experiment {
	e := lab.Experiment{
		Suite: "claims", Name: "L1", Params: run.Params{"every": strconv.Itoa(m.every), "level": m.level.String()},
		Question: "Does the whole server carry more requests, and sooner, with the seven changes?",
		Op:       fmt.Sprintf("requests at a rate that rises until it is not carried; of every %d one is a query", m.every),
		Ops:      1, MaxRounds: lab.MinRounds + 2,
	}
	e.Variants = firstIsBaseline(
		l1Variant(m, l1AllOff, "locked buffer, gob, one buffer, read, list of segments, the kernel's readahead, plain LRU", 0),
		l1Variant(m, l1AllOn, "batch ring, own layout, three buffer levels, mapping, B+ tree, adaptive readahead, two-level cache", l1Everything))
	return e
}

// l1Alone shows the share of each switch. It decides nothing, so one round has to do.
func l1Alone() lab.Experiment {
	e := l1(l1Mixes[0])
	e.Name, e.Question, e.MaxRounds = "L1-alone", "Which of the seven changes lets the server carry more requests?", 1
	for s := range l1Switches {
		e.Variants = append(e.Variants, l1Variant(l1Mixes[0], l1OnlyOn(s), "only this one on", l1Set(0).with(s)),
			l1Variant(l1Mixes[0], l1OnlyOff(s), "all others on", l1Everything.without(s)))
	}
	return e
}

func l1Variant(m l1Mix, name, doc string, on l1Set) lab.Variant {
	return lab.Variant{
		Name: name, Doc: doc, Promise: job.Promise(m.level, durability.Prefix),
		Run: func(b *lab.B) error { return runL1(b, on, m) },
	}
}

// l1Rate returns the rate of a step, in requests a second.
func l1Rate(step int) float64 { return math.Round(l1First * math.Pow(l1Rise, float64(step))) }

func l1TailMetric(step int) string { return fmt.Sprintf("p99_at_%.0f_ns", l1Rate(step)) }

// runL1 raises the rate until it is not carried.
func runL1(b *lab.B, on l1Set, m l1Mix) (err error) {
	server, err := openL1(b, on, m.level, l1Segments)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.close()) }()
	load := newL1Load(b, server, m.every)
	if _, _, err := load.offer(l1Warm); err != nil { // fills the caches
		return err
	}
	carried := 0.0
	for b.Loop() {
		for step := range l1Steps {
			tail, err := load.try(l1Rate(step))
			if err != nil {
				return err
			}
			b.Report(l1TailMetric(step), float64(tail))
			if tail > l1Late {
				break
			}
			carried = l1Rate(step)
		}
	}
	if carried == 0 {
		b.ReportMissing("carried_per_second", fmt.Sprintf("not even %.0f requests a second are carried", l1First))
		return nil
	}
	b.Report("carried_per_second", carried)
	return nil
}

// An l1Load is the clients of a server. Of every few requests one is a query.
type l1Load struct {
	server  *l1Server
	every   int64
	clients []*l1Client
}

func newL1Load(b *lab.B, server *l1Server, every int) *l1Load {
	l := &l1Load{server, int64(every), make([]*l1Client, l1Clients)}
	seed := b.Rand.Uint64()
	for i := range l.clients {
		l.clients[i] = newL1Client(seed, i)
	}
	return l
}

// try returns the p99 at a rate: the best of up to l1Tries, since other programs may have
// the processors for a while. It is no less than the time by which the last requests were late.
func (l *l1Load) try(rate float64) (tail time.Duration, err error) {
	tail = math.MaxInt64
	for range l1Tries {
		took, late, err := l.offer(rate)
		if err != nil {
			return 0, err
		}
		if tail = min(tail, max(time.Duration(took.Quantile(0.99)), late)); tail <= l1Late {
			break
		}
	}
	return tail, nil
}

// offer offers requests at a rate and returns their latencies, from when they were due, and
// how long after the last was due all had ended.
func (l *l1Load) offer(rate float64) (all *run.Histogram, late time.Duration, err error) {
	took := make([]time.Duration, max(l1Fewest, int64(rate*l1Step.Seconds())))
	gap := float64(time.Second) / rate
	errs := make([]error, len(l.clients))
	var next atomic.Int64
	var clients sync.WaitGroup
	begun := time.Now().Add(l1Lead)
	for c, client := range l.clients {
		clients.Go(func() {
			for errs[c] == nil {
				i := next.Add(1) - 1
				if i >= int64(len(took)) {
					break
				}
				due := time.Duration(float64(i) * gap)
				time.Sleep(due - time.Since(begun))
				if i%l.every == 0 {
					errs[c] = client.query(l.server)
				} else {
					errs[c] = client.append(l.server)
				}
				took[i] = max(1, time.Since(begun)-due)
			}
		})
	}
	clients.Wait()
	late = time.Since(begun) - time.Duration(float64(len(took))*gap)
	all = run.NewHistogram()
	for _, t := range took {
		all.Record(int64(t))
	}
	return all, late, errors.Join(errs...)
}

func claimL1() Claim {
	return Claim{
		ID: "L1",
		Source: reportL.source("title; ch. 5, Key figures",
			"Seven changes raise a log system from 8,000 to 42,000 requests/s and lower its p99 from 142 to 9 ms."),
		Statement:   "a log server without and with seven changes, requests a second and p99",
		Claimed:     "8k to 42k; 142 to 9 ms",
		Promise:     "kill, prefix, and power, prefix: all variants of an experiment promise the same",
		Experiments: append(experiments(l1, l1Mixes...), l1Alone()),
		judge:       judgeL1,
	}
}

func judgeL1(ev *evidence) judgement {
	const rate, tail = 42. / 8, 142. / 9
	var parts []part
	for _, m := range l1Mixes {
		id := idOf(l1(m))
		carried := func(v string) run.Estimate { return ev.metric(id, v, "carried_per_second") }
		parts = append(parts, claimed("requests a second, all on against all off", ev.ratioOf(id, "carried_per_second", l1AllOn, l1AllOff), rate).under(m.String()))
		parts = append(parts, l1Tail(ev, id, carried(l1AllOff).Median, tail).under(m.String()))
		if ev.failed(id) == "" {
			parts = append(parts, figureOf("requests a second, "+m.String(), fmt.Sprintf("all off %.0f, all on %.0f", carried(l1AllOff).Median, carried(l1AllOn).Median)))
		}
	}
	alone := l1Alone()
	for s := range l1Switches {
		share := func(over, under string) float64 {
			return ev.ratioOf(alone.ID(), "carried_per_second", over, under).Median
		}
		parts = append(parts, figureOf("share of "+s.String(), fmt.Sprintf("alone on %s of all off; all on %s of it alone off",
			times(share(l1OnlyOn(s), l1AllOff)), times(share(l1AllOn, l1OnlyOff(s))))))
	}
	return ruling(fmt.Sprintf("The report's own system is not available: this is a small server whose seven changes are switches. Off, each is the way that the report says it replaced; readahead is then the kernel's, and has little to do because the segments are in the page cache. A rate is carried if its p99, from when requests were due, is at most %v. Rates rise by %.1fx a step, so ratios are as coarse.", l1Late, l1Rise)+ev.onProcessors(), parts...)
}

// l1Tail asks for the p99 at the highest rate that the server with all off carries, in half
// of the rounds or more.
func l1Tail(ev *evidence, id string, carried, want float64) part {
	const what = "p99 at all off's highest rate, all off against all on"
	if math.IsNaN(carried) || ev.variant(id, l1AllOn) == nil {
		return lacking(what, "").untestable()
	}
	step := 0
	for step+1 < l1Steps && l1Rate(step+1) <= carried {
		step++
	}
	if _, why := ev.known(id, l1AllOn, l1TailMetric(step)); why != "" {
		return fact(what, false, "all on does not carry that rate")
	}
	return claimed(what, ev.ratioOf(id, l1TailMetric(step), l1AllOff, l1AllOn), want)
}
