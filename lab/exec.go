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
// leaves the place as it found it, with everything written: the next block must not
// pay for data that this one left in the page cache or the journal. It returns how long
// all of that took too.
func (r *runner) block(ctx context.Context, e *Experiment, l *lane, spec blockSpec) (run.Block, time.Duration) {
	begin := time.Now()
	p := &r.places[l.place]
	p.n++
	spec.Experiment, spec.Variant = e.ID(), l.v.Name
	spec.Dir = filepath.Join(p.dir, fmt.Sprintf("block-%06d", p.n))
	spec.Shared = filepath.Join(p.dir, sharedName)
	if l.program != "" {
		spec.Shared += "-against" // the other build may prepare it in another way
	}
	spec.Window = run.Nanos(r.o.BlockTime / windowsPerBlock)
	start := run.Nanos(time.Since(r.start))
	b, err := r.blockIn(ctx, e, l, spec)
	if err != nil {
		b = run.Block{Variant: l.v.Name, Role: spec.Role, Round: spec.Round, Batch: spec.Batch, Error: err.Error()}
	}
	b.Start = start
	if r.ctx.Err() != nil {
		return b, time.Since(begin) // there is no next block, and closePlaces removes all
	}
	if err := errors.Join(os.RemoveAll(spec.Dir), settle(p.dir)); err != nil && b.Error == "" {
		b.Error = fmt.Sprintf("clean up after the block: %v", err)
	}
	return b, time.Since(begin)
}

// blockIn runs a block in spec.Dir, which it makes.
func (r *runner) blockIn(ctx context.Context, e *Experiment, l *lane, spec blockSpec) (run.Block, error) {
	if err := os.Mkdir(spec.Dir, 0o777); err != nil {
		return run.Block{}, fmt.Errorf("make the directory of the block: %w", err)
	}
	if r.o.InProcess {
		return runBlock(ctx, e, l.v, spec), nil
	}
	var out, diag bytes.Buffer
	cmd, err := blockCommand(ctx, l.program, spec)
	if err != nil {
		return run.Block{}, err
	}
	cmd.Stdout, cmd.Stderr = &out, &diag
	cmd.Env = append(cmd.Env, e.Env...)
	// Asked first, a block unmounts its file systems.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 5 * time.Second
	w, err := runWatched(cmd, spec)
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
	w.into(&b)
	return b, nil
}

// blockCommand returns the command that runs a block in a process of its own,
// which ends with this one. The process is of the program with that absolute path, or
// of this program for "".
func blockCommand(ctx context.Context, program string, spec blockSpec) (*exec.Cmd, error) {
	if program == "" {
		var err error
		if program, err = os.Executable(); err != nil {
			return nil, fmt.Errorf("find this program, to start the process of a block: %w", err)
		}
	}
	input, err := json.Marshal(spec)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, program)
	cmd.Stdin = bytes.NewReader(input)
	cmd.Env = append(os.Environ(), blockEnv+"=1")
	endWithParent(cmd)
	return cmd, nil
}

// A watch is what the runner sees of the process of a block from outside.
type watch struct {
	threads *sampler   // nil but in blocks of role waits
	calls   *callWatch // nil but in blocks of role traced without BPF
}

// runWatched runs the process of a block to its end, with the counters and the
// watch that its role has.
func runWatched(cmd *exec.Cmd, spec blockSpec) (watch, error) {
	var w watch
	counters := openCounters(spec.Role, hardwareEvents)
	defer counters.close()
	if spec.Role == run.RoleTraced && spec.NoBPF {
		w.calls = watchCalls()
	}
	err := counters.start(cmd)
	if err == nil {
		if spec.Role == run.RoleWaits {
			w.threads = startSampler(cmd.Process.Pid)
		}
		w.calls.start(cmd.Process.Pid)
		err = cmd.Wait()
	}
	if w.threads != nil {
		w.threads.stop()
	}
	w.calls.stop()
	return w, err
}

// into adds what was seen to the block that the process reported.
func (w *watch) into(b *run.Block) {
	if w.threads != nil && b.Waits != nil {
		w.threads.into(b.Waits, b.Wall)
	}
	if w.calls != nil && b.Error == "" {
		w.calls.into(b)
	}
}

// tail is the end of the output of a process, enough to see why it failed.
func tail(s string) string {
	const most = 2000
	s = strings.TrimSpace(s)
	if len(s) > most {
		s = "..." + s[len(s)-most:]
	}
	return s
}
