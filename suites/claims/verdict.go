package claims

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stele-go/stele/lab/run"
)

// A ruling is the judgement that the parts make. why says how the parts were chosen.
func ruling(why string, parts ...part) judgement { return judgement{parts: parts, why: why} }

// verdictOf returns the verdict that the parts make, and the reason in words:
//
//   - DoesNotHold if one question is refuted: a deciding part is no under all conditions or,
//     where the report names conditions, under all of those. What is unclear does not matter.
//   - CannotTest if a main question, or every question, could not be tested at all.
//   - Depends if a question is yes under one condition and no under another.
//   - CannotTell if a deciding part is neither yes nor no.
//   - Holds otherwise.
func verdictOf(parts []part) (verdict, why string) {
	var refuted, mixed, unclear, lacking []string
	tested, mainLacks := false, false
	for _, of := range questions(parts) {
		yesses, noes := having(of, yes), having(of, no)
		if len(having(of, untested)) < len(of) {
			tested = true
		} else if slices.ContainsFunc(of, func(p part) bool { return p.role == mainPart }) {
			mainLacks = true
		}
		switch {
		case len(yesses) > 0 && len(noes) > 0:
			mixed = append(mixed, fmt.Sprintf("%s: yes with %s; no with %s", of[0].what, conditions(yesses), conditions(noes)))
		case len(noes) > 0:
			refuted = append(refuted, noes[0].says())
		}
		for _, p := range of {
			switch p.answer {
			case cannotTell:
				unclear = append(unclear, p.name()+": "+p.unsettled())
			case untested:
				lacking = append(lacking, p.lacked())
			}
		}
	}
	lacking = slices.Compact(slices.Sorted(slices.Values(lacking)))
	switch {
	case len(refuted) > 0:
		return DoesNotHold, "No: " + joined(refuted)
	case mainLacks, !tested:
		return CannotTest, upperFirst(joined(append(lacking, untold(len(lacking))...)))
	case len(mixed) > 0:
		return Depends, joined(mixed)
	case len(unclear) > 0:
		return CannotTell, joined(unclear)
	case len(lacking) > 0:
		return Holds, "Not tested: " + joined(lacking)
	}
	return Holds, ""
}

// untold is the reason of a claim without a deciding part.
func untold(reasons int) []string {
	if reasons > 0 {
		return nil
	}
	return []string{"nothing that decides was measured"}
}

// questions groups the deciding parts by question, in order. Where the report names
// conditions of a question, only the parts under these count.
func questions(parts []part) (groups [][]part) {
	index := map[string]int{}
	for _, p := range parts {
		if p.role == shown {
			continue
		}
		i, ok := index[p.what]
		if !ok {
			i, groups = len(groups), append(groups, nil)
			index[p.what] = i
		}
		groups[i] = append(groups[i], p)
	}
	for i, of := range groups {
		if named := filter(of, func(p part) bool { return p.named }); len(named) > 0 {
			groups[i] = named
		}
	}
	return groups
}

func having(parts []part, a answer) []part {
	return filter(parts, func(p part) bool { return p.answer == a })
}

func filter(parts []part, keep func(part) bool) (kept []part) {
	for _, p := range parts {
		if keep(p) {
			kept = append(kept, p)
		}
	}
	return kept
}

func conditions(parts []part) string {
	var names []string
	for _, p := range parts {
		if p.cond != "" {
			names = append(names, p.cond)
		}
	}
	return joined(names)
}

// joined joins reasons, the first few of them.
func joined(reasons []string) string {
	const most = 4
	if n := len(reasons) - most; n > 0 {
		reasons = append(reasons[:most:most], fmt.Sprintf("and %d more", n))
	}
	return strings.Join(reasons, "; ")
}

// name writes "p99 (as coded)".
func (p part) name() string {
	if p.cond == "" {
		return p.what
	}
	return p.what + " (" + p.cond + ")"
}

// says writes the part in a line.
func (p part) says() string {
	var b strings.Builder
	b.WriteString(p.name())
	for i, s := range []string{p.figure, p.limit} {
		if s != "" {
			b.WriteString([]string{": ", ", "}[min(i, 1)] + s)
		}
	}
	for _, n := range p.notes {
		b.WriteString(", " + n)
	}
	return b.String()
}

// lacked writes what a part that could not be tested needs.
func (p part) lacked() string {
	if p.lacks == "" {
		return "no figure of " + p.name()
	}
	return p.lacks
}

// answered writes a part with its answer.
func (p part) answered() string {
	if p.role == shown {
		return p.says()
	}
	return p.says() + ": " + p.answer.String()
}

// String returns the word of an answer, as in run.ClaimPart.
func (a answer) String() string {
	return map[answer]string{yes: "yes", no: "no", cannotTell: CannotTell, untested: CannotTest}[a]
}

// claimParts returns the parts as a run has them.
func claimParts(parts []part) (list []run.ClaimPart) {
	for _, p := range parts {
		c := run.ClaimPart{
			What: p.what, Condition: p.cond, Figure: p.figure, Limit: p.limit, Notes: p.notes,
			Role: map[role]string{deciding: run.PartDecides, mainPart: run.PartMain, shown: run.PartShown}[p.role],
		}
		if p.role != shown {
			c.Answer = p.answer.String()
		}
		switch p.answer {
		case untested:
			c.Reason = p.lacked()
		case cannotTell:
			if p.role != shown {
				c.Reason = p.unsettled()
			}
		}
		if p.est.N > 0 {
			e := p.est
			c.Estimate = &e
		}
		list = append(list, c)
	}
	return list
}
