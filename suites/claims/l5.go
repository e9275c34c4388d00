package claims

import (
	"fmt"

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

// A block of the run has enough reads for a p99 of its own.
const (
	l5Block  = datafile.MiB
	l5File   = 1 << 30
	l5Blocks = 500
	l5Pages  = 50_000
)

// l5 reads in a log file that is in the page cache, and times each read: whole blocks or,
// since the claim does not say how much it reads, 4 KiB in a block.
func l5(s job.Scale, whole bool) lab.Experiment {
	reads := cachedRead{file: s.Of(l5File), piece: l5Block, timed: true}
	e := lab.Experiment{
		Suite: "claims", Name: "L5-block", Question: "Are blocks of a log read faster from a mapping?",
		Op: "a random block of 1 MiB of a file in the page cache, looked at", Ops: l5Blocks, MaxRounds: 12,
	}
	if !whole {
		reads.piece, reads.span = datafile.PageSize, l5Block
		e.Name, e.Op, e.Ops = "L5-in-block", "4 KiB at a random place of a block of 1 MiB in the page cache, looked at", l5Pages
	}
	e.Variants = firstIsBaseline(
		reads.read(l5Read, "B: ReadAt into one buffer", datafile.SumWords),
		reads.mapped(l5Map, "A: a populated mapping, every byte looked at", datafile.SumWords),
		reads.mapped(l5Sparse, "A: a populated mapping, one byte of each page looked at", sumPages))
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
	whole, in := l5(s, true), l5(s, false)
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
	why := fmt.Sprintf("The mapping had to be as many times as fast as read as claimed, %.2fx in the median and %.2fx in the p99, less %.0f %%, for whole blocks and for 4 KiB in a block, from the page cache. Both ways look at every byte, the third at one byte of each page. 1 MiB in 18.3 us would be 57 GB/s, too fast to look at every byte.",
		median, tail, 100*slack)
	return decide(text, why, "how much is read, whether every byte is looked at, and on median or p99", answers...)
}
