// Package cli is the commands of program stele, and the command "stele bench" for
// programs that measure experiments of their own: see [Bench].
//
//	func main() {
//		cli.Bench{Name: "mybench", Help: usage, Suites: mySuites}.Main()
//	}
//
// # Mistakes to avoid
//
//   - Doing work before Main: it runs in the process of every block too.
package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/stele-go/stele/crashtest/power"
	"github.com/stele-go/stele/lab"
	load "github.com/stele-go/stele/suites/serve"
)

// Main is the main function of program stele. It does not return.
func Main() {
	serve()
	os.Exit(execute(interruptible(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// serve does not return in a process that stele started itself: a block of a
// run, the server of suite serve, or the disk of a claim that cuts the power.
func serve() {
	power.ServeDisk()
	load.Main()
	if lab.IsBlock() {
		described, err := describedExperiments()
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(exitUsage)
		}
		os.Exit(lab.RunBlock(append(experiments(), described...)))
	}
}

// interruptible returns a context that is done at the first signal, which ends
// the work cleanly. From then on signals are not caught: a second Ctrl-C ends the
// program at once.
func interruptible() context.Context {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx
}
