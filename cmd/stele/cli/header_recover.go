package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"github.com/stele-go/stele/atomicfile"
	"github.com/stele-go/stele/header"
	"github.com/stele-go/stele/internal/setting"
)

// lockTimeout is the default of --lock-timeout.
const lockTimeout = 10 * time.Second

func lockFlag(f *pflag.FlagSet, to *time.Duration) {
	f.DurationVar(to, "lock-timeout", lockTimeout, "give up a file that another process keeps locked for this `TIME`; 0 waits until Ctrl-C")
}

// A recovery recovers files and directories after a killed call.
type recovery struct {
	files    fileChoice
	dryRun   bool
	lockWait time.Duration
	verbose  bool

	stdout, stderr io.Writer

	swept map[string]bool // directories

	looked, ended, removed, kept, failed int
}

func headerRecover(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	f := newFlags("stele header recover", headerUsage)
	r := recovery{stdout: stdout, stderr: stderr, swept: map[string]bool{}}
	r.files.flags(f)
	f.BoolVar(&r.dryRun, "dry-run", false, "change and remove nothing, list the changes")
	f.BoolVarP(&r.verbose, "verbose", "v", false, "also list the temporary files that are kept, with the reason")
	lockFlag(f, &r.lockWait)
	if code, done := parse(f, args, exitUsage, stdout, stderr); done {
		return code
	}
	if err := cmp.Or(argCount(f, "PATH", 1, math.MaxInt), setting.AtLeast("--lock-timeout", r.lockWait, 0)); err != nil {
		return usageError(stderr, f.Name(), exitUsage, err)
	}
	for _, path := range f.Args() {
		if ctx.Err() == nil {
			r.path(ctx, path)
		}
	}
	return r.end(ctx)
}

// path recovers the files of one PATH, and their directories.
func (r *recovery) path(ctx context.Context, path string) {
	r.files.entered = nil
	files, err := r.files.collect(ctx, []string{path})
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		r.fail(err)
	}
	dirs := r.files.entered
	// A PATH that is a file is reported even if there is nothing to recover, and a
	// PATH that is a symlink is followed.
	if len(files) == 1 && files[0].path == filepath.Clean(path) {
		if to, err := filepath.EvalSymlinks(path); err == nil && files[0].reason != "" {
			dirs = append(dirs, entry{path: filepath.Dir(to)}) // where its content is replaced
		}
		r.file(ctx, files[0], nil, true)
		r.sweep(ctx, dirs, nil)
		return
	}
	within, err := confine(slices.Concat(files, dirs))
	if err != nil {
		r.fail(err)
		return
	}
	defer within.close()
	for _, f := range files {
		if ctx.Err() == nil {
			r.file(ctx, f, within, false)
		}
	}
	r.sweep(ctx, dirs, within)
}

func (r *recovery) fail(err error) {
	r.failed++
	complain(r.stderr, "stele header", err)
}

// file recovers one file.
func (r *recovery) file(ctx context.Context, f entry, within *confinement, named bool) {
	switch {
	case f.err != nil:
		r.fail(f.err)
		return
	case f.reason != "" && !named:
		return
	}
	r.looked++
	o := header.Options{LockWait: r.lockWait}
	within.options(&o)
	state, words := header.Clean, [...]string{
		header.Clean: "nothing was interrupted", header.Old: "the change was undone", header.New: "the change was completed"}
	interrupted, err := header.Interrupted(ctx, f.path, o)
	switch {
	case err == nil && interrupted && !r.dryRun:
		state, err = header.Recover(ctx, f.path, o)
	case err == nil && interrupted:
		r.ended++
		fmt.Fprintf(r.stdout, "%s: a change was interrupted\n", f.path)
		return
	}
	switch {
	case errors.Is(err, fs.ErrNotExist) && !named: // removed since the walk
	case err != nil:
		r.fail(err)
	case state != header.Clean || named:
		fmt.Fprintf(r.stdout, "%s: %s\n", f.path, words[state])
		if state != header.Clean {
			r.ended++
		}
	}
}

// sweep removes the temporary files of killed processes in the directories.
func (r *recovery) sweep(ctx context.Context, dirs []entry, within *confinement) {
	did := "removed"
	if r.dryRun {
		did = "would be removed"
	}
	for _, f := range dirs {
		dir := f.path
		if ctx.Err() != nil {
			return
		}
		if r.swept[dir] {
			continue
		}
		r.swept[dir] = true
		below, root := within.dir(dir)
		res, err := atomicfile.Sweep(ctx, below, atomicfile.SweepOptions{DryRun: r.dryRun, Root: root})
		for _, name := range res.Removed {
			r.removed++
			fmt.Fprintf(r.stdout, "%s: temporary file %s\n", filepath.Join(dir, name), did)
		}
		for _, k := range res.Kept {
			r.kept++
			if r.verbose {
				fmt.Fprintf(r.stdout, "%s: temporary file kept: %s\n", filepath.Join(dir, k.Name), k.Reason)
			}
		}
		if err != nil && !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, fs.ErrNotExist) && ctx.Err() == nil {
			r.fail(within.shown(err, below, dir))
		}
	}
}

// end prints the summary and returns the exit code.
func (r *recovery) end(ctx context.Context) int {
	if ctx.Err() != nil {
		fmt.Fprintln(r.stderr, "stele header: interrupted")
		return exitInterrupted
	}
	ended, removed := "ended", "removed"
	if r.dryRun {
		ended, removed = "to be ended", "to be removed"
	}
	fmt.Fprintf(r.stdout, "%s: %d interrupted changes %s, %d temporary files %s", countFiles(r.looked), r.ended, ended, r.removed, removed)
	if r.kept > 0 {
		fmt.Fprintf(r.stdout, ", %d kept", r.kept)
	}
	if r.failed > 0 {
		fmt.Fprintf(r.stdout, "; %d failed", r.failed)
	}
	fmt.Fprintln(r.stdout)
	if r.failed > 0 {
		return exitFailed
	}
	return exitOK
}
