package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Exit codes of every command. Those of compare are the codes of a gate.
const (
	exitOK          = 0
	exitFailed      = 1   // something failed, or a check found something; standard error has the reason
	exitUsage       = 2   // the call was wrong; nothing was done
	exitInterrupted = 130 // Ctrl-C; the measurements so far are kept, marked partial
)

// A command is one verb of the program.
type command struct {
	name    string
	summary string
	run     func(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int
}

func commands() []command {
	return []command{
		{"serve", "serve a log store over HTTP, by Loki's protocol", serveCommand},
		{"push", "send files to a server, and follow them", pushCommand},
		{"query", "answer a query in LogQL, by a server or from a store", queryCommand},
		{"tail", "show the lines of a query as they come", tailCommand},
		{"labels", "list the labels of a server or a store, or the values of one", labelsCommand},
		{"series", "list the streams of a server or a store", seriesCommand},
		{"patterns", "list what lines have in common, and how many have it", patternsCommand},
		{"export", "write all lines of a query, as JSON, CSV or as they are", exportCommand},
		{"bench", "measure on this disk: suites of experiments, or published claims", bench},
		{"compare", "compare a new run with an old one: a gate for CI", compare},
		{"report", "turn the JSON of a run into text, Markdown, HTML or Go's benchmark format", reportCommand},
		{"header", "insert, replace, remove and check the headers of many files: licences, banners", headerCommand},
		{"sweep", "remove the temporary files of killed processes", sweepCommand},
		{"inspect", "show and verify a log store, its segments, or a write-ahead log", inspect},
		{"repair", "repair a log store whose log is damaged; say before what is given up", repairCommand},
		{"import", "append the entries of another store, or of segments, to a log store", importCommand},
		{"snapshot", "make a copy of a log store, by links where that can be", snapshotCommand},
		{"recode", "encode the lines of a log store with another codec", recodeCommand},
		{"tune", "find the settings that suit a disk, and write them to a profile", tune},
		{"probe", "show the file system and the device under a directory, and test its syncs", probe},
		{"version", "print the version", versionCommand},
	}
}

func execute(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(args) == 0 || args[0] == "help" && len(args) == 1 || args[0] == "--help" || args[0] == "-h" {
		overview(stdout)
		return exitOK
	}
	switch args[0] {
	case "help":
		args = append(slices.Clone(args[1:]), "--help")
	case "--version":
		args = append([]string{"version"}, args[1:]...)
	}
	var names []string
	for _, c := range commands() {
		if c.name == args[0] {
			return c.run(ctx, args[1:], stdin, stdout, stderr)
		}
		names = append(names, c.name)
	}
	fmt.Fprintf(stderr, "stele: no command %q%s; 'stele help' lists the commands\n", args[0], didYouMean(args[0], names))
	return exitUsage
}

// failed prints the error of a command and returns its exit code.
func failed(stderr io.Writer, name string, err error) int {
	complain(stderr, name, err)
	return exitFailed
}

// complain prints the error of a command, named as it is called: "stele bench". Each
// line names it: err may join several errors.
func complain(stderr io.Writer, name string, err error) {
	for line := range strings.SplitSeq(strings.TrimSuffix(err.Error(), "\n"), "\n") {
		fmt.Fprintf(stderr, "%s: %s\n", name, line)
	}
}

func overview(w io.Writer) {
	fmt.Fprint(w, `Stele measures how fast the ways of doing file I/O are on your own disk, and
what each of them survives. It serves and queries log stores, inspects and repairs
them, and maintains the headers of source trees.

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
  stele bench io --rw randwrite   a job of reads or writes, as fio does
  stele bench cmd 'A' 'B'         commands of a shell, one beside the other
  stele tune .                    the settings that suit this disk, in two minutes
  stele probe .                   the file system and the device of this directory
  stele header styles             the files that can have a header, and its style

'stele help COMMAND' shows its flags. Exit codes: 0 done; 1 something failed, or
a check found something, and standard error has the reason; 2 wrong call, nothing
was done; 130 interrupted. compare and probe have more: see their help.
`)
}
