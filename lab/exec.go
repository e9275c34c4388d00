package lab

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/stele-go/stele/lab/run"
)

// block runs one block of a lane in a fresh directory, in a fresh process, and
// leaves the place as it found it, with nothing waiting to be written: what
// one block leaves in the page cache or the journal must not be paid for by
// the next.
func (r *runner) block(ctx context.Context, e *Experiment, l *lane, spec blockSpec) run.Block {
	begin := time.Now()
	p := &r.places[l.place]
	p.n++
	spec.Experiment, spec.Variant = e.ID(), l.v.Name
	spec.Dir = filepath.Join(p.dir, fmt.Sprintf("block-%06d", p.n))
	spec.Shared = filepath.Join(p.dir, sharedName)
	spec.Window = run.Nanos(r.o.BlockTime / windowsPerBlock)
	start := run.Nanos(time.Since(r.start))
	b, err := r.blockIn(ctx, e, l, spec)
	if err != nil {
		b = run.Block{Variant: l.v.Name, Role: spec.Role, Round: spec.Round, Batch: spec.Batch, Error: err.Error()}
	}
	b.Start = start
	if err := errors.Join(os.RemoveAll(spec.Dir), settle(p.dir)); err != nil && b.Error == "" {
		b.Error = fmt.Sprintf("clean up after the block: %v", err)
	}
	r.costs.block(time.Duration(b.Wall), time.Since(begin))
	return b
}

func (r *runner) blockIn(ctx context.Context, e *Experiment, l *lane, spec blockSpec) (run.Block, error) {
	if err := os.Mkdir(spec.Dir, 0o777); err != nil {
		return run.Block{}, fmt.Errorf("make the directory of the block: %w", err)
	}
	if r.o.InProcess {
		return runBlock(ctx, e, l.v, spec), nil
	}
	exe, err := os.Executable()
	if err != nil {
		return run.Block{}, fmt.Errorf("find this program, to start the process of the block: %w", err)
	}
	input, err := json.Marshal(spec)
	if err != nil {
		return run.Block{}, err
	}
	var out, diag bytes.Buffer
	cmd := exec.CommandContext(ctx, exe)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), &out, &diag
	cmd.Env = append(append(os.Environ(), blockEnv+"=1"), e.Env...)
	endWithParent(cmd)
	// Asked first, a block takes away what it has mounted.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 5 * time.Second
	counters, err := openCounters(spec.Role)
	if err != nil {
		return run.Block{}, fmt.Errorf("open the counters of the block: %w", err)
	}
	defer counters.close()
	var outside *callWatch
	if spec.Role == run.RoleTraced && spec.NoBPF {
		outside = watchCalls()
	}
	var watch *sampler
	err = counters.start(cmd)
	if err == nil {
		if spec.Role == run.RoleWaits {
			watch = startSampler(cmd.Process.Pid)
		}
		outside.start(cmd.Process.Pid)
		err = cmd.Wait()
	}
	if watch != nil {
		watch.stop()
	}
	outside.stop()
	if ctx.Err() != nil {
		return run.Block{}, context.Cause(ctx)
	}
	if err != nil {
		return run.Block{}, fmt.Errorf("the process of the block ended with %w: %s", err, tail(diag.String()))
	}
	var b run.Block
	if err := json.Unmarshal(out.Bytes(), &b); err != nil {
		return run.Block{}, fmt.Errorf("read the result of the block (does the program call lab.RunBlock first?): %w: %s", err, tail(out.String()+diag.String()))
	}
	if watch != nil && b.Waits != nil {
		watch.into(b.Waits, b.Wall)
	}
	if outside != nil && b.Error == "" {
		outside.into(&b)
	}
	return b, nil
}

// tail is the end of what a process printed, enough to see why it failed.
func tail(s string) string {
	const most = 2000
	s = strings.TrimSpace(s)
	if len(s) > most {
		s = "..." + s[len(s)-most:]
	}
	return s
}
