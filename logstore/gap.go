package logstore

import (
	"math"

	"github.com/stele-go/stele/logstore/internal/catalog"
)

// A gap is positions of the log that neither a segment nor the log has, found where the log
// had no roster that could have said which segment had them. Open adds it to the roster, as
// an entry that is missing, of a generation that no segment has, without times and rows. So
// each Open tells it, until a segment has the positions or retention would have deleted what
// was in them.
const gapGeneration = math.MaxUint32

func (e *rosterEntry) isGap() bool { return e.Generation == gapGeneration }

const gapReason = "the log does not say which segments there were: deleted by retention, or lost"

// gapsIn returns the gaps between the positions that segments have, and from there to those
// before position first of the log, 0 if that is not known. leading adds what lies before
// all of them.
func gapsIn(held []catalog.Holding, first uint64, leading bool) (gaps []rosterEntry) {
	set := positionsOf(held)
	begin := uint64(1)
	if !leading && len(set) > 0 {
		begin = set[0].First
	}
	end := max(first, 1) - 1
	if len(set) > 0 {
		end = max(end, set[len(set)-1].Last)
	}
	if begin > end || len(set) == 0 && !leading {
		return nil
	}
	for _, r := range set.without(PositionRange{begin, end}) {
		gaps = append(gaps, rosterEntry{Holding: catalog.Holding{After: r.First - 1, Upto: r.Last, Generation: gapGeneration}})
	}
	return gaps
}
