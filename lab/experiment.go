package lab

import (
	"errors"
	"fmt"
	"time"

	"github.com/stele-go/stele/lab/run"
)

// An Experiment is one job, the ways of doing it and the parameters it is
// done with. A job that is measured for several parameters is several
// experiments with the same Name and different Params.
type Experiment struct {
	// Suite is the question this experiment belongs to, "mkdir" for example.
	Suite string
	// Name is the job, in lower case with hyphens: "fresh-7".
	Name string
	// Params are the parameters of the job. They are part of the identity.
	Params run.Params
	// Question is one sentence that the verdict answers.
	Question string
	// Op describes one operation: "one path of 7 new directories".
	Op string
	// Variants are the ways of doing the job. Within one promise the others are
	// compared with the variant marked Baseline, else with the first one.
	Variants []Variant
	// Ops fixes the number of operations of a block. 0 lets a pilot choose
	// it so that a block takes about Options.BlockTime.
	Ops int64
	// MaxOps is the most operations that the pilot may choose; 0 is no limit.
	MaxOps int64
	// MaxRounds limits the rounds of an experiment whose blocks are long. 0 is no
	// limit.
	MaxRounds int
	// Stateless says that operations leave nothing behind, so that blocks of
	// different variants are comparable with different numbers of operations.
	// Otherwise all variants of one promise do the same number.
	Stateless bool
	// Waits adds blocks in which goroutines and threads are watched, to find
	// where they wait.
	Waits bool
	// Env is added to the environment of the block's process, "GOGC=off" for
	// example.
	Env []string
}

// A Variant is one way of doing the job of its experiment.
type Variant struct {
	// Name is short and unique in the experiment: "os.MkdirAll".
	Name string
	// Doc says in one line how this way works.
	Doc string
	// Promise says what a finished operation survives and what a crash leaves, or
	// that the variant writes nothing: run.Writes, run.WritesNothing. A variant
	// without one is refused.
	Promise run.Promise
	// Baseline marks the variant that others of the same promise are
	// compared with.
	Baseline bool
	// Cell places the variant on a surface, for experiments that measure one
	// way with many settings; nil for all others.
	Cell *run.Cell
	// Run does b.N operations in b.Dir, in a fresh process:
	//
	//	prepare()          // not measured
	//	for b.Loop() {     // measured, from the first call to the last
	//		operation()
	//	}
	//
	// An error that is errors.ErrUnsupported says that this place does not
	// support the variant; the run does not fail for it.
	Run func(b *B) error
}

// Func returns a variant whose operation is one call of op. A variant that has to
// prepare something sets Run itself. The call through op is part of the figure, a
// nanosecond or two.
func Func(name string, p run.Promise, op func() error) Variant {
	return Variant{Name: name, Promise: p, Run: func(b *B) error {
		for b.Loop() {
			if err := op(); err != nil {
				return err
			}
		}
		return nil
	}}
}

// ID returns the name of the experiment in files and on the command line:
// suite/name, and the parameters if it has any.
func (e *Experiment) ID() string {
	id := e.Suite + "/" + e.Name
	if len(e.Params) > 0 {
		id += "/" + e.Params.String()
	}
	return id
}

// Variant returns the variant of that name, or nil.
func (e *Experiment) Variant(name string) *Variant {
	for i := range e.Variants {
		if e.Variants[i].Name == name {
			return &e.Variants[i]
		}
	}
	return nil
}

// BaselineFor returns the variant that variants of promise p are compared
// with: the first one of that promise marked Baseline, else the first one.
func (e *Experiment) BaselineFor(p run.Promise) *Variant {
	var first *Variant
	for i := range e.Variants {
		v := &e.Variants[i]
		if v.Promise != p {
			continue
		}
		if v.Baseline {
			return v
		}
		if first == nil {
			first = v
		}
	}
	return first
}

// Validate returns the errors of an experiment that cannot be run, joined.
func (e *Experiment) Validate() error {
	var errs []error
	bad := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("lab: experiment %s: "+format, append([]any{e.ID()}, args...)...))
	}
	if e.Suite == "" || e.Name == "" {
		bad("Suite or Name is empty; want both")
	}
	if len(e.Variants) == 0 {
		bad("Variants: none; want one or more")
	}
	seen := map[string]bool{}
	for i := range e.Variants {
		v := &e.Variants[i]
		switch {
		case v.Name == "":
			bad("variant %d: Name is empty", i)
		case seen[v.Name]:
			bad("variant %q: want each Name once", v.Name)
		case v.Run == nil:
			bad("variant %q: Run is nil", v.Name)
		}
		if err := v.Promise.Validate(); err != nil {
			bad("variant %q: Promise: %w", v.Name, err)
		}
		seen[v.Name] = true
	}
	return errors.Join(errs...)
}

// timedInBatches is the duration of an operation below which the clock is
// read once for several operations: reading it for each would be a visible
// part of the figure.
const timedInBatches = time.Microsecond
