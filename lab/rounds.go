package lab

import (
	"context"
	"math"
	"time"

	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/lab/stats"
)

// A measurement is one experiment that a runner measures in all places.
type measurement struct {
	*runner
	index   int // of the experiment, from 0
	e       *Experiment
	results []*run.Result // by place
	lanes   []*lane
	extras  []extra // beside the rounds
	extra   bool    // they were run
	wanted  int     // the most rounds
	planned int     // rounds that are foreseen at present
	rounds  int     // that were run
	tried   bool    // the pilots were begun
	ready   bool    // and run
	ended   bool    // there are no more rounds
	spent   time.Duration
}

// open makes the results, and a lane for each variant in each place.
func (r *runner) open(index int, e *Experiment) *measurement {
	u := &measurement{runner: r, index: index, e: e, wanted: r.o.Rounds}
	if e.MaxRounds > 0 {
		u.wanted = min(u.wanted, e.MaxRounds)
	}
	u.planned = u.wanted
	for p := range u.places {
		res := newResult(u.e, u.places[p].name)
		u.results = append(u.results, res)
		u.run.Results = append(u.run.Results, res)
		for i := range u.e.Variants {
			u.lanes = append(u.lanes, &lane{place: p, v: &u.e.Variants[i], role: run.RoleTimed})
		}
	}
	return u
}

// prepare runs the pilots, and plans the blocks that follow them.
func (u *measurement) prepare(ctx context.Context) {
	defer u.clock(time.Now())
	u.tried = true
	for _, l := range u.lanes {
		u.pilot(ctx, l)
	}
	u.shareOps()
	other := u.against.lanes(u.e, u.lanes)
	u.extras = u.planExtras(other)
	if !u.o.NoCalibration {
		for p := range u.places {
			u.lanes = append(u.lanes, calibrations(u.e, u.lanes, p)...)
		}
	}
	u.lanes = append(u.lanes, other...)
	u.ready = ctx.Err() == nil
}

// clock adds the time since begun to what the experiment took.
func (u *measurement) clock(begun time.Time) { u.spent += time.Since(begun) }

// whole measures the experiment without a budget: pilots, rounds until the verdicts
// are clear, extras.
func (u *measurement) whole(ctx context.Context) {
	u.prepare(ctx)
	if len(u.all) == 1 && u.ready { // of several, each has its pilots when its turn comes
		u.piloted()
	}
	for !u.ended && u.rounds < u.wanted && ctx.Err() == nil {
		u.round(ctx)
		u.look()
	}
	u.runExtras(ctx)
	u.end(run.StoppedRounds)
}

// round runs one block of each lane, in an order of its own.
func (u *measurement) round(ctx context.Context) {
	defer u.clock(time.Now())
	round, seed := u.rounds+1, u.rng.Uint64()
	u.rng.Shuffle(len(u.lanes), func(i, j int) { u.lanes[i], u.lanes[j] = u.lanes[j], u.lanes[i] })
	u.visit(ctx, "block", u.lanes, round, func(l *lane) blockSpec {
		return blockSpec{Role: l.role, Round: round, Ops: l.ops, Batch: l.batch, Seed: seed}
	})
	if ctx.Err() == nil {
		u.rounds = round
	}
}

// look ends the experiment, after as many rounds as a look belongs to, if its verdicts
// are clear or more rounds gain nothing.
func (u *measurement) look() {
	if u.o.FixedRounds || u.against != nil || u.rounds >= u.wanted || u.rounds != stats.NextLook(u.rounds-1) {
		return
	}
	u.ended = u.run.Look(u.results, u.wanted) != ""
}

// end notes why there are no more rounds, unless a look ended them.
func (u *measurement) end(why string) {
	u.ended = true
	for _, res := range u.results {
		if res.Stopped == "" {
			res.Stopped = why
		}
		if needed := min(u.wanted, MinRounds); why == run.StoppedBudget && u.rounds < needed {
			res.Cut = &run.Cut{Rounds: u.rounds, Needed: needed, Took: run.Nanos(u.spent.Round(time.Second))}
		}
	}
}

// interrupted notes that the experiment might have had more rounds.
func (u *measurement) interrupted() {
	for _, res := range u.results {
		if res.Cut = nil; res.Stopped != run.StoppedClear && res.Stopped != run.StoppedNoGain && u.rounds < u.wanted {
			res.Stopped = run.StoppedInterrupted
		}
	}
}

// book keeps a block. A lane whose block failed takes no part in later rounds.
func (u *measurement) book(ctx context.Context, l *lane, b run.Block) {
	if b.Error != "" && ctx.Err() != nil {
		return // interrupted: not a datum, and no fault of the variant
	}
	res := u.results[l.place]
	if l.program != "" {
		b.Role = againstRole(b.Role)
	}
	if b.Error != "" {
		l.failed = true
		if l.program == "" { // else the block alone says so, and the gate reads it there
			v := res.Variant(l.v.Name)
			v.Error, v.Unsupported = b.Error, b.Unsupported
		}
	}
	res.Blocks = append(res.Blocks, b)
}

// visit runs one block of each lane that has not failed.
func (u *measurement) visit(ctx context.Context, kind string, lanes []*lane, round int, spec func(l *lane) blockSpec) {
	for _, l := range lanes {
		if l.failed || ctx.Err() != nil {
			continue
		}
		u.tell(Event{Kind: kind, Experiment: u.e.ID(), Place: u.places[l.place].name, Variant: l.v.Name, Round: round})
		s := spec(l)
		b, took := u.block(ctx, u.e, l, s)
		u.book(ctx, l, b)
		if kind == "block" {
			l.cost.block(took)
		}
	}
}

// roundTime estimates the time of a round.
func (u *measurement) roundTime() time.Duration { return timeOf(u.lanes, math.MaxInt64) }

// extraTime estimates the time of the extras, where they were not run.
func (u *measurement) extraTime() (sum time.Duration) {
	if u.extra {
		return 0
	}
	for _, x := range u.extras {
		sum += time.Duration(x.blocks()) * timeOf(x.lanes, x.ops)
	}
	return sum
}

func newResult(e *Experiment, place string) *run.Result {
	res := &run.Result{
		ID: e.ID(), Suite: e.Suite, Name: e.Name, Params: e.Params,
		Question: e.Question, Op: e.Op, Place: place,
	}
	for i := range e.Variants {
		v := &e.Variants[i]
		res.Variants = append(res.Variants, run.VariantResult{
			Name: v.Name, Doc: v.Doc, Promise: v.Promise,
			Baseline: e.BaselineFor(v.Promise) == v, Cell: v.Cell,
		})
	}
	return res
}
