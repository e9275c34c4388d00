package claims

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/headers"
	"github.com/stele-go/stele/suites/internal/datafile"
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
	l3Object     = 64                     // bytes of an object of the live heap
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

// An l3Setting is what the gain depends on besides the way. goroutines is 0 where lines are
// due at a rate, and each has a goroutine of its own.
type l3Setting struct {
	heap       int // MiB that are alive all the time
	gogc       int
	goroutines int
}

// The settings of L3. In a closed loop a block of A has ten collections or more with each.
var (
	l3Open   = []l3Setting{{heap: 0, gogc: 100}, {heap: 6, gogc: 100}, {heap: 0, gogc: 200}}
	l3Closed = []l3Setting{{0, 100, 64}, {6, 100, 64}, {0, 200, 64}, {0, 100, 256}}
)

func (s l3Setting) live() string {
	if s.heap == 0 {
		return "no live heap"
	}
	return fmt.Sprintf("%d MiB of live heap", s.heap)
}

func (s l3Setting) String() string {
	text := fmt.Sprintf("%s, GOGC=%d", s.live(), s.gogc)
	if s.goroutines > 0 {
		text += fmt.Sprintf(", %d goroutines", s.goroutines)
	}
	return text
}

// l3 logs at 10,000 lines a second, or as fast as it can.
func l3(s l3Setting) lab.Experiment {
	e := lab.Experiment{
		Suite: "claims", Name: "L3-open", Question: "What do pooled log buffers gain?",
		Params: run.Params{"gogc": strconv.Itoa(s.gogc), "heap": strconv.Itoa(s.heap)}, Env: []string{"GOGC=" + strconv.Itoa(s.gogc)},
		Op:  fmt.Sprintf("a log line of 1 to 4 KiB, 10,000 of which are due in a second, each formatted by a goroutine of its own and written to the file, with %s", s.live()),
		Ops: 2500, MaxRounds: 8,
	}
	each := l3AtRate
	if s.goroutines > 0 {
		e.Name, e.Ops, e.MaxRounds = "L3-closed", 30_000, 8
		e.Params["goroutines"] = strconv.Itoa(s.goroutines)
		e.Op = fmt.Sprintf("a log line of 1 to 4 KiB of one of %d goroutines, formatted in a buffer and written to the file, with %s", s.goroutines, s.live())
		each = func(b *lab.B, log l3Log, f *os.File) error { return l3AtOnce(b, log, f, s.goroutines) }
	}
	ways := l3Ways()
	variant := func(name, doc string) lab.Variant {
		return lab.Variant{Name: name, Doc: doc, Promise: keptTorn, Run: inDir(func(b *lab.B) error {
			f, err := os.OpenFile("log", os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
			if err != nil {
				return err
			}
			live := l3Live(s.heap)
			err = errors.Join(each(b, ways[name], f), f.Close())
			runtime.KeepAlive(live)
			return err
		})}
	}
	e.Variants = firstIsBaseline(
		variant(l3Make, "A: make([]byte, 0, 2048) for each line"),
		variant(l3Coded, "B as coded: a sync.Pool of []byte with capacity 2,048, boxed at each Put"),
		variant(l3Meant, "B as meant: a sync.Pool of pointers, which Put does not allocate"))
	return e
}

// l3Live returns so many MiB of small objects.
func l3Live(mib int) []*[l3Object]byte {
	live := make([]*[l3Object]byte, mib*datafile.MiB/(l3Object+8)) // a pointer takes 8 bytes
	for i := range live {
		live[i] = new([l3Object]byte)
	}
	return live
}

func l3Text(rng *rand.Rand, all []byte) []byte {
	return all[:l3LineMin+rng.IntN(l3LineMax-l3LineMin+1)]
}

// l3AtOnce logs from several goroutines, each as fast as it can.
func l3AtOnce(b *lab.B, log l3Log, f *os.File, goroutines int) error {
	all, seed := headers.Head(l3LineMax), b.Rand.Uint64()
	return b.Parallel(goroutines, func(worker *lab.Worker) error {
		rng := rand.New(rand.NewPCG(seed, uint64(worker.ID)))
		for worker.Loop() {
			if err := log(f, l3Text(rng, all)); err != nil {
				return err
			}
		}
		return nil
	})
}

// l3AtRate starts a goroutine for each line when it is due. The latency counts from then.
func l3AtRate(b *lab.B, log l3Log, f *os.File) error {
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
		Experiments: append(experiments(l3, l3Open...), experiments(l3, l3Closed...)...),
		judge:       judgeL3,
	}
}

func judgeL3(ev *evidence) judgement {
	const latency, collections, rate = 4.2 / 1.8, 182. / 23, 14630. / 9140
	lack := ev.processors(l3Processors)
	ways := []struct{ how, name string }{{"as coded", l3Coded}, {"as meant", l3Meant}}
	var parts []part
	for _, s := range l3Open {
		id, text := idOf(l3(s)), ""
		for _, b := range ways {
			parts = append(parts, claimed("mean at 10,000 a second, A against B", ev.ratioOf(id, "line_mean_ns", l3Make, b.name), latency).under(b.how+", "+s.String()).needs(lack))
		}
		for _, v := range []string{l3Make, l3Coded, l3Meant} {
			text += fmt.Sprintf("; %s %s", v, micros(ev.metric(id, v, "line_mean_ns")))
		}
		parts = append(parts, figureOf("a line at 10,000 a second, "+s.String(), strings.TrimPrefix(text, "; ")))
	}
	for _, s := range l3Closed {
		id, text := idOf(l3(s)), ""
		for _, b := range ways {
			condition := b.how + ", " + s.String()
			parts = append(parts,
				claimed("throughput, B against A", ev.speedup(id, b.name), rate).under(condition).needs(lack),
				claimed("collections, A against B", ev.l3Collections(id, b.name), collections).under(condition).needs(lack))
		}
		for _, v := range []string{l3Make, l3Coded, l3Meant} {
			text += fmt.Sprintf("; %s %.0f lines/s, %.1f allocations a line, %.0f collections a block",
				v, 1e9/ev.time(id, v).Median, ev.metric(id, v, "allocs_per_op").Median, ev.metric(id, v, "gc_count").Median)
		}
		parts = append(parts, figureOf("as fast as it goes, "+s.String(), strings.TrimPrefix(text, "; ")))
	}
	return ruling("The claimed rates cannot be at 10,000 a second, since 14,630 is more: the rate is that of goroutines without a pace, and collections are those of as many lines by each way. Latency counts from when a line was due. The report tells neither its live heap nor its GOGC, so both are varied.", parts...)
}

// l3Collections returns how many times as many collections A has as a variant. One more may
// have been due at the end of a block of the variant, so that none is less than one.
func (ev *evidence) l3Collections(id, name string) run.Estimate {
	fewer := ev.metric(id, name, "gc_count")
	fewer.Hi++
	fewer.Median, fewer.Lo = max(fewer.Median, 0.5), max(fewer.Lo, 0.5)
	return quotient(ev.metric(id, l3Make, "gc_count"), fewer)
}
