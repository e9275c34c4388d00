package claims

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"

	"github.com/stele-go/stele/internal/units"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/headers"
	"github.com/stele-go/stele/suites/internal/datafile"
)

// The variants of H7.
const (
	h7Buffered     = "A: bufio only"
	h7SyncEach     = "B: write and fsync each"
	h7CommitFormat = "C: flush and fsync every %d"
	h7Coded        = "C as coded: a pool of bufio.Writers"
)

// h7Sizes are the records of a commit, which the claim does not name. Its figures are those
// of about 1,000: 0.3 us more a record is a thousandth of its fsync.
var h7Sizes = []int64{1, 10, 100, 1_000}

const h7Claimed = 1_000

func h7Commit(every int64) string { return fmt.Sprintf(h7CommitFormat, every) }

// h7Most is the most records of a block.
const h7Most = 100_000

// openLog makes the log of a block, durable and empty.
func openLog(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(f.Sync(), datafile.SyncDir(".")); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// h7Variant commits after that many records, or never if every is 0.
func h7Variant(name, doc string, every int64, p run.Promise) lab.Variant {
	return lab.Variant{Name: name, Doc: doc, Promise: p, Run: inDir(func(b *lab.B) error {
		f, err := openLog("log")
		if err != nil {
			return err
		}
		record, w := headers.Head(headerLen), bufio.NewWriter(f)
		b.SetBytes(headerLen)
		for err == nil && b.Loop() {
			_, err = w.Write(record)
			if err == nil && every > 0 && (b.I()+1)%every == 0 {
				if err = w.Flush(); err == nil {
					err = f.Sync()
				}
			}
		}
		return errors.Join(err, w.Flush(), f.Close())
	})}
}

// h7Lost is a metric of the way as coded: bytes that were written and are in no file, after
// a collection in the middle and at the end.
const h7Lost = "bytes_lost_per_op"

// runH7Coded is the report's code: writers from a pool, which go back unflushed.
func runH7Coded(b *lab.B) error {
	f, err := openLog("log")
	if err != nil {
		return err
	}
	pool := sync.Pool{New: func() any { return bufio.NewWriterSize(f, 4096) }}
	record := headers.Head(headerLen)
	b.SetBytes(headerLen)
	for err == nil && b.Loop() {
		w := pool.Get().(*bufio.Writer)
		_, err = w.Write(record)
		if err == nil && (b.I()+1)%h7Claimed == 0 {
			if err = w.Flush(); err == nil {
				err = f.Sync() // w.(*os.File) does not compile
			}
		}
		pool.Put(w)
		if b.I() == b.N/2 { // a collection of the program's own comes at any time
			runtime.GC()
			runtime.GC()
		}
	}
	info, statErr := f.Stat()
	if err := errors.Join(err, statErr, f.Close()); err != nil {
		return err
	}
	b.Report(h7Lost, float64(b.N*headerLen-info.Size())/float64(b.N))
	return nil
}

func h7() lab.Experiment {
	e := lab.Experiment{
		Suite: "claims", Name: "H7", Question: "What does it cost to make records durable, one by one and by commits?",
		Op: "one record of 128 bytes", MaxOps: h7Most, MaxRounds: 12, Stateless: true,
		Variants: firstIsBaseline(
			h7Variant(h7Buffered, "A: bufio alone, whose records are lost with the process", 0, lost),
			lab.Variant{Name: h7SyncEach, Doc: "B: write(2) and fsync of each record", Promise: powerTorn, Run: inDir(runH7Each)}),
	}
	for _, n := range h7Sizes {
		p := lost
		if n == 1 {
			p = powerTorn
		}
		e.Variants = append(e.Variants, h7Variant(h7Commit(n),
			fmt.Sprintf("C as meant: bufio, flushed and synced after %s; those since the last commit are lost with the process", units.Count(int(n), "record")), n, p))
	}
	e.Variants = append(e.Variants, lab.Variant{Name: h7Coded, Promise: lost, Run: inDir(runH7Coded),
		Doc: "a record to a writer from the pool, which goes back unflushed; a commit every 1,000 flushes the one writer at hand. A collection loses what the others have, and records of two writers change their order"})
	return e
}

func runH7Each(b *lab.B) error {
	f, err := openLog("log")
	if err != nil {
		return err
	}
	record := headers.Head(headerLen)
	b.SetBytes(headerLen)
	for err == nil && b.Loop() {
		if _, err = f.Write(record); err == nil {
			err = f.Sync()
		}
	}
	return errors.Join(err, f.Close())
}

func claimH7() Claim {
	e := h7()
	return Claim{
		ID: "H7",
		Source: reportH.source("4.4",
			"bufio takes 0.8 us an operation, fsync each time 310 us, and fsync on commit 1.1 us."),
		Statement:   "records of 128 bytes: bufio only (A); write and fsync each (B); bufio with flush and fsync every 1 to 1,000 records (C)",
		Claimed:     "125K, 3.2K, 98K operations a millisecond; 0.8, 310, 1.1 us",
		Promise:     "three: none when buffered; power, torn with fsync on each write; with commits none, torn for the records since the last one",
		Experiments: []lab.Experiment{e},
		Needs:       onDisk,
		judge:       func(ev *evidence) judgement { return judgeH7(ev, e.ID()) },
	}
}

// judgeH7 takes the ratios of the claimed rates, 125/3.2 and 98/125; those of the claimed
// times are larger.
func judgeH7(ev *evidence, id string) judgement {
	const each, commit = 125. / 3.2, 98. / 125
	parts := []part{
		claimed("A against B, records a second", ev.ratio(id, h7SyncEach, h7Buffered), each).
			note(fmt.Sprintf("%s against %s a record", nanos(ev.time(id, h7Buffered)), nanos(ev.time(id, h7SyncEach)))).note(notSameJob),
	}
	for _, n := range h7Sizes {
		p := claimed("C against A, records a second", ev.ratio(id, h7Buffered, h7Commit(n)), commit).
			under(fmt.Sprintf("a commit every %d", n)).note(nanos(ev.time(id, h7Commit(n))) + " a record").note(notSameJob)
		if n != h7Claimed {
			p = p.onlyShown()
		}
		parts = append(parts, p)
	}
	if lost, why := ev.known(id, h7Coded, h7Lost); why == "" {
		bytes := lost.Median * float64(ev.ops(id, h7Coded))
		parts = append(parts, figureOf("C as coded", fmt.Sprintf("%s a record, and %s of %d records lost", nanos(ev.time(id, h7Coded)), units.Decimal(bytes), ev.ops(id, h7Coded))).
			note("wrong result: records are lost"))
	}
	return ruling("310 us are 3.2 thousand a second, not a millisecond: the claimed unit is off. The three ways promise different things.", parts...)
}
