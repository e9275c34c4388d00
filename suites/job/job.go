// Package job makes experiments of jobs and the ways of doing them, so that other
// libraries can be measured beside Stele in the same experiments:
//
//	for _, j := range replace.Jobs() {
//		v := j.Variant(job.Way[replace.Replacer]{Name: "mine", Promise: p, Open: open})
//	}
//
// It also has what the suites share: parameters of experiments, promises, and errors
// of a place that cannot do a job.
package job

import (
	"errors"
	"slices"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
)

// A Way is one way of doing a job. S is what the job works with once the way is
// open: a function that replaces a file, a log that takes records.
type Way[S any] struct {
	Name string // of the variant
	Doc  string // how it works, in one line
	// Promise is what a finished operation survives, and what a crash leaves.
	Promise run.Promise
	// Baseline marks the way that others of the same promise are compared with.
	Baseline bool
	// Open prepares to do the job. It is not timed.
	Open func(at Site) (S, error)
}

// A Site is where a way is opened, and for how much work.
type Site struct {
	Dir  string // absolute; the directory to work in
	Ops  int64  // operations that will be done
	Size int    // bytes of an operation; 0 where it has none
}

// Fixed returns an Open for a way that has nothing to prepare.
func Fixed[S any](s S) func(Site) (S, error) {
	return func(Site) (S, error) { return s, nil }
}

// A Job is an experiment and the ways of doing it, each a variant.
type Job[S any] struct {
	lab.Experiment // its Variants are added by Build
	Ways           []Way[S]
	// Site prepares the directory of a block. end, unless nil, is called after the
	// block, and may undo what the block has changed. A nil Site stands for the block's
	// own directory.
	Site func(b *lab.B) (at Site, end func() error, err error)
	// Run does the operations of a block with a way that is open. It returns an error
	// if one was not done.
	Run func(b *lab.B, at Site, s S) error
	// Close, unless nil, closes what a way has opened.
	Close func(s S) error
	// Promise, unless nil, returns the promise of a way for this job from its
	// promise in general.
	Promise func(p run.Promise) run.Promise
}

// Build returns the experiment with a variant for each way.
func (j Job[S]) Build() lab.Experiment {
	e := j.Experiment
	for _, w := range j.Ways {
		e.Variants = append(e.Variants, j.Variant(w))
	}
	return e
}

// Build returns the experiments of jobs.
func Build[S any](jobs []Job[S]) []lab.Experiment {
	list := make([]lab.Experiment, len(jobs))
	for i := range jobs {
		list[i] = jobs[i].Build()
	}
	return list
}

// Variant returns the variant that does the job by way w, which need not be one of
// the job's ways.
func (j Job[S]) Variant(w Way[S]) lab.Variant {
	v := lab.Variant{Name: w.Name, Doc: w.Doc, Promise: w.Promise, Baseline: w.Baseline}
	if j.Promise != nil {
		v.Promise = j.Promise(w.Promise)
	}
	site, run, end := j.Site, j.Run, j.Close
	v.Run = func(b *lab.B) (err error) {
		at := Site{Dir: b.Dir, Ops: b.N}
		if site != nil {
			var restore func() error
			if at, restore, err = site(b); err != nil {
				return err
			}
			if restore != nil {
				defer func() { err = errors.Join(err, restore()) }()
			}
		}
		s, err := w.Open(at)
		if err != nil {
			return err
		}
		if end != nil {
			defer func() { err = errors.Join(err, end(s)) }()
		}
		return run(b, at, s)
	}
	return v
}

// Only returns the experiment with only the variants of the given names, in their old
// order: for the quick set of a suite.
func Only(e lab.Experiment, names ...string) lab.Experiment {
	var kept []lab.Variant
	for _, v := range e.Variants {
		if slices.Contains(names, v.Name) {
			kept = append(kept, v)
		}
	}
	e.Variants = kept
	return e
}
