package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/stele-go/stele/internal/units"
	"github.com/stele-go/stele/lab/run"
)

// leastChain is the share of the waiting time below which a chain is not
// listed, mostChains and mostCalls are how many are.
const (
	leastChain = 0.01
	mostChains = 8
	mostCalls  = 12
)

const chainTitle = "Chains of waits, and times of system calls"

const chainLegend = "The first line of a chain is goroutines that wait. Each line below is the goroutines that the line above waits for, and how they spend that time. Shares are of the time that goroutines of the variant were not running: 64 goroutines that wait for one sync wait 64 times as long as it takes."

const callLegend = "System calls are timed from entry to exit, time without a CPU included, in blocks of their own. Percentiles are within a fifth of their value, and n/a where there are too few calls. Timing adds about a microsecond to each call with BPF, several with tracepoints. In calls of the Go runtime threads park and wake; the variant does not wait for them."

func hasTrace(res *run.Result) bool {
	return slices.ContainsFunc(res.Variants, func(v run.VariantResult) bool { return v.Trace != nil })
}

// short takes the path off the functions in s: "wal.(*Log).Append".
func short(s string) string {
	words := strings.Fields(clean(s))
	for i, w := range words {
		words[i] = w[strings.LastIndexByte(w, '/')+1:]
	}
	return strings.Join(words, " ")
}

// linkDoes words how the goroutines of a link spend the time.
func linkDoes(l run.Link) string {
	switch {
	case l.How == run.HowSyscall && l.Call != "" && l.In != "":
		return "in " + clean(l.Call) + " (" + short(l.In) + ")"
	case l.How == run.HowSyscall && l.Call != "":
		return "in " + clean(l.Call)
	case l.In != "" && l.How == run.HowSyscall:
		return howText(l.How) + " (" + short(l.In) + ")"
	case l.In != "":
		return howText(l.How) + " in " + short(l.In)
	}
	return howText(l.How)
}

func howText(how string) string {
	switch how {
	case run.HowSyscall:
		return "in a system call"
	case run.HowReady:
		return "ready, waiting for a processor"
	case run.HowBlockedAgain:
		return "blocked, not followed further"
	case run.HowUnfollowed:
		return "not followed"
	}
	return clean(how)
}

// linkWho names the goroutines of a link.
func linkWho(l run.Link) string {
	switch l.Who {
	case run.WhoTimer:
		return "a timer of the Go runtime"
	case run.WhoPoller:
		return "the network poller of the Go runtime"
	case run.WhoRuntime:
		return "the Go runtime"
	}
	return short(l.Who)
}

func linkText(l run.Link) string { return linkWho(l) + ": " + linkDoes(l) }

// chainLines has a line for each link of a chain, and one for the kernel.
func chainLines(c run.ChainShare) []string {
	var out []string
	for _, l := range c.Links {
		s := linkText(l)
		if l.By != "" {
			s += "; releases it in " + short(l.By)
		}
		out = append(out, s)
	}
	if len(c.Kernel) > 0 {
		var parts []string
		for _, k := range c.Kernel[:min(len(c.Kernel), 3)] {
			parts = append(parts, Cause(k.Cause)+" "+percent(k.Share))
		}
		out = append(out, "kernel: "+strings.Join(parts, "; "))
	}
	return out
}

// shownChains are those worth a line.
func shownChains(t *run.VariantTrace) []run.ChainShare {
	n := 0
	for n < len(t.Chains) && n < mostChains && t.Chains[n].Share >= leastChain {
		n++
	}
	return t.Chains[:n]
}

// restOfChains says how much is not listed, or "".
func restOfChains(t *run.VariantTrace) string {
	rest := 1.0
	for _, c := range shownChains(t) {
		rest -= c.Share
	}
	if t.ChainBlocks == 0 || rest < leastChain/2 {
		return ""
	}
	return percent(rest) + " in other chains, each less"
}

// A callRow is one system call of a variant, ready to be shown.
type callRow struct{ Call, Count, PerOp, P50, P99, Max, Total string }

func callRows(t *run.VariantTrace) []callRow {
	var rows []callRow
	for _, c := range t.Calls[:min(len(t.Calls), mostCalls)] {
		name := clean(c.Call)
		if c.Runtime {
			name += " (Go runtime)"
		}
		rows = append(rows, callRow{name, count(float64(c.Count)), count(c.PerOp), callPercentile(c.P50), callPercentile(c.P99), duration(float64(c.Max)), duration(float64(c.Total))})
	}
	return rows
}

func callPercentile(p run.Percentile) string {
	if p.Err() != nil {
		return notAvailable
	}
	return duration(p.NS)
}

// traceGaps are the parts that are missing, each with its reason.
func traceGaps(t *run.VariantTrace) []string {
	return gapLines(t.Missing, map[string]string{"calls": "times of system calls", "chains": "chains of waits"})
}

