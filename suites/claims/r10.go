package claims

import (
	"fmt"
	"math"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/rw"
)

var r10Goroutines = []int{100, 1000}

func r10(goroutines int) lab.Experiment {
	e := rw.MixedLoad(1, goroutines)
	e.Suite, e.Name = "claims", "R10"
	return e
}

func claimR10() Claim {
	return Claim{
		ID: "R10",
		Source: reportR.source("4.3",
			"From 100 to 1,000 goroutines scheduling latency grows from 12 to 89 us and idle processors fall from 31 to 5 %."),
		Statement:   "mixed read, write, stat: 100 and 1,000 goroutines: scheduler latency, idle processors",
		Claimed:     "12 us, 31 %; 89 us, 5 %",
		Promise:     "kill, torn, all variants: a write survives kill -9, not a power cut",
		Experiments: experiments(r10, r10Goroutines...),
		judge:       judgeR10,
	}
}

// The report's ratios from 100 to 1,000 goroutines.
const (
	claimedWait = 89.0 / 12  // of the scheduler's latency, which grows
	claimedIdle = 31.0 / 5.0 // of the share of idle processors, which falls
)

// leastIdle is the least share of idle processors that could still fall.
const leastIdle = 0.01

// judgeR10 compares both ratios, for a load that the page cache serves and for one that
// waits for the device.
func judgeR10(ev *evidence) judgement {
	text := ""
	var answers []answer
	few, many := r10(r10Goroutines[0]), r10(r10Goroutines[1])
	for _, v := range []string{rw.VariantPageCache, rw.VariantPastCache} {
		wait := [2]run.Estimate{ev.metric(few.ID(), v, rw.SchedMean), ev.metric(many.ID(), v, rw.SchedMean)}
		tail := [2]run.Estimate{ev.metric(few.ID(), v, rw.SchedP99), ev.metric(many.ID(), v, rw.SchedP99)}
		idle := [2]run.Estimate{ev.metric(few.ID(), v, rw.IdleShare), ev.metric(many.ID(), v, rw.IdleShare)}
		growth := quotient(wait[1], wait[0])
		text += fmt.Sprintf("%s: with 100 goroutines the mean wait is %s (p99 %s) and %s of the processors are idle, with 1,000 %s (p99 %s) and %s: %s the wait",
			upperFirst(v), nanos(wait[0]), nanos(tail[0]), shareText(idle[0]), nanos(wait[1]), nanos(tail[1]), shareText(idle[1]), factor(growth))
		answers = append(answers, claimedFactor(growth, claimedWait))
		switch {
		case idle[0].Hi < leastIdle:
			text += ", and no processor was idle. "
			answers = append(answers, no)
		default:
			fall := quotient(idle[0], idle[1])
			if idle[1].Lo <= 0 { // all may be busy: the fall has no upper limit
				fall.Hi = math.Inf(1)
			}
			text += fmt.Sprintf(", the idle share falls %.1f times. ", fall.Median)
			answers = append(answers, claimedFactor(fall, claimedIdle))
		}
	}
	return decide(text,
		fmt.Sprintf("The report gives one figure, read as the mean. The wait had to grow %.1f times or more and the idle share to fall %.1f times or more, within %.0f %%. The waits come from the runtime's own histogram (/sched/latencies), the idle share from its /cpu/classes/idle of GOMAXPROCS processors.",
			claimedWait, claimedIdle, slack*100),
		"wait or idle share, and on whether the load waits for the device", answers...)
}
