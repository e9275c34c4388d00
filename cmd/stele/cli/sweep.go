package cli

import (
	"context"
	"fmt"
	"io"
	"math"
	"path/filepath"

	"github.com/stele-go/stele/atomicfile"
)

const sweepUsage = `Usage: stele sweep DIR... [flags]

Removes from each directory DIR the temporary files of Stele's packages
(atomicfile, header, newfile) whose processes were killed. Other processes may
write there meanwhile: a file is removed only if no process holds its lock. A
file that is kept is listed with the reason, and is no failure. Symbolic links
are not followed. If a directory or a file fails, the others are still swept.

Examples:
  stele sweep .
  stele sweep --recursive --dry-run .
  stele sweep --recursive --one-mount .
`

func sweepCommand(ctx context.Context, args []string, _ io.Reader, stdout, stderr io.Writer) int {
	f := newFlags("stele sweep", sweepUsage)
	var o atomicfile.SweepOptions
	f.BoolVarP(&o.Recursive, "recursive", "r", false, "also sweep the directories below")
	f.BoolVarP(&o.DryRun, "dry-run", "n", false, "list the files that would be removed, and remove nothing")
	f.BoolVar(&o.OneMount, "one-mount", false, "skip mount points")
	quiet := f.BoolP("quiet", "q", false, "print no list")
	if code, done := parse(f, args, exitUsage, stdout, stderr); done {
		return code
	}
	if err := argCount(f, "DIR", 1, math.MaxInt); err != nil {
		return usageError(stderr, "stele sweep", exitUsage, err)
	}
	s := sweeper{options: o, list: stdout, stderr: stderr}
	if *quiet {
		s.list = io.Discard
	}
	for _, dir := range f.Args() {
		s.sweep(ctx, dir)
		if ctx.Err() != nil {
			return exitInterrupted
		}
	}
	s.printf("%s %d, kept %d\n", s.verb(), s.removed, s.kept)
	return s.code
}

// A sweeper sweeps directories and lists the result.
type sweeper struct {
	options      atomicfile.SweepOptions
	list, stderr io.Writer

	removed, kept int
	code          int
}

func (s *sweeper) verb() string {
	if s.options.DryRun {
		return "would remove"
	}
	return "removed"
}

func (s *sweeper) sweep(ctx context.Context, dir string) {
	swept, err := atomicfile.Sweep(ctx, dir, s.options)
	for _, name := range swept.Removed {
		s.printf("%s %s\n", s.verb(), filepath.Join(dir, name))
	}
	for _, k := range swept.Kept {
		s.printf("kept %s: %s\n", filepath.Join(dir, k.Name), k.Reason)
	}
	s.removed, s.kept = s.removed+len(swept.Removed), s.kept+len(swept.Kept)
	if err != nil && ctx.Err() == nil {
		s.fail(err)
	}
}

func (s *sweeper) printf(format string, args ...any) {
	if _, err := fmt.Fprintf(s.list, format, args...); err != nil {
		s.fail(err)
	}
}

func (s *sweeper) fail(err error) {
	complain(s.stderr, "stele sweep", err)
	s.code = exitFailed
}
