package claimpage

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/claims"
)

// Systems are the file systems of the page, in the order of its columns.
func Systems() []string { return []string{"ext4", "xfs", "btrfs", "tmpfs"} }

// All returns every claim, in the order of reports and numbers.
func All() []claims.Claim {
	return claims.InOrder(claims.Directories(), claims.Creation(), claims.Headers(), claims.Reading(1), claims.RW(),
		claims.Sync(), claims.Log(1), claims.WAL(), claims.Store(), claims.PowerCuts())
}

// Page returns the page of verdicts from the runs of the store.
func Page(list []claims.Claim, s Store) (string, error) {
	p := &page{machines: map[string]int{}}
	for i := range list {
		c := &list[i]
		if i == 0 || c.Source.Report != list[i-1].Source.Report {
			reports := "Report " + c.Source.Report
			if c.Source.Report == claims.Several {
				reports = "Several reports"
			}
			fmt.Fprintf(&p.rows, "\n## %s: %s\n\n| claim | statement | ext4 | XFS | btrfs | tmpfs | measured | machine, raw run |\n|---|---|---|---|---|---|---|---|\n",
				reports, c.Source.Title)
		}
		r, err := s.Load(c.ID)
		if err != nil {
			return "", err
		}
		p.row(c, r, filepath.Base(s.Dir))
	}
	return head + p.legend() + p.rows.String() + p.sources(list), nil
}

const head = `# Claims

Published statements about file I/O that Stele puts to the test. Each file has the experiments of one
claim, its ways of doing the job, and the rule that turns results into a verdict:

- holds: every part that decides is a clear yes
- does not hold: one is a clear no
- depends: yes under one condition, no under another
- cannot tell: an interval reaches over its limit, or there are too few rounds
- cannot be tested here: something that the claim needs is missing, such as processors or a medium

Put claims to the test on your own disk; the verdicts below are of the machines named below them:

    go run ./cmd/stele bench D1 D8    # two claims
    go run ./cmd/stele bench claims   # all of them

The page is made from the raw runs beside it, claim by claim: ` + "`sudo go run ./suites/claims/claimspage`" + `
measures the claims that have no run yet and can be interrupted. Each row is measured by the same as
` + "`sudo stele bench ID --fs ext4,xfs,btrfs,tmpfs --budget TIME`" + `, on fresh images side by side, in the time that its raw run names. Claims whose ways
touch no file are measured in one place, and their verdict stands for all. A raw run is JSON for stele report:
` + "`gzip -dc suites/claims/runs/D1.json.gz >D1.json && stele report D1.json`" + `. A test keeps page and runs
together; ` + "`go test ./suites/claims -run Index -update`" + ` writes the page from the runs.
`

// A page is the page under construction.
type page struct {
	rows     strings.Builder
	machines map[string]int // by description, numbered from 1
	order    []string
}

// cell escapes what Markdown would take for its own.
var cell = strings.NewReplacer("|", `\|`, "*", `\*`, "<", "&lt;", "\n", " ")

func (p *page) row(c *claims.Claim, r *run.Run, runs string) {
	file := strings.ToLower(c.ID) + ".go"
	fmt.Fprintf(&p.rows, "| [%s](%s) | %s |", c.ID, file, cell.Replace(c.Source.Statement))
	if !Complete(c, r) {
		p.rows.WriteString(" | | | | not measured yet | |\n")
		return
	}
	verdicts := c.Judge(r.Results, r.Places)
	for _, fs := range Systems() {
		if c.InMemory() {
			fs = r.Places[0].Name
		}
		fmt.Fprintf(&p.rows, " %s |", cell.Replace(verdictOn(verdicts, fs)))
	}
	fmt.Fprintf(&p.rows, " %s | [%d](#machines), [run](%s) |\n", cell.Replace(measured(verdicts)), p.machine(r), runs+"/"+c.ID+".json.gz")
}

// verdictOn returns the verdict on a file system. A claim that compares places has one
// verdict for all.
func verdictOn(verdicts []run.Claim, fs string) string {
	for _, v := range verdicts {
		if slices.Contains(strings.Split(v.Place, ", "), fs) {
			return v.Verdict
		}
	}
	return ""
}

// measured returns the figure behind the verdict of the first place, and where that is: of
// the parts that decide one with the answer that made the verdict.
func measured(verdicts []run.Claim) string {
	if len(verdicts) == 0 {
		return ""
	}
	v := verdicts[0]
	want := map[string]string{claims.DoesNotHold: "no", claims.CannotTell: claims.CannotTell, claims.CannotTest: claims.CannotTest}
	for _, part := range v.Parts {
		if part.Role == run.PartShown || part.Figure == "" || part.Answer != cmp.Or(want[v.Verdict], "yes") {
			continue
		}
		text := part.What
		if part.Condition != "" {
			text += " (" + part.Condition + ")"
		}
		text += ": " + part.Figure
		if part.Limit != "" {
			text += ", " + part.Limit
		}
		if v.Verdict == claims.Depends {
			text += ". It depends: " + v.Why
		}
		return short(text)
	}
	return short(v.Why)
}

// short cuts a text at a word, with an ellipsis.
func short(text string) string {
	const most = 260
	if len(text) <= most {
		return text
	}
	return strings.TrimRight(text[:strings.LastIndexByte(text[:most], ' ')], " .,;:") + " ..."
}

// machine returns the number of the machine and the versions of a run.
func (p *page) machine(r *run.Run) int {
	e := r.Places[0].Environment
	text := fmt.Sprintf("%s, %d processors (GOMAXPROCS %d), %.0f GiB of memory, Linux %s", cmp.Or(e.CPU, "unknown processor"), e.CPUs, e.GOMAXPROCS,
		float64(e.Memory)/(1<<30), e.Kernel)
	if e.Virtual != "" {
		text += ", " + e.Virtual
	}
	text += "; images on " + cmp.Or(e.BackingFS, e.FS) + "; Stele " + r.Version
	if p.machines[text] == 0 {
		p.order = append(p.order, text)
		p.machines[text] = len(p.order)
	}
	return p.machines[text]
}

func (p *page) legend() string {
	var b strings.Builder
	b.WriteString("\n## Machines\n\n")
	for i, text := range p.order {
		fmt.Fprintf(&b, "%d. %s\n", i+1, text)
	}
	if len(p.order) == 0 {
		b.WriteString("None yet.\n")
	}
	return b.String()
}

// sources lists where each claim was published and what its ways promise.
func (p *page) sources(list []claims.Claim) string {
	var b strings.Builder
	b.WriteString("\n## Sources and promises\n\nThe promise is the durability of the compared ways. A title in square brackets is not the report's own.\n\n| claim | section | claimed | promise |\n|---|---|---|---|\n")
	for _, c := range list {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", c.ID, strings.TrimPrefix(cell.Replace(c.Source.String()), "report "), cell.Replace(c.Claimed), cell.Replace(c.Promise))
	}
	return b.String()
}
