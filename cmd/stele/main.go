// Command stele measures how fast the ways of doing file I/O are on your own
// disk, and says what each of them survives.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/pflag"

	"github.com/stele-go/stele/crashtest/power"
	"github.com/stele-go/stele/lab"
)

func main() {
	power.ServeDisk() // of a claim that cuts the power
	if lab.IsBlock() {
		os.Exit(lab.RunBlock(experiments()))
	}
	os.Exit(run(interruptible(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// interruptible is done at the first signal, which ends the work cleanly. From
// then on signals are not caught: a second Ctrl-C ends the program at once.
func interruptible() context.Context {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx
}

// Exit codes of every command but compare, whose codes are those of a gate.
const (
	exitOK          = 0
	exitFailed      = 1   // something could not be done; standard error says what
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
		{"compare", "hold a new run against an old one: a gate for CI", compare},
		{"report", "turn the JSON of a run into text, Markdown, HTML or Go's benchmark format", reportCommand},
		{"header", "write, change and check headers of many files: licences, banners", headerCommand},
		{"sweep", "remove the temporary files that killed processes left", sweepCommand},
		{"inspect", "show and verify a log store, its segments, or a write-ahead log", inspect},
		{"tune", "find the settings that suit a disk, and write them as a profile", tune},
		{"probe", "what the machine is and what the file system of a folder can do", probe},
		{"version", "print the version", versionCommand},
	}
}

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
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

func overview(w io.Writer) {
	fmt.Fprint(w, `Stele measures how fast the ways of doing file I/O are on your own disk, and
says what each of them survives. It also keeps the headers of source trees.

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
  stele probe .                   what this folder stands on
  stele header styles             the languages whose files it can head

'stele help COMMAND' tells more. Exit codes: 0 done, 1 failed, 2 wrong call,
130 interrupted; those of compare are in its help.
`)
}

// newFlags returns the flag set of a command; its help is usage (which ends
// with examples), then the flags.
func newFlags(name, usage string) *pflag.FlagSet {
	f := pflag.NewFlagSet(name, pflag.ContinueOnError)
	f.SortFlags = false
	f.SetOutput(io.Discard) // parse reports errors once, in one place
	f.Usage = func() {}
	f.Init(name, pflag.ContinueOnError)
	f.SetInterspersed(true)
	f.BoolP("help", "h", false, "print this help")
	f.Lookup("help").Hidden = true
	f.SetAnnotation("help", "usage", []string{usage})
	return f
}

// parse reads args; done says that the command ends here, with code.
func parse(f *pflag.FlagSet, args []string, usageCode int, stdout, stderr io.Writer) (code int, done bool) {
	err := f.Parse(args)
	if help, _ := f.GetBool("help"); help || errors.Is(err, pflag.ErrHelp) {
		fmt.Fprint(stdout, f.Lookup("help").Annotations["usage"][0])
		if u := f.FlagUsagesWrapped(100); u != "" {
			fmt.Fprintf(stdout, "\nFlags:\n%s", u)
		}
		return exitOK, true
	}
	if err != nil {
		return usageError(stderr, f.Name(), usageCode, err), true
	}
	return 0, false
}

func usageError(stderr io.Writer, name string, code int, err error) int {
	fmt.Fprintf(stderr, "stele %s: %v\n'stele help %s' shows how it is called\n", name, err, name)
	return code
}

func versionCommand(_ context.Context, args []string, _ io.Reader, stdout, stderr io.Writer) int {
	f := newFlags("version", "Usage: stele version\n\nPrints the version of Stele and of the Go it was built with.\n")
	if code, done := parse(f, args, exitUsage, stdout, stderr); done {
		return code
	}
	if f.NArg() > 0 {
		return usageError(stderr, "version", exitUsage, fmt.Errorf("takes no arguments, got %q", strings.Join(f.Args(), " ")))
	}
	fmt.Fprintln(stdout, "stele", lab.Version())
	return exitOK
}
