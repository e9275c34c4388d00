package claims

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"strconv"
	"time"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/headers"
	"github.com/stele-go/stele/suites/syncs"
)

// An r7Tier has the claim about one type of cloud volumes.
type r7Tier struct {
	env, name    string  // as volumeTypeEnv has it, and in words
	mean, jitter float64 // nanoseconds
	past         float64 // the rate a second past which jitter jumps
	at           int     // the measured rate at which jitter is compared
}

var r7Tiers = [...]r7Tier{
	{"essd-plx", "an Alibaba ESSD PL-X", 5.2e6, 3.8e6, 80, 80},
	{"essd-pl3", "an Alibaba ESSD PL3", 18.6e6, 11.4e6, 12, 12},
}

// volumeTypeEnv names the environment variable in which a user says on which type of volume
// the directory is, for no system tells: "essd-plx" or "essd-pl3".
const volumeTypeEnv = "STELE_VOLUME_TYPE"

// r7VolumeType is a metric: 1 and the index of the type among r7Tiers, or 0.
const r7VolumeType = "volume_type"

// r7Rates are rates a second. Two lie within a factor 4/3 of each claimed one.
var r7Rates = []int{1, 5, 9, 12, 16, 20, 40, 60, 80, 100, 120, 200}

const (
	r7Near   = 4. / 3 // how far from the claimed rate jitter may double
	r7Within = 1.5    // how far from the claimed share of the mean jitter may be
	r7Rounds = 8
)

// r7Ops are the operations of a block: in a few rounds enough for a p99 where the type of the
// volume is known, else a second's worth, for the curve.
func r7Ops(hz int) int64 {
	switch {
	case os.Getenv(volumeTypeEnv) == "" || hz > 40:
		return int64(max(hz, 2))
	case hz == 1:
		return 2
	}
	return 40
}

// r7 appends to a file and syncs it at a rate.
func r7(hz int) lab.Experiment {
	return lab.Experiment{
		Suite: "claims", Name: "R7", Params: run.Params{"hz": strconv.Itoa(hz)},
		Question: fmt.Sprintf("How long, and how even, is a synced append at a rate of %d a second?", hz),
		Op:       fmt.Sprintf("4 KiB at the end of a file, and an fsync, at a rate of %d a second", hz),
		Ops:      r7Ops(hz), MaxRounds: r7Rounds,
		Variants: firstIsBaseline(lab.Variant{
			Name: syncs.WayFsync, Doc: syncs.WayNamed(syncs.WayFsync).Doc, Promise: powerTorn,
			Run: inDir(func(b *lab.B) error {
				i := slices.IndexFunc(r7Tiers[:], func(t r7Tier) bool { return t.env == os.Getenv(volumeTypeEnv) })
				b.Report(r7VolumeType, float64(i+1))
				return appendEvery(b, time.Second/time.Duration(hz))
			}),
		}),
	}
}

// appendEvery appends a page and syncs the file in each operation. An append is due every gap,
// whether or not those before it have ended, and its latency counts from when it was due: one
// that waits behind a slow one counts its wait.
func appendEvery(b *lab.B, gap time.Duration) error {
	f, err := openLog("data")
	if err != nil {
		return err
	}
	page := headers.Head(syncs.PageSize)
	b.SetBytes(syncs.PageSize)
	b.OpenModel()
	err = b.Parallel(1, func(w *lab.Worker) error {
		begun := time.Now()
		for w.Loop() {
			due := begun.Add(time.Duration(w.I()) * gap)
			sleepUntil(b.Context(), due)
			if _, err := f.Write(page); err != nil {
				return err
			}
			if err := f.Sync(); err != nil {
				return err
			}
			w.Took(time.Since(due))
		}
		return nil
	})
	return errors.Join(err, f.Close())
}

// sleepUntil returns at a time, or once ctx is done. It looks at the clock at the end, because
// a timer wakes a goroutine late, and the latency would have that.
func sleepUntil(ctx context.Context, until time.Time) {
	const late = 150 * time.Microsecond
	for left := time.Until(until); left > 0 && ctx.Err() == nil; left = time.Until(until) {
		if left > late {
			time.Sleep(min(left-late, 50*time.Millisecond))
		} else {
			runtime.Gosched()
		}
	}
}

func claimR7() Claim {
	return Claim{
		ID: "R7",
		Source: reportR.source("3.2",
			"The jitter of fsync jumps past 80 Hz on a PL-X volume (mean 5.2 ms, p99 +-3.8) and past 12 Hz on PL3 (18.6, +-11.4)."),
		Statement:   "append and fsync at 1 to 200 a second, whose arrivals do not wait: mean, jitter (p99 less median), and the rate where jitter jumps, on two types of cloud volume",
		Claimed:     "PL-X 5.2 ms +-3.8, past 80 Hz; PL3 18.6 ms +-11.4, past 12 Hz",
		Promise:     "power, torn: each append survives a power cut once it is synced",
		Experiments: experiments(r7, r7Rates...),
		Needs:       onDisk,
		judge:       judgeR7,
	}
}

