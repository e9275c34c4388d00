package claims

import (
	"fmt"
	"math"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/rw"
)

var r10Goroutines = [...]int{100, 1000}

func r10(goroutines int) lab.Experiment {
	e := rw.MixedLoad(1, goroutines)
	e.Suite, e.Name = "claims", "R10"
	return e
}

func claimR10() Claim {
	c := Claim{
		ID: "R10",
		Source: reportR.source("4.3",
			"From 100 to 1,000 goroutines scheduling latency grows from 12 to 89 us and idle processors fall from 31 to 5 %."),
		Statement: "mixed read, write, stat: 100 and 1,000 goroutines: scheduler latency, idle processors",
		Claimed:   "12 us, 31 %; 89 us, 5 %",
		Promise:   "kill, torn, all variants: what is written survives kill -9, not a power cut",
		judge:     judgeR10,
	}
	for _, n := range r10Goroutines {
		c.Experiments = append(c.Experiments, r10(n))
	}
	return c
}

// What the report found from 100 to 1,000 goroutines.
const (
	claimedWait = 89.0 / 12  // the scheduler's latency grows so much
	claimedIdle = 31.0 / 5.0 // the share of idle processors falls so much
)

// leastIdle is the share of idle processors below which there is nothing that
// could fall.
const leastIdle = 0.01

// judgeR10 asks for both ratios, of a load that the page cache answers and of one
// that waits for the device.
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
			text += ", and none were idle that could be busy. "
			answers = append(answers, no)
		default:
			fall := quotient(idle[0], idle[1])
			if idle[1].Lo <= 0 { // all busy: as far as a fall can go
				fall.Hi = math.Inf(1)
			}
			text += fmt.Sprintf(", the idle share falls %.1f times. ", fall.Median)
			answers = append(answers, claimedFactor(fall, claimedIdle))
		}
	}
	verdict, why := decide(
		fmt.Sprintf("The report gives one figure, which is taken for the mean. Asked for was a wait that grows %.1f times or more and an idle share that falls %.1f times or more, within %.0f %%. The waits are the runtime's own histogram (/sched/latencies), the idle share its /cpu/classes/idle of GOMAXPROCS processors.",
			claimedWait, claimedIdle, slack*100),
		"which of the two is asked for, and whether the load waits for the device", answers...)
	return judgement{text, verdict, why}
}