// gapLines words the reasons of what is missing; names has the words for its keys.
func gapLines(missing map[string]run.Reason, names map[string]string) []string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(missing)) {
		name := cmp.Or(names[k], k)
		out = append(out, clean(name+": "+notAvailable+", "+Reason(missing[k])))
	}
	return out
}

// traceHead says how many blocks the figures of a variant come from.
func traceHead(t *run.VariantTrace) string {
	var parts []string
	if t.ChainBlocks > 0 {
		parts = append(parts, fmt.Sprintf("%s of waiting followed in %s", duration(float64(t.Followed)), units.Count(t.ChainBlocks, "block")))
	}
	if t.Blocks > 0 {
		by := map[string]string{run.SourceBPF: "BPF", run.SourceTracepoints: "tracepoints"}[t.Source]
		if by == "" {
			by = t.Source
		}
		parts = append(parts, fmt.Sprintf("system calls timed by %s in %s", by, units.Count(t.Blocks, "block")))
	}
	return clean(strings.Join(parts, ", "))
}

// trace writes the chains and system calls of all variants of a group.
func (p *printer) trace(g *group) {
	if !slices.ContainsFunc(g.Results, hasTrace) {
		return
	}
	p.para("", plain, chainTitle)
	p.para("", dim, chainLegend)
	p.para("", dim, callLegend)
	for _, res := range g.Results {
		for i := range res.Variants {
			v := &res.Variants[i]
			if v.Trace == nil {
				continue
			}
			name := clean(v.Name)
			if len(g.Results) > 1 {
				name = pointLabel(res) + ", " + name
			}
			p.traceOf(name, v.Trace)
		}
	}
	p.line("")
}

func (p *printer) traceOf(name string, t *run.VariantTrace) {
	head := name
	if s := traceHead(t); s != "" {
		head += ": " + s
	}
	p.para("", dim, head)
	for _, c := range shownChains(t) {
		for i, s := range chainLines(c) {
			lead := "         <- "
			if i == 0 {
				lead = fmt.Sprintf("  %6s  ", percent(c.Share))
			}
			p.para(lead, plain, s)
		}
	}
	if s := restOfChains(t); s != "" {
		p.para("          ", dim, s)
	}
	if rows := callRows(t); len(rows) > 0 {
		tb := &table{head: []string{"  call", "count", "per op", "p50", "p99", "max", "total"}, left: []bool{true, false, false, false, false, false, false}}
		for _, r := range rows {
			tb.lines = append(tb.lines, line{cells: []cell{{text: "  " + r.Call}, {text: r.Count}, {text: r.PerOp}, {text: r.P50}, {text: r.P99}, {text: r.Max}, {text: r.Total}}})
		}
		for _, part := range tb.split(p.width, 3) {
			part.write(p)
		}
		if n := len(t.Calls) - len(rows); n > 0 {
			p.para("  ", dim, units.Count(n, "other call")+" took less.")
		}
	}
	for _, s := range traceGaps(t) {
		p.para("  ", dim, s)
	}
}

func (m *markdown) trace(res *run.Result) {
	if !hasTrace(res) {
		return
	}
	m.printf("Chains of waits. %s\n\n", escapeMarkdown(chainLegend))
	for i := range res.Variants {
		v := &res.Variants[i]
		if v.Trace == nil {
			continue
		}
		m.printf("- %s\n", escapeMarkdown(v.Name+": "+traceHead(v.Trace)))
		for _, c := range shownChains(v.Trace) {
			m.printf("  - %s %s\n", escapeMarkdown(percent(c.Share)), escapeMarkdown(strings.Join(chainLines(c), " ← ")))
		}
		if s := restOfChains(v.Trace); s != "" {
			m.printf("  - %s\n", escapeMarkdown(s))
		}
		for _, s := range traceGaps(v.Trace) {
			m.printf("  - %s\n", escapeMarkdown(s))
		}
	}
	if !slices.ContainsFunc(res.Variants, func(v run.VariantResult) bool { return v.Trace != nil && len(v.Trace.Calls) > 0 }) {
		m.printf("\n")
		return
	}
	m.printf("\nTimes of system calls. %s\n\n", escapeMarkdown(callLegend))
	m.row("variant", "call", "count", "per op", "p50", "p99", "max", "total")
	m.row("---", "---", "---:", "---:", "---:", "---:", "---:", "---:")
	for i := range res.Variants {
		v := &res.Variants[i]
		if v.Trace == nil {
			continue
		}
		for _, r := range callRows(v.Trace) {
			m.row(escapeMarkdown(v.Name), escapeMarkdown(r.Call), r.Count, r.PerOp, r.P50, r.P99, r.Max, r.Total)
		}
	}
	m.printf("\n")
}
