package lab

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/lab/stats"
)

// overrun is the share of its budget that a run may take for MinRounds, without which
// there is no verdict, and for the blocks that are not timed.
const overrun = 1.1

// pilotShare is the share of the budget that pilots may take. One experiment takes at most
// half of what is left of it to the others: MinRounds take more than twice its pilots.
const pilotShare = 0.5

// errBudget ends the block that runs when the budget is overrun.
var errBudget = errors.New("the budget is spent")

// withinBudget measures the experiments within the budget, in three passes. First all
// have their pilots, from which the work of their blocks is sized. Then each has
// MinRounds and its extras, the cheapest first. Last, the time that is left goes, round by
// round, to those experiments in which it settles most.
func (r *runner) withinBudget(ctx context.Context) {
	limited, cancel := context.WithDeadlineCause(ctx, r.begun.Add(time.Duration(overrun*float64(r.o.Budget))), errBudget)
	defer cancel()
	ready := r.pilots(limited)
	sizeBlocks(ready, time.Duration(spare*float64(r.o.Budget))-time.Since(r.begun))
	slices.SortStableFunc(ready, func(a, b *measurement) int { return cmp.Compare(a.least(), b.least()) })
	r.piloted()
	r.firstPass(limited, ready)
	for limited.Err() == nil {
		u := r.mostGain(ready)
		if u == nil {
			break
		}
		u.more(limited)
	}
	for _, u := range ready {
		if u.rounds >= u.wanted {
			u.end(run.StoppedRounds)
		}
		u.end(run.StoppedBudget)
	}
}

// pilots runs the pilots of all experiments and returns those that are ready. One that
// takes too long, such as to create millions of files, leaves the later ones their share.
func (r *runner) pilots(ctx context.Context) (ready []*measurement) {
	end := r.begun.Add(time.Duration(pilotShare * float64(r.o.Budget)))
	for i, u := range r.all {
		switch left := time.Until(end); {
		case len(r.all) == 1:
			u.pilots(ctx, r.o.Budget)
		case i == len(r.all)-1:
			u.pilots(ctx, left)
		default:
			u.pilots(ctx, left/2)
		}
		if u.ready {
			ready = append(ready, u)
		} else {
			u.end(run.StoppedBudget)
		}
	}
	return ready
}

// pilots prepares the experiment for MinRounds within that time.
func (u *measurement) pilots(ctx context.Context, within time.Duration) {
	if within <= 0 || ctx.Err() != nil {
		return
	}
	ctx, cancel := context.WithTimeoutCause(ctx, within, errBudget)
	defer cancel()
	u.planned = min(u.wanted, MinRounds)
	u.prepare(ctx)
}

// piloted says how long the run will take, now that all experiments had their pilots.
func (r *runner) piloted() {
	r.run.Forecast.Pilots = run.Nanos(time.Since(r.begun) + r.left())
	r.tell(Event{Kind: "piloted"})
}

// least estimates the time of what every experiment is to have.
func (u *measurement) least() time.Duration {
	return time.Duration(max(0, min(u.wanted, MinRounds)-u.rounds))*u.roundTime() + u.extraTime()
}

// spare is the share of the budget that blocks are sized for.
const spare = 0.9

// firstPass runs MinRounds of each experiment, and then the extras of all. Where blocks
// take longer than the pilots foretold, on a disk that others use too, the experiments to
// come get smaller ones; and an experiment that takes longer than that leaves the later
// ones half of what they need.
func (r *runner) firstPass(ctx context.Context, ready []*measurement) {
	most := time.Duration(overrun * float64(r.o.Budget))
	var foretold, took, extras time.Duration
	for i, u := range ready {
		slower := 1.0
		if took > foretold {
			slower = float64(took) / float64(foretold)
		}
		left := time.Duration(spare*float64(r.o.Budget)) - time.Since(r.begun) - extras
		sizeBlocks(ready[i:], time.Duration(float64(left)/slower))
		var later time.Duration
		for _, o := range ready[i+1:] {
			later += o.least()
		}
		begun, should := time.Now(), time.Duration(u.planned-u.rounds)*u.roundTime()
		for u.rounds < u.planned && ctx.Err() == nil {
			end := time.Since(r.begun) + u.roundTime()
			if u.rounds > 0 && (end > most || time.Since(begun) > should && end > most-later/2) {
				break
			}
			u.round(ctx)
		}
		if u.look(); u.rounds < u.planned {
			u.ended = true // and so has no part in the next pass
		}
		foretold, took, extras = foretold+should, took+time.Since(begun), extras+u.extraTime()
	}
	for _, u := range ready {
		u.runExtras(ctx)
	}
}

