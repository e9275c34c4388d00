package claims

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/report"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/job"
)

// variantLookUps is the part of os.MkdirAll that looks for what exists.
const variantLookUps = "look-ups of os.MkdirAll alone"

// lookUp looks a path up as os.MkdirAll does: from the last level to the first that exists.
func lookUp(path string) error {
	for path != "." {
		if _, err := os.Stat(path); err == nil {
			return nil
		} else if !os.IsNotExist(err) {
			return err
		}
		path = filepath.Dir(path)
	}
	return nil
}

func d2(c d1Case) lab.Experiment {
	look := c.relativeMkdir(variantLookUps, "os.Stat of each level, from the last to the first that exists, and no mkdir", lookUp)
	look.Promise = job.NothingWritten()
	return lab.Experiment{
		Suite: "claims", Name: "D2", Params: run.Params{"depth": strconv.Itoa(c.depth), "existing": strconv.Itoa(c.existing)},
		Question: "Do look-ups make os.MkdirAll slower than a loop of os.Mkdir?",
		Op:       fmt.Sprintf("one relative path of %d components, of which %d exist before the block", c.depth, c.existing),
		Ops:      200, MaxRounds: 14, Env: asPublished(), Variants: append(c.variants(), look),
	}
}

// d2Cases are paths that are new but for "tmp", half new, and that exist.
var d2Cases = []d1Case{{3, 1}, {publishedDepth, 1}, {publishedDepth, publishedDepth / 2}, {publishedDepth, publishedDepth}}

func claimD2() Claim {
	cases := experiments(d2, d2Cases...)
	return Claim{
		ID: "D2",
		Source: reportD.source("ch. 1, Results, last paragraph",
			"os.MkdirAll is slower because it calls os.Stat again for each parent, even one known to be missing, and the loop avoids those calls."),
		Statement:   "the reason given for D1: count the look-ups of os.MkdirAll (A) and of the loop (B), and time A's",
		Claimed:     "os.MkdirAll looks at every level again and again, even one known to be missing; the loop looks at none",
		Promise:     killText + "; the look-ups alone: none",
		Experiments: cases,
		judge:       func(ev *evidence) judgement { return judgeD2(ev, cases) },
	}
}

// judgeD2 asks for the calls, which are facts, and whether A's look-ups take half of the time
// that A takes longer than B. Where A is not slower than B there is no such time.
func judgeD2(ev *evidence, cases []lab.Experiment) judgement {
	var parts []part
	for i, c := range d2Cases {
		id := cases[i].ID()
		where := fmt.Sprintf("%d levels, %d of them new", c.depth, c.depth-c.existing)
		missing := c.depth - c.existing
		if missing > 0 {
			stats, uncounted := ev.counted(id, variantAll, statCalls...)
			parts = append(parts,
				fact("A looks at each missing level at least once", stats >= float64(missing)-0.05, fmt.Sprintf("%.2f look-ups", stats)).under(where).needs(uncounted),
				// One look-up more than there are missing levels finds the first that exists.
				figureOf("levels that A looks at twice ("+where+")", fmt.Sprintf("%.2f", max(0, stats-float64(missing)-1))))
		}
		for _, l := range []struct{ name, how string }{{variantLoopCoded, "as coded"}, {variantLoop, "as meant"}} {
			loop, uncounted := ev.counted(id, l.name, statCalls...)
			parts = append(parts, fact("B looks at no level", loop < 0.05, fmt.Sprintf("%.2f look-ups", loop)).under(l.how+", "+where).needs(uncounted))
			p := least("A's look-ups as a share of the time that A takes longer than B", ev.lookUpShare(id, l.name), 0.5, shareText).under(l.how + ", " + where)
			// The report emptied the root before each test.
			p.named = c.depth == publishedDepth && c.existing == 1
			if d := difference(ev.time(id, variantAll), ev.time(id, l.name)); d.Hi < 0 {
				p.figure, p.answer = fmt.Sprintf("A %s, B %s: A is not slower", nanos(ev.time(id, variantAll)), nanos(ev.time(id, l.name))), no
			}
			parts = append(parts, p)
		}
	}
	return ruling("A look-up that finds a level missing is needed to know that; one of a level already known to be missing would be a second one.", parts...)
}

// lookUpShare returns the time of A's look-ups as a share of the time that A takes longer
// than B, from the blocks of the same rounds.
func (ev *evidence) lookUpShare(id, loop string) run.Estimate {
	share := func(x []float64) float64 { return x[0] / (x[1] - x[2]) }
	looks, a, b := ev.time(id, variantLookUps), ev.time(id, variantAll), ev.time(id, loop)
	if e, ok := overRounds(share, ev.byRound(id, variantLookUps, blockTime), ev.byRound(id, variantAll, blockTime), ev.byRound(id, loop, blockTime)); ok {
		return e
	}
	return quotient(looks, difference(a, b))
}

// counted is calls for a figure that not every machine has: if it is missing, counted returns
// why and does not note it. A variant without a round lacks nothing: why is "", and n is NaN.
func (ev *evidence) counted(id, name string, calls ...string) (n float64, why string) {
	v := ev.variant(id, name)
	if v == nil {
		return math.NaN(), "not measured"
	}
	if v.Syscalls == nil {
		why := v.Missing["syscalls"]
		if noRound(v, why) {
			ev.early = true
			return math.NaN(), ""
		}
		return math.NaN(), "counted system calls: " + cmp.Or(report.Reason(why), "they were not counted")
	}
	for _, c := range calls {
		n += v.Syscalls[c]
	}
	return n, ""
}
