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

// mostCauses is how many causes of a result are shown by themselves: as many
// as there are colours, less one for the rest.
const mostCauses = paletteSize - 1

// leastCause is the share of goroutine time below which a cause is part of
// the rest.
const leastCause = 0.001

// A waitRow is one cause of a variant, ready to be shown.
type waitRow struct {
	Key                  key // its colour, the same in all variants of a result
	Cause, Symbol        string
	Share, PerOp, Chance string
	over                 []float64
}

// causeKeys gives colours to the causes that took most goroutine time, over
// all variants of a result: of each variant its share counts.
func causeKeys(res *run.Result) map[string]key {
	share := map[string]float64{}
	for _, v := range res.Variants {
		if v.Waits != nil {
			for _, c := range v.Waits.Causes {
				if known(c.Share.Median) {
					share[c.Cause] += c.Share.Median
				}
			}
		}
	}
	order := slices.SortedFunc(maps.Keys(share), func(a, b string) int {
		return cmp.Or(cmp.Compare(share[b], share[a]), strings.Compare(a, b))
	})
	keys := map[string]key{}
	for i, cause := range order[:min(len(order), mostCauses)] {
		keys[cause] = key{i}
	}
	return keys
}

// waitRows are the causes of a variant that show, and the rest as one.
func waitRows(w *run.VariantWaits, keys map[string]key) []waitRow {
	var rows []waitRow
	rest := waitRow{Key: key{mostCauses}}
	var n int
	var share, perOp float64
	for _, c := range w.Causes {
		if k, found := keys[c.Cause]; found && c.Share.Median >= leastCause {
			rows = append(rows, waitRow{
				Key: k, Cause: Cause(c.Cause), Symbol: clean(c.Symbol),
				Share: percent(c.Share.Median), Chance: shareInterval(c.Share), PerOp: duration(c.PerOp.Median), over: c.Over,
			})
			continue
		}
		n++
		share += c.Share.Median
		perOp += c.PerOp.Median
		for i, x := range c.Over {
			if i == len(rest.over) {
				rest.over = append(rest.over, 0)
			}
			rest.over[i] += x
		}
	}
	if n == 0 {
		return rows
	}
	rest.Cause, rest.Share, rest.PerOp = units.Count(n, "other cause"), percent(share), duration(perOp)
	if share < leastCause { // the medians of causes that few blocks had are 0
		rest.Share, rest.PerOp = "<"+percent(leastCause), ""
	}
	return append(rows, rest)
}

func shareInterval(e run.Estimate) string {
	if !hasInterval(e) {
		return "[?]"
	}
	return fmt.Sprintf("[%s, %s]", strings.TrimSuffix(percent(e.Lo), " %"), strings.TrimSuffix(percent(e.Hi), " %"))
}

// waitHead describes the blocks and samples behind the rows of a variant.
func waitHead(w *run.VariantWaits) string {
	s := fmt.Sprintf("%s at a time, %s", about(w.Goroutines, "goroutine"), units.Count(w.Blocks, "block"))
	if w.Samples > 0 {
		s += fmt.Sprintf(", %s of %s (%s parked by the Go runtime)", units.Count(w.Samples, "sample"), about(w.Threads, "thread"), count(round3(w.Parked)))
	}
	return clean(s)
}

// about is a mean number of things.
func about(n float64, what string) string { return count(round3(n)) + " " + what + "s" }

// waitGaps are the sources that are missing, each with its reason.
func waitGaps(w *run.VariantWaits) []string {
	return gapLines(w.Missing, map[string]string{
		"trace": "goroutines", "kernel": "what threads wait for in the kernel", "stack": "kernel stacks (causes are by wchan, the innermost function alone)", "block": "block profile", "mutex": "mutex profile",
	})
}

// contentionLine is one place of the block or mutex profile.
func contentionLine(c run.Contention) string {
	verb := "waited in"
	if c.Profile == "mutex" {
		verb = "made others wait by"
	}
	in := c.In
	if in == "" {
		in = "the runtime"
	}
	return clean(fmt.Sprintf("%s %s %s: %s over %s", in, verb, c.Call, duration(float64(c.Time)), units.Count(int(c.Count), "wait")))
}

const waitLegend = "Shares are of goroutine time: the time of all goroutines of the variant, added up. The time of an operation is that sum divided by the operations of a block, waits for a turn included. Goroutines are watched in blocks of their own, from which no other figure is made. A thread on a CPU does not wait: spinning for a lock counts as running."

func hasWaits(res *run.Result) bool {
	return slices.ContainsFunc(res.Variants, func(v run.VariantResult) bool { return v.Waits != nil })
}

// waits writes the tables of a group, one a variant and result.
func (p *printer) waits(g *group) {
	if !slices.ContainsFunc(g.Results, hasWaits) {
		return
	}
	p.para("", plain, "Where goroutines are")
	p.para("", dim, waitLegend)
	for _, res := range g.Results {
		point := ""
		if len(g.Results) > 1 {
			point = pointLabel(res)
		}
		p.waitsOf(res, point)
	}
	p.line("")
}

func (p *printer) waitsOf(res *run.Result, point string) {
	keys := causeKeys(res)
	for i := range res.Variants {
		v := &res.Variants[i]
		if v.Waits == nil {
			continue
		}
		head := clean(v.Name) + ": " + waitHead(v.Waits)
		if point != "" {
			head = point + ", " + head
		}
		p.para("", dim, head)
		t := &table{head: []string{"  cause", "share", "", "time/op", "mostly in"}, left: []bool{true, false, true, false, true}}
		for _, r := range waitRows(v.Waits, keys) {
			t.lines = append(t.lines, line{cells: []cell{{text: "  " + r.Cause}, {text: r.Share}, {text: r.Chance}, {text: r.PerOp}, {text: r.Symbol, style: dim}}})
		}
		for _, part := range t.split(p.width, 4) {
			part.write(p)
		}
		for _, s := range waitGaps(v.Waits) {
			p.para("  ", dim, s)
		}
		// The mutex profile has the runtime's own locks too, which say little to
		// a user of it.
		if i := slices.IndexFunc(v.Waits.Contention, func(c run.Contention) bool { return c.Profile == "block" }); i >= 0 {
			p.para("  ", dim, "longest between goroutines: "+contentionLine(v.Waits.Contention[i]))
		}
	}
}

func (m *markdown) waits(res *run.Result) {
	if !hasWaits(res) {
		return
	}
	m.printf("Where goroutines are. %s\n\n", escapeMarkdown(waitLegend))
	m.row("variant", "cause", "share", "interval", "of an operation", "mostly in")
	m.row("---", "---", "---:", "---", "---:", "---")
	keys := causeKeys(res)
	for i := range res.Variants {
		v := &res.Variants[i]
		if v.Waits == nil {
			continue
		}
		for _, r := range waitRows(v.Waits, keys) {
			m.row(escapeMarkdown(v.Name), escapeMarkdown(r.Cause), escapeMarkdown(r.Share), escapeMarkdown(r.Chance), escapeMarkdown(r.PerOp), escapeMarkdown(r.Symbol))
		}
	}
	m.printf("\n")
	for i := range res.Variants {
		v := &res.Variants[i]
		if v.Waits == nil {
			continue
		}
		m.printf("- %s\n", escapeMarkdown(v.Name+": "+waitHead(v.Waits)))
		for _, s := range waitGaps(v.Waits) {
			m.printf("  - %s\n", escapeMarkdown(s))
		}
		for _, c := range v.Waits.Contention {
			m.printf("  - %s\n", escapeMarkdown(contentionLine(c)))
		}
	}
	m.printf("\n")
}
