package claims

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/job"
	"github.com/stele-go/stele/suites/syncs"
)

// An r7Tier has the claim about one tier of cloud volumes.
type r7Tier struct {
	name             string
	mean, jitter     float64 // nanoseconds
	past             int     // the rate past which jitter jumps
	lastRate, jumpAt int     // the last measured rate not past it, and the first that is
}

var r7Tiers = [...]r7Tier{
	{"fast", 5.2e6, 3.8e6, 80, 80, 120},
	{"slow", 18.6e6, 11.4e6, 12, 10, 20},
}

// r7 is experiment frequency of suite sync with fsync alone, at the end of a file.
func r7(hz int) lab.Experiment {
	e := job.Only(syncs.Frequency(syncs.FileAppend, hz).Build(), syncs.WayFsync)
	e.Suite, e.Name, e.Params = "claims", "R7", run.Params{"hz": strconv.Itoa(hz)}
	e.MaxRounds = 8
	paced := e.Variants[0].Run
	e.Variants[0].Run = func(b *lab.B) error {
		b.Params = run.Params{"hz": b.Params["hz"], "file": syncs.FileAppend}
		return paced(b)
	}
	return e
}

func claimR7() Claim {
	return Claim{
		ID: "R7",
		Source: reportR.source("3.2",
			"The jitter of fsync jumps past 80 Hz on a PL-X volume (mean 5.2 ms, p99 +-3.8) and past 12 Hz on PL3 (18.6, +-11.4)."),
		Statement:   "fsync at 1..200 Hz: mean, jitter, and the rate where jitter jumps; fast and slow cloud tier",
		Claimed:     "5.2 ms +-3.8, past 80 Hz; 18.6 ms +-11.4, past 12 Hz",
		Promise:     "power, torn: each append survives a power cut once it is synced",
		Experiments: experiments(r7, syncs.Rates()...),
		Needs:       onDisk,
		judge:       judgeR7,
	}
}

// judgeR7 compares the rate of the jump, and jitter as a share of the mean: the times belong
// to other machines.
func judgeR7(ev *evidence) judgement {
	var text strings.Builder
	rates := syncs.Rates()
	means, jitter := make([]run.Estimate, len(rates)), make([]run.Estimate, len(rates))
	for i, hz := range rates {
		id := idOf(r7(hz))
		means[i] = ev.time(id, syncs.WayFsync)
		jitter[i] = ev.metric(id, syncs.WayFsync, syncs.JitterMetric)
		fmt.Fprintf(&text, "%d Hz: %s +-%s%s; ", hz, lasting(means[i]), lasting(jitter[i]), ev.spread(id, syncs.WayFsync))
	}
	tier := r7Tiers[0]
	if at := means[slices.Index(rates, 20)].Median; math.Abs(math.Log(at/r7Tiers[1].mean)) < math.Abs(math.Log(at/tier.mean)) {
		tier = r7Tiers[1]
	}
	fmt.Fprintf(&text, "%s.", syncs.JumpText(rates, jitter))

	rate := func(i int) float64 {
		if i == len(rates) {
			return math.Inf(1)
		}
		return float64(rates[i])
	}
	lo, hi := syncs.JitterJump(jitter)
	want := float64(tier.jumpAt)
	last := slices.Index(rates, tier.lastRate)
	share := quotient(jitter[last], means[last])
	claimed := tier.jitter / tier.mean
	why := fmt.Sprintf("%s The claim is that of the %s tier, whose mean is nearer: a jump past %d Hz, here at %d Hz, the next measured rate; and jitter at %d Hz of the claimed %.2f of the mean, to within 25 %%: it is %s. The times belong to other machines.",
		syncs.JitterRule(), tier.name, tier.past, tier.jumpAt, tier.lastRate, claimed, factor(share))
	return decide(text.String(), why, "whether the jump or the size of the jitter is meant",
		within(run.Estimate{Lo: rate(lo), Hi: rate(hi)}, want, want), near(share, claimed))
}

// spread writes how far the 99th percentile of all blocks together lies above their median,
// or "" if there are too few operations.
func (ev *evidence) spread(id, name string) string {
	v := ev.variant(id, name)
	if v == nil {
		return ""
	}
	p := map[float64]float64{}
	for _, l := range v.Latency {
		if l.Err() == nil {
			p[l.P] = l.NS
		}
	}
	if p[50] == 0 || p[99] == 0 {
		return ""
	}
	return fmt.Sprintf(" (p99 - p50 %s)", lasting(run.Estimate{Median: p[99] - p[50]}))
}
