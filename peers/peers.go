// Package peers measures other libraries in the experiments of Stele's suites, in the
// same run. It is a module of its own so that users of Stele do not require them.
package peers

import (
	"slices"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/suites"
	"github.com/stele-go/stele/suites/dirs"
	"github.com/stele-go/stele/suites/job"
	"github.com/stele-go/stele/suites/replace"
	"github.com/stele-go/stele/suites/wals"
)

// Extend returns the experiments with the peers' variants after their own.
// Its argument is not changed. Experiments without a peer on this system are returned as
// they are.
func Extend(experiments []lab.Experiment) []lab.Experiment {
	out, add := slices.Clone(experiments), variants()
	for i := range out {
		e := &out[i]
		e.Variants = slices.Clone(e.Variants)
		for _, v := range add[e.ID()] {
			// If all ways promise more than the peer, there is no baseline for it.
			if e.BaselineFor(v.Promise) != nil {
				e.Variants = append(e.Variants, v)
			}
		}
	}
	return out
}

// variants returns the peers' variants of experiments, by their identity.
func variants() map[string][]lab.Variant {
	all := map[string][]lab.Variant{}
	add(all, dirs.Jobs(), mkdirWays())
	add(all, replace.Jobs(), replaceWays())
	add(all, wals.Jobs(), walWays())
	return all
}

func add[S any](all map[string][]lab.Variant, jobs []job.Job[S], ways []job.Way[S]) {
	for _, j := range jobs {
		for _, w := range ways {
			all[j.ID()] = append(all[j.ID()], j.Variant(w))
		}
	}
}

// Suites returns Experiments by suite.
func Suites() []suites.Suite {
	var list []suites.Suite
	for _, e := range Experiments() {
		i := slices.IndexFunc(list, func(s suites.Suite) bool { return s.Name == e.Suite })
		if i < 0 {
			i = len(list)
			list = append(list, suites.Suite{Name: e.Suite, Question: questionOf(e.Suite)})
		}
		list[i].Full = append(list[i].Full, e)
	}
	return list
}

func questionOf(suite string) string {
	for _, s := range suites.List() {
		if s.Name == suite {
			return s.Question
		}
	}
	return "How do the peers do beside Stele?"
}

// Experiments returns the experiments of the full sets that have a peer, and those of
// BesideRenameio and BesidePeers.
func Experiments() []lab.Experiment {
	var list []lab.Experiment
	for _, s := range suites.List() {
		for i, e := range Extend(s.Full) {
			if len(e.Variants) > len(s.Full[i].Variants) {
				list = append(list, e)
			}
		}
	}
	return slices.Concat(list, BesideRenameio(), BesidePeers())
}
