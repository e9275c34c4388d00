package report

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/stele-go/stele/internal/units"
	"github.com/stele-go/stele/lab/run"
)

// Reason words why a figure is missing; "" for the zero Reason.
func Reason(r run.Reason) string { return clean(reasonText(r)) }

func reasonText(r run.Reason) string {
	switch r.Code {
	case run.ReasonText:
		return r.Text
	case run.ReasonNoOps:
		return "no operation was finished" + inRound(r)
	case run.ReasonCountFailed:
		return "the counting block " + cmp.Or(failedWith(r.Text), "did no operations")
	case run.ReasonThreadsEnded:
		return fmt.Sprintf("%d of %s ended in the block and took their figure along", r.N, units.Count(int(r.Of), "thread"))
	case run.ReasonFewTicks:
		return fmt.Sprintf("the block lasted only %s of the kernel's clock; a share needs %d", units.Count(int(r.N), "tick"), r.Of)
	case run.ReasonFewSamples, run.ReasonFewLatencies:
		return fmt.Sprintf("too few samples%s: the percentile needs at least %d, have %d", inRound(r), r.Of, r.N)
	case run.ReasonSampling:
		return "sample the threads of the block: " + r.Text
	case run.ReasonNoSample:
		return fmt.Sprintf("no sample of the threads fell into the timed part; they are taken every %s", duration(float64(r.N)))
	case run.ReasonNoSymbols:
		return r.Text + ", and wchan names no function"
	case run.ReasonVariantFailed:
		return "the variant " + failedWith(r.Text)
	case run.ReasonBlockFailed:
		return "a block " + failedWith(r.Text)
	case run.ReasonNoBlocks:
		return fmt.Sprintf("the variant has no %s blocks", r.Text)
	case run.ReasonNoLatencies:
		return "no latencies were recorded" + inRound(r)
	case run.ReasonFewBlocks:
		return fmt.Sprintf("too few blocks: an interval at 95 %% needs at least %d on each side, have %d", r.Of, r.N)
	case run.ReasonNoRatio:
		return fmt.Sprintf("the figure is %s, which has no ratio", r.Text)
	}
	return cmp.Or(reasonWords[r.Code], strings.TrimSpace(r.Code+" "+r.Text))
}

// reasonWords are the words for codes without values.
var reasonWords = map[string]string{
	run.ReasonNotEnded:    "the timed part of the block did not end",
	run.ReasonNoProcess:   "not counted: the block has no process of its own",
	run.ReasonCounting:    "not taken while system calls are counted; see the timed blocks",
	run.ReasonNotCounting: "counted in blocks of their own, because counting slows every call",
	run.ReasonNotCounted:  "no block in which calls are counted was run",
	run.ReasonNotTimed:    "no block in which system calls are timed was finished",
	run.ReasonCallsLost:   "the kernel's buffers overflowed, and some calls were not seen",
	run.ReasonIOWaitFell:  "the kernel's count of iowait went backwards",
	run.ReasonNoSchedule:  "this Go runtime does not tell how long goroutines wait for a processor",
	run.ReasonNoBytes:     "the variant does not say how many bytes it moves (B.SetBytes)",
	run.ReasonTraceCut:    "the execution trace ends before the timed part does",
	run.ReasonGrouped:     "operations were timed several at a time, so there is no percentile of single ones",
	run.ReasonNotRecorded: "not recorded in this run",
}

func inRound(r run.Reason) string {
	if r.Round == 0 {
		return ""
	}
	return fmt.Sprintf(" in round %d", r.Round)
}

// failedWith says that something failed with an error; "" without one.
func failedWith(err string) string {
	if err == "" {
		return ""
	}
	return "failed: " + err
}

// Notes returns what a reader should know about the whole run.
func Notes(r *run.Run) []string {
	var notes []string
	for _, n := range r.Notes {
		notes = append(notes, clean(n))
	}
	for _, l := range r.Left {
		notes = append(notes, clean(fmt.Sprintf("%s could not be removed: %s", l.Dir, l.Error)))
	}
	return notes
}
