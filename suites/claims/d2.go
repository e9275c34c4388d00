package claims

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/stele-go/stele/lab"
)

func claimD2() Claim {
	existing := d1Existing()
	depths := experiments(d1Depth, 2, 4, publishedDepth)
	return Claim{
		ID: "D2",
		Source: reportD.source("ch. 1, Results, last paragraph",
			"os.MkdirAll is slower because it calls os.Stat again for each parent, even one known to be missing, and the loop avoids those calls."),
		Statement:   "the reason given for D1: count the system calls",
		Claimed:     "os.MkdirAll stats every level again and again",
		Promise:     killText,
		Experiments: append([]lab.Experiment{existing}, depths...),
		judge:       func(ev *evidence) judgement { return judgeD2(ev, existing.ID(), depths) },
	}
}

// judgeD2 takes "again and again" to mean more than one stat of a level in one call. One
// is needed to find the level missing.
func judgeD2(ev *evidence, existing string, depths []lab.Experiment) judgement {
	var m strings.Builder
	worst := 0.0
	for i := range depths {
		e := &depths[i]
		depth, _ := strconv.Atoi(e.Params["depth"])
		stats := ev.calls(e.ID(), variantAll, statCalls...)
		fmt.Fprintf(&m, "New path of %d: %.2f stat, %.2f mkdir; the loop %.2f stat, %.2f mkdir. ", depth,
			stats, ev.calls(e.ID(), variantAll, mkdirCalls...),
			ev.calls(e.ID(), variantLoop, statCalls...), ev.calls(e.ID(), variantLoop, mkdirCalls...))
		worst = math.Max(worst, stats/float64(depth))
	}
	fmt.Fprintf(&m, "Existing path of %d: %.2f stat; the loop %.2f mkdir.", publishedDepth,
		ev.calls(existing, variantAll, statCalls...), ev.calls(existing, variantLoop, mkdirCalls...))
	j := judgement{measured: m.String()}
	switch {
	case worst <= 1.1:
		j.verdict, j.why = DoesNotHold, "One call stats a level at most once, from the leaf up to the first that exists; an existing path costs one stat."
	case worst > 1.5:
		j.verdict, j.why = Holds, fmt.Sprintf("One call stats a level %.2f times.", worst)
	default:
		j.verdict, j.why = Depends, fmt.Sprintf("on the depth: one call stats some levels more than once, %.2f times on average at the worst depth.", worst)
	}
	return j
}
