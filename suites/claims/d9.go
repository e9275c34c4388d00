package claims

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/lab/stats"
	"github.com/stele-go/stele/suites/job"
)

// d9Lengths are the lengths of the operations that are timed, in nanoseconds.
var d9Lengths = []int{20, 50, 100, 300, 1000}

const variantTimed = "one operation, timed three ways"

// Ways of timing, by their names in metrics.
const (
	subtractThree    = "three_empty_rounds_subtracted"
	subtractThousand = "thousand_empty_rounds_subtracted"
	chainedReadings  = "chained_readings"
)

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

// empty returns the mean of n empty rounds.
func (s *stopwatch) empty(n int) float64 {
	var sum time.Duration
	for range n {
		sum += s.emptyRound()
	}
	return float64(sum) / float64(n)
}

// runTimed times an operation in all three ways in each operation of the block: side by
// side they have the same clock frequency. The true time comes from the same operation in
// a row of 20 us or more, before and after, where the clock costs a thousandth.
func runTimed(b *lab.B, length time.Duration) error {
	s := newStopwatch(length)
	three := s.empty(3)
	inRow := max(16, int(200*time.Microsecond/length))
	batch := max(1, int(20*time.Microsecond/length))
	errs := map[string][]float64{}
	for _, name := range []string{subtractThree, subtractThousand, chainedReadings} {
		errs[name] = make([]float64, 0, b.N)
	}
	truths := make([]float64, 0, b.N)
	for b.Loop() {
		thousand := s.empty(1000)
		before := s.row(inRow)
		single := float64(s.single())
		// Chained readings: the one that ends a batch starts the next.
		var chained [3]float64
		last := time.Now()
		for i := range chained {
			for range batch {
				s.op()
			}
			now := time.Now()
			chained[i] = float64(now.Sub(last)) / float64(batch)
			last = now
		}
		after := s.row(inRow)
		truth := min(before, after)
		truths = append(truths, truth)
		errs[subtractThree] = append(errs[subtractThree], (single-three)/truth-1)
		errs[subtractThousand] = append(errs[subtractThousand], (single-thousand)/truth-1)
		errs[chainedReadings] = append(errs[chainedReadings], median(chained[:])/truth-1)
	}
	b.Report("truth_ns", median(truths))
	for name, e := range errs {
		slices.Sort(e)
		b.Report(name+"_error", median(e))
		b.Report(name+"_spread", e[len(e)*3/4]-e[len(e)/4])
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
		Ops:      500, Stateless: true,
		Variants: []lab.Variant{{
			Name: variantTimed, Promise: job.NothingWritten(), Baseline: true,
			Doc: "subtracting three empty rounds, subtracting a thousand, chained readings of a batch",
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

// rightEnough is the largest error, as a share, of a timing that counts as right.
const rightEnough = 0.05

func judgeD9(ev *evidence) judgement {
	var text strings.Builder
	var answers []answer
	var right []string
	for _, length := range d9Lengths {
		id := idOf(d9(length))
		bias := func(way string) run.Estimate { return ev.metric(id, variantTimed, way+"_error") }
		three := bias(subtractThree)
		a := within(three, -rightEnough, rightEnough)
		answers = append(answers, a)
		if a == yes {
			right = append(right, strconv.Itoa(length)+" ns")
		}
		fmt.Fprintf(&text, "The time of an operation of %.0f ns is off by %+.1f %% %s with three rounds subtracted (half of the readings lie %.0f %% apart), %+.1f %% with a thousand, %+.1f %% by chained readings. ",
			ev.metric(id, variantTimed, "truth_ns").Median,
			100*three.Median, interval(scaled(three, 100), "%+.1f"), 100*ev.metric(id, variantTimed, subtractThree+"_spread").Median,
			100*bias(subtractThousand).Median, 100*bias(chainedReadings).Median)
	}
	on := "the length of the operation"
	if len(right) > 0 {
		on += ": right for " + strings.Join(right, ", ")
	}
	return decide(text.String(), fmt.Sprintf("The median reading had to be within %.0f %% of the true time: that of the same operation many times between two readings.", 100*rightEnough), on, answers...)
}
