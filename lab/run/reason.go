package run

import (
	"cmp"
	"encoding/json"
	"errors"

	"github.com/stele-go/stele/lab/stats"
)

// A Reason says why a figure is missing, as a code with values. The zero Reason
// is no reason: the figure is there.
type Reason struct {
	Code  string `json:"code"` // one of the Reason constants
	Round int    `json:"round,omitempty"`
	N     int64  `json:"n,omitempty"`
	Of    int64  `json:"of,omitempty"`
	Text  string `json:"text,omitempty"`
}

// Codes of a Reason, with the values that each comes with.
const (
	ReasonText = "text" // Text alone: an error of the system, words of a variant, or a sentence of an earlier version

	// Of a block, or of all blocks of a variant.
	ReasonNotEnded     = "not-ended"     // the timed part did not end
	ReasonNoOps        = "no-operations" // no operation was finished, in Round where it is not 0
	ReasonNoProcess    = "no-process"    // the block had no process of its own
	ReasonCounting     = "counting"      // not taken while system calls are counted
	ReasonNotCounting  = "not-counting"  // system calls are counted in blocks of their own
	ReasonNotCounted   = "not-counted"   // no block counted system calls
	ReasonCountFailed  = "count-failed"  // the block that counted failed with Text, or did no operations where Text is empty
	ReasonNotTimed     = "not-timed"     // no block that times system calls was finished
	ReasonCallsLost    = "calls-lost"    // the kernel's buffers overflowed
	ReasonThreadsEnded = "threads-ended" // N of Of threads ended and took their figure along
	ReasonFewTicks     = "few-ticks"     // N ticks of the kernel's clock; a share takes Of
	ReasonIOWaitFell   = "iowait-fell"   // the kernel's count went backwards
	ReasonNoSchedule   = "no-schedule"   // the Go runtime has no histogram of waits for a processor
	ReasonNoBytes      = "no-bytes"      // the variant does not say how many bytes it moves
	ReasonFewSamples   = "few-samples"   // N samples; the percentile takes Of

	// Of waits.
	ReasonTraceCut  = "trace-cut"  // the execution trace ends before the timed part
	ReasonSampling  = "sampling"   // the threads could not be sampled: Text
	ReasonNoSample  = "no-sample"  // no sample fell into the timed part; one is taken every N ns
	ReasonNoSymbols = "no-symbols" // kernel stacks cannot be read, for the reason Text, and wchan names no function

	// Of a CompareRow.
	ReasonVariantFailed = "variant-failed" // with Text
	ReasonBlockFailed   = "block-failed"   // a block failed with Text
	ReasonNoBlocks      = "no-blocks"      // of the role Text
	ReasonNoLatencies   = "no-latencies"   // in Round
	ReasonFewLatencies  = "few-latencies"  // N in all blocks, or in Round; the percentile takes Of
	ReasonFewBlocks     = "few-blocks"     // the smaller side has N; an interval takes Of
	ReasonNotRecorded   = "not-recorded"   // a block has neither the figure nor a reason
	ReasonGrouped       = "grouped"        // operations were timed several at a time: there is no latency of one
	ReasonNoRatio       = "no-ratio"       // the figure is Text, which has no ratio

	// Of a field of an Environment.
	ReasonLinuxOnly      = "linux-only"      // it is known on Linux only
	ReasonNoFile         = "no-file"         // the file Text does not exist
	ReasonNoCPUModel     = "no-cpu-model"    // /proc/cpuinfo names no model
	ReasonNoCPUFreq      = "no-cpufreq"      // the kernel does not scale the clock
	ReasonNoThrottling   = "no-throttling"   // the kernel counts no thermal throttling
	ReasonNoMount        = "no-mount"        // no mount is above the directory Text
	ReasonNoUpper        = "no-upper"        // the overlay has no upper directory
	ReasonUpperHidden    = "upper-hidden"    // the upper directory of the overlay cannot be seen: Text
	ReasonInMemory       = "in-memory"       // the file system Text is kept in memory
	ReasonNoLocalDevice  = "no-local-device" // the file system names no device of this machine; its source is Text
	ReasonSourceHidden   = "source-hidden"   // the source of the mount cannot be seen: Text
	ReasonNoDevice       = "no-device"       // the source of the mount is Text, which is no device
	ReasonUnknownDevice  = "unknown-device"  // /sys does not know the device Text
	ReasonNoOptions      = "no-options"      // the effective mount options cannot be read: Text
	ReasonCopyOnWrite    = "copy-on-write"   // the file system Text writes to new places and has no journal
	ReasonUnknownJournal = "unknown-journal" // it is not known whether the file system Text has a journal
	ReasonNoModel        = "no-model"        // the driver of the disk Text names no model
	ReasonNoFileSystem   = "no-file-system"  // the place is a block device, which is used without a file system
)

// ReasonOf returns the Reason that an error is, and the zero Reason for nil.
func ReasonOf(err error) Reason {
	var few *stats.FewError
	switch {
	case err == nil:
		return Reason{}
	case errors.As(err, &few):
		return Reason{Code: ReasonFewSamples, N: few.Have, Of: int64(few.Need)}
	}
	return Reason{Code: ReasonText, Text: err.Error()}
}

// UnmarshalJSON also reads a string, which earlier versions stored.
func (r *Reason) UnmarshalJSON(data []byte) error {
	*r = Reason{}
	if is, err := readSentence(data, &r.Text); is {
		if r.Text != "" {
			r.Code = ReasonText
		}
		return err
	}
	type plain Reason // without this method
	return json.Unmarshal(data, (*plain)(r))
}

// readSentence reads a JSON string into text. It reports whether data is one: earlier
// versions stored sentences in the place of codes with values.
func readSentence(data []byte, text *string) (is bool, err error) {
	if len(data) == 0 || data[0] != '"' {
		return false, nil
	}
	return true, json.Unmarshal(data, text)
}

func (r Reason) compare(o Reason) int {
	return cmp.Or(cmp.Compare(r.Code, o.Code), cmp.Compare(r.Text, o.Text), cmp.Compare(r.N, o.N), cmp.Compare(r.Of, o.Of), cmp.Compare(r.Round, o.Round))
}
