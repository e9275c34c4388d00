package claims

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"github.com/stele-go/stele/internal/measure/fileop"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/job"
)

// The variants of C7.
const (
	c7OpenEach = "opened each time"
	c7DupPool  = "dup3 from a pool"
)

// The pace of C7: ten connections a millisecond are the published 10,000 a second. Each
// keeps its descriptor for 100 ms, so 1,000 are held.
const (
	c7Tick    = time.Millisecond
	c7PerTick = 10
	c7Held    = 1000
	c7Ticks   = 250 // of a block: 1,000 are held after 100 of them
)

// A dealer hands out descriptors of the file "data" and takes them back.
type dealer struct {
	get   func() (*os.File, error)
	put   func(*os.File) error
	close func() error
}

func openEach() (dealer, error) {
	return dealer{
		get:   func() (*os.File, error) { return os.Open("data") },
		put:   func(f *os.File) error { return f.Close() },
		close: func() error { return nil },
	}, nil
}

// dupPool opens slots descriptors of /dev/null ahead. dup3(2) puts the file on the one that
// a connection gets. It has its number already, so the limit on descriptors cannot be hit.
func dupPool(slots int) func() (dealer, error) {
	return func() (dealer, error) {
		data, err := os.Open("data")
		if err != nil {
			return dealer{}, err
		}
		free := make([]*os.File, 0, slots)
		all := []*os.File{data}
		closeAll := func() error {
			var errs []error
			for _, f := range all {
				errs = append(errs, f.Close())
			}
			return errors.Join(errs...)
		}
		for range slots {
			f, err := os.Open(os.DevNull)
			if err != nil {
				return dealer{}, errors.Join(err, closeAll())
			}
			free, all = append(free, f), append(all, f)
		}
		return dealer{
			get: func() (*os.File, error) {
				if len(free) == 0 {
					return nil, errors.New("the pool is empty")
				}
				f := free[len(free)-1]
				free = free[:len(free)-1]
				return f, fileop.Redirect(f, data)
			},
			put:   func(f *os.File) error { free = append(free, f); return nil },
			close: closeAll,
		}, nil
	}
}

// c7 makes one connection after the other, without a pause or at the published pace.
func c7(paced bool) lab.Experiment {
	slots, each := 1, runConnections
	e := lab.Experiment{
		Suite: "claims", Name: "C7-unpaced", Question: "Is a descriptor from a pool faster than one that is opened?",
		Op: "a descriptor taken, one byte read through it, given back", Stateless: true,
	}
	if paced {
		slots, each = c7Held+c7PerTick, runPaced
		e.Name, e.Ops, e.Stateless = "C7-paced", c7Ticks, false
		e.Op = "a millisecond in which ten connections get a descriptor and read one byte, and ten of 100 ms ago give theirs back"
	}
	variant := func(name, doc string, open func() (dealer, error)) lab.Variant {
		return lab.Variant{Name: name, Doc: doc, Promise: job.NothingWritten(), Run: inDir(func(b *lab.B) error {
			if err := os.WriteFile("data", []byte("data"), 0o644); err != nil {
				return err
			}
			d, err := open()
			if err != nil {
				return err
			}
			return errors.Join(each(b, &d), d.close())
		})}
	}
	e.Variants = firstIsBaseline(
		variant(c7OpenEach, "A: os.Open and Close for each connection", openEach),
		variant(c7DupPool, "B: descriptors opened ahead, on which dup3 puts the file", dupPool(slots)))
	return e
}

func runConnections(b *lab.B, d *dealer) error {
	var one [1]byte
	for b.Loop() {
		f, err := d.get()
		if err != nil {
			return err
		}
		if _, err := f.ReadAt(one[:], 0); err != nil && err != io.EOF {
			return errors.Join(err, d.put(f))
		}
		if err := d.put(f); err != nil {
			return err
		}
	}
	return nil
}

// runPaced sleeps between ticks. A connection that meets the limit on descriptors has
// failed; any other error is one of the block.
func runPaced(b *lab.B, d *dealer) (err error) {
	hist := run.NewHistogram()
	held := make([]*os.File, 0, c7Held+c7PerTick)
	failures, all := 0, 0
	var one [1]byte
	defer func() {
		for _, f := range held {
			err = errors.Join(err, d.put(f))
		}
	}()
	next := time.Now()
	for b.Loop() {
		for range c7PerTick {
			all++
			start := time.Now()
			f, err := d.get()
			if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
				failures++
				continue
			}
			if err != nil {
				return err
			}
			_, err = f.ReadAt(one[:], 0)
			hist.Record(int64(time.Since(start)))
			held = append(held, f)
			if err != nil {
				return err
			}
		}
		for len(held) > c7Held {
			if err := d.put(held[0]); err != nil {
				return err
			}
			held = append(held[:0], held[1:]...)
		}
		next = next.Add(c7Tick)
		time.Sleep(time.Until(next))
	}
	b.Report("connection_mean_ns", hist.Mean())
	b.Report("connection_p99_ns", hist.Quantile(0.99))
	b.Report("failures_share", float64(failures)/float64(all))
	return nil
}

func claimC7() Claim {
	unpaced, paced := c7(false), c7(true)
	return Claim{
		ID: "C7",
		Source: reportC.source("3.2",
			"At 10,000 connections a second, opening a descriptor each time takes 42 us and fails for 0.8 %, a pool with dup3 takes 19 us and never fails."),
		Statement:   "descriptors opened per connection (A), pre-opened pool handed out by dup3 (B), 10,000 a second",
		Claimed:     "42 us, 0.8 % failures; 19 us, none",
		Promise:     noneText,
		Experiments: []lab.Experiment{unpaced, paced},
		judge:       func(ev *evidence) judgement { return judgeC7(ev, unpaced.ID(), paced.ID()) },
	}
}

func judgeC7(ev *evidence, unpaced, paced string) judgement {
	const claimed = 42. / 19
	speed := ev.speedup(unpaced, c7DupPool)
	mean := func(v string) run.Estimate { return ev.metric(paced, v, "connection_mean_ns") }
	fails := func(v string) run.Estimate { return ev.metric(paced, v, "failures_share") }
	atPace := quotient(mean(c7OpenEach), mean(c7DupPool))
	answers := []answer{
		claimedFactor(speed, claimed), claimedFactor(atPace, claimed),
		atLeast(fails(c7OpenEach), 0.008*(1-slack)), within(fails(c7DupPool), 0, 0),
	}
	text := fmt.Sprintf("At 10,000 a second: A %s and %.2f %% failures, B %s and %.2f %%, B %s as fast. Without a pause: A %s, B %s, B %s as fast.",
		nanos(mean(c7OpenEach)), 100*fails(c7OpenEach).Median, nanos(mean(c7DupPool)), 100*fails(c7DupPool).Median, factor(atPace),
		nanos(ev.time(unpaced, c7OpenEach)), nanos(ev.time(unpaced, c7DupPool)), factor(speed))
	why := fmt.Sprintf("B had to be at least %.2fx as fast (the claim less %.0f %%), A to fail in 0.8 %% and B never. A fails where the connections held at once meet the limit on descriptors (claim C11): here %d are held, for 100 ms each.",
		claimed*(1-slack), 100*slack, c7Held)
	return decide(text, why, "the pace, and on time or failures", answers...)
}
