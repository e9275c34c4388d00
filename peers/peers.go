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
		e.Variants = slices.Clone(e.Variants)
		for _, v := range variants(e) {
			// Where all ways promise more than the peer does, it has nothing
			// to be compared with.
			if e.BaselineFor(v.Promise) != nil {
				e.Variants = append(e.Variants, v)
			}
		}
	}
	return out
}

// variants are the peers' for an experiment of one of Stele's suites.
func variants(e *lab.Experiment) (list []lab.Variant) {
	switch e.Suite {
	case "mkdir":
		for _, w := range mkdirWays() {
			list = append(list, w.Variant(e))
		}
	case "replace":
		for _, w := range replaceWays() {
			list = append(list, w.Variant(e))
		}
	case "wal":
		if e.Name != "append" {
			break // the others compare settings of Stele
		}
		for _, w := range walWays() {
			list = append(list, w.Variant(e))
		}
	}
	return list
}

// Experiments returns those of the full sets in which there is a peer, and
// what BesideRenameio and BesidePeers make.
func Experiments() []lab.Experiment {
	var list []lab.Experiment
	for _, s := range suites.List() {
		for i, e := range Extend(s.Full) {
			if len(e.Variants) > len(s.Full[i].Variants) {
				list = append(list, e)
			}
		}
		list = append(list, BesideRenameio(s.Full)...)
		list = append(list, BesidePeers(s.Full)...)
	}
	return list
}
