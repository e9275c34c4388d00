package lab

import (
	"context"
	"github.com/stele-go/stele/lab/run"
	"math"
	"time"
)

// A lane is one variant in one place: what the pilot found out about it and
// its blocks.
type lane struct {
	place  int
	v      *Variant
	role   string
	ops    int64
	batch  int64
	perOp  time.Duration // from the pilot
	failed bool
}

// experiment runs one experiment in all places: pilots, then rounds of
// interleaved, shuffled blocks, then the blocks in which calls are counted
// and those in which goroutines are watched.
func (r *runner) experiment(ctx context.Context, e *Experiment) {
	results := make([]*run.Result, len(r.places))
	var lanes []*lane
	for p := range r.places {
		results[p] = newResult(e, r.places[p].name)
		r.run.Results = append(r.run.Results, results[p])
		for i := range e.Variants {
			lanes = append(lanes, &lane{place: p, v: &e.Variants[i], role: run.RoleTimed})
		}
	}
	book := func(l *lane, b run.Block) {
		res := results[l.place]
		if b.Error != "" && ctx.Err() == nil {
			l.failed = true
			for i := range res.Variants {
				if res.Variants[i].Name == l.v.Name {
					res.Variants[i].Error, res.Variants[i].Unsupported = b.Error, b.Unsupported
				}
			}
		}
		if b.Error != "" && ctx.Err() != nil {
			return // cut off in the middle: not a datum, and no fault of the variant
		}
		res.Blocks = append(res.Blocks, b)
	}

	r.rounds = 0
	r.share, r.most = r.shareOfBudget()
	r.costs.nextExperiment()
	for _, l := range lanes {
		r.pilot(ctx, e, l, book)
	}
	r.shareOps(e, lanes)
	if !r.o.NoCalibration {
		for p := range r.places {
			lanes = append(lanes, calibrations(e, lanes, p)...)
		}
	}
	var counting, watching []*lane
	for _, l := range lanes {
		if l.role != run.RoleTimed || r.o.InProcess {
			continue
		}
		if !r.o.NoCounting {
			counting = append(counting, l)
		}
		if e.Waits || r.o.Waits || r.o.Trace {
			watching = append(watching, l)
		}
	}
	// What comes after the rounds has its part of the budget too.
	var tracing []*lane
	if r.o.Trace {
		tracing = watching
	}
	after := r.timeOf(counting, countedOps) + waitBlocks*r.timeOf(watching, waitOps) + tracedBlocks*r.timeOf(tracing, waitOps)
	wanted := r.o.Rounds
	if e.MaxRounds > 0 {
		wanted = min(wanted, e.MaxRounds)
	}
	r.rounds = min(r.roundsWithin(lanes, after), wanted)
	r.costs.planned(r.rounds*len(lanes) + len(counting) + waitBlocks*len(watching) + tracedBlocks*len(tracing))
	foretold := max(r.timeOf(lanes, math.MaxInt64), 1)
	begun := time.Now()
	for round := 1; round <= r.rounds; round++ {
		// The pilot may have promised too much: a disk can become slower with
		// every block.
		limit := r.share
		if round <= MinRounds {
			limit = r.most
		}
		if limit > 0 && round > 1 {
			pace := time.Since(begun) / time.Duration(round-1)
			slower := max(1, float64(pace)/float64(foretold))
			if r.costs.sinceExperiment()+pace+time.Duration(slower*float64(after)) > limit {
				r.rounds = round - 1
				break
			}
		}
		seed := r.rng.Uint64()
		r.rng.Shuffle(len(lanes), func(i, j int) { lanes[i], lanes[j] = lanes[j], lanes[i] })
		for _, l := range lanes {
			if l.failed || ctx.Err() != nil {
				continue
			}
			r.tell(Event{Kind: "block", Experiment: e.ID(), Place: r.places[l.place].name, Variant: l.v.Name, Round: round})
			book(l, r.block(ctx, e, l, blockSpec{Role: l.role, Round: round, Ops: l.ops, Batch: l.batch, Seed: seed}))
		}
	}
	if enough := min(wanted, MinRounds); r.rounds < enough && ctx.Err() == nil {
		for _, res := range results {
			res.Cut = &run.Cut{Rounds: r.rounds, Needed: enough, Took: run.Nanos(r.costs.sinceExperiment().Round(time.Second))}
		}
	}
	for _, l := range counting {
		if l.failed || ctx.Err() != nil {
			continue
		}
		r.tell(Event{Kind: "count", Experiment: e.ID(), Place: r.places[l.place].name, Variant: l.v.Name, Round: r.rounds})
		ops := min(l.ops, countedOps)
		book(l, r.block(ctx, e, l, blockSpec{Role: run.RoleCounted, Ops: ops, Batch: min(l.batch, ops), Seed: r.o.Seed}))
	}
	for n := 1; n <= waitBlocks; n++ {
		if r.most > 0 && n > 1 && r.costs.sinceExperiment() > r.most {
			break
		}
		for _, l := range watching {
			if l.failed || ctx.Err() != nil {
				continue
			}
			r.tell(Event{Kind: "waits", Experiment: e.ID(), Place: r.places[l.place].name, Variant: l.v.Name, Round: n})
			ops := min(l.ops, waitOps)
			book(l, r.block(ctx, e, l, blockSpec{Role: run.RoleWaits, Round: n, Chains: r.o.Trace, Ops: ops, Batch: min(l.batch, ops), Seed: r.o.Seed + uint64(n)}))
		}
	}
	r.traced(ctx, e, tracing, book)
}

