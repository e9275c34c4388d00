// Command release works on the modules of the workspace as other programs get
// them: each by itself, from a module proxy, without go.work.
//
//	go run ./tools/release tidy          go mod tidy in every module
//	go run ./tools/release tidy -diff    the same, changing nothing: exit code 1 where it would
//	go run ./tools/release mixed         build the last release of each library against the others as they are now
//	go run ./tools/release lowest        vet each module by itself, at the versions that its go.mod requires
//	go run ./tools/release lowest -test  the same, and run its tests
//	go run ./tools/release proxy DIR     write a module proxy of this tree
//	go run ./tools/release make v0.2.0   make a release: a commit and a tag for each module
//
// A release has one version for all modules. make sets the versions that they
// require of each other, their sums, and the date in CHANGELOG.md, commits, and
// tags the commit once for each module (v0.2.0, lab/v0.2.0, ...). It pushes
// nothing, and prints the command that does.
//
// make refuses, before it changes anything, unless the tree is clean and on
// branch main, CHANGELOG.md has a section of unreleased changes, tidy -diff and
// mixed pass, and every tag of the remote origin is here. The last release of a
// module is the highest of the tags in this clone: mixed fails too where a tag of
// origin was not fetched.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/stele-go/stele/tools/internal/modules"
)

const usage = `usage: release tidy [-diff]
       release mixed
       release lowest [-test]
       release proxy DIR
       release make [-date YYYY-MM-DD] VERSION
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, ".", os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

var errUsage = errors.New("wrong arguments")

// run runs the command in the workspace that contains dir. Exit codes: 0, 1 for
// a difference or a failure, 2 for wrong arguments.
func run(ctx context.Context, dir string, args []string, stdout, stderr io.Writer) int {
	err := do(ctx, dir, args, stdout)
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errUsage):
		fmt.Fprintf(stderr, "release: %v\n%s", err, usage)
		return 2
	}
	fmt.Fprintln(stderr, "release:", err)
	return 1
}

func do(ctx context.Context, dir string, args []string, stdout io.Writer) error {
	if len(args) == 0 {
		return fmt.Errorf("%w: no subcommand", errUsage)
	}
	top, err := modules.Top(dir)
	if err != nil {
		return err
	}
	f := flag.NewFlagSet(args[0], flag.ContinueOnError)
	f.SetOutput(io.Discard)
	diff := f.Bool("diff", false, "")
	test := f.Bool("test", false, "")
	date := f.String("date", "", "")
	if err := f.Parse(args[1:]); err != nil {
		return fmt.Errorf("%w: %v", errUsage, err)
	}
	want := map[string]int{"tidy": 0, "mixed": 0, "lowest": 0, "proxy": 1, "make": 1}
	n, known := want[args[0]]
	switch {
	case !known:
		return fmt.Errorf("%w: no subcommand %q", errUsage, args[0])
	case f.NArg() != n:
		return fmt.Errorf("%w: %s: %d arguments; want %d", errUsage, args[0], f.NArg(), n)
	}
	tmp, err := os.MkdirTemp("", "stele-release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	switch args[0] {
	case "tidy":
		return tidy(ctx, top, tmp, *diff, stdout)
	case "mixed":
		return mixed(ctx, top, tmp, stdout)
	case "lowest":
		return lowest(ctx, top, tmp, *test, stdout)
	case "proxy":
		return writeProxy(ctx, top, f.Arg(0), stdout)
	}
	return makeRelease(ctx, top, tmp, f.Arg(0), *date, stdout)
}

// writeProxy writes all published modules of the tree to a module proxy, at the
// version that they require of each other.
func writeProxy(ctx context.Context, top, dir string, stdout io.Writer) error {
	list, err := modules.Load(top)
	if err != nil {
		return err
	}
	version := modules.Version(list)
	for _, m := range list {
		if !m.Published() {
			continue
		}
		if _, err := modules.Write(ctx, dir, top, m, version); err != nil {
			return err
		}
		fmt.Fprintln(stdout, m.Path, version)
	}
	return nil
}
