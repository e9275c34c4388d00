package report

import (
	"strings"
	"testing"

	"github.com/stele-go/stele/lab/run"
)

func TestReason(t *testing.T) {
	for _, c := range []struct {
		reason run.Reason
		want   string
	}{
		{run.Reason{}, ""},
		{run.Reason{Code: run.ReasonText, Text: "permission\x1b denied"}, "permission\uFFFD denied"},
		{run.Reason{Code: run.ReasonNoOps}, "no operation was finished"},
		{run.Reason{Code: run.ReasonNoOps, Round: 3}, "no operation was finished in round 3"},
		{run.Reason{Code: run.ReasonCountFailed}, "the counting block did no operations"},
		{run.Reason{Code: run.ReasonCountFailed, Text: "killed"}, "the counting block failed: killed"},
		{run.Reason{Code: run.ReasonThreadsEnded, N: 1, Of: 2}, "1 of 2 threads ended in the block and took their figure along"},
		{run.Reason{Code: run.ReasonFewTicks, N: 1, Of: 20}, "the block lasted only 1 tick of the kernel's clock; a share needs 20"},
		{run.Reason{Code: run.ReasonFewLatencies, Round: 1, N: 298, Of: 299}, "too few samples in round 1: the percentile needs at least 299, have 298"},
		{run.Reason{Code: run.ReasonNoSample, N: 2e6}, "no sample of the threads fell into the timed part; they are taken every 2.00 ms"},
		{run.Reason{Code: run.ReasonNoBlocks, Text: run.RoleCounted}, "the variant has no counted blocks"},
		{run.Reason{Code: run.ReasonTraceCut}, "the execution trace ends before the timed part does"},
		{run.Reason{Code: run.ReasonLinuxOnly}, "known on Linux only"},
		{run.Reason{Code: run.ReasonNoFile, Text: "/proc/stat"}, "/proc/stat does not exist"},
		{run.Reason{Code: run.ReasonNoLocalDevice, Text: "server:/export"}, `the file system names no local device: its source is "server:/export"`},
		{run.Reason{Code: run.ReasonNoModel, Text: "loop3"}, "the driver of loop3 names no model"},
		{run.Reason{Code: "of a newer Stele", Text: "x"}, "of a newer Stele x"},
	} {
		if got := Reason(c.reason); got != c.want {
			t.Errorf("%+v: %q, want %q", c.reason, got, c.want)
		}
	}
	if got, want := rowText(&run.CompareRow{Why: run.WhyMissing, Run: "new", Reason: run.Reason{Code: run.ReasonNoLatencies, Round: 2}}), "new run: no latencies were recorded in round 2"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// Each code of a field of an environment has words.
func TestReasonsOfEnvironment(t *testing.T) {
	for _, code := range []string{
		run.ReasonLinuxOnly, run.ReasonNoFile, run.ReasonNoCPUModel, run.ReasonNoCPUFreq, run.ReasonNoThrottling, run.ReasonNoMount, run.ReasonNoUpper, run.ReasonUpperHidden, run.ReasonInMemory,
		run.ReasonNoLocalDevice, run.ReasonSourceHidden, run.ReasonNoDevice, run.ReasonUnknownDevice, run.ReasonNoOptions, run.ReasonCopyOnWrite, run.ReasonUnknownJournal, run.ReasonNoModel, run.ReasonNoFileSystem,
	} {
		if got := Reason(run.Reason{Code: code, Text: "it"}); strings.HasPrefix(got, code) || strings.Contains(got, "%!") || !strings.Contains(got, " ") {
			t.Errorf("%s: %q", code, got)
		}
	}
}
