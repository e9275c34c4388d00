package claims

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/stele-go/stele/internal/sys"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/newfile"
	"github.com/stele-go/stele/suites/job"
)

// The variants of C7.
const (
	c7OpenEach = "opened each time"
	c7Coded    = "dup3 from a pool (as coded)"
	c7Meant    = "dup3 onto a placeholder (as meant)"
)

// Metrics of C7. The latency is until the connection has its descriptor.
const (
	c7Latency      = "connection_mean_ns"
	c7Failed       = "failures_share"
	c7OthersFailed = "others_failures_share"
)

// The sizes of C7. At 10,000 connections a second that each keep a descriptor for 100 ms on
// average, 1,000 are held on average; 1,100 are held in one second of a thousand.
const (
	c7Arrivals = 3_000  // of a block at the published pace
	c7Events   = 20_000 // of a block at the limit
	c7InUse    = 1_000  // held on average
	// c7Limit is how many descriptors connections and other users may have together: with
	// other users as c7Others describes, about 1 % of the arrivals of A meet it.
	c7Limit = 1_150
	c7Roomy = 6 * c7InUse // descriptors with which the limit is never met
)

// c7Pools are the sizes of B's pool: smaller than the demand, as large as it is on average,
// and larger than its peaks.
var c7Pools = [...]int{900, 1000, 1100}

var c7Openers = []struct {
	name, doc string
	open      func(pool int) (dealer, error)
}{
	{c7OpenEach, "A: os.Open and Close for each connection", openEach},
	{c7Coded, "B as coded: files opened ahead, one dup3 to a number above them; both numbers stay taken until the connection ends", dupCoded},
	{c7Meant, "B as meant: numbers held by /dev/null ahead, on which dup3 puts the file", dupMeant},
}

// c7Paced has connections at the published pace, with a limit that is never met.
func c7Paced() lab.Experiment {
	return c7("C7-paced", nil, c7Arrivals,
		"one connection of 10,000 a second: a descriptor taken, one byte read through it, given back 100 ms later on average",
		func(b *lab.B, d dealer) error { return c7AtPace(b, d) }, 2*c7InUse, c7Roomy)
}

// c7AtLimit has the same connections under one limit on descriptors for all, in their order
// but without their pauses.
func c7AtLimit(pool int) lab.Experiment {
	return c7("C7-limit", run.Params{"pool": strconv.Itoa(pool)}, c7Events,
		fmt.Sprintf("one connection of 10,000 a second in their order, without pauses: %d descriptors for connections and for other users in the process", c7Limit),
		func(b *lab.B, d dealer) error { return c7UnderLimit(b, d) }, pool, c7Limit)
}

func c7(name string, p run.Params, ops int64, op string, each func(*lab.B, dealer) error, pool, limit int) lab.Experiment {
	e := lab.Experiment{
		Suite: "claims", Name: name, Params: p, Question: "Is a descriptor from a pool cheaper than one that is opened, and does it fail less often?",
		Op: op, Ops: ops, MaxRounds: 12,
	}
	for _, o := range c7Openers {
		e.Variants = append(e.Variants, lab.Variant{Name: o.name, Doc: o.doc, Promise: job.NothingWritten(), Run: inDir(func(b *lab.B) error {
			return c7Limited(limit, func() error {
				if err := os.WriteFile("data", []byte("data"), 0o644); err != nil {
					return err
				}
				d, err := o.open(pool)
				if err != nil {
					return err
				}
				return errors.Join(each(b, d), d.close())
			})
		})})
	}
	e.Variants[0].Baseline = true
	return e
}

// c7Limited runs f with a limit of so many descriptors besides those that are open.
func c7Limited(room int, f func() error) (err error) {
	was, err := newfile.Limits()
	if err != nil {
		return err
	}
	want := was.Used + uint64(room)
	if was.Hard < want {
		return job.Unsupported("a limit of %d descriptors; the hard limit is %d", want, was.Hard)
	}
	if err := sys.SetFileLimit(want); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, sys.SetFileLimit(was.Soft)) }()
	return f()
}

// c7AtPace waits for each arrival on the processor, since a timer wakes later than a
// connection takes. A latency counts from the intended start until the descriptor is there:
// the read through it costs both ways the same.
func c7AtPace(b *lab.B, d dealer) (err error) {
	load := newC7Load(b.Rand)
	defer func() { err = errors.Join(err, load.endAll(d)) }()
	if failed, err := load.fill(d); err != nil || failed > 0 {
		return errors.Join(err, c7Short(failed))
	}
	if err := growTable(2 * c7InUse); err != nil {
		return err
	}
	waited := job.NewTimer()
	failed := 0
	var begun, at time.Time // at is the intended start
	load.taken = func() { waited.Since(at) }
	for b.Loop() {
		if b.I() == 0 { // Loop collects garbage before it
			begun = time.Now()
		}
		due := load.next
		if err := load.endUntil(due, d); err != nil {
			return err
		}
		at = begun.Add(due)
		for time.Now().Before(at) {
		}
		ok, err := load.arrive(d)
		if err != nil {
			return err
		}
		if !ok {
			failed++
		}
	}
	if failed > 0 {
		return c7Short(failed)
	}
	waited.Report(b, "connection")
	return nil
}

