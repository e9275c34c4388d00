package cmdjob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/stele-go/stele/internal/measure/strace"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
)

// A runner runs one command again and again.
type runner struct {
	c                      *Command
	main, prepare, cleanup []string
	ignore                 bool
	dir                    string
	env                    []string
	diag                   *os.File // standard error of the command, for the text of an error
}

// newRunner returns a runner for runs in the directory dir, which it makes.
func (s Spec) newRunner(c *Command, dir string) (r *runner, err error) {
	r = &runner{c: c, ignore: s.IgnoreFailure}
	for _, l := range []struct {
		line string
		to   *[]string
	}{{c.Line, &r.main}, {c.Prepare, &r.prepare}, {c.Cleanup, &r.cleanup}} {
		if l.line != "" {
			if *l.to, err = s.argv(l.line); err != nil {
				return nil, err
			}
		}
	}
	if r.diag, err = os.CreateTemp("", "stele-cmd-*"); err != nil {
		return nil, err
	}
	if err := r.moveTo(dir); err != nil {
		return nil, errors.Join(err, r.close())
	}
	return r, nil
}

func (r *runner) close() error { return errors.Join(r.diag.Close(), os.Remove(r.diag.Name())) }

// moveTo makes the directory of the next run.
func (r *runner) moveTo(dir string) error {
	r.dir = dir
	if r.env == nil {
		for _, e := range os.Environ() {
			if !strings.HasPrefix(e, "STELE_") {
				r.env = append(r.env, e)
			}
		}
		r.env = append(r.env, "")
	}
	r.env[len(r.env)-1] = dirEnv + "=" + dir
	return os.Mkdir(dir, 0o777)
}

// once runs the command once, and returns how long that took.
func (r *runner) once(ctx context.Context) (took time.Duration, state *os.ProcessState, err error) {
	if err := r.side(ctx, "prepare", r.prepare); err != nil {
		return 0, nil, err
	}
	if err := r.diag.Truncate(0); err != nil {
		return 0, nil, err
	}
	cmd := r.command(ctx, r.main)
	begin := time.Now()
	err = cmd.Run()
	took = time.Since(begin)
	if err = r.failure(ctx, err); err != nil {
		return 0, nil, err
	}
	return took, cmd.ProcessState, r.side(ctx, "cleanup", r.cleanup)
}

// traced runs the command once under strace. files also follows the files it writes.
func (r *runner) traced(ctx context.Context, files bool) (got strace.Report, err error) {
	if err := r.side(ctx, "prepare", r.prepare); err != nil {
		return got, err
	}
	if err := r.diag.Truncate(0); err != nil {
		return got, err
	}
	got, err = strace.Run(ctx, strace.Command{Path: r.main[0], Args: r.main, Dir: r.dir, Env: r.env, Stderr: r.diag, Files: files})
	if err == nil && got.State != "" {
		err = r.failure(ctx, errors.New(got.State))
	}
	if err != nil {
		return got, err
	}
	return got, r.side(ctx, "cleanup", r.cleanup)
}

// command returns a process of the run, whose end ends all that it started.
func (r *runner) command(ctx context.Context, argv []string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env, cmd.Stderr = r.dir, r.env, r.diag
	ownGroup(cmd)
	return cmd
}

// side runs what is to happen before or after a run.
func (r *runner) side(ctx context.Context, kind string, argv []string) error {
	if argv == nil {
		return nil
	}
	if err := r.diag.Truncate(0); err != nil {
		return err
	}
	if err := r.command(ctx, argv).Run(); err != nil {
		return fmt.Errorf("%s: %w%s", kind, err, r.tail())
	}
	return nil
}

// failure returns the error of a command that ended with err.
func (r *runner) failure(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var exit *exec.ExitError
	if err == nil || r.ignore && (errors.As(err, &exit) || strings.HasPrefix(err.Error(), "exit status ")) {
		return nil
	}
	return fmt.Errorf("%w%s; a run starts in an empty directory: want --prepare for the files that it needs, or absolute paths; or --ignore-failure", err, r.tail())
}

// tail returns the end of standard error, after a colon.
func (r *runner) tail() string {
	const most = 1000
	size, err := r.diag.Seek(0, io.SeekEnd)
	if err != nil || size == 0 {
		return ""
	}
	p := make([]byte, min(size, most))
	n, _ := r.diag.ReadAt(p, size-int64(len(p))) // what there is
	text := strings.TrimSpace(string(p[:n]))
	if size > most {
		text = "..." + text
	}
	return ": " + text
}

// block does the runs of a block.
func (s Spec) block(b *lab.B, c *Command) (err error) {
	r, err := s.newRunner(c, filepath.Join(b.Dir, "run-0"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	var u usage
	calls := map[string]int64{}
	hist := run.NewHistogram()
	err = b.Timed(func() (whole time.Duration, err error) {
		runtime.LockOSThread() // a command ends with the thread that started it
		defer runtime.UnlockOSThread()
		for i := range b.N {
			if i > 0 {
				if err := r.moveTo(filepath.Join(b.Dir, fmt.Sprintf("run-%d", i))); err != nil {
					return 0, err
				}
			}
			if b.Counting() {
				begin := time.Now()
				got, err := r.traced(b.Context(), false)
				if err != nil {
					return 0, err
				}
				for name, n := range got.Calls {
					calls[name] += n
				}
				whole += time.Since(begin)
				continue
			}
			took, state, err := r.once(b.Context())
			if err != nil {
				return 0, err
			}
			u.add(state)
			hist.Record(max(1, int64(took)))
			whole += took
		}
		return whole, nil
	})
	if b.Counting() {
		b.SetSyscalls(calls)
		if errors.Is(err, errors.ErrUnsupported) {
			b.SetSyscalls(nil)
			b.ReportMissing(run.MetricSyscalls, err.Error())
		}
	}
	b.SetLatency(hist)
	u.report(b, c.Kept.MaxRSS)
	return err
}

// usage is the resources of the runs of a block.
type usage struct {
	n                                    int64
	user, system                         time.Duration
	minor, major, voluntary, involuntary int64
	complete                             bool
}

// ofThisProcess are metrics that the lab takes of the process of the block, which is
// not that of the command.
var ofThisProcess = []string{"allocs_per_op", "alloc_bytes_per_op", "gc_count", "gc_pause_ns", "sched_latency_p99_ns", "run_delay_ns"}

func (u *usage) report(b *lab.B, maxRSS int64) {
	for _, name := range ofThisProcess {
		b.ReportMissing(name, "not known of another program")
	}
	if u.n == 0 {
		return
	}
	n := float64(u.n)
	b.Report("cpu_user_ns_per_op", float64(u.user)/n)
	b.Report("cpu_sys_ns_per_op", float64(u.system)/n)
	if maxRSS > 0 {
		b.Report("peak_rss_bytes", float64(maxRSS))
	} else {
		b.ReportMissing("peak_rss_bytes", "not known of a command that cannot be traced")
	}
	if !u.complete {
		return
	}
	b.Report("minor_faults_per_op", float64(u.minor)/n)
	b.Report("major_faults_per_op", float64(u.major)/n)
	b.Report("voluntary_switches_per_op", float64(u.voluntary)/n)
	b.Report("involuntary_switches_per_op", float64(u.involuntary)/n)
}
