package claims

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/headers"
	"github.com/stele-go/stele/suites/internal/datafile"
	"github.com/stele-go/stele/suites/job"
)

// r3Claimed has the claimed allocations of a round.
var r3Claimed = []struct {
	reads         int
	fresh, pooled float64
}{{100, 98, 12}, {500, 492, 41}, {1000, 986, 89}}

// The variants of R3.
const (
	r3Fresh = "os.ReadFile"
	r3Coded = "pool as coded: io.ReadAll"
	r3Meant = "pool as meant: read into the pooled buffer"
)

// Metrics of a round: the buffers that it made, and the share of reads that got one from
// the pool.
const (
	r3Made   = "buffers_made_per_op"
	r3Reused = "pool_hits_share"
)

// A bufferCount counts the buffers that reads made, those that the pool made, and the calls
// of Get.
type bufferCount struct{ made, fresh, gets atomic.Int64 }

// r3 reads a file of 4 KiB by each of many goroutines. collected: the collector runs twice
// before each round, which empties the pool.
func r3(reads int, collected bool) lab.Experiment {
	variant := func(name, doc string, reader func(c *bufferCount) func(name string) error) lab.Variant {
		return lab.Variant{Name: name, Doc: doc, Promise: job.NothingWritten(), Run: inDir(func(b *lab.B) error {
			names := allPaths(int64(reads), func(i int) string { return "f" + strconv.Itoa(i) })
			for _, name := range names {
				if err := os.WriteFile(name, headers.Head(datafile.PageSize), 0o644); err != nil {
					return err
				}
			}
			var c bufferCount
			read := reader(&c)
			defer func() {
				b.Report(r3Made, float64(c.made.Load()+c.fresh.Load())/float64(b.N))
				if gets := c.gets.Load(); gets > 0 {
					b.Report(r3Reused, 1-float64(c.fresh.Load())/float64(gets))
				}
			}()
			for b.Loop() {
				if collected {
					runtime.GC()
					runtime.GC()
				}
				if err := readAtOnce(names, read); err != nil {
					return err
				}
			}
			return nil
		})}
	}
	e := lab.Experiment{
		Suite: "claims", Name: "R3", Params: run.Params{"collections": "none", "reads": strconv.Itoa(reads)},
		Question: "How many buffers does a pool save a round of reads?",
		Op:       fmt.Sprintf("%d files of 4 KiB read whole, each by a goroutine of its own", reads), Stateless: true, MaxRounds: 8,
		Variants: firstIsBaseline(
			variant(r3Fresh, "A: a buffer is made for each file", readFiles),
			variant(r3Coded, "B as coded: a buffer is taken from the pool, io.ReadAll makes one of its own, and a slice header of that goes into the pool", readAllPooled),
			variant(r3Meant, "B as meant: the file is read into the buffer from the pool", readIntoPooled)),
	}
	if collected {
		e.Params["collections"] = "two before each"
		e.Op += ", after two collections"
	}
	return e
}

func readAtOnce(names []string, read func(name string) error) error {
	var all sync.WaitGroup
	var failed atomic.Pointer[error]
	for _, name := range names {
		all.Go(func() {
			if err := read(name); err != nil {
				failed.Store(&err)
			}
		})
	}
	all.Wait()
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}

func readFiles(c *bufferCount) func(name string) error {
	return func(name string) error {
		_, err := os.ReadFile(name)
		c.made.Add(1)
		return err
	}
}

func newPagePool(c *bufferCount) *sync.Pool {
	return &sync.Pool{New: func() any {
		c.fresh.Add(1)
		b := make([]byte, 0, datafile.PageSize)
		return &b
	}}
}

// readAllPooled is the report's reader.
func readAllPooled(c *bufferCount) func(name string) error {
	pool := newPagePool(c)
	return func(name string) error {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		defer f.Close() // nothing is written
		c.gets.Add(1)
		had := pool.Get().(*[]byte)
		b, err := io.ReadAll(f)
		if unsafe.SliceData(b) != unsafe.SliceData(*had) {
			c.made.Add(1)
		}
		pool.Put(&b)
		return err
	}
}

func readIntoPooled(c *bufferCount) func(name string) error {
	pool := newPagePool(c)
	return func(name string) error {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		defer f.Close() // nothing is written
		c.gets.Add(1)
		b := pool.Get().(*[]byte)
		defer pool.Put(b)
		n, err := io.ReadFull(f, (*b)[:cap(*b)])
		*b = (*b)[:n]
		return err
	}
}

func claimR3() Claim {
	c := Claim{
		ID: "R3",
		Source: reportR.source("2.3",
			"A sync.Pool of file buffers lowers the allocations of 100, 500 and 1,000 reads at once from 98, 492 and 986 to 12, 41 and 89."),
		Statement: "files of 4 KiB, 100, 500 and 1,000 read at once: os.ReadFile (A); a sync.Pool, as coded and as meant (B): buffers allocated in a round",
		Claimed:   "98 to 12, 492 to 41, 986 to 89; re-use 87.8, 91.7, 91.0 %",
		Promise:   noneText,
		judge:     judgeR3,
	}
	for _, collected := range []bool{false, true} {
		for _, p := range r3Claimed {
			c.Experiments = append(c.Experiments, r3(p.reads, collected))
		}
	}
	return c
}

// judgeR3 compares the buffers that B saves with the claimed ones.
func judgeR3(ev *evidence) judgement {
	var parts []part
	for _, p := range r3Claimed {
		for _, collected := range []bool{false, true} {
			id := idOf(r3(p.reads, collected))
			for _, w := range []struct{ variant, how string }{{r3Coded, "as coded"}, {r3Meant, "as meant"}} {
				cond := fmt.Sprintf("%s, %s", w.how, map[bool]string{false: "collections as they come", true: "collections before each round"}[collected])
				a, b := ev.metric(id, r3Fresh, r3Made), ev.metric(id, w.variant, r3Made)
				fewer := ev.ratioOf(id, r3Made, r3Fresh, w.variant)
				parts = append(parts, claimed(fmt.Sprintf("buffers made by A against B, %d reads at once", p.reads), fewer, p.fresh/p.pooled).under(cond).
					note(fmt.Sprintf("%.0f against %.1f", a.Median, b.Median)))
				parts = append(parts, figureOf(fmt.Sprintf("objects and bytes allocated, pool hits, %d reads", p.reads), ev.r3Shown(id, w.variant)).under(cond))
			}
		}
	}
	return ruling("A round is so many reads, each by a goroutine of its own; the published figures grow with their number. A pool keeps its buffers for the next round until the collector has run twice. As coded, the reader makes a buffer for each file, whatever the pool has.", parts...)
}

// r3Shown lists what the runtime counted.
func (ev *evidence) r3Shown(id, variant string) string {
	count := func(v, metric string) float64 { return ev.metric(id, v, metric).Median }
	return fmt.Sprintf("%.0f of A's %.0f objects, %.0f of %.0f kB, %.0f %% from the pool",
		count(variant, "allocs_per_op"), count(r3Fresh, "allocs_per_op"),
		count(variant, "alloc_bytes_per_op")/1e3, count(r3Fresh, "alloc_bytes_per_op")/1e3, 100*count(variant, r3Reused))
}
