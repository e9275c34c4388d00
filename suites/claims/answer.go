package claims

import (
	"fmt"
	"slices"

	"github.com/stele-go/stele/lab/run"
)

// An answer is what an interval says to a question.
type answer int

const (
	cannotTell answer = iota // part of the interval says yes and part no
	yes
	no
)

// atLeast asks whether a figure is want or more.
func atLeast(e run.Estimate, want float64) answer {
	switch {
	case e.Lo >= want:
		return yes
	case e.Hi < want:
		return no
	}
	return cannotTell // also without an interval: NaN compares false
}

// within asks whether a figure lies from lo to hi.
func within(e run.Estimate, lo, hi float64) answer {
	switch {
	case e.Lo >= lo && e.Hi <= hi:
		return yes
	case e.Hi < lo || e.Lo > hi:
		return no
	}
	return cannotTell
}

// near asks whether a ratio is the claimed one to within 25 %.
func near(e run.Estimate, claimed float64) answer { return within(e, claimed*0.75, claimed*1.25) }

// slack is how far below a claimed factor a measured one may lie and still
// bear the claim out: the figures were taken on another machine.
const slack = 0.10

// claimedFactor asks whether a speedup is the claimed one or better.
func claimedFactor(e run.Estimate, claimed float64) answer { return atLeast(e, claimed*(1-slack)) }

// asked writes the limit that claimedFactor applies.
func asked(claimed float64) string {
	return fmt.Sprintf("%.2fx (the claim less %.0f %%)", claimed*(1-slack), 100*slack)
}

// together is yes or no when all answers are, else cannotTell; mixed tells
// whether the reason is that some say yes and some say no.
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

// tooWide is the reason for CannotTest where an interval decides nothing.
const tooWide = "cannot tell: an interval reaches over the limit, or there are too few rounds for one; ask for more rounds. "

// decide is the verdict on answers that all have to be yes.
func decide(why, on string, answers ...answer) (verdict, reason string) {
	a, mixed := together(answers...)
	switch {
	case mixed:
		return Depends, "on " + on + ". " + why
	case a == yes:
		return Holds, why
	case a == no:
		return DoesNotHold, why
	}
	return CannotTest, tooWide + why
}

func inverse(e run.Estimate) run.Estimate {
	e.Median, e.Lo, e.Hi = 1/e.Median, 1/e.Hi, 1/e.Lo
	return e
}

// quotient of two figures that were not paired: its interval is the widest
// that theirs allow.
func quotient(a, b run.Estimate) run.Estimate {
	return run.Estimate{
		Median: a.Median / b.Median, Lo: a.Lo / b.Hi, Hi: a.Hi / b.Lo,
		Confidence: min(a.Confidence, b.Confidence), N: min(a.N, b.N),
	}
}

// scaled is an estimate times k.
func scaled(e run.Estimate, k float64) run.Estimate {
	e.Median, e.Lo, e.Hi = e.Median*k, e.Lo*k, e.Hi*k
	return e
}
