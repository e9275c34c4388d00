package claims

import (
	"fmt"
	"math"
	"strings"

	"github.com/stele-go/stele/internal/units"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
)

// A part is one question of a claim under one condition, with its answer. The parts of a
// claim make its verdict; see verdictOf. Parts with the same what ask the same question
// under different conditions.
type part struct {
	what   string // "B against A, mean"
	cond   string // the condition: "ext4, 12 levels"; "" where there is only one
	named  bool   // the report names the condition
	role   role
	answer answer
	figure string       // as measured: "1.32x [1.28, 1.37]"
	limit  string       // what was asked: "want 1.90x or more (claimed 2.11x)"
	lacks  string       // why the answer is untested, where that is known
	open   string       // why the answer is cannotTell, where its interval does not say it
	notes  []string     // "not the same job"
	est    run.Estimate // the figure; N is 0 for a fact
	lo, hi float64      // the range that est had to be in
}

// A role says what a part does for the verdict.
type role int

const (
	deciding role = iota
	mainPart      // deciding, and without it the claim cannot be tested
	shown         // printed, decides nothing
)

// Limits of rule 2: a claimed ratio may be missed by a tenth, the same is within a tenth,
// and a direction counts from 1.05.
const (
	sameLo  = 0.9
	sameHi  = 1.1
	differs = 1.05
)

// inRange returns the part that asks whether e lies from lo to hi: yes if its whole
// interval does, no if all of it lies outside.
func inRange(what string, e run.Estimate, lo, hi float64, figure, limit string) part {
	p := part{what: what, est: e, lo: lo, hi: hi, figure: figure, limit: limit, answer: within(e, lo, hi)}
	if math.IsNaN(e.Median) {
		p.answer, p.figure = untested, ""
		if e.Confidence == notYet.Confidence { // too few rounds are not a lack
			p.answer = cannotTell
		}
	}
	return p
}

// claimed returns the part of a claimed ratio k: yes from 0.9 k on. More than claimed is
// yes too.
func claimed(what string, e run.Estimate, k float64) part {
	least := k * (1 - slack)
	p := inRange(what, e, least, math.Inf(1), factor(e), fmt.Sprintf("want %s or more (claimed %s)", times(least), times(k)))
	if p.answer == no && e.Lo > 1 {
		p.notes = append(p.notes, "the direction is as claimed, the size is not")
	}
	return p
}

// same returns the part of a ratio that is claimed to be 1.
func same(what string, e run.Estimate) part {
	return inRange(what, e, sameLo, sameHi, factor(e), fmt.Sprintf("want %s to %s", times(sameLo), times(sameHi)))
}

// direction returns the part of a ratio that is claimed to be more than 1, without a size.
func direction(what string, e run.Estimate) part {
	return inRange(what, e, differs, math.Inf(1), factor(e), "want "+times(differs)+" or more")
}

// least returns the part of a figure that had to be want or more, in its own unit; write
// writes it.
func least(what string, e run.Estimate, want float64, write func(run.Estimate) string) part {
	return inRange(what, e, want, math.Inf(1), write(e), "want "+limitText(want, write)+" or more")
}

// most is least for a figure that had to be want or less.
func most(what string, e run.Estimate, want float64, write func(run.Estimate) string) part {
	return inRange(what, e, math.Inf(-1), want, write(e), "want "+limitText(want, write)+" or less")
}

// fact returns the part of something that needs no interval: a number of calls, a mode, an
// errno. figure is what was found.
func fact(what string, is bool, figure string) part {
	return part{what: what, answer: answerIf(is), figure: figure}.measured()
}

// measured makes the part untested if its figure is of something that is missing.
func (p part) measured() part {
	if strings.Contains(p.figure, "NaN") {
		p.answer, p.figure = untested, ""
	}
	return p
}

// figureOf returns a part that only shows a figure. One of something that was not measured
// is left out.
func figureOf(what, figure string) part {
	return part{what: what, role: shown, figure: figure}.measured()
}

// lacking returns the part of a question that cannot be asked here, and why.
func lacking(what, why string) part { return part{what: what}.needs(why) }

// either returns the part that is yes if one of two is, and no only if both are.
func either(a, b part) part {
	rank := map[answer]int{yes: 3, cannotTell: 2, untested: 1, no: 0}
	better, other := a, b
	if rank[b.answer] > rank[a.answer] {
		better, other = b, a
	}
	if other.figure != "" {
		better.notes = append(better.notes, "beside "+other.what+": "+other.figure)
	}
	better.what = a.what + ", or " + b.what
	return better
}

// under sets the condition, one that the report does not name.
func (p part) under(condition string) part { p.cond = condition; return p }

// underNamed sets the condition, one that the report names. Where a question has such
// conditions, they decide and others are shown.
func (p part) underNamed(condition string) part { p.cond, p.named = condition, true; return p }

// main makes the part one without which the claim cannot be tested.
func (p part) main() part { p.role = mainPart; return p }

// onlyShown makes the part one that decides nothing.
func (p part) onlyShown() part { p.role = shown; return p }

// needs makes the part one that could not be tested if lack is not "". Its figure is still
// shown.
func (p part) needs(lack string) part {
	if lack != "" {
		p.answer, p.lacks = untested, lack
	}
	return p
}

// undecided makes the part one that cannot tell if why is not "": there are too few data, or
// none beyond a limit of the experiment.
func (p part) undecided(why string) part {
	if why != "" {
		p.answer, p.open = cannotTell, why
	}
	return p
}

// wrong says that the variant's result is wrong, and how. Such a variant is shown and may
// say no, but never says yes.
func (p part) wrong(how string) part {
	p.notes = append(p.notes, "wrong result: "+how)
	if p.answer != no {
		p.role = shown
	}
	return p
}

// note adds a remark: "not the same job". One with a figure that was not measured is left
// out.
func (p part) note(text string) part {
	if text != "" && !strings.Contains(text, "NaN") {
		p.notes = append(p.notes[:len(p.notes):len(p.notes)], text)
	}
	return p
}

// untestable makes the part one of which there is no figure.
func (p part) untestable() part { p.answer = untested; return p }

// notSameJob is the note on variants that promise different things, or leave different
// files behind.
const notSameJob = "not the same job"

// processors returns what the place lacks for a claim about contention on so many
// processors, or "". Affinity and quota count.
func (ev *evidence) processors(want int) string {
	have := ev.usable()
	if have >= want {
		return ""
	}
	return fmt.Sprintf("%s, the claim is about %d", units.Count(have, "processor"), want)
}

// usable returns how many processors a process may use.
func (ev *evidence) usable() int {
	e := &ev.place.Environment
	have := e.GOMAXPROCS
	if e.CPUs > 0 {
		have = min(have, e.CPUs)
	}
	if pinned, err := lab.ParseCPUs(e.Pinned); err == nil && e.Pinned != "" {
		have = min(have, len(pinned))
	}
	return have
}

// onProcessors writes the condition of a claim that names no number of processors.
func (ev *evidence) onProcessors() string {
	return " Measured on " + units.Count(ev.usable(), "processor") + "."
}

// limitText writes a limit as a figure is written, without an interval.
func limitText(x float64, write func(run.Estimate) string) string {
	text, _, _ := strings.Cut(write(run.Estimate{Median: x, Lo: x, Hi: x}), " [")
	return text
}

// exactly returns the estimate of a figure that is known.
func exactly(x float64) run.Estimate { return run.Estimate{Median: x, Lo: x, Hi: x} }
