package lab

import (
	"context"
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
// interleaved, shuffled blocks, then the blocks in which calls are counted.
func (r *runner) experiment(ctx context.Context, e *Experiment) {
	results := make([]*Result, len(r.places))
	var lanes []*lane
	for p := range r.places {
		results[p] = newResult(e, r.places[p].name)
		r.run.Results = append(r.run.Results, results[p])
		for i := range e.Variants {
			lanes = append(lanes, &lane{place: p, v: &e.Variants[i], role: RoleTimed})
		}
	}
	book := func(l *lane, b Block) {
		res := results[l.place]
		if b.Error != "" && ctx.Err() == nil {
			l.failed = true
			for i := range res.Variants {
				if res.Variants[i].Name == l.v.Name {
					res.Variants[i].Error = b.Error
				}
			}
		}
		if b.Error != "" && ctx.Err() != nil {
			return // cut off in the middle: not a datum, and no fault of the variant
		}
		res.Blocks = append(res.Blocks, b)
	}

	r.rounds = 0
	r.costs.nextExperiment()
	for _, l := range lanes {
		r.pilot(ctx, e, l, book)
	}
	r.shareOps(e, lanes)
	if !r.o.NoCalibration {
		for p := range r.places {
			lanes = append(lanes, calibration(e, lanes, p)...)
		}
	}
	r.rounds = r.roundsWithin(lanes)
	if e.MaxRounds > 0 {
		r.rounds = min(r.rounds, e.MaxRounds)
	}
	var counting []*lane
	for _, l := range lanes {
		if l.role == RoleTimed && !r.o.NoCounting && !r.o.InProcess {
			counting = append(counting, l)
		}
	}
	r.costs.planned(r.rounds*len(lanes) + len(counting))
	begun := time.Now()
	for round := 1; round <= r.rounds; round++ {
		// The pilot may have promised too much: a disk can become slower with
		// every block.
		if r.o.Budget > 0 && round > MinRounds && r.costs.sinceExperiment()+time.Since(begun)/time.Duration(round-1) > r.o.Budget {
			break
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
	for _, l := range counting {
		if l.failed || ctx.Err() != nil {
			continue
		}
		r.tell(Event{Kind: "count", Experiment: e.ID(), Place: r.places[l.place].name, Variant: l.v.Name, Round: r.rounds})
		ops := min(l.ops, countedOps)
		book(l, r.block(ctx, e, l, blockSpec{Role: RoleCounted, Ops: ops, Batch: min(l.batch, ops), Seed: r.o.Seed}))
	}
}

// countedOps bounds the operations of a counting block: counts do not need
// to be repeated, only to be exact.
const countedOps = 2000

func newResult(e *Experiment, place string) *Result {
	res := &Result{
		ID: e.ID(), Suite: e.Suite, Name: e.Name, Params: e.Params,
		Question: e.Question, Op: e.Op, Place: place,
	}
	for i := range e.Variants {
		v := &e.Variants[i]
		res.Variants = append(res.Variants, VariantResult{
			Name: v.Name, Doc: v.Doc, Promise: v.Promise,
			Baseline: e.BaselineFor(v.Promise) == v,
		})
	}
	return res
}

// calibration returns the lane that runs the first baseline of the
// experiment a second time, as if it were another variant.
func calibration(e *Experiment, lanes []*lane, place int) []*lane {
	base := e.BaselineFor(e.Variants[0].Promise)
	for _, l := range lanes {
		if l.place == place && l.v == base && !l.failed {
			c := *l
			c.role = RoleCalibration
			return []*lane{&c}
		}
	}
	return nil
}

// pilot finds out how many operations of a variant take about the block
// time, and how many of them a reading of the clock has to stand for.
func (r *runner) pilot(ctx context.Context, e *Experiment, l *lane, book func(*lane, Block)) {
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
		b := r.block(ctx, e, l, blockSpec{Role: RolePilot, Ops: l.ops, Batch: l.batch, Seed: r.o.Seed})
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

// roundsWithin lowers the number of rounds to what the budget allows.
func (r *runner) roundsWithin(lanes []*lane) int {
	if r.o.Budget <= 0 {
		return r.o.Rounds
	}
	var round time.Duration
	for _, l := range lanes {
		if !l.failed {
			round += time.Duration(l.ops)*l.perOp + r.costs.overhead()
		}
	}
	left := r.o.Budget - r.costs.sinceExperiment()
	fit := int(left / max(round, 1))
	return min(r.o.Rounds, max(fit, MinRounds))
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
// experiment under way, taking the ones after it to be alike.
func (c *costs) left(experimentsAfter int) time.Duration {
	if c.plan == 0 || c.done == 0 {
		return 0
	}
	share := min(float64(c.done)/float64(c.plan), 1)
	this := float64(c.sinceExperiment()) / share
	return time.Duration(this*(1-share) + this*float64(experimentsAfter))
}
