package claims

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"strconv"
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

// The variants of H3 beside madeFresh.
const (
	h3Coded   = "pool as coded: a struct by value"
	h3Meant   = "pool as meant: a pointer"
	h3Default = "fresh, default level"
)

const (
	gzipBuffer    = 4 << 10
	gzipClaimedMB = 3.2 / 0.18
	gzipClaimedGC = 142. / 3
)

// h3Loads have the bytes of a write, which the report does not give, and GOGC.
var h3Loads = []h3Load{{128, 100}, {4 << 10, 100}, {4 << 10, 400}}

type h3Load struct{ payload, gogc int }

func (l h3Load) String() string {
	return fmt.Sprintf("payload %s, GOGC=%d", units.Size(int64(l.payload)), l.gogc)
}

// A zipper is the report's kit: a gzip.Writer and the memory that it writes to.
type zipper struct {
	gz  *gzip.Writer
	buf []byte
}

func newZipper(level int) zipper {
	gz, err := gzip.NewWriterLevel(nil, level)
	if err != nil {
		panic(err) // the level is a constant
	}
	return zipper{gz, make([]byte, 0, gzipBuffer)}
}

// compress compresses p into the zipper's memory.
func (z *zipper) compress(p []byte) error {
	out := bytes.NewBuffer(z.buf[:0])
	z.gz.Reset(out)
	if _, err := z.gz.Write(p); err != nil {
		return err
	}
	if err := z.gz.Close(); err != nil {
		return err
	}
	z.buf = out.Bytes()
	return nil
}

func h3(l h3Load) lab.Experiment {
	payload := headers.Head(l.payload)
	variant := func(name, doc string, compressor func() func() error) lab.Variant {
		return lab.Variant{Name: name, Doc: doc, Promise: job.NothingWritten(), Run: func(b *lab.B) error {
			compress := compressor()
			for b.Loop() {
				if err := compress(); err != nil {
					return err
				}
			}
			return nil
		}}
	}
	fresh := func(level int) func() func() error {
		return func() func() error {
			return func() error {
				z := newZipper(level)
				return z.compress(payload)
			}
		}
	}
	return lab.Experiment{
		Suite: "claims", Name: "H3", Params: run.Params{"gogc": strconv.Itoa(l.gogc), "payload": strconv.Itoa(l.payload)},
		Question:  "What does a pool of gzip writers save?",
		Op:        fmt.Sprintf("%s compressed at gzip.BestSpeed into memory of 4 KiB", units.Size(int64(l.payload))),
		Stateless: true, MaxOps: publishedOps, MaxRounds: 12, Env: []string{"GOGC=" + strconv.Itoa(l.gogc)},
		Variants: firstIsBaseline(
			variant(madeFresh, "A: a new gzip.Writer and new memory", fresh(gzip.BestSpeed)),
			variant(h3Coded, "B as coded: Put boxes the struct, an allocation each time. &buf is no io.Writer and does not compile: a bytes.Buffer over it. Reset on Get, as in the diagram: without it the second use fails", func() func() error {
				pool := sync.Pool{New: func() any { return newZipper(gzip.BestSpeed) }}
				return func() error {
					z := pool.Get().(zipper)
					//lint:ignore SA6002 as the report codes it: each Put allocates
					defer func() { pool.Put(z) }()
					return z.compress(payload)
				}
			}),
			variant(h3Meant, "B as meant: the pool has pointers", func() func() error {
				pool := sync.Pool{New: func() any { z := newZipper(gzip.BestSpeed); return &z }}
				return func() error {
					z := pool.Get().(*zipper)
					defer pool.Put(z)
					return z.compress(payload)
				}
			}),
			variant(h3Default, "shown: a new gzip.Writer at the default level", fresh(gzip.DefaultCompression))),
	}
}

func claimH3() Claim {
	return Claim{
		ID: "H3",
		Source: reportH.source("2.4",
			"100,000 writes with fresh gzip writers allocate 3.2 GB with 142 collections, pooled ones 0.18 GB with 3."),
		Statement:   "100,000 writes through a gzip.Writer at BestSpeed into memory of 4 KiB: fresh (A), from a pool as coded (a struct by value) and as meant (a pointer) (B)",
		Claimed:     "3.2 GB and 142 collections; 0.18 GB and 3",
		Promise:     noneText,
		Experiments: experiments(h3, h3Loads...),
		judge:       judgeH3,
	}
}

// judgeH3 compares the savings with the claimed ones. Bytes and collections depend on the
// program, not on the machine, so they are scaled to 100,000 writes.
func judgeH3(ev *evidence) judgement {
	var parts []part
	for _, l := range h3Loads {
		id := idOf(h3(l))
		bytes := func(v string) run.Estimate { return scaled(ev.metric(id, v, "alloc_bytes_per_op"), publishedOps) }
		collections := func(v string) run.Estimate {
			seen := ev.metric(id, v, "gc_count")
			seen.Hi++ // the next one may have been due: none in a short block is not none in 100,000
			return scaled(seen, publishedOps/float64(max(1, ev.ops(id, v))))
		}
		for _, w := range []struct{ variant, how string }{{h3Coded, "as coded"}, {h3Meant, "as meant"}} {
			cond := w.how + ", " + l.String()
			a, b := collections(madeFresh), collections(w.variant)
			parts = append(parts,
				claimed("bytes allocated, A against B", ev.ratioOf(id, "alloc_bytes_per_op", madeFresh, w.variant), gzipClaimedMB).under(cond).
					note(units.Decimal(bytes(madeFresh).Median)+" against "+units.Decimal(bytes(w.variant).Median)+" for 100,000"),
				claimed("collections, A against B", quotient(a, b), gzipClaimedGC).under(cond).
					note(fmt.Sprintf("%.0f against %.0f for 100,000", a.Median, b.Median)))
		}
		parts = append(parts, figureOf("bytes of a fresh writer and its memory (the claim: 32 kB)", fmt.Sprintf("%s, at the default level %s",
			units.Decimal(bytes(madeFresh).Median/publishedOps), units.Decimal(bytes(h3Default).Median/publishedOps))).under(l.String()))
	}
	return ruling("Scaled from the blocks to 100,000 writes. A gzip.Writer allocates its tables at the first write.", parts...)
}
