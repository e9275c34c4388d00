package lab

import (
	"math"
	"time"
)

// overrun is the share of its budget that a run may take to reach MinRounds,
// without which there is no verdict.
const overrun = 1.4

// shareOfBudget returns the time for the current experiment, and the most that it
// may take for MinRounds; 0 without a budget. Time that earlier experiments saved or
// overdrew is shared by the later ones. Each later one keeps at least half of its
// part.
func (r *runner) shareOfBudget() (share, most time.Duration) {
	if r.o.Budget <= 0 {
		return 0, 0
	}
	whole := r.o.Budget * time.Duration(r.total)
	spent := time.Since(r.start)
	after := time.Duration(r.total - r.index - 1)
	share = max((whole-spent)/(after+1), 1)
	most = time.Duration(overrun*float64(whole)) - spent - after*r.o.Budget/2
	return share, max(most, share, r.o.Budget/2)
}

// roundsWithin returns the number of rounds that the budget allows, with the time
// of the extras after them subtracted.
func (r *runner) roundsWithin(lanes []*lane, after time.Duration) int {
	if r.share <= 0 {
		return r.o.Rounds
	}
	fit := func(time time.Duration) int {
		return int((time - r.costs.sinceExperiment() - after) / max(r.timeOf(lanes, math.MaxInt64), 1))
	}
	return min(r.o.Rounds, max(fit(r.share), min(fit(r.most), MinRounds), 1))
}

// timeOf estimates the time of a block of each lane, with at most that many
// operations.
func (r *runner) timeOf(lanes []*lane, most int64) (sum time.Duration) {
	for _, l := range lanes {
		if !l.failed {
			sum += time.Duration(min(l.ops, most))*l.perOp + r.costs.overhead()
		}
	}
	return sum
}

// costs tracks the time of blocks beside their timed part, to estimate the time
// left.
type costs struct {
	begun     time.Time // of the current experiment
	first     time.Time
	plan      int // blocks of this experiment; 0 before the pilots are done
	done      int // of the plan
	overTotal time.Duration
	overCount int
}

func (c *costs) nextExperiment() {
	c.begun = time.Now()
	if c.first.IsZero() {
		c.first = c.begun
	}
	c.plan, c.done = 0, 0
	c.overTotal, c.overCount = 0, 0 // another experiment leaves other work behind
}

// planned sets the number of blocks after the pilots.
func (c *costs) planned(blocks int) { c.plan = c.done + blocks }

func (c *costs) block(timed, whole time.Duration) {
	c.overTotal += whole - timed
	c.overCount++
	c.done++
}

func (c *costs) overhead() time.Duration {
	if c.overCount == 0 {
		return 0
	}
	return c.overTotal / time.Duration(c.overCount)
}

func (c *costs) sinceExperiment() time.Duration { return time.Since(c.begun) }

// left estimates the time to the end of the run from the pace of the current
// experiment. It takes the later ones to be alike, and to keep to a budget if there
// is one.
func (c *costs) left(experimentsAfter int, budget time.Duration) time.Duration {
	if c.plan == 0 || c.done == 0 {
		return 0
	}
	share := min(float64(c.done)/float64(c.plan), 1)
	this := float64(c.sinceExperiment()) / share
	next := this
	if budget > 0 {
		next = min(next, float64(budget))
	}
	return time.Duration(this*(1-share) + next*float64(experimentsAfter))
}
