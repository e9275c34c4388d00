package claims

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stele-go/stele/lab/run"
)

// An answer is what an interval says about a question.
type answer int

const (
	cannotTell answer = iota // the interval lies on both sides of the limit
	yes
	no
	untested // something that the question needs is missing
)

// atLeast reports whether a figure is want or more.
func atLeast(e run.Estimate, want float64) answer {
	switch {
	case e.Lo >= want:
		return yes
	case e.Hi < want:
		return no
	}
	return cannotTell // without an interval too: NaN compares false
}

// within reports whether a figure lies from lo to hi.
func within(e run.Estimate, lo, hi float64) answer {
	switch {
	case e.Lo >= lo && e.Hi <= hi:
		return yes
	case e.Hi < lo || e.Lo > hi:
		return no
	}
	return cannotTell
}

// near reports whether a ratio is within 25 % of the claimed one.
func near(e run.Estimate, claimed float64) answer { return within(e, claimed*0.75, claimed*1.25) }

// slack is how far below a claimed factor a measured one may lie: the claimed figures
// come from another machine.
const slack = 0.10

// claimedFactor reports whether a speedup is the claimed one or better.
func claimedFactor(e run.Estimate, claimed float64) answer { return atLeast(e, claimed*(1-slack)) }

// atMost reports whether a figure is the claimed one or less.
func atMost(e run.Estimate, claimed float64) answer {
	return within(e, math.Inf(-1), claimed*(1+slack))
}

// answerIf returns yes if is, else no.
func answerIf(is bool) answer {
	if is {
		return yes
	}
	return no
}

// asked writes the limit of claimedFactor.
func asked(claimed float64) string {
	return fmt.Sprintf("%.2fx (the claim less %.0f %%)", claimed*(1-slack), 100*slack)
}

// together returns the answer that all give, else cannotTell. mixed reports whether
// some are yes and some no.
func together(answers ...answer) (a answer, mixed bool) {
	has := func(x answer) bool { return slices.Contains(answers, x) }
	switch {
	case has(yes) && has(no):
		return cannotTell, true
	case has(cannotTell) || len(answers) == 0:
		return cannotTell, false
	}
	return answers[0], false
}

// tooWide is the reason for CannotTell where an interval lies on both sides of a limit.
const tooWide = "An interval reaches over the limit, or there are too few rounds for one; ask for more rounds. "

// ruled returns a judgement without parts.
func ruled(measured, verdict, why string) judgement {
	return judgement{measured: measured, verdict: verdict, why: why}
}

// decide returns the judgement on answers that must all be yes. on names what the verdict
// depends on where some are yes and some no.
func decide(measured, why, on string, answers ...answer) judgement {
	j := judgement{measured: strings.TrimSpace(measured), verdict: CannotTell, why: why}
	switch a, mixed := together(answers...); {
	case mixed:
		j.verdict, j.why = Depends, "on "+on+". "+why
	case a == yes:
		j.verdict = Holds
	case a == no:
		j.verdict = DoesNotHold
	default:
		j.why = tooWide + why
	}
	return j
}

func inverse(e run.Estimate) run.Estimate {
	e.Median, e.Lo, e.Hi = 1/e.Median, 1/e.Hi, 1/e.Lo
	return e
}

// quotient returns a / b of two figures that were not paired: its interval is the widest
// that theirs allow.
func quotient(a, b run.Estimate) run.Estimate {
	return run.Estimate{
		Median: a.Median / b.Median, Lo: a.Lo / b.Hi, Hi: a.Hi / b.Lo,
		Confidence: min(a.Confidence, b.Confidence), N: min(a.N, b.N),
	}
}

// sum returns a + b, with the widest interval.
func sum(a, b run.Estimate) run.Estimate {
	a.Median, a.Lo, a.Hi = a.Median+b.Median, a.Lo+b.Lo, a.Hi+b.Hi
	return a
}

// difference returns a - b of two figures that were not paired, with the widest interval.
func difference(a, b run.Estimate) run.Estimate {
	return run.Estimate{
		Median: a.Median - b.Median, Lo: a.Lo - b.Hi, Hi: a.Hi - b.Lo,
		Confidence: min(a.Confidence, b.Confidence), N: min(a.N, b.N),
	}
}

// scaled returns an estimate times k.
func scaled(e run.Estimate, k float64) run.Estimate {
	e.Median, e.Lo, e.Hi = e.Median*k, e.Lo*k, e.Hi*k
	return e
}
