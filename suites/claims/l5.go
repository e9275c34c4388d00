package claims

import (
	"fmt"
	"runtime"
	"time"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/datafile"
	"github.com/stele-go/stele/suites/job"
)

// The variants of L5.
const (
	l5Read   = "read"
	l5Map    = "mapping"
	l5Sparse = "mapping, a byte of each page"
)

// The reads of a block of the run are enough for a p99 of its own.
const (
	l5Block  = datafile.MiB
	l5File   = 1 << 30
	l5Blocks = 500
	l5Pages  = 50_000
)

// The claim does not tell whether a whole block is read, or something in it.
const (
	l5Whole = "whole block"
	l5In    = "4 KiB in a block"
)

// l5 reads in a log file that is in the page cache, and times each read.
func l5(s job.Scale, what string) lab.Experiment {
	size := int64(l5Block)
	e := lab.Experiment{
		Suite: "claims", Name: "L5-block", Question: "Are blocks of a log read faster from a mapping?",
		Op: "a random block of 1 MiB of a file in the page cache, looked at", Ops: l5Blocks, MaxRounds: 12,
	}
	if what == l5In {
		size, e.Ops = datafile.PageSize, l5Pages
		e.Name, e.Op = "L5-in-block", "4 KiB at a random place of a block of 1 MiB in the page cache, looked at"
	}
	each := func(b *lab.B, span int64, read func(off int64) (uint64, error)) error {
		if what == l5In {
			span = min(span, l5Block)
		}
		at, clock, sum := randomOffsets(b, span, size), job.NewTimer(), uint64(0)
		b.SetBytes(size)
		for b.Loop() {
			begin := time.Now()
			got, err := read(at.at(b.I()))
			if err != nil {
				return err
			}
			sum += got
			clock.Since(begin)
		}
		runtime.KeepAlive(sum)
		clock.Report(b, "read")
		return nil
	}
	mapping := func(name, doc string, look func([]byte) uint64) lab.Variant {
		return lab.Variant{Name: name, Doc: doc, Promise: job.NothingWritten(), Run: func(b *lab.B) error {
			return warmMapping(b, s.Of(l5File), func(data []byte) error {
				return each(b, int64(len(data)), func(off int64) (uint64, error) { return look(data[off : off+size]), nil })
			})
		}}
	}
	e.Variants = []lab.Variant{
		{Name: l5Read, Doc: "B: ReadAt into a buffer that is used again", Promise: job.NothingWritten(), Baseline: true, Run: func(b *lab.B) error {
			return warmFile(b, s.Of(l5File), func(f *datafile.File) error {
				buf := make([]byte, size)
				return each(b, f.Size, func(off int64) (uint64, error) {
					_, err := f.ReadAt(buf, off)
					return datafile.SumWords(buf), err
				})
			})
		}},
		mapping(l5Map, "A: a populated mapping, of which every byte is looked at", datafile.SumWords),
		mapping(l5Sparse, "A: a populated mapping, of which a byte of each page is looked at", sumPages),
	}
	return e
}

// sumPages looks at one byte of each page.
func sumPages(p []byte) (sum uint64) {
	for i := 0; i < len(p); i += datafile.PageSize {
		sum += uint64(p[i])
	}
	return sum
}

func claimL5(s job.Scale) Claim {
	whole, in := l5(s, l5Whole), l5(s, l5In)
	return Claim{
		ID: "L5",
		Source: reportL.source("2.5",
			"Blocks of 1 MB at random take 18.3 us (p99 64.1) from a mapping and 42.7 (218.5) by read."),
		Statement:   "1 MiB log block, random reads: mapping (A), read (B)",
		Claimed:     "p50 18.3 and 42.7 us; p99 64.1 and 218.5 us",
		Promise:     noneText,
		Experiments: []lab.Experiment{whole, in},
		judge:       func(ev *evidence) judgement { return judgeL5(ev, whole.ID(), in.ID()) },
	}
}

func judgeL5(ev *evidence, whole, in string) judgement {
	const median, tail = 42.7 / 18.3, 218.5 / 64.1
	var answers []answer
	text := ""
	for _, c := range []struct{ what, id string }{{"A whole block of 1 MiB", whole}, {"4 KiB in a block", in}} {
		at := func(metric, v string) run.Estimate { return ev.metric(c.id, v, metric) }
		text += fmt.Sprintf("%s: read p50 %s, p99 %s", c.what, nanos(at("read_p50_ns", l5Read)), nanos(at("read_p99_ns", l5Read)))
		for _, v := range []string{l5Map, l5Sparse} {
			p50 := quotient(at("read_p50_ns", l5Read), at("read_p50_ns", v))
			p99 := quotient(at("read_p99_ns", l5Read), at("read_p99_ns", v))
			answers = append(answers, claimedFactor(p50, median), claimedFactor(p99, tail))
			text += fmt.Sprintf("; %s %s (%s) and %s (%s)", v, nanos(at("read_p50_ns", v)), factor(p50), nanos(at("read_p99_ns", v)), factor(p99))
		}
		text += ". "
	}
	why := fmt.Sprintf("The mapping was asked to be as many times faster than read as claimed, %.2fx in the median and %.2fx in the p99, less %.0f %%, for whole blocks and for 4 KiB in a block, from the page cache. What is read is looked at byte by byte in both ways, and in the third way a byte of each page. 1 MiB in 18.3 us would be 57 GB/s, which no program has looked at.",
		median, tail, 100*slack)
	verdict, why := decide(why, "how much is read, whether all of it is looked at, and on median or p99", answers...)
	return judgement{text[:len(text)-1], verdict, why}
}
