package report

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/stele-go/stele/lab/run"
)

// variantWarning words a warning about a variant.
func variantWarning(v *run.VariantResult, w *run.Warning) string {
	switch w.Code {
	case run.WarnFailed:
		return fmt.Sprintf("%d of %d blocks failed, the first with: %s", w.N, w.Of, cmp.Or(w.Text, "no operation was finished"))
	case run.WarnNotTimed:
		return "no block was timed"
	case run.WarnFewBlocks:
		return fmt.Sprintf("too few blocks: an interval at 95 %% needs at least %d, have %d", w.Of, w.N)
	case run.WarnOutliers:
		return fmt.Sprintf("outliers in %s; they stay in every figure", roundList(w.Rounds))
	case run.WarnUnsteady:
		return fmt.Sprintf("not steady by SNIA's rule: the last %d rounds lie %s apart, their line moves by %s",
			v.Steady.Needed, percent(v.Steady.Excursion), percent(math.Abs(v.Steady.Slope)))
	case run.WarnTrend:
		return fmt.Sprintf("%s: by %s from the first block to the last (Mann-Kendall p = %s)", v.Steady.Trend, percent(math.Abs(v.Steady.Rise)), pValue(v.Steady.TrendP))
	case run.WarnBatched:
		return fmt.Sprintf("operations under 1 us: timed %d at a time, percentiles are of the mean of %d", w.N, w.N)
	case run.WarnNoSync:
		return fmt.Sprintf("promises to survive a power cut, but changed files in %d operations without a single sync: the promise is not kept", w.N)
	case run.WarnOutOfRange:
		return fmt.Sprintf("latencies out of range, in no percentile: %d (below 1 ns or above 1 h)", w.N)
	}
	return strings.TrimSpace(w.Code + " " + w.Text)
}

func roundList(rounds []int) string {
	var b strings.Builder
	b.WriteString("round")
	if len(rounds) > 1 {
		b.WriteString("s")
	}
	for i, round := range rounds {
		if i > 0 {
			b.WriteString(",")
		}
		fmt.Fprintf(&b, " %d", round)
	}
	return b.String()
}

// unsteadyText says why a variant is not steady.
func unsteadyText(s *run.Steady) string {
	if s.Blocks < s.Needed {
		return fmt.Sprintf("the rule needs %d blocks, have %d", s.Needed, s.Blocks)
	}
	return fmt.Sprintf("no %d rounds in a row meet SNIA's rule; in rounds %d to %d the times lie %s apart (at most 20 %%) and their line moves by %s (at most 10 %%)",
		s.Needed, s.First, s.Last, percent(s.Excursion), percent(math.Abs(s.Slope)))
}

// refusalText says which variants were not compared with the first baseline.
func refusalText(res *run.Result, f *run.Refusal) string {
	promise := "another promise"
	if v := res.Variant(f.Baseline); v != nil {
		promise = v.Promise.String()
	}
	return clean(fmt.Sprintf("not compared with %s, which promises %s: %s (%s); --mix-levels compares them all the same",
		f.Baseline, promise, strings.Join(f.Variants, ", "), f.Promise))
}

func refusals(res *run.Result) []string {
	var out []string
	for i := range res.Refused {
		out = append(out, refusalText(res, &res.Refused[i]))
	}
	return out
}

// Partial says why a run is not complete; "" where it is.
func Partial(p *run.Partial) string {
	switch {
	case p == nil:
		return ""
	case p.Of == 0:
		return clean(p.Cause)
	}
	return clean(fmt.Sprintf("%s after %v: %d of %d experiments were begun", p.Cause, time.Duration(p.After).Round(time.Second), p.Begun, p.Of))
}

