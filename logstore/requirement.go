package logstore

import (
	"slices"

	"github.com/stele-go/stele/logstore/internal/filter"
)

// A requirement is what the filter of a block must have for an entry of the
// block to match a Filter: all needles, and of each list of alternatives at
// least one. The zero value requires nothing. A requirement may be weaker than
// its Filter, never stronger.
type requirement struct {
	needles []filter.Needle
	any     [][]requirement
}

func (n requirement) empty() bool { return len(n.needles) == 0 && len(n.any) == 0 }

// Indexed reports whether the index may tell that no entry of a block matches f, so that the
// block is not read. A text of few letters, what must not be there, and a regular
// expression without literal text are looked for in each line.
func Indexed(f Filter) bool { return !f.compiled().require.empty() }

func requireAll(needles ...filter.Needle) requirement {
	return requirement{needles: slices.DeleteFunc(needles, filter.Needle.Empty)}
}

// requireAny is met where one of the requirements is. Without any it requires
// nothing: no entry matches, which reading them shows.
func requireAny(needs ...requirement) requirement {
	if slices.ContainsFunc(needs, requirement.empty) || len(needs) == 0 {
		return requirement{}
	}
	if len(needs) == 1 {
		return needs[0]
	}
	return requirement{any: [][]requirement{needs}}
}

func (n requirement) and(m requirement) requirement {
	return requirement{slices.Concat(n.needles, m.needles), slices.Concat(n.any, m.any)}
}

// mayMatch reports whether a block may meet the requirement. ask is about one
// block.
func (n requirement) mayMatch(ask func(needles ...filter.Needle) (bool, error)) (bool, error) {
	if len(n.needles) > 0 {
		if ok, err := ask(n.needles...); !ok || err != nil {
			return false, err
		}
	}
	for _, list := range n.any {
		met := false
		for _, one := range list {
			ok, err := one.mayMatch(ask)
			if err != nil {
				return false, err
			}
			if met = ok; met {
				break
			}
		}
		if !met {
			return false, nil
		}
	}
	return true, nil
}
