package claims

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"strconv"

	"github.com/stele-go/stele/internal/units"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/headers"
	"github.com/stele-go/stele/suites/internal/datafile"
	"github.com/stele-go/stele/suites/rw"
)

var r10Goroutines = []int{100, 1000}

// The loads of R10.
const (
	r10Coded = "as coded"
	r10Meant = "as meant"
)

// r10Each is how often each of the most goroutines does the load in a block. The report has
// a thousand times, which would take half a minute a block.
const r10Each = 10

// The processors of claims in which their number is a condition: one, or all that the process
// may use.
const (
	oneProcessor  = "1"
	allProcessors = "all"
)

var processorCounts = []string{oneProcessor, allProcessors}

// onProcessors returns the environment of the blocks.
func onProcessors(count string) []string {
	if count == oneProcessor {
		return []string{"GOMAXPROCS=1"}
	}
	return nil
}

// processorsText writes the condition: "2 processors".
func (ev *evidence) processorsText(count string) string {
	if count == oneProcessor {
		return units.Count(1, "processor")
	}
	return units.Count(ev.place.Environment.GOMAXPROCS, "processor")
}

func r10Name(how string, goroutines int) string {
	return fmt.Sprintf("%s, %d goroutines", how, goroutines)
}

// r10 runs the load in few and in many goroutines. The block's directory stands for the
// report's /tmp.
func r10(processors string) lab.Experiment {
	e := lab.Experiment{
		Suite: "claims", Name: "R10", Params: run.Params{"processors": processors},
		Question: "How much longer do 1,000 goroutines that read, write and stat wait for a processor than 100?",
		Op:       "a file read, one written whole, one stat, and runtime.Gosched",
		Ops:      int64(r10Each * r10Goroutines[len(r10Goroutines)-1]), MaxRounds: 10, Env: onProcessors(processors),
	}
	for _, w := range []struct {
		how, doc string
		size     int
		read     func(name string) string
	}{
		{r10Coded, "/dev/null is read, 1 byte written to a file of the goroutine's own", 1, func(string) string { return os.DevNull }},
		{r10Meant, "4 KiB of the goroutine's own file are read and written", datafile.PageSize, func(own string) string { return own }},
	} {
		for _, goroutines := range r10Goroutines {
			e.Variants = append(e.Variants, lab.Variant{Name: r10Name(w.how, goroutines), Doc: w.doc, Promise: keptTorn,
				Run: inDir(func(b *lab.B) error { return runR10(b, goroutines, w.size, w.read) })})
		}
	}
	e.Variants = firstIsBaseline(e.Variants...)
	return e
}

func runR10(b *lab.B, goroutines, size int, read func(name string) string) error {
	data := headers.Head(size)
	names := allPaths(int64(goroutines), func(i int) string { return "f" + strconv.Itoa(i) })
	for _, name := range names {
		if err := os.WriteFile(name, data, 0o644); err != nil {
			return err
		}
	}
	return rw.WatchScheduler(b, goroutines, func(w *lab.Worker) error {
		own := names[w.ID]
		if _, err := os.ReadFile(read(own)); err != nil {
			return err
		}
		if err := os.WriteFile(own, data, 0o644); err != nil {
			return err
		}
		if _, err := os.Stat("."); err != nil {
			return err
		}
		runtime.Gosched()
		return nil
	})
}

func claimR10() Claim {
	return Claim{
		ID: "R10",
		Source: reportR.source("4.3",
			"From 100 to 1,000 goroutines scheduling latency grows from 12 to 89 us and idle processors fall from 31 to 5 %."),
		Statement:   "mixed read, write, stat and Gosched by 100 and 1,000 goroutines, as coded (/dev/null and 1 byte) and as meant (4 KiB): latency of the scheduler, idle processors",
		Claimed:     "12 us, 31 %; 89 us, 5 %",
		Promise:     "kill, torn, all variants: a write survives kill -9, not a power cut",
		Experiments: experiments(r10, processorCounts...),
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

// judgeR10 compares both ratios, as coded and as meant, on one processor and on all.
func judgeR10(ev *evidence) judgement {
	var parts []part
	for _, processors := range processorCounts {
		id := idOf(r10(processors))
		for _, how := range []string{r10Coded, r10Meant} {
			cond := how + ", " + ev.processorsText(processors)
			few, many := r10Name(how, r10Goroutines[0]), r10Name(how, r10Goroutines[1])
			idle := [2]run.Estimate{ev.metric(id, few, rw.IdleShare), ev.metric(id, many, rw.IdleShare)}
			parts = append(parts,
				claimed("mean wait for a processor, 1,000 goroutines against 100", ev.ratioOf(id, rw.SchedMean, many, few), claimedWait).under(cond).
					note(fmt.Sprintf("%s with 100, %s with 1,000", nanos(ev.metric(id, few, rw.SchedMean)), nanos(ev.metric(id, many, rw.SchedMean)))),
				idlePart(idle).under(cond))
			for _, n := range r10Goroutines {
				if tail, why := ev.known(id, r10Name(how, n), rw.SchedP99); why == "" {
					parts = append(parts, figureOf(fmt.Sprintf("p99 wait with %d goroutines", n), nanos(tail)).under(cond))
				}
			}
		}
	}
	return ruling(fmt.Sprintf("The report gives one figure, read as the mean. The waits come from the runtime's own histogram (/sched/latencies), the idle share from its /cpu/classes/idle of GOMAXPROCS processors: a load that keeps all of them busy at 100 goroutines leaves no share to fall. Each goroutine does the load %d times or more, not 1,000 times. The directory stands for /tmp.", r10Each), parts...)
}

// idlePart asks whether the share of idle processors falls as claimed.
func idlePart(idle [2]run.Estimate) part {
	const what = "idle share of the processors, 100 goroutines against 1,000"
	figures := fmt.Sprintf("%s with 100, %s with 1,000", shareText(idle[0]), shareText(idle[1]))
	if idle[0].Hi < leastIdle {
		return fact(what, false, "no processor was idle with 100").note(figures)
	}
	fall := quotient(idle[0], idle[1])
	if idle[1].Lo <= 0 { // all may be busy: the fall has no upper limit
		fall.Hi = math.Inf(1)
	}
	return claimed(what, fall, claimedIdle).note(figures)
}
