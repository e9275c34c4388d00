package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/stele-go/stele/lab/env"
)

func probe(_ context.Context, args []string, _ io.Reader, stdout, stderr io.Writer) int {
	f := newFlags("probe", `Usage: stele probe [DIR] [flags]

Prints what the machine, the file system and the device under DIR (default the
current folder) are, and what the file system can do. Everything it says a
file system can do it has tried, on temporary files in DIR that it removes.

Examples:
  stele probe
  stele probe /tmp
  stele probe . --json -
`)
	file := f.String("json", "", "write it as JSON to `FILE` instead; - is standard output")
	if code, done := parse(f, args, exitUsage, stdout, stderr); done {
		return code
	}
	dir := "."
	switch f.NArg() {
	case 0:
	case 1:
		dir = f.Arg(0)
	default:
		return usageError(stderr, "probe", exitUsage, fmt.Errorf("want one folder, got %d", f.NArg()))
	}
	can, err := env.Probe(dir)
	if err == nil {
		if *file == "" {
			err = can.WriteText(stdout)
		} else {
			err = writeFile(*file, stdout, func(w io.Writer) error {
				enc := json.NewEncoder(w)
				enc.SetIndent("", "  ")
				return enc.Encode(can)
			})
		}
	}
	if err != nil {
		fmt.Fprintln(stderr, "stele probe:", err)
		return exitFailed
	}
	return exitOK
}
