package cli

import (
	"os"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/suites"
	load "github.com/stele-go/stele/suites/serve"
)

// A Bench is the command "stele bench" for experiments of another program: it has the
// same flags, outputs and exit codes.
type Bench struct {
	// Name is the call of the program, for its messages and its runs: "stele-peers".
	Name string
	// Help is the text that --help prints before the flags.
	Help string
	// Suites returns the experiments. If no suite has a quick set, a call without
	// arguments runs all of them.
	Suites func() []suites.Suite

	// ownSuites is set for the suites of program stele, which read --corpus and
	// --streams.
	ownSuites bool
}

// Main is the main function of a program that is a Bench and nothing else. It does not
// return.
func (p Bench) Main() {
	load.Main() // a server of suite serve is a copy of this program too
	if lab.IsBlock() {
		os.Exit(lab.RunBlock(p.experiments()))
	}
	os.Exit(p.Run(interruptible(), os.Args[1:], os.Stdout, os.Stderr))
}

// experiments returns all experiments that a block can run.
func (p Bench) experiments() []lab.Experiment {
	var all []lab.Experiment
	for _, s := range p.Suites() {
		all = append(all, s.Full...)
		for _, c := range s.Claims {
			all = append(all, c.Experiments...)
		}
	}
	return all
}

// suites returns the suites, those of program stele with the lines of --corpus and
// --streams.
func (b *benchFlags) suites() []suites.Suite {
	if b.ownSuites {
		return suites.ListOf(b.lines)
	}
	return b.Suites()
}