// judgeR7 asks the questions of the volume's type. Without one the curve is shown.
func judgeR7(ev *evidence) judgement {
	var rates []int
	var jitter, shares []run.Estimate
	var parts []part
	for _, hz := range r7Rates {
		id := idOf(r7(hz))
		mean := ev.time(id, syncs.WayFsync)
		figure := lasting(mean)
		if j, why := ev.jitter(id, syncs.WayFsync); why == "" {
			rates, jitter, shares = append(rates, hz), append(jitter, j), append(shares, quotient(j, mean))
			figure += fmt.Sprintf(" +%s", lasting(j))
		}
		parts = append(parts, figureOf("mean and jitter", figure).under(fmt.Sprintf("%d a second", hz)))
	}
	kind := ev.r7Kind()
	for i, t := range r7Tiers {
		jump, share := "the rate at which jitter doubles, "+t.name, "jitter as a share of the mean, "+t.name
		if kind != i+1 {
			lack := fmt.Sprintf("a directory on %s, and %s=%s to say so", t.name, volumeTypeEnv, t.env)
			parts = append(parts, lacking(jump, lack), lacking(share, lack))
			continue
		}
		if hz := t.without(rates); hz > 0 {
			few := fmt.Sprintf("too few appends for a p99 at %d a second; more rounds would have enough", hz)
			parts = append(parts, part{what: jump}.undecided(few), part{what: share}.undecided(few))
			continue
		}
		at, claimedShare := slices.Index(rates, t.at), t.jitter/t.mean
		parts = append(parts, jumpPart(jump, rates, jitter, t.past),
			inRange(share, shares[at], claimedShare/r7Within, claimedShare*r7Within, factor(shares[at]), fmt.Sprintf("want %.2f to %.2f at %d a second (claimed %.2f)", claimedShare/r7Within, claimedShare*r7Within, t.at, claimedShare)))
	}
	return ruling("An append is due at its own time, whether or not the one before has ended, and its latency counts from then. Jitter is the p99 less the median, of all rounds together, where there are enough appends for one. It jumps at the first rate from which on it is twice what it is at every lower one, or more. The times belong to other machines. The report syncs all file systems with each append.", parts...)
}

// r7Kind returns 1 and the index of the type of the volume among r7Tiers, or 0.
func (ev *evidence) r7Kind() int {
	for _, hz := range r7Rates {
		if v := ev.metric(idOf(r7(hz)), syncs.WayFsync, r7VolumeType); v.Median > 0 {
			return int(v.Median)
		}
	}
	return 0
}

// without returns a rate near the claimed one that is not in rates, or 0.
func (t r7Tier) without(rates []int) int {
	for _, hz := range r7Rates {
		if near := float64(hz) >= t.past/r7Near && float64(hz) <= t.past*r7Near; near && !slices.Contains(rates, hz) {
			return hz
		}
	}
	return 0
}

// jitter returns the p99 less the median of a variant, or why there is none.
func (ev *evidence) jitter(id, name string) (e run.Estimate, why string) {
	v := ev.variant(id, name)
	if v == nil {
		return noEstimate, "not measured"
	}
	of := map[float64]run.Estimate{}
	for _, l := range v.Latency {
		if err := l.Err(); err != nil && l.P == 99 {
			return noEstimate, err.Error()
		}
		of[l.P] = run.Estimate{Median: l.NS, Lo: l.Lo, Hi: l.Hi, N: v.Time.N}
		if l.Lo == 0 && l.Hi == 0 {
			of[l.P] = run.Estimate{Median: l.NS, Lo: math.NaN(), Hi: math.NaN(), N: v.Time.N}
		}
	}
	p99, p50 := of[99], of[50]
	if p99.Median == 0 || p50.Median == 0 {
		return noEstimate, "not measured"
	}
	return difference(p99, p50), ""
}

// jumpPart asks whether jitter jumps near a claimed rate: yes if it surely does, no if it does
// not by any of the intervals.
func jumpPart(what string, rates []int, jitter []run.Estimate, claimed float64) part {
	near := func(i int) bool { // the jump is above the rate before
		return i < len(rates) && float64(rates[i]) <= claimed*r7Near && i > 0 && float64(rates[i-1]) >= claimed/r7Near
	}
	lo, hi := syncs.JitterJump(jitter)
	all, any := true, false
	for i := lo; i <= hi; i++ {
		all, any = all && near(i), any || near(i)
	}
	p := fact(what, all, syncs.JumpText(rates, jitter))
	p.limit = fmt.Sprintf("want %.0f to %.0f a second (claimed past %.0f)", claimed/r7Near, claimed*r7Near, claimed)
	if any && !all {
		p.answer, p.est = cannotTell, run.Estimate{Median: float64(rates[min(lo, len(rates)-1)]), Lo: math.NaN(), Hi: math.NaN(), N: jitter[0].N}
	}
	return p
}