// PlaceWarning words a warning about a place: the doubt, why it matters and how to
// avoid it.
func PlaceWarning(e *run.Environment, w *run.Warning) string {
	switch w.Code { // those with a value in Text
	case run.WarnSiblings:
		return "The blocks are pinned to processors that share a core (" + w.Text + "): each slows the other while both work. Pin them to one processor of each core."
	case run.WarnLimited:
		return limitText(w)
	}
	if w.Text != "" { // a sentence of an earlier version
		return w.Text
	}
	fs := e.FS
	if fs == "overlay" && w.Code != run.WarnOverlay {
		fs = e.BackingFS
	}
	switch w.Code {
	case run.WarnTmpfs:
		return fmt.Sprintf("%s lies on %s, which is memory: no disk is measured, a sync does nothing and nothing survives a power cut. Measure in a directory on the disk that will be used.", e.Dir, fs)
	case run.WarnNetwork:
		return fmt.Sprintf("%s lies on %s: another machine, or the host of this one, answers, and its load and cache are part of every figure. Measure where the files will be, several times, and do not take the figures for a local disk's.", e.Dir, fs)
	case run.WarnFuse:
		return fmt.Sprintf("%s lies on %s: every call goes through a program in user space. The speed of that program is measured, and it may ignore a sync. Measure on the file system beneath it.", e.Dir, fs)
	case run.WarnOverlay:
		return fmt.Sprintf("%s lies on an overlay, as the root of a container does: names are looked up in every layer, and the first write to a file of a lower layer copies it whole. Measure in a volume, or on the host.", e.Dir)
	case run.WarnNoJournal:
		return fmt.Sprintf("The file system under %s has no journal: creating and syncing cost less than usual, and after a power cut it has to be repaired and may lose synced data. Measure on a file system with a journal, an image for example.", e.Dir)
	case run.WarnNoBarrier:
		return fmt.Sprintf("%s is mounted with nobarrier: a sync does not flush the disk's cache, so it is fast, and a power cut may lose data that was synced. Mount it without that option.", e.Mount)
	case run.WarnLowSpace:
		return fmt.Sprintf("Only %.0f %% of the file system under %s is free: a full one searches longer for space and scatters files. Free some space, or measure elsewhere.", 100*float64(e.FreeBytes)/float64(max(e.TotalBytes, 1)), e.Dir)
	}
	if s := deviceWarning(e, w); s != "" {
		return s
	}
	return machineWarning(e, w)
}

// limitText says how an image with the limits of a volume differs from the volume.
func limitText(w *run.Warning) string {
	text := "The kernel limits this image to " + w.Text + ", reads and writes each by itself. " +
		"A cloud volume's latency and jitter cannot be imitated: within the limits a request takes the time of the disk here, without a network, neighbours and burst credits. " +
		"Findings at the limits hold for the volume; measure the others on it."
	if w.N > 0 {
		text += fmt.Sprintf(" The volume counts a request once for every %d KiB of it, the kernel once as the device gets it.", w.N>>10)
	}
	return text
}

func deviceWarning(e *run.Environment, w *run.Warning) string {
	switch {
	case w.Code == run.WarnMemoryDisk && e.Backing != "":
		return fmt.Sprintf("The image under %s lies on %s, which is memory: a sync costs nothing. Put the image on the disk that is to be measured.", e.Device, e.BackingFS)
	case w.Code == run.WarnMemoryDisk:
		return fmt.Sprintf("%s is memory used as a disk: the figures are not those of a disk. Measure in a directory on the disk that will be used.", e.Device)
	case w.Code == run.WarnLoop:
		return fmt.Sprintf("%s is a file used as a disk, so each write passes two file systems: ratios between variants hold, absolute times are not those of a disk. For those, measure in a directory.", e.Device)
	case w.Code == run.WarnWriteThrough:
		return fmt.Sprintf("The virtual disk %s says that it has no write cache, so a sync sends it no flush; whether the host writes at once cannot be seen from here. Fast syncs here do not show that data is safe.", e.Device)
	}
	return ""
}

func machineWarning(e *run.Environment, w *run.Warning) string {
	switch w.Code {
	case run.WarnBusy:
		return fmt.Sprintf("Other programs used %.0f %% of the processors just before (load %.2f on %d): they compete with the measurement. End them and measure again.", 100*e.Busy, e.Load, e.CPUs)
	case run.WarnDiskBusy:
		return fmt.Sprintf("Processors waited for a disk %.0f %% of the time just before: another program uses one. Wait until it is done and measure again.", 100*e.IOWait)
	case run.WarnStolen:
		return fmt.Sprintf("The hypervisor took %.0f %% of the processors' time for other machines just before. Measure at a quieter time, or with more rounds.", 100*e.Steal)
	case run.WarnThrottled:
		return fmt.Sprintf("The processor was slowed down by heat %d times since boot: the same code may take longer later in a run. Cool the machine, or bound the clock rate, and measure again.", e.Throttled)
	case run.WarnGovernor:
		return fmt.Sprintf("The frequency governor is %s: the clock rate is low or follows the load, so short work looks slower than it is. Set it to performance while measuring.", e.Governor)
	case run.WarnVirtual:
		return fmt.Sprintf("This machine is not bare (%s): neighbours, limits and the host's cache add noise that cannot be seen from here. Trust differences well above the noise floor, and repeat the run at another time.", e.Virtual)
	case run.WarnBeside:
		return fmt.Sprintf("Measurements by other processes ran on this machine at the same time (%d): each slowed the other. Measure again, one at a time.", w.N)
	case run.WarnLimitGroup:
		return "The limit is one of cgroup v2 (io.max), which the kernel threads that write the log of XFS escape: a sync there may be faster than the volume allows. Measure on another file system."
	case run.WarnFewCPUs:
		return "Go has one processor here: the garbage collector and the kernel's own work interrupt the measurement. Measure with two or more."
	}
	return w.Code
}
