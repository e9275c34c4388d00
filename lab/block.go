package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"runtime"
	"time"

	"github.com/stele-go/stele/lab/run"
)

// blockEnv marks the process of a block. The specification comes on its
// standard input and the Block goes to its standard output, as JSON.
const blockEnv = "STELE_BLOCK"

// blockSpec is the work of the process of a block.
type blockSpec struct {
	Experiment string    `json:"experiment"` // ID
	Variant    string    `json:"variant"`
	Dir        string    `json:"dir"`
	Role       string    `json:"role"`
	Round      int       `json:"round"`
	Ops        int64     `json:"ops"`
	Batch      int64     `json:"batch"`
	Seed       uint64    `json:"seed"`
	Window     run.Nanos `json:"window_ns"`
	Shared     string    `json:"shared,omitempty"` // see B.Shared
	Chains     bool      `json:"chains,omitempty"` // role waits: follow chains of waits
	NoBPF      bool      `json:"no_bpf,omitempty"` // role traced: the runner times the calls, from outside
	Remove     string    `json:"remove,omitempty"` // run nothing: remove this scratch directory
	Greet      bool      `json:"greet,omitempty"`  // run nothing: say which blocks this program runs
}

// IsBlock reports whether this process was started to run one block. A program that
// calls Measure asks this first, before it reads its arguments, and then calls
// RunBlock:
//
//	if lab.IsBlock() {
//		os.Exit(lab.RunBlock(experiments))
//	}
func IsBlock() bool { return os.Getenv(blockEnv) != "" }

// RunBlock runs the block that this process was started for and returns the
// exit code of the process: 0 when the block was written, even one that
// reports an error of its variant. The experiments must include those that
// Measure was given.
func RunBlock(experiments []Experiment) int {
	// Output of a variant must not mix with the result.
	out := os.Stdout
	os.Stdout = os.Stderr
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	answer, err := answerFrom(ctx, os.Stdin, experiments)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	if err := json.NewEncoder(out).Encode(answer); err != nil {
		fmt.Fprintln(os.Stderr, "lab: write the result of a block:", err)
		return 2
	}
	return 0
}

// answerFrom returns what the process answers to the specification in r: a run.Block,
// or a greeting.
func answerFrom(ctx context.Context, r io.Reader, experiments []Experiment) (any, error) {
	var spec blockSpec
	if err := json.NewDecoder(r).Decode(&spec); err != nil {
		return nil, fmt.Errorf("lab: read the specification of a block from standard input: %w", err)
	}
	if spec.Greet {
		return greet(experiments), nil
	}
	if spec.Remove != "" {
		return struct{}{}, removeAbandoned(spec.Remove)
	}
	return runSpecified(ctx, spec, experiments)
}

// runSpecified runs the block of spec, whose experiment is among experiments.
func runSpecified(ctx context.Context, spec blockSpec, experiments []Experiment) (run.Block, error) {
	for i := range experiments {
		e := &experiments[i]
		if e.ID() != spec.Experiment {
			continue
		}
		v := e.Variant(spec.Variant)
		if v == nil {
			return run.Block{}, fmt.Errorf("lab: experiment %s has no variant %q in the process of the block", spec.Experiment, spec.Variant)
		}
		return runBlock(ctx, e, v, spec), nil
	}
	return run.Block{}, fmt.Errorf("lab: the process of a block does not know experiment %s: pass RunBlock the experiments that Measure gets", spec.Experiment)
}

// RunOnce runs one block of ops operations in this process and in the empty directory
// dir, for tests of a variant. The figures of the block include other work of the
// process.
func RunOnce(ctx context.Context, e *Experiment, v *Variant, dir string, ops int64, seed uint64) (run.Block, error) {
	b := runBlock(ctx, e, v, blockSpec{
		Experiment: e.ID(), Variant: v.Name, Dir: dir, Role: run.RoleTimed,
		Ops: ops, Batch: 1, Seed: seed, Window: run.Nanos(time.Second),
	})
	if b.Error != "" {
		return b, errors.New(b.Error)
	}
	return b, nil
}

