package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/stele-go/stele/lab/run"
)

// claimLine is the reason of a verdict on a claim, or what was measured, in one line.
func claimLine(c *run.Claim) string { return clean(cmp.Or(c.Why, c.Measured)) }

// claims writes a line for each claim; with details everything about each.
func (p *printer) claims(r *run.Run, details bool) {
	if len(r.Claims) == 0 {
		return
	}
	p.title("Claims: " + claimTally(r.Claims))
	places := claimPlaces(r.Claims) > 1
	for i := range r.Claims {
		c := &r.Claims[i]
		if details {
			p.claim(r, c)
			continue
		}
		lead := fmt.Sprintf("  %-4s", clean(c.ID))
		if places {
			lead += clean(c.Place) + " "
		}
		word := clean(c.Verdict)
		text := ellipsis(claimLine(c), p.width-runes(lead)-runes(word)-2)
		p.line(lead + p.paint(claimStyle(c.Verdict), word) + "  " + p.paint(dim, text))
	}
}

func (p *printer) claim(r *run.Run, c *run.Claim) {
	where := claimPromise(r, c)
	if c.Place != "" {
		where += ", in " + c.Place
	}
	p.line(clean(fmt.Sprintf("  %-4s", c.ID)) + p.paint(claimStyle(c.Verdict), clean(c.Verdict)) + p.paint(dim, "  ("+clean(where)+")"))
	for _, f := range [][2]string{{"workload", c.Statement}, {"claimed", c.Claimed}, {"measured", c.Measured}, {"why", c.Why}, {"source", c.Source}} {
		if f[1] != "" {
			p.para(fmt.Sprintf("      %-9s ", f[0]), plain, f[1])
		}
	}
}

// claimTally counts the verdicts: "2 hold, 1 does not hold" in the words of the verdicts.
func claimTally(cs []run.Claim) string {
	var order []string
	n := map[string]int{}
	for _, c := range cs {
		if n[c.Verdict] == 0 {
			order = append(order, c.Verdict)
		}
		n[c.Verdict]++
	}
	for i, v := range order {
		order[i] = fmt.Sprintf("%d %s", n[v], clean(v))
	}
	return strings.Join(order, ", ")
}

func claimPlaces(cs []run.Claim) int {
	var seen []string
	for _, c := range cs {
		if !slices.Contains(seen, c.Place) {
			seen = append(seen, c.Place)
		}
	}
	return len(seen)
}

// onlyForClaims reports whether all results of a group were measured for a claim.
func onlyForClaims(r *run.Run, g *group) bool {
	return !slices.ContainsFunc(g.Results, func(res *run.Result) bool { return !forClaim(r, res) })
}

// claimSuite is the suite of the experiments that are measured for claims only.
const claimSuite = "claims"

// forClaim reports whether a result was measured for a claim of the run.
func forClaim(r *run.Run, res *run.Result) bool {
	return res.Suite == claimSuite && slices.ContainsFunc(r.Claims, func(c run.Claim) bool { return slices.Contains(c.Results, res.ID) })
}

func claimStyle(verdict string) style {
	switch verdict {
	case "holds":
		return green
	case "does not hold":
		return red
	case "depends":
		return yellow
	}
	return dim
}
