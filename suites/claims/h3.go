package claims

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
	"sync"

	"github.com/stele-go/stele/internal/units"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/headers"
	"github.com/stele-go/stele/suites/job"
)

// Variants of several claims: a new object each time, or one from a pool.
const (
	madeFresh = "fresh"
	fromPool  = "pooled"
)

const (
	gzipBuffer    = 4 << 10
	gzipClaimedMB = 3.2 / 0.18
	gzipClaimedGC = 142. / 3
)

// A zipper is a gzip.Writer behind a buffer.
type zipper struct {
	buf *bufio.Writer
	gz  *gzip.Writer
}

func newZipper() *zipper {
	buf := bufio.NewWriterSize(io.Discard, gzipBuffer)
	return &zipper{buf, gzip.NewWriter(buf)}
}

func (z *zipper) reset() {
	z.buf.Reset(io.Discard)
	z.gz.Reset(z.buf)
}

// h3 makes gzip writers and uses them. A gzip.Writer allocates its tables at the first
// write, so it matters whether anything is written.
func h3(name, op string, use func(*zipper) error) lab.Experiment {
	return lab.Experiment{
		Suite: "claims", Name: name, Question: "What does a pool of gzip writers save?",
		Op: op, Stateless: true, MaxOps: publishedOps,
		Variants: []lab.Variant{
			{Name: madeFresh, Doc: "A: gzip.NewWriter on a new 4 KiB bufio.Writer", Promise: job.NothingWritten(), Baseline: true,
				Run: func(b *lab.B) error {
					for b.Loop() {
						if err := use(newZipper()); err != nil {
							return err
						}
					}
					return nil
				}},
			{Name: fromPool, Doc: "B: both from a sync.Pool, reset", Promise: job.NothingWritten(), Run: func(b *lab.B) error {
				pool := sync.Pool{New: func() any { return newZipper() }}
				for b.Loop() {
					z := pool.Get().(*zipper)
					z.reset()
					if err := use(z); err != nil {
						return err
					}
					pool.Put(z)
				}
				return nil
			}},
		},
	}
}

func claimH3() Claim {
	payload := headers.Head(gzipBuffer)
	written := h3("H3-written", "a gzip writer that compresses 4 KiB and is closed", func(z *zipper) error {
		if _, err := z.gz.Write(payload); err != nil {
			return err
		}
		if err := z.gz.Close(); err != nil {
			return err
		}
		return z.buf.Flush()
	})
	made := h3("H3-made", "a gzip writer to which nothing is written", func(*zipper) error { return nil })
	return Claim{
		ID: "H3",
		Source: reportH.source("2.4",
			"100,000 writes with fresh gzip writers allocate 3.2 GB with 142 collections, pooled ones 0.18 GB with 3."),
		Statement:   "100,000 gzip writers with 4 KiB buffers: fresh (A), pooled (B)",
		Claimed:     "3.2 GB and 142 collections; 0.18 GB and 3",
		Promise:     noneText,
		Experiments: []lab.Experiment{written, made},
		judge:       func(ev *evidence) judgement { return judgeH3(ev, written.ID(), made.ID()) },
	}
}

// judgeH3 compares the savings with the claimed ones. Bytes and collections depend on the
// program, not on the machine, so they are scaled to 100,000 writers.
func judgeH3(ev *evidence, written, made string) judgement {
	var answers []answer
	text := ""
	for _, c := range []struct{ what, id string }{{"With 4 KiB written", written}, {"With nothing written", made}} {
		bytes := func(v string) run.Estimate { return scaled(ev.metric(c.id, v, "alloc_bytes_per_op"), publishedOps) }
		collections := func(v string) run.Estimate {
			seen := ev.metric(c.id, v, "gc_count")
			seen.Hi++ // the next one may have been due: none in a short block is not none in 100,000
			return scaled(seen, publishedOps/float64(max(1, ev.ops(c.id, v))))
		}
		fewer := quotient(collections(madeFresh), collections(fromPool))
		less := quotient(bytes(madeFresh), bytes(fromPool))
		answers = append(answers, claimedFactor(less, gzipClaimedMB), claimedFactor(fewer, gzipClaimedGC))
		text += fmt.Sprintf("%s: A %s and %.0f collections, B %s and %.0f, for 100,000; B takes %.0fx less memory. ", c.what,
			units.Decimal(bytes(madeFresh).Median), collections(madeFresh).Median,
			units.Decimal(bytes(fromPool).Median), collections(fromPool).Median, less.Median)
	}
	why := fmt.Sprintf("B had to allocate %.1fx less and to cause %.0fx fewer collections (the claim less %.0f %%), whether anything is written or not: a gzip.Writer allocates its tables at the first write. Scaled from the blocks to 100,000 writers.",
		gzipClaimedMB*(1-slack), gzipClaimedGC*(1-slack), 100*slack)
	return decide(text, why, "whether anything is written, and on memory or collections", answers...)
}
