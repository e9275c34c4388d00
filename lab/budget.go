package lab

import "time"

// A cost is how long the blocks of a lane take, their untimed parts included: the
// start of a process, the preparation, the removal of files.
type cost struct {
	first, last blockTimes    // of the pilots
	recent      time.Duration // a block in a round, those of late counting most; 0 before the first
}

// blockTimes are the operations of a block and how long they took, timed and whole.
type blockTimes struct {
	ops          int64
	timed, whole time.Duration
}

func (c *cost) pilot(ops int64, timed, whole time.Duration) {
	s := blockTimes{ops, timed, whole}
	if c.last.ops == 0 {
		c.first = s
	}
	c.last = s
}

func (c *cost) block(whole time.Duration) {
	if c.recent == 0 {
		c.recent = whole
	} else {
		c.recent = (c.recent + whole) / 2
	}
}

// at estimates the time of a block of ops operations from the pilots. The untimed part
// grows as it did from the first pilot to the last, and is never taken to be less than
// in the shorter of them: a first pilot may have prepared files for all.
func (c *cost) at(ops int64, perOp time.Duration) time.Duration {
	first, last := c.first.whole-c.first.timed, c.last.whole-c.last.timed
	untimed := float64(last)
	if c.last.ops > c.first.ops && last > first {
		untimed += float64(last-first) / float64(c.last.ops-c.first.ops) * float64(ops-c.last.ops)
	}
	return time.Duration(ops)*perOp + max(time.Duration(untimed), min(first, last))
}

// timeOf estimates the time of a block of each lane, with at most that many
// operations.
func timeOf(lanes []*lane, most int64) (sum time.Duration) {
	for _, l := range lanes {
		switch {
		case l.failed:
		case l.cost.recent > 0 && l.ops <= most:
			sum += l.cost.recent
		default:
			sum += l.cost.at(min(l.ops, most), l.perOp)
		}
	}
	return sum
}

// Guesses for a block before anything was measured.
const (
	blockOverhead = 120 * time.Millisecond // of a process, its files and a syncfs
	pilotBlocks   = 3
)

// guess estimates the time of an experiment of which nothing was measured, from the
// numbers of its blocks.
func (u *measurement) guess(rounds int) time.Duration {
	lanes := len(u.e.Variants)
	if !u.o.NoCalibration {
		lanes++
	}
	blocks := rounds * lanes
	if !u.o.InProcess && !u.o.NoCounting {
		blocks += len(u.e.Variants)
	}
	if u.e.Waits || u.o.Waits || u.o.Trace {
		blocks += waitBlocks * len(u.e.Variants)
	}
	if u.o.Trace {
		blocks += tracedBlocks * len(u.e.Variants)
	}
	pilots := pilotBlocks * len(u.e.Variants)
	each := time.Duration(blocks)*(u.o.BlockTime+blockOverhead) + time.Duration(pilots)*(u.o.BlockTime/2+blockOverhead)
	return time.Duration(len(u.places)) * each
}

// left estimates the time to the end of the run.
func (r *runner) left() time.Duration {
	var spent, guessed time.Duration
	var run, wanted int // rounds, of experiments that ended
	for _, u := range r.all {
		if u.ended {
			spent, guessed = spent+u.spent, guessed+u.guess(u.wanted)
			run, wanted = run+u.rounds, wanted+u.wanted
		}
	}
	// Those that ended tell how long the others will take: some experiments end early,
	// and some have blocks that take long.
	slower, shorter := 1.0, 1.0
	if guessed > 0 && wanted > 0 && spent > 0 {
		slower, shorter = float64(spent)/float64(guessed), float64(run)/float64(wanted)
	}
	var ready, others time.Duration
	for _, u := range r.all {
		switch {
		case u.ended:
			ready += u.extraTime()
		case u.ready && r.o.Budget > 0:
			ready += time.Duration(u.planned-u.rounds)*u.roundTime() + u.extraTime()
			others += time.Duration(u.wanted-u.planned) * u.roundTime()
		case u.ready:
			rounds := max(int(shorter*float64(u.planned)), min(u.rounds+1, u.planned))
			ready += time.Duration(max(rounds-u.rounds, 0))*u.roundTime() + u.extraTime()
		default:
			others += time.Duration(slower * float64(u.guess(u.wanted)))
		}
	}
	if r.o.Budget > 0 { // which the others get what is left of
		spent := time.Since(r.begun)
		most := time.Duration(overrun*float64(r.o.Budget)) - spent
		return max(0, min(most, max(ready, min(ready+others, r.o.Budget-spent))))
	}
	return ready + others
}
