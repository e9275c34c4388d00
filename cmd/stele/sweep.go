package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"path/filepath"

	"github.com/stele-go/stele/atomicfile"
)

func sweepCommand(ctx context.Context, args []string, _ io.Reader, stdout, stderr io.Writer) int {
	f := newFlags("sweep", `Usage: stele sweep DIR... [flags]

Removes from each folder DIR the temporary files of Stele's packages (atomicfile,
header, newfile) whose processes were killed. Other processes may write there
meanwhile: a file is removed only if no process holds its lock. A file that is
kept is listed with the reason, and is no failure. Symbolic links are not
followed. If a folder or a file fails, the others are swept all the same.

Examples:
  stele sweep .
  stele sweep --recursive --dry-run .
  stele sweep --recursive --one-mount .
`)
	var o atomicfile.SweepOptions
	f.BoolVarP(&o.Recursive, "recursive", "r", false, "sweep the folders below too")
	f.BoolVarP(&o.DryRun, "dry-run", "n", false, "list the files that would be removed, and remove nothing")
	f.BoolVar(&o.OneMount, "one-mount", false, "skip mount points")
	quiet := f.BoolP("quiet", "q", false, "print no list")
	if code, done := parse(f, args, exitUsage, stdout, stderr); done {
		return code
	}
	if err := argCount(f, "DIR", 1, math.MaxInt); err != nil {
		return usageError(stderr, "sweep", exitUsage, err)
	}
	list := stdout
	if *quiet {
		list = io.Discard
	}
	verb := "removed"
	if o.DryRun {
		verb = "would remove"
	}
	code, removed, kept := exitOK, 0, 0
	fail := func(err error) {
		fmt.Fprintln(stderr, "stele sweep:", err)
		code = exitFailed
	}
	for _, dir := range f.Args() {
		swept, err := atomicfile.Sweep(ctx, dir, o)
		for _, name := range swept.Removed {
			if _, err := fmt.Fprintf(list, "%s %s\n", verb, filepath.Join(dir, name)); err != nil {
				fail(err)
			}
		}
		for _, k := range swept.Kept {
			if _, err := fmt.Fprintf(list, "kept %s: %s\n", filepath.Join(dir, k.Name), k.Reason); err != nil {
				fail(err)
			}
		}
		removed, kept = removed+len(swept.Removed), kept+len(swept.Kept)
		if ctx.Err() != nil {
			return exitInterrupted
		}
		if err != nil {
			fail(err)
		}
	}
	if _, err := fmt.Fprintf(list, "%s %d, kept %d\n", verb, removed, kept); err != nil {
		fail(err)
	}
	return code
}
