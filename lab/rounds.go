package lab

import (
	"cmp"
	"context"
	"math"
	"slices"
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
	failed bool
	// program is the other one of Options.Against, and "" for this one.
	program string
}

// A measurement is one experiment that a runner measures in all places.
type measurement struct {
	*runner
	e       *Experiment
	results []*run.Result // by place
	lanes   []*lane
	extras  []extra       // after the rounds
	after   time.Duration // that the extras are expected to take
	wanted  int           // rounds, without a budget
}

// experiment runs one experiment: pilots, then rounds of interleaved, shuffled
// blocks, then the extra blocks that count, watch or time.
func (r *runner) experiment(ctx context.Context, e *Experiment) {
	u := &measurement{runner: r, e: e}
	r.rounds = 0
	r.share, r.most = r.shareOfBudget()
	r.costs.nextExperiment()
	u.open()
	for _, l := range u.lanes {
		u.pilot(ctx, l)
	}
	u.shareOps()
	u.plan()
	u.runRounds(ctx)
	for _, x := range u.extras {
		u.runExtra(ctx, x)
	}
}

// open makes the results, and a lane for each variant in each place.
func (u *measurement) open() {
	for p := range u.places {
		res := newResult(u.e, u.places[p].name)
		u.results = append(u.results, res)
		u.run.Results = append(u.run.Results, res)
		for i := range u.e.Variants {
			u.lanes = append(u.lanes, &lane{place: p, v: &u.e.Variants[i], role: run.RoleTimed})
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
		u.book(ctx, l, u.block(ctx, u.e, l, spec(l)))
	}
}

// plan adds the lanes of the calibration and of the other program and the extras, and
// lowers the number of rounds to the budget.
func (u *measurement) plan() {
	other := u.against.lanes(u.e, u.lanes)
	u.extras = u.planExtras(other)
	if !u.o.NoCalibration {
		for p := range u.places {
			u.lanes = append(u.lanes, calibrations(u.e, u.lanes, p)...)
		}
	}
	u.lanes = append(u.lanes, other...)
	blocks := 0
	for _, x := range u.extras {
		blocks += x.blocks() * len(x.lanes)
		u.after += time.Duration(x.blocks()) * u.timeOf(x.lanes, x.ops)
	}
	u.wanted = u.o.Rounds
	if u.e.MaxRounds > 0 {
		u.wanted = min(u.wanted, u.e.MaxRounds)
	}
	u.rounds = min(u.roundsWithin(u.lanes, u.after), u.wanted)
	u.costs.planned(u.rounds*len(u.lanes) + blocks)
}

// runRounds runs the timed blocks. It ends early where the budget has no time for
// another round.
func (u *measurement) runRounds(ctx context.Context) {
	foretold := max(u.timeOf(u.lanes, math.MaxInt64), 1)
	begun := time.Now()
	for round := 1; round <= u.rounds; round++ {
		if round > 1 && !u.fits(round, time.Since(begun)/time.Duration(round-1), foretold) {
			u.rounds = round - 1
			break
		}
		seed := u.rng.Uint64()
		u.rng.Shuffle(len(u.lanes), func(i, j int) { u.lanes[i], u.lanes[j] = u.lanes[j], u.lanes[i] })
		u.visit(ctx, "block", u.lanes, round, func(l *lane) blockSpec {
			return blockSpec{Role: l.role, Round: round, Ops: l.ops, Batch: l.batch, Seed: seed}
		})
	}
	if needed := min(u.wanted, MinRounds); u.rounds < needed && ctx.Err() == nil {
		for _, res := range u.results {
			res.Cut = &run.Cut{Rounds: u.rounds, Needed: needed, Took: run.Nanos(u.costs.sinceExperiment().Round(time.Second))}
		}
	}
}

// fits reports whether the budget has time for a round and for the extras, when each
// round so far took pace. The pilots foretold another pace: a disk can become slower
// with every block.
func (u *measurement) fits(round int, pace, foretold time.Duration) bool {
	limit := u.share
	if round <= MinRounds {
		limit = u.most
	}
	slower := max(1, float64(pace)/float64(foretold))
	return limit <= 0 || u.costs.sinceExperiment()+pace+time.Duration(slower*float64(u.after)) <= limit
}

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
// for, and the counting ones of the lanes of the other program. They need a process of their own.
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

// runExtra runs the blocks of an extra: the first of each lane in any case, the
// others within the budget.
func (u *measurement) runExtra(ctx context.Context, x extra) {
	for n := x.first; n <= x.last; n++ {
		if u.most > 0 && n > 1 && u.costs.sinceExperiment() > u.most {
			return
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
	l.ops, l.batch = 1, 1
	if u.e.Ops > 0 {
		l.ops = u.e.Ops
	}
	for ctx.Err() == nil {
		u.tell(Event{Kind: "pilot", Experiment: u.e.ID(), Place: u.places[l.place].name, Variant: l.v.Name})
		b := u.block(ctx, u.e, l, blockSpec{Role: run.RolePilot, Ops: l.ops, Batch: l.batch, Seed: u.o.Seed})
		u.book(ctx, l, b)
		if b.Error != "" {
			return
		}
		wall := max(time.Duration(b.Wall), 1)
		l.perOp = max(wall/time.Duration(b.Ops), 1)
		if u.e.Ops > 0 {
			break
		}
		// One operation says little about the next ones, so approach the
		// block time in steps of a hundred at most.
		want := float64(b.Ops) * float64(u.o.BlockTime) / float64(wall)
		next := int64(max(1, min(want, float64(b.Ops)*100, float64(limit))))
		l.ops = next
		if wall >= u.o.BlockTime/4 || b.Ops == limit || next <= b.Ops {
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
