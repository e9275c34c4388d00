package claims

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/datafile"
	"github.com/stele-go/stele/suites/job"
)

// r3Claimed has the claimed allocations of a batch.
var r3Claimed = []struct {
	reads         int
	fresh, pooled float64
}{{100, 98, 12}, {500, 492, 41}, {1000, 986, 89}}

// r3Made counts the buffers that a batch made, without Go's own allocations.
const r3Made = "buffers_made_per_op"

type page = [datafile.PageSize]byte

// readInto stands for a reader. It is not inlined, so the buffer escapes to the heap.
//
//go:noinline
func readInto(r io.ReaderAt, buf []byte, off int64) error {
	_, err := r.ReadAt(buf, off)
	return err
}

// r3 reads a batch with a goroutine for each read. As coded each reads when it gets to run,
// so that on few processors few buffers are in use at a time. held: as meant, all reads are
// in flight at once, since none gives its buffer back before all have one.
func r3(reads int, held bool) lab.Experiment {
	variant := func(name, doc string, buffers func(made *atomic.Int64) (get func() *page, put func(*page))) lab.Variant {
		return lab.Variant{Name: name, Doc: doc, Promise: job.NothingWritten(), Run: inDir(func(b *lab.B) error {
			var made atomic.Int64
			get, put := buffers(&made)
			defer func() { b.Report(r3Made, float64(made.Load())/float64(b.N)) }()
			return readBatches(b, reads, held, get, put)
		})}
	}
	e := lab.Experiment{
		Suite: "claims", Name: "R3-goroutines", Params: run.Params{"reads": strconv.Itoa(reads)},
		Question: "How many allocations does a pool save a batch of reads?",
		Op:       fmt.Sprintf("%d goroutines, each of which reads 4 KiB when it gets to run", reads), Stateless: true, MaxRounds: 8,
		Variants: firstIsBaseline(
			variant(madeFresh, "A: make", func(made *atomic.Int64) (func() *page, func(*page)) {
				return func() *page { made.Add(1); return new(page) }, func(*page) {}
			}),
			variant(fromPool, "B: sync.Pool", func(made *atomic.Int64) (func() *page, func(*page)) {
				pool := &sync.Pool{New: func() any { made.Add(1); return new(page) }}
				return func() *page { return pool.Get().(*page) }, func(p *page) { pool.Put(p) }
			}),
		),
	}
	if held {
		e.Name = "R3-held"
		e.Op = fmt.Sprintf("%d goroutines, which all hold a buffer at once and read 4 KiB each", reads)
	}
	return e
}

// readBatches reads one batch in each operation.
func readBatches(b *lab.B, reads int, held bool, get func() *page, put func(*page)) error {
	if err := datafile.Fill("data", 4*datafile.MiB); err != nil {
		return err
	}
	f, err := os.Open("data")
	if err != nil {
		return err
	}
	defer f.Close() // nothing is written
	var failed atomic.Pointer[error]
	for b.Loop() {
		var all, waiting sync.WaitGroup // waiting: reads that have no buffer yet
		waiting.Add(reads)
		for i := range reads {
			all.Go(func() {
				buf := get()
				if held {
					waiting.Done()
					waiting.Wait()
				}
				if err := readInto(f, buf[:], int64(i)*datafile.PageSize); err != nil {
					failed.Store(&err)
				}
				put(buf)
			})
		}
		all.Wait()
	}
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}

func claimR3() Claim {
	c := Claim{
		ID: "R3",
		Source: reportR.source("2.3",
			"A sync.Pool of file buffers lowers the allocations of 100, 500 and 1,000 reads at once from 98, 492 and 986 to 12, 41 and 89."),
		Statement: "4 KiB reads at 100, 500, 1,000 in flight: fresh buffers (A), sync.Pool (B): allocations",
		Claimed:   "98 to 12, 492 to 41, 986 to 89",
		Promise:   noneText,
		judge:     judgeR3,
	}
	for _, held := range []bool{false, true} {
		for _, p := range r3Claimed {
			c.Experiments = append(c.Experiments, r3(p.reads, held))
		}
	}
	return c
}

// judgeR3 compares the savings with the claimed ones, of buffers and of all allocations.
func judgeR3(ev *evidence) judgement {
	var answers []answer
	text := ""
	for _, held := range []bool{false, true} {
		text += map[bool]string{false: "Each when it gets to run:", true: "All in flight at once:"}[held]
		for _, p := range r3Claimed {
			id := idOf(r3(p.reads, held))
			made := func(v string) run.Estimate { return ev.metric(id, v, r3Made) }
			all := func(v string) run.Estimate { return ev.metric(id, v, "allocs_per_op") }
			claimed := p.fresh / p.pooled
			answers = append(answers, claimedFactor(quotient(made(madeFresh), made(fromPool)), claimed),
				claimedFactor(quotient(all(madeFresh), all(fromPool)), claimed))
			text += fmt.Sprintf(" %d reads make %.0f buffers fresh and %.1f with the pool, of %.0f and %.0f allocations;", p.reads,
				made(madeFresh).Median, made(fromPool).Median, all(madeFresh).Median, all(fromPool).Median)
		}
		text = text[:len(text)-1] + ". "
	}
	why := fmt.Sprintf("B had to save the claimed 8.2, 12 and 11 times less %.0f %%, of buffers and of all allocations of a batch, its goroutines included. A pool keeps its buffers for the next batch until the collector has run twice: the counts are averages over a block.", 100*slack)
	return decide(text, why, "how many reads hold a buffer at once, and on buffers or all allocations", answers...)
}
