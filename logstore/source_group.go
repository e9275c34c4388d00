package logstore

import (
	"runtime"

	"github.com/stele-go/stele/logstore/internal/filter"
)

// A groupBranch is blocks of a segment whose filters are to be tested.
type groupBranch struct {
	extent
	of   *segmentBranch
	refs []runRef // refs of a block are adjacent
}

const (
	// groupBlocks is the number of blocks of a group.
	groupBlocks = 256
	// yieldBlocks is how many of them are tested between two calls of the
	// scheduler, which may run appends.
	yieldBlocks = 16
)

// open returns the blocks that may match and begin by bound.
func (g *groupBranch) open(r *reading, bound int64, fail func(error)) (list []source) {
	refs := g.refs
	for n := 1; len(refs) > 0 && !r.halted.Load(); n++ {
		var block []runRef
		block, refs = nextBlock(refs)
		ok, err := g.mayMatch(r.x, int(block[0].block))
		if err != nil {
			// The block may be intact though its filter is not.
			if _, damaged := asDamage(err); !damaged {
				fail(err)
				return nil
			}
			ok = true
		}
		if ok {
			l, _ := g.of.block(r.x, block, make([]span, 0, len(block)))
			if l.first <= bound {
				list = append(list, l)
			}
		}
		if n%yieldBlocks == 0 {
			runtime.Gosched()
		}
	}
	return list
}

// mayMatch reports whether the filter of a block does not rule it out.
func (g *groupBranch) mayMatch(x *search, block int) (bool, error) {
	return x.require.mayMatch(func(needles ...filter.Needle) (bool, error) {
		return g.of.segs.May(g.of.items[0].Segment, block, needles...)
	})
}