// more runs rounds up to the next look, within the budget.
func (u *measurement) more(ctx context.Context) {
	u.planned = min(stats.NextLook(u.rounds), u.wanted)
	for u.rounds < u.planned && ctx.Err() == nil {
		if time.Since(u.begun)+u.roundTime() > u.o.Budget {
			u.ended = true
			return
		}
		u.round(ctx)
	}
	u.look()
	u.ended = u.ended || u.rounds >= u.wanted
}

// mostGain returns the experiment in which more rounds probably settle most for their
// time, and nil where they settle nothing in the time that is left.
func (r *runner) mostGain(ready []*measurement) *measurement {
	left := r.o.Budget - time.Since(r.begun)
	var best *measurement
	var most float64
	for _, u := range ready {
		if u.ended || u.rounds >= u.wanted || u.roundTime() > left {
			continue
		}
		if gain := u.gain(left); gain > most {
			best, most = u, gain
		}
	}
	return best
}

// clearly is the difference that a run within a budget is to see, as a share.
const clearly = 0.5

// gain estimates how many open questions of the experiment a second of more rounds
// settles, at best, when it may take so much time. A question whose interval hides a
// difference of 1.5 times counts ten times.
func (u *measurement) gain(left time.Duration) (most float64) {
	if u.o.FixedRounds || u.against != nil {
		return 1 / float64(u.rounds) // to every experiment the same
	}
	open := u.questions()
	for _, q := range open {
		rounds := max(q.rounds, stats.NextLook(u.rounds)) - u.rounds
		time := time.Duration(rounds) * u.roundTime()
		if q.rounds > u.wanted || time > left*5/4 {
			continue
		}
		var settled float64
		for _, other := range open {
			if other.rounds <= q.rounds {
				settled += other.weight
			}
		}
		most = max(most, settled/time.Seconds())
	}
	return most
}

// A question is a comparison without a verdict.
type question struct {
	rounds int // that probably answer it
	weight float64
}

// questions returns the open questions of the experiment as of its last look.
func (u *measurement) questions() (open []question) {
	ask := func(needed int, visible, tolerance float64) {
		if needed > 0 {
			open = append(open, question{needed, 1})
		}
		if visible > clearly || visible == 0 {
			open = append(open, question{run.RoundsToSee(clearly, visible, tolerance, u.rounds), 10})
		}
	}
	for _, res := range u.results {
		for _, c := range res.Comparisons {
			if c.Verdict == run.CannotTell && res.Variant(c.Variant).Error == "" && res.Variant(c.Baseline).Error == "" {
				ask(c.RoundsNeeded, c.Visible, c.Tolerance)
			}
		}
		for _, f := range res.Findings {
			if f.Kind != run.FoundWinner {
				continue // its Unclear are comparisons
			}
			for _, q := range f.Unclear {
				ask(q.RoundsNeeded, q.Visible, f.Tolerance)
			}
		}
	}
	return open
}

// sizeBlocks lowers the operations of the blocks so that MinRounds and the extras of all
// experiments take the time at most. The costly experiments are made cheaper, to an
// equal share; the others keep their blocks.
func sizeBlocks(us []*measurement, within time.Duration) {
	costs := make([]time.Duration, len(us))
	for i, u := range us {
		costs[i] = u.least()
	}
	slices.Sort(costs)
	share := time.Duration(0)
	rest := within
	for i, c := range costs {
		share = rest / time.Duration(len(costs)-i)
		if c > share {
			break
		}
		rest -= c
		share = c
	}
	for _, u := range us {
		if u.least() > share {
			u.shrink(share)
		}
	}
}

// leastTimed is the share of Options.BlockTime that the longest block of an experiment is
// to last, however small the budget: shorter ones are mostly noise, and save little
// beside the start of a process.
const leastTimed = 0.3

// shrink lowers the operations of every lane by one factor until the experiment takes
// that time, as long as its blocks are not too short.
func (u *measurement) shrink(to time.Duration) {
	if u.e.Ops > 0 {
		return
	}
	full := make([]int64, len(u.lanes))
	for i, l := range u.lanes {
		full[i] = l.ops
	}
	least := time.Duration(leastTimed * float64(u.o.BlockTime))
	for factor := 0.9; u.least() > to; factor *= 0.9 {
		var longest time.Duration
		smaller := make([]int64, len(u.lanes))
		for i, l := range u.lanes {
			smaller[i] = max(1, int64(factor*float64(full[i])))
			if !l.failed {
				longest = max(longest, time.Duration(smaller[i])*l.perOp)
			}
		}
		if longest < least || slices.Max(smaller) <= 1 {
			return
		}
		for i, l := range u.lanes {
			l.ops, l.batch = smaller[i], min(l.batch, smaller[i])
		}
	}
}