func runBlock(ctx context.Context, e *Experiment, v *Variant, spec blockSpec) run.Block {
	b := &B{
		N:      spec.Ops,
		Dir:    spec.Dir,
		Params: e.Params,
		Rand:   rand.New(rand.NewPCG(spec.Seed, 0)),
		ctx:    ctx,
		shared: spec.Shared,
		own:    ownFigures{role: spec.Role},
		batch:  max(spec.Batch, 1),
		window: time.Duration(spec.Window),
		meter:  newMeter(spec.Dir),
		gauged: spec.Role == run.RoleTimed || spec.Role == run.RoleCalibration,
	}
	switch spec.Role {
	case run.RoleWaits:
		b.watch = &selfTrace{chains: spec.Chains}
	case run.RoleTraced:
		b.timer = newCallTimer(spec.NoBPF)
		defer b.timer.close()
	}
	block := run.Block{Variant: v.Name, Role: spec.Role, Round: spec.Round, Batch: b.batch}
	err := callRun(v, b)
	block.Batch = b.batch // Pace times one by one
	switch {
	case err != nil:
		block.Error = fmt.Sprintf("%s: %v", v.Name, err)
		block.Unsupported = errors.Is(err, errors.ErrUnsupported)
	case !b.ended:
		block.Error = fmt.Sprintf("%s: Run returned before the timed part ended: call B.Loop until it returns false, or B.Parallel", v.Name)
	case ctx.Err() != nil:
		block.Error = "interrupted"
	}
	b.fill(&block)
	if block.Error == "" && block.Ops != b.N {
		block.Error = fmt.Sprintf("%s: did %d of %d operations", v.Name, block.Ops, b.N)
	}
	return block
}

// callRun turns a panic of a variant into its error: one broken variant must not lose
// the results of the others.
func callRun(v *Variant, b *B) (err error) {
	defer func() {
		if p := recover(); p != nil {
			buf := make([]byte, 8<<10)
			err = fmt.Errorf("panic: %v\n%s", p, buf[:runtime.Stack(buf, false)])
		}
	}()
	return v.Run(b)
}

// fill writes the results of the loop into block.
func (b *B) fill(block *run.Block) {
	block.Wall, block.Parallel = run.Nanos(b.wall), b.parallel
	if b.inFlight > 1 {
		block.Parallel = max(b.parallel, 1) * b.inFlight
	}
	if len(b.workers) > 0 {
		block.Latency = run.NewHistogram()
	}
	for _, w := range b.workers {
		block.Ops += w.done
		block.Latency.Merge(w.hist)
	}
	if b.latency != nil {
		block.Latency, block.Batch = b.latency, 1
	}
	block.Windows = mergeWindows(b.workers, run.Nanos(b.window))
	block.Metrics, block.Missing, block.Syscalls = b.meter.results(block.Ops)
	block.SyncRequests = b.meter.syncRequests(block.Syscalls)
	if b.watch != nil && b.ended {
		block.Waits = b.watch.waits(b.wall)
	}
	if b.timer != nil && b.ended {
		b.timer.fill(block)
	}
	if b.bytes > 0 && b.wall > 0 {
		block.Metrics["bytes_per_second"] = float64(b.bytes) * float64(block.Ops) / b.wall.Seconds()
	} else {
		block.Missing["bytes_per_second"] = run.Reason{Code: run.ReasonNoBytes}
	}
	b.fillOwn(block)
	for name, v := range b.extra {
		block.Metrics[name] = v
		delete(block.Missing, name)
	}
	for name, why := range b.missing {
		delete(block.Metrics, name)
		block.Missing[name] = run.Reason{Code: run.ReasonText, Text: why}
	}
}
