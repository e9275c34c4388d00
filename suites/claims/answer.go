package claims

import (
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

// slack is how far below a claimed factor a measured one may lie: the claimed figures
// come from another machine.
const slack = 0.10

// answerIf returns yes if is, else no.
func answerIf(is bool) answer {
	if is {
		return yes
	}
	return no
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
	a.Confidence = min(a.Confidence, b.Confidence)
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
