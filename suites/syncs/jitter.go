package syncs

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/stele-go/stele/lab/run"
)

// jumps is how many times the jitter of every lower rate is a jump.
const jumps = 2

// jitterRule returns the sentence that defines a jump, for a report.
func jitterRule() string {
	return fmt.Sprintf("Jitter is the standard deviation of the operations of a block. It jumps at the first rate from which on it is at least %d times what it is at every lower one, by its interval.", jumps)
}

// JitterJump returns the first and the last index at which jitter, by rate,
// may jump by the intervals. len(jitter) stands for no jump.
func JitterJump(jitter []run.Estimate) (lo, hi int) {
	lo, hi = len(jitter), len(jitter)
	for i := 1; i < len(jitter); i++ {
		certain, possible := true, true
		for _, high := range jitter[i:] {
			for _, low := range jitter[:i] {
				// Comparisons with NaN are false: without an interval nothing is certain.
				certain = certain && high.Lo/low.Hi >= jumps
				possible = possible && !(high.Hi/low.Lo < jumps)
			}
		}
		if possible {
			lo = min(lo, i)
		}
		if certain {
			return lo, i
		}
	}
	return lo, hi
}

// JumpText formats the rate at which jitter jumps: "jump at 80 a second".
func JumpText(rates []int, jitter []run.Estimate) string {
	none := len(jitter)
	switch lo, hi := JitterJump(jitter); {
	case lo == none:
		return fmt.Sprintf("no jump up to %d a second", rates[none-1])
	case lo == hi:
		return fmt.Sprintf("jump at %d a second", rates[lo])
	case lo == none-1:
		return fmt.Sprintf("cannot tell: a jump at %d a second, or none", rates[lo])
	case hi == none:
		return fmt.Sprintf("cannot tell: a jump at %d a second or above, or none", rates[lo])
	default:
		return fmt.Sprintf("jump between %d and %d a second", rates[lo], rates[hi])
	}
}

// Notes returns sentences about several results of suite sync together: at which rate
// the jitter of each way jumps, and which test shows what each way makes durable.
func Notes(results []*run.Result) []string {
	type series struct{ place, file string }
	of := map[series]map[int]*run.Result{}
	var order []series
	var notes []string
	for _, r := range results {
		if r.Suite == "sync" && r.Name == "mechanism" && len(notes) == 0 {
			notes = append(notes, "What each way to sync makes durable is shown by power cuts, not by times: go test ./proofs/filesystem -run TestSyncTable -v (as root, in Stele's repository)")
		}
		if r.Suite != "sync" || r.Name != "frequency" {
			continue
		}
		hz, err := strconv.Atoi(r.Params["hz"])
		if err != nil {
			continue
		}
		s := series{r.Place, r.Params["file"]}
		if of[s] == nil {
			of[s] = map[int]*run.Result{}
			order = append(order, s)
		}
		of[s][hz] = r
	}
	for _, s := range order {
		if n := jitterNote(of[s]); n != "" {
			notes = append(notes, fmt.Sprintf("sync/frequency, file=%s, in %s: %s. %s", s.file, s.place, n, jitterRule()))
		}
	}
	return notes
}

// jitterNote returns a note on the results of one file and place, given by rate.
func jitterNote(byRate map[int]*run.Result) string {
	var rates []int
	for hz := range byRate {
		rates = append(rates, hz)
	}
	if len(rates) < 2 {
		return ""
	}
	slices.Sort(rates)
	var parts []string
	for _, v := range byRate[rates[0]].Variants {
		var jitter []run.Estimate
		for _, hz := range rates {
			r := byRate[hz]
			i := slices.IndexFunc(r.Variants, func(o run.VariantResult) bool { return o.Name == v.Name })
			if i < 0 {
				break
			}
			e, ok := r.Variants[i].Metrics[jitterMetric]
			if !ok {
				break
			}
			jitter = append(jitter, e)
		}
		if len(jitter) == len(rates) {
			parts = append(parts, v.Name+": "+JumpText(rates, jitter))
		}
	}
	return strings.Join(parts, "; ")
}
