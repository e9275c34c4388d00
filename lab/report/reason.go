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
	if format := reasonFormats[r.Code]; format != "" {
		return fmt.Sprintf(format, r.Text)
	}
	return cmp.Or(reasonWords[r.Code], strings.TrimSpace(r.Code+" "+r.Text))
}

// reasonFormats are the words for codes with a text and no other value.
var reasonFormats = map[string]string{
	run.ReasonNoFile:         "%s does not exist",
	run.ReasonNoMount:        "no mount in /proc/self/mountinfo is above %s",
	run.ReasonUpperHidden:    "the overlay's upper directory cannot be seen from here: %s",
	run.ReasonInMemory:       "%s is kept in memory",
	run.ReasonNoLocalDevice:  "the file system names no local device: its source is %q",
	run.ReasonSourceHidden:   "the source of the mount cannot be seen from here: %s",
	run.ReasonNoDevice:       "the source of the mount is %s, which is no device",
	run.ReasonUnknownDevice:  "/sys does not know the device %s",
	run.ReasonNoOptions:      "cannot read the effective mount options: %s",
	run.ReasonCopyOnWrite:    "%s writes to new places instead of keeping a journal",
	run.ReasonUnknownJournal: "not known for %s",
	run.ReasonNoModel:        "the driver of %s names no model",
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

	run.ReasonLinuxOnly:    "known on Linux only",
	run.ReasonNoCPUModel:   "/proc/cpuinfo names no model",
	run.ReasonNoCPUFreq:    "the kernel does not scale the clock here (no cpufreq), as in most virtual machines",
	run.ReasonNoThrottling: "the kernel counts no thermal throttling here (no thermal_throttle in /sys/devices/system/cpu)",
	run.ReasonNoUpper:      "an overlay without an upper directory is not written to",
	run.ReasonNoFileSystem: "a block device has none",
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
