package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/stele-go/stele/lab/env"
	"github.com/stele-go/stele/lab/report"
)

const probeUsage = `Usage: stele probe [DIR] [flags]

Shows the machine, the file system and the device under DIR (default the current
directory), and the operations that the file system supports. It tries each of
them on temporary files in DIR, and removes these.

Examples:
  stele probe
  stele probe /tmp
  stele probe . --json -
`

func probe(_ context.Context, args []string, _ io.Reader, stdout, stderr io.Writer) int {
	f := newFlags("probe", probeUsage)
	file := f.String("json", "", "write JSON to `FILE` instead of text; - is standard output")
	if code, done := parse(f, args, exitUsage, stdout, stderr); done {
		return code
	}
	if err := argCount(f, "DIR", 0, 1); err != nil {
		return usageError(stderr, "probe", exitUsage, err)
	}
	can, err := env.Probe(cmp.Or(f.Arg(0), "."))
	if err == nil {
		if *file == "" {
			err = writeProbe(stdout, can)
		} else {
			err = writeJSON(*file, stdout, can)
		}
	}
	if err != nil {
		return failed(stderr, "probe", err)
	}
	return exitOK
}

// writeProbe writes the machine and the capabilities as text.
func writeProbe(w io.Writer, can *env.Capabilities) error {
	err := report.Environment(w, &can.Environment)
	_, blank := fmt.Fprintln(w)
	return errors.Join(err, blank, can.WriteText(w))
}
