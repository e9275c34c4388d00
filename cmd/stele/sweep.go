package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/stele-go/stele/atomicfile"
)

func sweepCommand(ctx context.Context, args []string, _ io.Reader, stdout, stderr io.Writer) int {
	f := newFlags("sweep", `Usage: stele sweep DIR... [flags]

Removes from each folder DIR the temporary files that Stele's packages
(atomicfile, header, newfile) left there when their process was killed. It may
run while others write there: a file is removed only if nobody holds its lock.
What is kept is listed with the reason; that is no failure. Symbolic links are
not followed.

Exit codes: 0 swept, 1 a folder or a file could not be swept (the others are), 2
wrong call, 130 interrupted.

Examples:
  stele sweep .
  stele sweep --recursive --dry-run .
  stele sweep --recursive --one-mount .
`)
	var o atomicfile.SweepOptions
	f.BoolVarP(&o.Recursive, "recursive", "r", false, "sweep the folders below too; symbolic links are not followed")
	f.BoolVarP(&o.DryRun, "dry-run", "n", false, "remove nothing, and list what would be removed")
	f.BoolVar(&o.OneMount, "one-mount", false, "leave out folders at which something is mounted")
	quiet := f.BoolP("quiet", "q", false, "list nothing")
	if code, done := parse(f, args, exitUsage, stdout, stderr); done {
		return code
	}
	if f.NArg() == 0 {
		return usageError(stderr, "sweep", exitUsage, errors.New("want at least one folder"))
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
