package logstore

import (
	"slices"

	"github.com/stele-go/stele/logstore/internal/filter"
)

// A need is what a block must have in it, for an entry that a Filter wants to
// be there: all of the needles, and of each list at least one. The zero value
// asks for nothing. It is always too little rather than too much.
type need struct {
	needles []filter.Needle
	any     [][]need
}

func (n need) empty() bool { return len(n.needles) == 0 && len(n.any) == 0 }

func needAll(needles ...filter.Needle) need {
	return need{needles: slices.DeleteFunc(needles, filter.Needle.Empty)}
}

// needAny is one of the needs. Of none there is no entry that meets one, which
// is left to who looks at the entries.
func needAny(needs ...need) need {
	if slices.ContainsFunc(needs, need.empty) || len(needs) == 0 {
		return need{}
	}
	if len(needs) == 1 {
		return needs[0]
	}
	return need{any: [][]need{needs}}
}

func (n need) and(m need) need {
	return need{slices.Concat(n.needles, m.needles), slices.Concat(n.any, m.any)}
}

// may reports whether a block may have what is needed. ask is about one block.
func (n need) may(ask func(needles ...filter.Needle) (bool, error)) (bool, error) {
	if len(n.needles) > 0 {
		if ok, err := ask(n.needles...); !ok || err != nil {
			return false, err
		}
	}
	for _, list := range n.any {
		met := false
		for _, one := range list {
			ok, err := one.may(ask)
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
