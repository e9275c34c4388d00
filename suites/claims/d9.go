package claims

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"strconv"
	"time"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/lab/stats"
	"github.com/stele-go/stele/suites/job"
)

// d9Lengths are the lengths of the operations that are timed, in nanoseconds.
var d9Lengths = []int{50, 100, 300, 1000, 10_000}

const variantTimed = "one operation, timed three ways"

// Ways of timing, by their names in metrics.
const (
	uncorrected      = "uncorrected"
	subtractThree    = "median_of_three_subtracted"
	subtractThousand = "median_of_thousand_subtracted"
)

var d9Ways = []string{uncorrected, subtractThree, subtractThousand}

// chain does steps multiplications, each of which needs the one before. No processor can
// do two at once, so its time is linear in steps.
//
//go:noinline
func chain(x uint64, steps int) uint64 {
	for range steps {
		x = x*6364136223846793005 + 1442695040888963407
	}
	return x
}

// A stopwatch times one operation of a known length.
type stopwatch struct {
	steps int
	x     uint64
}

// newStopwatch finds the number of steps that take about the given time.
func newStopwatch(length time.Duration) *stopwatch {
	s := &stopwatch{x: 1}
	const probe = 200_000
	best := time.Duration(math.MaxInt64)
	for range 5 {
		start := time.Now()
		s.x = chain(s.x, probe)
		best = min(best, time.Since(start))
	}
	s.steps = max(1, int(math.Round(float64(length)*probe/float64(best))))
	return s
}

func (s *stopwatch) op() { s.x = chain(s.x, s.steps) }

// row returns the time of an operation, from n in a row between two readings.
func (s *stopwatch) row(n int) float64 {
	start := time.Now()
	for range n {
		s.op()
	}
	return float64(time.Since(start)) / float64(n)
}

// emptyRound times nothing.
func (s *stopwatch) emptyRound() time.Duration {
	start := time.Now()
	return time.Since(start)
}

func (s *stopwatch) single() time.Duration {
	start := time.Now()
	s.op()
	return time.Since(start)
}

// empty returns the median of n empty rounds.
func (s *stopwatch) empty(n int) float64 {
	list := make([]float64, n)
	for i := range list {
		list[i] = float64(s.emptyRound())
	}
	return median(list)
}

// runTimed times an operation by itself, and corrects each reading in all ways: side by side
// they have the same clock frequency. The true time comes from the same operation in a row
// of 200 us or more, before and after, where the clock costs a thousandth. It reports the mean
// error of each way as a share of the true time, by size.
func runTimed(b *lab.B, length time.Duration) error {
	s := newStopwatch(length)
	runtime.GC() // as told: warmed up and collected before the empty rounds
	corrections := map[string]float64{uncorrected: 0, subtractThree: s.empty(3), subtractThousand: s.empty(1000)}
	inRow := max(16, int(200*time.Microsecond/length))
	var reading, truth float64
	for b.Loop() {
		before := s.row(inRow)
		one := float64(s.single())
		after := s.row(inRow)
		reading, truth = reading+one, truth+min(before, after)
	}
	n := float64(b.N)
	b.Report("truth_ns", truth/n)
	b.Report("reading_ns", reading/n)
	for way, cost := range corrections {
		b.Report(way+"_error", math.Abs((reading/n-cost)/(truth/n)-1))
	}
	return nil
}

// median sorts list.
func median(list []float64) float64 {
	slices.Sort(list)
	return stats.Quantile(list, 0.5)
}

func d9(length int) lab.Experiment {
	return lab.Experiment{
		Suite: "claims", Name: "D9", Params: run.Params{"ns": strconv.Itoa(length)},
		Question: "How accurate are short timings, with and without the timer's cost subtracted?",
		Op:       fmt.Sprintf("an operation of about %d ns, timed three ways", length),
		Ops:      400, MaxRounds: 12, Stateless: true,
		Variants: []lab.Variant{{
			Name: variantTimed, Promise: job.NothingWritten(), Baseline: true,
			Doc: "uncorrected; less the median of three empty readings, taken once; less that of a thousand, taken anew in each block",
			Run: func(b *lab.B) error { return runTimed(b, time.Duration(length)) },
		}},
	}
}

func claimD9() Claim {
	return Claim{
		ID: "D9",
		Source: reportD.source("4.1, Timer calibration",
			"Subtracting the median of three empty readings of the timer makes short timings right."),
		Statement:   "a timer's own cost measured by three empty rounds and subtracted",
		Claimed:     "makes short timings right",
		Promise:     noneText,
		Experiments: experiments(d9, d9Lengths...),
		judge:       judgeD9,
	}
}

// rightEnough is the largest mean error, as a share, of timings that count as right.
const rightEnough = 0.10

func judgeD9(ev *evidence) judgement {
	var parts []part
	for _, length := range d9Lengths {
		id, cond := idOf(d9(length)), strconv.Itoa(length)+" ns"
		off := func(way string) run.Estimate { return ev.metric(id, variantTimed, way+"_error") }
		// All ways are in one block, so that rounds pair them.
		gain, ok := overRounds(overOf, ev.byRound(id, variantTimed, blockMetric(uncorrected+"_error")), ev.byRound(id, variantTimed, blockMetric(subtractThree+"_error")))
		if !ok {
			gain = quotient(off(uncorrected), off(subtractThree))
		}
		parts = append(parts,
			most("mean error less the median of three empty readings", off(subtractThree), rightEnough, shareText).under(cond),
			direction("error uncorrected against less the median of three", gain).under(cond),
			figureOf("work of "+cond, fmt.Sprintf("true %s, read as %s; off by %s uncorrected, by %s less the median of a thousand", nanos(ev.metric(id, variantTimed, "truth_ns")),
				nanos(ev.metric(id, variantTimed, "reading_ns")), shareText(off(uncorrected)), shareText(off(subtractThousand)))))
	}
	return ruling("The true time is that of the same work many times between two readings of the clock.", parts...)
}
