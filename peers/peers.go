// Package peers measures other libraries in the experiments of Stele's
// suites, in the same run. It is a module of its own so that nobody who uses
// Stele pulls them in; nothing imports it.
package peers

import (
	"slices"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/suites"
)

// Extend returns the experiments with the peers' variants after their own.
// Its argument is not changed. Experiments without a peer are returned as
// they are, and so are all where a peer does not exist on this system.
func Extend(experiments []lab.Experiment) []lab.Experiment {
	out := slices.Clone(experiments)
	for i := range out {
		e := &out[i]
		if e.Suite != "mkdir" {
			continue
		}
		e.Variants = slices.Clone(e.Variants)
		for _, w := range mkdirWays() {
			// Where all ways promise more than the peer does, it has nothing
			// to be compared with.
			v := w.Variant(e)
			if e.BaselineFor(v.Promise) != nil {
				e.Variants = append(e.Variants, v)
			}
		}
	}
	return out
}

// Suites returns Stele's suites, full and quick, with the peers in them.
func Suites() []suites.Suite {
	list := suites.List()
	for i := range list {
		list[i].Full, list[i].Quick = Extend(list[i].Full), Extend(list[i].Quick)
	}
	return list
}
