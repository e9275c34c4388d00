// Command stele measures how fast the ways of doing file I/O are on your own
// disk, and what each of them survives. It also maintains the headers of source
// trees, and inspects logs and log stores.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/stele-go/stele/crashtest/power"
	"github.com/stele-go/stele/lab"
)

func main() {
	serve()
	os.Exit(execute(interruptible(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// serve does not return in a process that stele started itself: a block of a
// run, or the disk of a claim that cuts the power.
func serve() {
	power.ServeDisk()
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
