package main

import (
	"context"
	"fmt"
	"io"
	"slices"
)

// Exit codes of every command. Those of compare are the codes of a gate.
const (
	exitOK          = 0
	exitFailed      = 1   // something could not be done, or a check failed; standard error says what
	exitUsage       = 2   // the call was wrong; nothing was done
	exitInterrupted = 130 // Ctrl-C; what was measured is kept, marked partial
)

// A command is one verb of the program.
type command struct {
	name    string
	summary string
	run     func(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int
}

func commands() []command {
	return []command{
		{"bench", "measure on this disk: suites, or the published claims", bench},
		{"compare", "compare a new run with an old one: a gate for CI", compare},
		{"report", "turn the JSON of a run into text, Markdown, HTML or Go's benchmark format", reportCommand},
		{"header", "insert, replace, remove and check the headers of many files: licences, banners", headerCommand},
		{"sweep", "remove the temporary files of killed processes", sweepCommand},
		{"inspect", "show and verify a log store, its segments, or a write-ahead log", inspect},
		{"tune", "find the settings that suit a disk, and write them to a profile", tune},
		{"probe", "show the machine, the file system and the device under a directory", probe},
		{"version", "print the version", versionCommand},
	}
}

func execute(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(args) == 0 || args[0] == "help" && len(args) == 1 || args[0] == "--help" || args[0] == "-h" {
		overview(stdout)
		return exitOK
	}
	if args[0] == "help" {
		args = append(slices.Clone(args[1:]), "--help")
	}
	for _, c := range commands() {
		if c.name == args[0] {
			return c.run(ctx, args[1:], stdin, stdout, stderr)
		}
	}
	fmt.Fprintf(stderr, "stele: there is no command %q; 'stele help' lists them\n", args[0])
	return exitUsage
}

// failed prints the error of a command and returns its exit code.
func failed(stderr io.Writer, name string, err error) int {
	fmt.Fprintf(stderr, "stele %s: %v\n", name, err)
	return exitFailed
}

func overview(w io.Writer) {
	fmt.Fprint(w, `Stele measures how fast the ways of doing file I/O are on your own disk, and
says what each of them survives. It also keeps the headers of source trees, and
inspects logs and log stores.

Usage: stele COMMAND [ARGUMENTS]

Commands:
`)
	for _, c := range commands() {
		fmt.Fprintf(w, "  %-9s %s\n", c.name, c.summary)
	}
	fmt.Fprint(w, `
Examples:
  stele bench                     the quick set, about three minutes
  stele bench mkdir --dir /data   the full set of one suite, on /data
  stele bench claims              published claims, each with a verdict
  stele tune .                    the settings that suit this disk, in two minutes
  stele probe .                   the file system and the device of this directory
  stele header styles             the files that can have a header, and its style

'stele help COMMAND' tells more. Exit codes: 0 done; 1 something could not be
done, or a check failed, and standard error says what; 2 wrong call, nothing was
done; 130 interrupted. 'stele help compare' has its own.
`)
}
