package claims

import (
	"fmt"

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

// r4 reads at random in a file that is in the page cache. alone: each read is timed by
// itself, as in the report. Otherwise the lab reads its clock once for several reads that
// take less than a microsecond.
func r4(s job.Scale, alone bool) lab.Experiment {
	e := lab.Experiment{
		Suite: "claims", Name: "R4", Question: "Is a mapping read faster at random than a file?",
		Op: "a random page of 4 KiB of a file in the page cache", Ops: r4Reads, MaxRounds: 10,
	}
	if alone {
		e.Name = "R4-alone"
		e.Op += ", timed by itself"
	}
	reads := cachedRead{file: s.Of(r4File), piece: datafile.PageSize, timed: alone}
	e.Variants = firstIsBaseline(
		reads.read(r4Read, "A: ReadAt, and the bytes are not looked at", nil),
		reads.mapped(r4Map4, "B: a populated mapping, 4 bytes looked at", firstWord),
		reads.read(r4ReadTouch, "ReadAt, and every byte is looked at", datafile.SumWords),
		reads.mapped(r4Map, "a populated mapping, every byte looked at", datafile.SumWords))
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

// judgeR4 compares the ratios with the claimed ones, as coded and where both ways look at
// every byte.
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
	why := fmt.Sprintf("The mapping had to be as many times as fast as claimed, less %.0f %%, in the mean without and in the p99 with two clock readings for each read, which are a visible part of the shorter ones. As coded A copies 4,096 bytes and B looks at 4. The figures do not include the time to populate the mapping.",
		100*slack) + ev.smaller(row, r4Read, size)
	return decide(text, why, "whether every byte is looked at, and on mean or p99", answers...)
}
