package claims

import (
	"fmt"
	"os"
	"strings"

	"github.com/stele-go/stele/internal/measure/uring"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/job"
	"github.com/stele-go/stele/suites/rw"
)

// r13Threads and r13Depths span both sides of the claim's condition, a depth of at least
// four times the threads. A depth is that of all threads together.
var (
	r13Threads = []int{1, 4, 16, 32}
	r13Depths  = []int{1, 4} // times the threads
)

// r13Enough is the depth, times the threads, from which on the claim says to poll.
const r13Enough = 4

func r13Name(polled bool, threads, each int) string {
	return fmt.Sprintf("%s, %d threads, depth %d", map[bool]string{false: "interrupts", true: "IOPOLL"}[polled], threads, threads*each)
}

func r13(s job.Scale) lab.Experiment {
	j := rw.Surface{Size: s.Of(rw.QuickFile), Promise: job.NothingWritten()}
	e := j.Experiment("read", rw.QuickFile, "4 KiB read past the page cache at a random page")
	e.Suite, e.Name, e.Params = "claims", "R13", nil
	e.Question = "Does polling for completions lower the latency of reads, and what does it cost?"
	e.MaxRounds = 8
	for _, each := range r13Depths {
		for _, threads := range r13Threads {
			a, b := j.Rings("io_uring", threads, each), j.PolledRings("io_uring", threads, each)
			a.Name, b.Name = r13Name(false, threads, each), r13Name(true, threads, each)
			a.Cell, b.Cell = nil, nil
			polled := b.Run
			b.Run = func(b *lab.B) error {
				if err := pollable(b.Dir); err != nil {
					return err
				}
				return polled(b)
			}
			e.Variants = append(e.Variants, a, b)
		}
	}
	return e
}

// pollable returns nil if the device under a directory has queues for polling.
func pollable(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close() // nothing is written
	return uring.Pollable(f)
}

func claimR13() Claim {
	e := r13(1)
	return Claim{
		ID: "R13",
		Source: reportR.source("4.2, snippet and flow chart",
			"Where the depth is at least four times the threads, IORING_SETUP_IOPOLL lowers latency and raises CPU use; below, interrupts cost latency and save CPU."),
		Statement:   "io_uring, direct random reads of 4 KiB by 1 to 32 threads, depth on both sides of four times the threads: completions by interrupts (A) and by IOPOLL (B). The report's code is libaio, which has no such flag",
		Claimed:     "latency lower, CPU use higher by B",
		Promise:     noneText,
		Experiments: []lab.Experiment{e},
		judge:       func(ev *evidence) judgement { return judgeR13(ev, e.ID()) },
	}
}

// judgeR13 asks the questions where the depth is enough. The other side is shown, and with
// it which of the report's two rules fits.
func judgeR13(ev *evidence, id string) judgement {
	lack := ev.noPolling(id)
	var parts []part
	asked, lowers := map[int]int{}, map[int]int{} // numbers of threads, by the depth of a thread
	for _, each := range r13Depths {
		for _, threads := range r13Threads {
			a, b := r13Name(false, threads, each), r13Name(true, threads, each)
			cond := fmt.Sprintf("%d threads, depth %d", threads, threads*each)
			if lack != "" {
				parts = append(parts, figureOf("A, by interrupts", fmt.Sprintf("%s a read, CPU %s", nanos(ev.metric(id, a, "request_mean_ns")), nanos(ev.cpu(id, a)))).under(cond))
				continue
			}
			latency := direction("mean latency of a read, A against B", ev.ratioOf(id, "request_mean_ns", a, b)).under(cond)
			cpu := direction("CPU time of a read, B against A", ev.cpuRatio(id, b, a)).under(cond)
			if latency.answer != untested {
				asked[each]++
			}
			if latency.answer == yes {
				lowers[each]++
			}
			if each < r13Enough {
				latency, cpu = latency.onlyShown(), cpu.onlyShown()
			}
			parts = append(parts, latency, cpu)
			if tail, why := ev.known(id, b, "request_p99_ns"); why == "" {
				parts = append(parts, figureOf("p99 by B", nanos(tail)).under(cond))
			}
		}
	}
	why := "The claim's side is a depth of four times the threads or more. The snippet's comment says the contrary: poll where the threads are more than half of the depth."
	if low, high := r13Depths[0], r13Depths[1]; asked[low] > 0 && asked[high] > 0 {
		parts = append(parts, figureOf("polling lowers the mean latency", fmt.Sprintf("at %d of %d numbers of threads where the flow chart polls, at %d of %d where the comment does",
			lowers[high], asked[high], lowers[low], asked[low])))
	}
	if lack != "" {
		parts = append([]part{lacking("mean latency of a read, A against B", lack), lacking("CPU time of a read, B against A", lack)}, parts...)
	}
	return ruling(why+" A device without queues for polling fails such reads, or completes them by interrupt while the ring spins.", parts...)
}

// cpu returns the CPU time of an operation, in user mode and in the kernel.
func (ev *evidence) cpu(id, name string) run.Estimate {
	return sum(ev.metric(id, name, "cpu_user_ns_per_op"), ev.metric(id, name, "cpu_sys_ns_per_op"))
}

// cpuRatio returns the ratio of the CPU times of an operation, paired by round.
func (ev *evidence) cpuRatio(id, over, under string) run.Estimate {
	of := func(name string) ofRound {
		return ev.byRound(id, name, func(b *run.Block) (float64, bool) {
			user, ok := b.Metrics["cpu_user_ns_per_op"]
			system, also := b.Metrics["cpu_sys_ns_per_op"]
			return user + system, ok && also
		})
	}
	if e, ok := overRounds(overOf, of(over), of(under)); ok {
		return e
	}
	return quotient(ev.cpu(id, over), ev.cpu(id, under))
}

// noPolling returns why completions cannot be polled for here, or "".
func (ev *evidence) noPolling(id string) string {
	const want = "an NVMe device with queues for polling (nvme.poll_queues, queue/io_poll)"
	r := ev.results[id]
	if r == nil {
		return "" // the figures will be missing
	}
	for i := range r.Variants {
		v := &r.Variants[i]
		if v.Error != "" && strings.HasPrefix(v.Name, "IOPOLL") {
			return want + ", and io_uring; " + v.Error
		}
	}
	return ""
}
