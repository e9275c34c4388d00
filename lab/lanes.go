package lab

import (
	"context"
	"math"
	"time"

	"github.com/stele-go/stele/lab/run"
)

// A lane is one variant in one place, with the results of its pilot.
type lane struct {
	place  int
	v      *Variant
	role   string
	ops    int64
	batch  int64
	perOp  time.Duration // from the pilot
	cost   cost
	failed bool
	// program is the other one of Options.Against, and "" for this one.
	program string
}

// calibrations returns the lanes that run baselines a second time, as if they were
// other variants: the experiment's first baseline, and that of each further promise
// with a variant to compare.
func calibrations(e *Experiment, lanes []*lane, place int) []*lane {
	main := e.BaselineFor(e.Variants[0].Promise)
	compared := map[*Variant]int{}
	for _, l := range lanes {
		if l.place == place && !l.failed {
			compared[e.BaselineFor(l.v.Promise)]++
		}
	}
	var again []*lane
	for _, l := range lanes {
		if l.place == place && !l.failed && (l.v == main || compared[l.v] > 1) {
			c := *l
			c.role = run.RoleCalibration
			again = append(again, &c)
		}
	}
	return again
}

// pilot finds the number of operations of a variant that take about the block time,
// and how many of them are timed by one reading of the clock.
func (u *measurement) pilot(ctx context.Context, l *lane) {
	limit := int64(math.MaxInt64)
	if u.e.MaxOps > 0 {
		limit = u.e.MaxOps
	}
	// Within a budget a pilot is a quarter of a block: the pilots of all experiments
	// come before the first datum.
	target := u.o.BlockTime
	if u.o.Budget > 0 {
		target /= 4
	}
	l.ops, l.batch = 1, 1
	if u.e.Ops > 0 {
		l.ops = u.e.Ops
	}
	for ctx.Err() == nil {
		u.tell(Event{Kind: "pilot", Experiment: u.e.ID(), Place: u.places[l.place].name, Variant: l.v.Name})
		b, took := u.block(ctx, u.e, l, blockSpec{Role: run.RolePilot, Ops: l.ops, Batch: l.batch, Seed: u.o.Seed})
		u.book(ctx, l, b)
		if b.Error != "" {
			return
		}
		wall := max(time.Duration(b.Wall), 1)
		l.perOp = max(wall/time.Duration(b.Ops), 1)
		l.cost.pilot(b.Ops, wall, took)
		if u.e.Ops > 0 {
			break
		}
		// One operation says little about the next ones, so approach the
		// block time in steps of a hundred at most.
		within := func(t time.Duration) int64 {
			want := float64(b.Ops) * float64(t) / float64(wall)
			return int64(max(1, min(want, float64(b.Ops)*100, float64(limit))))
		}
		l.ops = within(target)
		if b.Ops == 1 && limit > 1 && wall < u.o.BlockTime/2 {
			l.ops = max(l.ops, 2) // the first operation prepares what the others use
			continue
		}
		if wall >= target/4 || b.Ops == limit || l.ops <= b.Ops {
			l.ops = within(u.o.BlockTime)
			break
		}
	}
	l.batch = batchFor(l.perOp, l.ops)
}

// batchFor returns how many operations one reading of the clock times: 1 for
// operations of a microsecond and more, else as many as take 10 us together, of which
// a reading is less than 1 %.
func batchFor(perOp time.Duration, ops int64) int64 {
	if perOp >= timedInBatches {
		return 1
	}
	return max(1, min(int64(10*timedInBatches/max(perOp, 1)), ops))
}

// shareOps gives all variants of one promise in one place the number of operations of
// the slowest one: a directory with ten thousand entries is slower than one with a
// hundred, and variants that are compared must do the same work. Stateless experiments
// keep the number of each variant.
func (u *measurement) shareOps() {
	if u.e.Stateless || u.e.Ops > 0 {
		return
	}
	for _, l := range u.lanes {
		for _, o := range u.lanes {
			if o.place == l.place && o.v.Promise == l.v.Promise && !o.failed {
				l.ops = min(l.ops, o.ops)
			}
		}
		l.batch = min(l.batch, l.ops)
	}
}
