package claims

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/headers"
)

// The variants of L3.
const (
	l3Make  = "make"
	l3Coded = "pool of []byte"
	l3Meant = "pool of *[]byte"
)

const (
	l3Buffer     = 2048                   // capacity, as coded
	l3LineMin    = 1 << 10                // bytes of a line
	l3LineMax    = 4 << 10                //
	l3Gap        = 100 * time.Microsecond // between lines: the published 10,000 a second
	l3Goroutines = 64
	l3Processors = 16
)

// An l3Log formats a line in a buffer and writes it with one write(2), through an interface,
// as a logger does: otherwise the buffer of A would be on the stack.
type l3Log func(f io.Writer, text []byte) error

// l3Ways returns the ways by the names of their variants. Put of a slice boxes its header:
// an allocation each time.
func l3Ways() map[string]l3Log {
	coded := sync.Pool{New: func() any { return make([]byte, 0, l3Buffer) }}
	meant := sync.Pool{New: func() any { b := make([]byte, 0, l3Buffer); return &b }}
	return map[string]l3Log{
		l3Make: func(f io.Writer, text []byte) error {
			_, err := f.Write(l3Line(make([]byte, 0, l3Buffer), text))
			return err
		},
		l3Coded: func(f io.Writer, text []byte) error {
			buf := l3Line(coded.Get().([]byte)[:0], text)
			_, err := f.Write(buf)
			//lint:ignore SA6002 as the report codes it: each Put allocates
			coded.Put(buf)
			return err
		},
		l3Meant: func(f io.Writer, text []byte) error {
			buf := meant.Get().(*[]byte)
			*buf = l3Line((*buf)[:0], text)
			_, err := f.Write(*buf)
			meant.Put(buf)
			return err
		},
	}
}

func l3Line(buf, text []byte) []byte {
	buf = append(buf, "level=info ts="...)
	buf = strconv.AppendInt(buf, time.Now().UnixNano(), 10)
	buf = append(buf, " msg="...)
	return append(append(buf, text...), '\n')
}

// l3 logs at 10,000 lines a second, or as fast as it can.
func l3(open bool) lab.Experiment {
	e := lab.Experiment{
		Suite: "claims", Name: "L3-closed", Question: "What do pooled log buffers gain?",
		Op: "a log line of 1 to 4 KiB of one of 64 goroutines, formatted in a buffer and written to the file", MaxOps: 20_000, MaxRounds: 10,
	}
	each := l3Closed
	if open {
		e.Name, e.Ops, e.MaxOps, e.MaxRounds, each = "L3-open", 5000, 0, 8, l3Open
		e.Op = "a log line of 1 to 4 KiB, 10,000 of which are due in a second, each formatted by a goroutine of its own and written to the file"
	}
	ways := l3Ways()
	variant := func(name, doc string) lab.Variant {
		return lab.Variant{Name: name, Doc: doc, Promise: keptTorn, Run: inDir(func(b *lab.B) error {
			f, err := os.OpenFile("log", os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
			if err != nil {
				return err
			}
			return errors.Join(each(b, ways[name], f), f.Close())
		})}
	}
	e.Variants = firstIsBaseline(
		variant(l3Make, "A: make([]byte, 0, 2048) for each line"),
		variant(l3Coded, "B as coded: a sync.Pool of []byte with capacity 2,048, boxed at each Put"),
		variant(l3Meant, "B as meant: a sync.Pool of pointers, which Put does not allocate"))
	return e
}

func l3Text(rng *rand.Rand, all []byte) []byte {
	return all[:l3LineMin+rng.IntN(l3LineMax-l3LineMin+1)]
}

func l3Closed(b *lab.B, log l3Log, f *os.File) error {
	all, seed := headers.Head(l3LineMax), b.Rand.Uint64()
	return b.Parallel(l3Goroutines, func(worker *lab.Worker) error {
		rng := rand.New(rand.NewPCG(seed, uint64(worker.ID)))
		for worker.Loop() {
			if err := log(f, l3Text(rng, all)); err != nil {
				return err
			}
		}
		return nil
	})
}

// l3Open starts a goroutine for each line when it is due. The latency counts from then.
func l3Open(b *lab.B, log l3Log, f *os.File) error {
	var (
		all     = headers.Head(l3LineMax)
		latency = run.NewHistogram()
		mu      sync.Mutex
		failed  error
		writing sync.WaitGroup
	)
	_, err := openArrivalsAt(b, l3Gap, func(due func() time.Duration) error {
		text := l3Text(b.Rand, all)
		writing.Go(func() {
			err := log(f, text)
			took := due()
			mu.Lock()
			defer mu.Unlock()
			latency.Record(max(1, int64(took)))
			failed = errors.Join(failed, err)
		})
		return nil
	})
	writing.Wait()
	b.SetLatency(latency)
	b.Report("line_mean_ns", latency.Mean())
	reportPercentile(b, "line", latency, 99)
	return errors.Join(err, failed)
}

func claimL3() Claim {
	return Claim{
		ID: "L3",
		Source: reportL.source("2.4",
			"Pooled log buffers raise 9,140 requests/s to 14,630 and lower the mean from 4.2 to 1.8 ms and collections from 182 to 23 a minute."),
		Statement:   "log buffers fresh (A), pooled (B), lines of 1 to 4 KB, 10,000 a second, 16 processors",
		Claimed:     "4.2 to 1.8 ms; 182 to 23 collections a minute; 9,140 to 14,630/s",
		Promise:     "kill, torn, all variants: a line survives kill -9, not a power cut",
		Experiments: []lab.Experiment{l3(true), l3(false)},
		judge:       judgeL3,
	}
}

func judgeL3(ev *evidence) judgement {
	const latency, collections, rate = 4.2 / 1.8, 182. / 23, 14630. / 9140
	open, closed := idOf(l3(true)), idOf(l3(false))
	lack := ev.processors(l3Processors)
	var parts []part
	for _, b := range []struct{ how, name string }{{"as coded", l3Coded}, {"as meant", l3Meant}} {
		collected := func(v string) run.Estimate { return ev.metric(open, v, "gc_count") }
		fewer := collected(b.name)
		fewer.Hi++ // the next one may have been due
		fewer.Median, fewer.Lo = max(fewer.Median, 0.5), max(fewer.Lo, 0.5)
		gc := quotient(collected(l3Make), fewer)
		parts = append(parts,
			claimed("throughput, B against A", ev.speedup(closed, b.name), rate).under(b.how).needs(lack),
			claimed("mean at 10,000 a second, A against B", ev.ratioOf(open, "line_mean_ns", l3Make, b.name), latency).under(b.how).needs(lack),
			claimed("collections, A against B", gc, collections).under(b.how).needs(lack))
	}
	for _, v := range []string{l3Make, l3Coded, l3Meant} {
		mean, objects := ev.metric(open, v, "line_mean_ns"), ev.metric(closed, v, "allocs_per_op")
		parts = append(parts, figureOf(v, fmt.Sprintf("%.0f lines/s as fast as it goes, %s a line at 10,000 a second, %.1f allocations a line",
			1e9/ev.time(closed, v).Median, nanos(mean), objects.Median)))
	}
	return ruling("The claimed rates cannot be at 10,000 a second, since 14,630 is more: the rate is that of 64 goroutines without a pace. Latency counts from when a line was due, and collections are those of the lines at 10,000 a second; the live heap is that of the program alone, GOGC the default.", parts...)
}
