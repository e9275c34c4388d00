package claims

import (
	"fmt"
	"math"

	"github.com/stele-go/stele/internal/units"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/suites/internal/datafile"
	"github.com/stele-go/stele/suites/job"
)

// The variants of R4.
const (
	r4Read   = "read of 4 KiB"
	r4Map4   = "mapping, 4 bytes touched"
	r4Copied = "mapping, 4 KiB copied"
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
		reads.read(r4Read, "A: ReadAt, which copies 4 KiB", nil),
		reads.mapped(r4Map4, "B as coded: a private, populated mapping, of which 4 bytes are loaded", firstWord),
		reads.mapped(r4Copied, "B as meant: the mapping, and all 4 KiB are copied out", copied()))
	return e
}

func claimR4(s job.Scale) Claim {
	row, alone := r4(s, false), r4(s, true)
	return Claim{
		ID: "R4",
		Source: reportR.source("2.4",
			"Random reads of 8 GB from a warm cache take 3.1 us (p99 14.6) from a mapping and 12.7 us (89.3) by read()."),
		Statement:   "10,000 random reads of 4 KiB in an 8 GB file, warm: pread (A); a private, populated mapping, as coded (4 bytes loaded) and as meant (4 KiB copied) (B)",
		Claimed:     "mean 12.7 and 3.1 us; p99 89.3 and 14.6 us",
		Promise:     noneText,
		Experiments: []lab.Experiment{row, alone},
		judge:       func(ev *evidence) judgement { return judgeR4(ev, row.ID(), alone.ID(), s.Of(r4File)) },
	}
}

// judgeR4 compares the ratios with the claimed ones, as coded and as meant.
func judgeR4(ev *evidence, row, alone string, size int64) judgement {
	const mean, tail = 12.7 / 3.1, 89.3 / 14.6
	var parts []part
	lack := ""
	has := ev.metric(row, r4Read, "file_bytes").Median
	if math.IsNaN(has) { // no round
		has = ev.metric(alone, r4Read, "file_bytes").Median
	}
	if has < float64(size) {
		lack = fmt.Sprintf("memory for a file of %s: this one has %s, at most a third of the memory, a quarter of the free disk and %v of writing",
			units.Decimal(float64(size)), units.Decimal(has), datafile.WriteTime)
	}
	for _, c := range []struct{ cond, b string }{{"as coded, 4 bytes loaded", r4Map4}, {"as meant, 4 KiB copied", r4Copied}} {
		p99 := func(v string) string { return nanos(ev.metric(alone, v, "read_p99_ns")) }
		parts = append(parts,
			claimed("mean of a read, A against B", ev.ratio(row, r4Read, c.b), mean).under(c.cond).needs(lack).
				note(fmt.Sprintf("%s against %s", nanos(ev.time(row, r4Read)), nanos(ev.time(row, c.b)))),
			claimed("p99 of a read, A against B", ev.ratioOf(alone, "read_p99_ns", r4Read, c.b), tail).under(c.cond).needs(lack).
				note(fmt.Sprintf("%s against %s", p99(r4Read), p99(c.b))))
	}
	populating, faults := ev.metric(row, r4Map4, mapMetric), ev.metric(row, r4Map4, "minor_faults_per_op")
	parts = append(parts,
		figureOf("populating the mapping, spread over 10,000 reads", nanos(scaled(populating, 1./r4Reads))+" each").note("not timed in the report"),
		figureOf("page faults of a read of the mapping", fmt.Sprintf("%.4f", faults.Median)))
	return ruling("The p99 is that of reads timed one by one; the two readings of the clock are in it, and are a visible part of the shorter ones. As coded A copies 4,096 bytes and B loads 4.", parts...)
}