// traced runs the blocks in which the kernel times system calls.
func (r *runner) traced(ctx context.Context, e *Experiment, tracing []*lane, book func(*lane, run.Block)) {
	if len(tracing) == 0 {
		return
	}
	noBPF, blocks := bpfRefused(), tracedBlocks
	if noBPF && tracepointsRefused() {
		blocks = 1 // it says why
	}
	for n := 1; n <= blocks; n++ {
		if r.most > 0 && n > 1 && r.costs.sinceExperiment() > r.most {
			return
		}
		for _, l := range tracing {
			if l.failed || ctx.Err() != nil {
				continue
			}
			r.tell(Event{Kind: "trace", Experiment: e.ID(), Place: r.places[l.place].name, Variant: l.v.Name, Round: n})
			ops := min(l.ops, waitOps)
			book(l, r.block(ctx, e, l, blockSpec{Role: run.RoleTraced, Round: n, NoBPF: noBPF, Ops: ops, Batch: min(l.batch, ops), Seed: r.o.Seed + uint64(n)}))
		}
	}
}

// waitBlocks is how many blocks watch each variant. Six are the fewest of which
// a median has an interval of 95 %; two may end before a sample was taken.
const waitBlocks = 8

// waitOps bounds the operations of such a block: an execution trace takes
// memory for every event.
const waitOps = 100_000

// countedOps bounds the operations of a counting block: counts do not need
// to be repeated, only to be exact.
const countedOps = 2000

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

// calibrations returns the lanes that run baselines a second time, as if they
// were other variants: the experiment's first one, and that of each further
// promise that something is compared within.
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

// pilot finds out how many operations of a variant take about the block
// time, and how many of them a reading of the clock has to stand for.
func (r *runner) pilot(ctx context.Context, e *Experiment, l *lane, book func(*lane, run.Block)) {
	limit := int64(math.MaxInt64)
	if e.MaxOps > 0 {
		limit = e.MaxOps
	}
	l.ops, l.batch = 1, 1
	if e.Ops > 0 {
		l.ops = e.Ops
	}
	for ctx.Err() == nil {
		r.tell(Event{Kind: "pilot", Experiment: e.ID(), Place: r.places[l.place].name, Variant: l.v.Name})
		b := r.block(ctx, e, l, blockSpec{Role: run.RolePilot, Ops: l.ops, Batch: l.batch, Seed: r.o.Seed})
		book(l, b)
		if b.Error != "" {
			return
		}
		wall := max(time.Duration(b.Wall), 1)
		l.perOp = max(wall/time.Duration(b.Ops), 1)
		if e.Ops > 0 {
			break
		}
		// One operation says little about the next ones, so approach the
		// block time in steps of a hundred at most.
		want := float64(b.Ops) * float64(r.o.BlockTime) / float64(wall)
		next := int64(max(1, min(want, float64(b.Ops)*100, float64(limit))))
		l.ops = next
		if wall >= r.o.BlockTime/4 || b.Ops == limit || next <= b.Ops {
			break
		}
	}
	l.batch = batchFor(l.perOp, l.ops)
}

// batchFor returns how many operations a clock reading stands for: 1 for
// operations of a microsecond and more, else so many that they take 10 us
// together, of which a reading is less than 1 %.
func batchFor(perOp time.Duration, ops int64) int64 {
	if perOp >= timedInBatches {
		return 1
	}
	return max(1, min(int64(10*timedInBatches/max(perOp, 1)), ops))
}

// shareOps gives all variants of one promise in one place the same number of
// operations, the slowest one's: a folder that ten thousand directories were
// made in is not the same folder as one with a hundred, and the work of a
// round has to be the same for all who are compared. Where operations leave
// nothing behind each variant keeps its own number.
func (r *runner) shareOps(e *Experiment, lanes []*lane) {
	if e.Stateless || e.Ops > 0 {
		return
	}
	for _, l := range lanes {
		for _, o := range lanes {
			if o.place == l.place && o.v.Promise == l.v.Promise && !o.failed {
				l.ops = min(l.ops, o.ops)
			}
		}
		l.batch = min(l.batch, l.ops)
	}
}

// overrun is how far a run may go beyond its budget for the sake of MinRounds,
// without which there is no verdict.
const overrun = 1.4

// shareOfBudget is the time for the experiment under way, and the most that it
// may take for MinRounds; 0 without a budget. What earlier ones left is shared
// by those to come, and so is what they took too much. Each of those to come
// keeps half of its part, whatever this one takes.
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

// roundsWithin lowers the number of rounds to what the budget allows, less the
// time of what comes after them.
func (r *runner) roundsWithin(lanes []*lane, after time.Duration) int {
	if r.share <= 0 {
		return r.o.Rounds
	}
	fit := func(time time.Duration) int {
		return int((time - r.costs.sinceExperiment() - after) / max(r.timeOf(lanes, math.MaxInt64), 1))
	}
	return min(r.o.Rounds, max(fit(r.share), min(fit(r.most), MinRounds), 1))
}

// timeOf estimates the time of a block of each lane, of at most so many
// operations.
func (r *runner) timeOf(lanes []*lane, most int64) (sum time.Duration) {
	for _, l := range lanes {
		if !l.failed {
			sum += time.Duration(min(l.ops, most))*l.perOp + r.costs.overhead()
		}
	}
	return sum
}

// costs tracks what blocks take beside their timed part, for the estimate of
// the time left.
type costs struct {
	begun     time.Time // of the experiment under way
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

// planned says how many blocks are to come after the pilots.
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

// left estimates the time to the end of the run from the pace of the
// experiment under way, taking the ones after it to be alike, but to keep to
// their share of a budget if there is one.
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
