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

// The variants of R4.
const (
	r4Read      = "read of 4 KiB"
	r4Map4      = "mapping, 4 bytes touched"
	r4ReadTouch = "read of 4 KiB, every byte touched"
	r4Map       = "mapping, every byte touched"
)

const (
	r4File  = 8 << 30
	r4Reads = 10_000
)

// r4 reads at random in a file that is in the page cache. alone: each read is
// timed by itself, as in the report; else the lab's clock is read once for
// several of those that take less than a microsecond.
func r4(s job.Scale, alone bool) lab.Experiment {
	e := lab.Experiment{
		Suite: "claims", Name: "R4", Question: "Is a mapping read faster at random than a file?",
		Op: "a random page of 4 KiB of a file in the page cache", Ops: r4Reads, MaxRounds: 10,
	}
	if alone {
		e.Name = "R4-alone"
		e.Op += ", timed by itself"
	}
	loop := func(b *lab.B, size int64, read func(off int64) error) error {
		at, clock := randomOffsets(b, size, datafile.PageSize), job.NewTimer()
		b.SetBytes(datafile.PageSize)
		for b.Loop() {
			begin := time.Time{}
			if alone {
				begin = time.Now()
			}
			if err := read(at.at(b.I())); err != nil {
				return err
			}
			if alone {
				clock.Since(begin)
			}
		}
		if alone {
			clock.Report(b, "read")
		}
		return nil
	}
	reading := func(name, doc string, look func([]byte) uint64) lab.Variant {
		return lab.Variant{Name: name, Doc: doc, Promise: job.NothingWritten(), Run: func(b *lab.B) error {
			return warmFile(b, s.Of(r4File), func(f *datafile.File) error {
				page, sum := make([]byte, datafile.PageSize), uint64(0)
				defer func() { runtime.KeepAlive(sum) }()
				return loop(b, f.Size, func(off int64) error {
					_, err := f.ReadAt(page, off)
					if look != nil {
						sum += look(page)
					}
					return err
				})
			})
		}}
	}
	mapping := func(name, doc string, look func([]byte) uint64) lab.Variant {
		return lab.Variant{Name: name, Doc: doc, Promise: job.NothingWritten(), Run: func(b *lab.B) error {
			return warmMapping(b, s.Of(r4File), func(data []byte) error {
				sum := uint64(0)
				defer func() { runtime.KeepAlive(sum) }()
				return loop(b, int64(len(data)), func(off int64) error {
					sum += look(data[off : off+datafile.PageSize])
					return nil
				})
			})
		}}
	}
	a := reading(r4Read, "A: ReadAt, and what was read is not looked at", nil)
	a.Baseline = true
	e.Variants = []lab.Variant{a,
		mapping(r4Map4, "B: a populated mapping, of which 4 bytes are looked at", firstWord),
		reading(r4ReadTouch, "ReadAt, and every byte is looked at", datafile.SumWords),
		mapping(r4Map, "a populated mapping, of which every byte is looked at", datafile.SumWords)}
	return e
}

func claimR4(s job.Scale) Claim {
	row, alone := r4(s, false), r4(s, true)
	return Claim{
		ID: "R4",
		Source: reportR.source("2.4",
			"Random reads of 8 GB from a warm cache take 3.1 us (p99 14.6) from a mapping and 12.7 us (89.3) by read()."),
		Statement:   "10,000 random reads over 8 GiB, warm: read of 4 KiB (A), populated mapping of which 4 bytes are touched (B); also with all 4 KiB touched",
		Claimed:     "mean 12.7 and 3.1 us; p99 89.3 and 14.6 us",
		Promise:     noneText,
		Experiments: []lab.Experiment{row, alone},
		judge:       func(ev *evidence) judgement { return judgeR4(ev, row.ID(), alone.ID(), s.Of(r4File)) },
	}
}

// judgeR4 asks for the claimed ratios, as coded and where both ways look at all
// that they read.
func judgeR4(ev *evidence, row, alone string, size int64) judgement {
	const mean, tail = 12.7 / 3.1, 89.3 / 14.6
	var answers []answer
	text := ""
	for _, c := range []struct{ what, a, b string }{
		{"As coded", r4Read, r4Map4}, {"Where both look at every byte", r4ReadTouch, r4Map},
	} {
		faster := ev.times(row, c.a, c.b)
		at := func(metric, v string) run.Estimate { return ev.metric(alone, v, metric) }
		alike := quotient(at("read_mean_ns", c.a), at("read_mean_ns", c.b))
		p99 := quotient(at("read_p99_ns", c.a), at("read_p99_ns", c.b))
		answers = append(answers, claimedFactor(faster, mean), claimedFactor(p99, tail))
		text += fmt.Sprintf("%s: read %s, mapping %s, %s as fast (claimed %.1fx); timed one by one %s and %s (%s), p99 %s and %s (%s, claimed %.1fx). ", c.what,
			nanos(ev.time(row, c.a)), nanos(ev.time(row, c.b)), factor(faster), mean,
			nanos(at("read_mean_ns", c.a)), nanos(at("read_mean_ns", c.b)), factor(alike),
			nanos(at("read_p99_ns", c.a)), nanos(at("read_p99_ns", c.b)), factor(p99), tail)
	}
	why := fmt.Sprintf("The mapping was asked to be as many times faster as claimed, less %.0f %%, in the mean without and in the p99 with a clock reading around each read, which by itself is a visible part of the shorter ones. As coded A copies 4,096 bytes and B looks at 4. Populating the mapping is not in the figures.",
		100*slack) + ev.smaller(row, r4Read, size)
	verdict, why := decide(why, "whether all that was read is looked at, and on mean or p99", answers...)
	return judgement{text[:len(text)-1], verdict, why}
}
