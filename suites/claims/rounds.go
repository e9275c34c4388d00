package claims

import (
	"fmt"
	"math"
	"strings"

	"github.com/stele-go/stele/internal/units"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/lab/stats"
)

// unsettled says of a part that cannot tell why that is: what its interval could have
// shown, and how many more rounds would settle it.
func (p part) unsettled() string {
	if p.open != "" {
		return p.open
	}
	e := p.est
	if math.IsNaN(e.Lo) || math.IsNaN(e.Hi) {
		need := fewestForInterval()
		if e.N >= need {
			return "there is no interval"
		}
		return fmt.Sprintf("%s, an interval takes %d", units.Count(e.N, "round"), need)
	}
	var seen []string
	more := 0
	for _, limit := range []float64{p.lo, p.hi} {
		if e.Lo < limit && limit <= e.Hi || e.Lo <= limit && limit < e.Hi {
			below, above := couldHaveSeen(e, limit)
			seen = append(seen, fmt.Sprintf("the interval reaches over %.4g; it could have shown %.4g or less, or %.4g or more", limit, below, above))
			more = max(more, moreRounds(e, limit))
		}
	}
	if len(seen) == 0 {
		return "the interval does not settle it"
	}
	if more > mostRounds {
		return strings.Join(seen, "; ") + "; the figure lies so close to it that more rounds would hardly settle it"
	}
	return fmt.Sprintf("%s; about %d more rounds would settle it", strings.Join(seen, "; "), more)
}

// mostRounds is the largest number of further rounds worth advising.
const mostRounds = 2000

// fewestForInterval returns the number of data from which a median has an interval.
func fewestForInterval() int {
	for n := 1; ; n++ {
		x := make([]float64, n)
		for i := range x {
			x[i] = float64(i)
		}
		if e := stats.Median(x, 0.95); !math.IsNaN(e.Lo) && !math.IsNaN(e.Hi) {
			return n
		}
	}
}

// couldHaveSeen returns the medians nearest to limit, below it and above it, that an
// interval as wide as e's would have told from it.
func couldHaveSeen(e run.Estimate, limit float64) (below, above float64) {
	if byRatio(e, limit) {
		return limit * e.Median / e.Hi, limit * e.Median / e.Lo
	}
	return limit - (e.Hi - e.Median), limit + (e.Median - e.Lo)
}

// moreRounds returns how many rounds must be added to those of e until its interval, which
// narrows with the root of their number, leaves limit out.
func moreRounds(e run.Estimate, limit float64) int {
	measure := func(x float64) float64 { return x }
	if byRatio(e, limit) {
		measure = math.Log
	}
	reach, gap := measure(e.Median)-measure(e.Lo), measure(e.Median)-measure(limit)
	if gap < 0 {
		reach, gap = measure(e.Hi)-measure(e.Median), -gap
	}
	more := float64(e.N) * (math.Pow(reach/gap, 2) - 1)
	if !(more < math.MaxInt32) { // no gap at all
		return math.MaxInt32
	}
	return max(1, int(math.Ceil(more)))
}

// byRatio reports whether distances from limit are ratios.
func byRatio(e run.Estimate, limit float64) bool { return e.Lo > 0 && limit > 0 }
