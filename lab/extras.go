package lab

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/stele-go/stele/lab/run"
)

// An extra is blocks after the rounds, from which no time is taken.
type extra struct {
	kind        string // of its events
	lanes       []*lane
	first, last int   // numbers of its blocks of each lane
	ops         int64 // at most, in a block
	spec        blockSpec
}

func (x *extra) blocks() int { return x.last - x.first + 1 }

// waitBlocks is how many blocks watch each variant. Six are the fewest whose median
// has an interval of 95 %; two may end before a sample was taken.
const waitBlocks = 8

// waitOps bounds the operations of such a block: an execution trace takes
// memory for every event.
const waitOps = 100_000

// countedOps bounds the operations of a counting block: exact counts need few.
const countedOps = 2000

// planExtras returns the extra blocks that the experiment and the options ask
// for, and the counting ones of the lanes of the other program. They need a process of
// their own.
func (u *measurement) planExtras(other []*lane) (extras []extra) {
	if u.o.InProcess {
		return nil
	}
	lanes := slices.Clone(u.lanes)
	if !u.o.NoCounting {
		extras = append(extras, extra{kind: "count", lanes: slices.Concat(lanes, other), ops: countedOps, spec: blockSpec{Role: run.RoleCounted}})
	}
	if u.e.Waits || u.o.Waits || u.o.Trace {
		extras = append(extras, extra{kind: "waits", lanes: lanes, first: 1, last: waitBlocks, ops: waitOps, spec: blockSpec{Role: run.RoleWaits, Chains: u.o.Trace}})
	}
	if u.o.Trace {
		x := extra{kind: "trace", lanes: lanes, first: 1, last: tracedBlocks, ops: waitOps, spec: blockSpec{Role: run.RoleTraced, NoBPF: bpfRefused()}}
		if x.spec.NoBPF && tracepointsRefused() {
			x.last = 1 // it says why
		}
		extras = append(extras, x)
	}
	return extras
}

// runExtras runs the blocks of all extras, once. The first of each lane are run in any
// case, the others within the budget.
func (u *measurement) runExtras(ctx context.Context) {
	if u.extra || !u.ready {
		return
	}
	defer u.clock(time.Now())
	for _, x := range u.extras {
		for n := x.first; n <= x.last; n++ {
			if u.o.Budget > 0 && n > 1 && time.Since(u.begun) > u.o.Budget {
				break
			}
			u.visit(ctx, x.kind, x.lanes, cmp.Or(n, u.rounds), func(l *lane) blockSpec {
				spec := x.spec
				spec.Round, spec.Seed = n, u.o.Seed+uint64(n)
				spec.Ops = min(l.ops, x.ops)
				spec.Batch = min(l.batch, spec.Ops)
				return spec
			})
		}
	}
	u.extra = true
}
