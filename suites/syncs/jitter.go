package syncs

import (
	"maps"
	"slices"
	"strconv"

	"github.com/stele-go/stele/lab/report"
	"github.com/stele-go/stele/lab/run"
)

// jumps is how many times the jitter of every lower rate is a jump.
const jumps = 2

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

// jumpOf returns the rates between which the jitter of a variant jumps.
func jumpOf(variant string, rates []int, jitter []run.Estimate) run.JitterJump {
	j := run.JitterJump{Variant: variant, Most: rates[len(jitter)-1]}
	lo, hi := JitterJump(jitter)
	if lo < len(jitter) {
		j.From = rates[lo]
	}
	if hi < len(jitter) {
		j.To = rates[hi]
	}
	return j
}

// JumpText formats the rate at which jitter jumps: "jump at 80 a second".
func JumpText(rates []int, jitter []run.Estimate) string {
	return report.JitterJump(jumpOf("", rates, jitter))
}

// Notes returns notes on several results of suite sync together: at which rate the
// jitter of each way jumps, and which test shows what each way makes durable.
func Notes(results []*run.Result) []run.Note {
	type series struct{ place, file string }
	of := map[series]map[int]*run.Result{}
	var order []series
	var notes []run.Note
	for _, r := range results {
		if r.Suite == "sync" && r.Name == "mechanism" && len(notes) == 0 {
			notes = append(notes, run.Note{Code: run.NoteSyncProof})
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
		if found := jitterJumps(of[s]); len(found) > 0 {
			notes = append(notes, run.Note{Code: run.NoteJitter, Place: s.place, Text: s.file, N: jumps, Jumps: found})
		}
	}
	return notes
}

// jitterJumps returns the jumps in the results of one file and place, given by rate: one
// of each variant that all of them measured.
func jitterJumps(byRate map[int]*run.Result) []run.JitterJump {
	rates := slices.Sorted(maps.Keys(byRate))
	if len(rates) < 2 {
		return nil
	}
	var found []run.JitterJump
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
			found = append(found, jumpOf(v.Name, rates, jitter))
		}
	}
	return found
}