// growTable opens so many files and closes them, so that the process's table of descriptors does
// not grow later: that happens once in a process, takes milliseconds (it waits for RCU), and
// holds up the connections behind it.
func growTable(files int) error {
	p, err := newFilePool(os.DevNull, files)
	if err != nil {
		return err
	}
	return p.close()
}

func c7Short(failed int) error {
	if failed == 0 {
		return nil
	}
	return fmt.Errorf("%d connections met the limit on descriptors, which was to be out of reach", failed)
}

// c7UnderLimit reports the shares of connections, and of the opens of other users, that met
// the limit.
func c7UnderLimit(b *lab.B, d dealer) (err error) {
	load := newC7Load(b.Rand)
	load.others = newC7Others(b.Rand)
	defer func() { err = errors.Join(err, load.endAll(d)) }()
	if _, err := load.fill(d); err != nil {
		return err
	}
	failed := 0 // those of the beginning are no arrivals
	for b.Loop() {
		if err := load.endUntil(load.next, d); err != nil {
			return err
		}
		ok, err := load.arrive(d)
		if err != nil {
			return err
		}
		if !ok {
			failed++
		}
	}
	b.Report(c7Failed, float64(failed)/float64(b.N))
	b.Report(c7OthersFailed, float64(load.others.failed)/float64(max(1, load.others.asked)))
	return nil
}

func claimC7() Claim {
	paced := c7Paced()
	limited := experiments(c7AtLimit, c7Pools[:]...)
	return Claim{
		ID: "C7",
		Source: reportC.source("3.2",
			"At 10,000 connections a second, opening a descriptor each time takes 42 us and fails for 0.8 %, a pool with dup3 takes 19 us and never fails."),
		Statement:   "descriptors opened per connection (A), pre-opened pool handed out by dup3 (B), 10,000 a second; an empty pool expands",
		Claimed:     "42 us, 0.8 % failures; 19 us, none",
		Promise:     noneText,
		Experiments: append([]lab.Experiment{paced}, limited...),
		judge:       func(ev *evidence) judgement { return judgeC7(ev, paced.ID(), limited) },
	}
}

// leastFailures is the share of A's connections that must have failed for a comparison.
const leastFailures = 0.001

func judgeC7(ev *evidence, paced string, limited []lab.Experiment) judgement {
	var parts []part
	for _, v := range []struct{ name, how string }{{c7Coded, "as coded"}, {c7Meant, "as meant"}} {
		parts = append(parts, claimed("time of a connection, A against B", ev.ratioOf(paced, c7Latency, c7OpenEach, v.name), 42./19).under(v.how))
	}
	parts = append(parts, figureOf("mean at 10,000 a second", fmt.Sprintf("A %s, B as coded %s, B as meant %s", nanos(ev.metric(paced, c7OpenEach, c7Latency)),
		nanos(ev.metric(paced, c7Coded, c7Latency)), nanos(ev.metric(paced, c7Meant, c7Latency)))))
	for i := range limited {
		id, pool := limited[i].ID(), limited[i].Params["pool"]
		fails := ev.metric(id, c7OpenEach, c7Failed)
		lack := ""
		if fails.Median < leastFailures {
			lack = fmt.Sprintf("failures of A: %s of its connections failed", shareText(fails))
		}
		for _, v := range []struct{ name, how string }{{c7Coded, "as coded"}, {c7Meant, "as meant"}} {
			share := ev.metric(id, v.name, c7Failed)
			p := most("failures of B as a share of A's", ev.ratioOf(id, c7Failed, v.name, c7OpenEach), 0.1, factor)
			parts = append(parts, p.under(v.how+", pool of "+pool).needs(lack).
				note(fmt.Sprintf("A %s, B %s", shareText(fails), shareText(share))))
		}
		parts = append(parts, figureOf("failures of other users in the process (pool of "+pool+")", fmt.Sprintf("with A %s, with B as meant %s",
			shareText(ev.metric(id, c7OpenEach, c7OthersFailed)), shareText(ev.metric(id, c7Meant, c7OthersFailed)))))
	}
	return ruling(fmt.Sprintf("Connections come at random times, 10,000 a second; the time is from the intended start until the descriptor is there, with a limit that is never met. Failures are those under one limit of %d descriptors for connections, pool and other users; %d connections hold one on average. As coded a connection takes two numbers, so a pool needs twice as many descriptors.", c7Limit, c7InUse), parts...)
}
