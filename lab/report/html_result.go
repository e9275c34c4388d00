package report

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/stele-go/stele/internal/units"
	"github.com/stele-go/stele/lab/run"
)

// A resultView is one result, laid out for the page.
type resultView struct {
	Anchor    string
	Point     string // "depth=4"; empty where there is only one
	Verdict   string
	Tally     []tally
	Tiers     []resultTier
	Boxes     []stripTier
	Forest    []stripTier
	ECDF      []chart
	Timelines []timeline
	// SpeedTitle heads the column of times, or of operations a second; SpeedLabel is the
	// same on a narrow screen.
	SpeedTitle, SpeedLabel string
	ShowP                  bool // some p-value is shown
	Names                  []columnHead
	// The tables below have a column for each variant of Names.
	Metrics     []metricRow
	Percentiles []metricRow
	Syscalls    []metricRow
	Gaps        []gapView
	Cautions    []string
	Refused     []string
	Batch       string
	Method      []string
	Waits       []waitView
	WaitLegend  string
	Traces      []traceView
	ChainLegend string
	CallLegend  string
	Heats       []heatView
	HeatLegend  string
}

type columnHead struct {
	Key           key
	Name, Promise string
}

type resultTier struct {
	Promise, Survives string
	Rows              []resultRow
}

type resultRow struct {
	Key           key
	Name, Doc     string
	Time, Ratio   note
	Word, Class   string
	Against       string // the baseline of a mixed comparison
	P             string
	P50, P99      note
	Allocs, Calls note
	Settled       string
	SettledLong   string
	Mixed         bool
}

// A note is a figure, or n/a with the number of its reason in the list
// below the tables.
type note struct {
	Text string
	Gap  int
	Full string // for the pointer
}

type metricRow struct {
	Title, Anchor, Doc string
	Cells              []note
}

type gapView struct {
	N             int
	Anchor        string
	Where, Reason string
}

func newResultView(r *run.Run, res *run.Result, anchor string, multi bool) *resultView {
	v := &resultView{
		Anchor: anchor, Verdict: Verdict(r, res), Tally: tallies(res), Boxes: boxStrips(res), Forest: forestStrips(res), ECDF: latencyCharts(res),
		Timelines: newTimelines(res), Batch: batchNote(res), SpeedTitle: upperFirst(speedWords(res)), SpeedLabel: "time",
		Method: methodNotes(r, res), Waits: waitViews(res),
	}
	if parallel(res) {
		v.SpeedLabel = "throughput"
	}
	if s := holmNote(res); s != "" {
		v.Cautions = append(v.Cautions, s)
	}
	v.ShowP = slices.ContainsFunc(res.Comparisons, func(c run.Comparison) bool { return holmText(&c) != "" })
	if v.Waits != nil {
		v.WaitLegend = waitLegend
	}
	if v.Traces = traceViews(res); v.Traces != nil {
		v.ChainLegend, v.CallLegend = chainLegend, callLegend
	}
	if v.Heats = heatViews(res); v.Heats != nil {
		v.HeatLegend = heatLegend
		// Dozens of settings of one way: the map shows them better than as many
		// curves.
		v.Forest, v.ECDF, v.Timelines = nil, nil, nil
	}
	if multi {
		v.Point = pointLabel(res)
	}
	v.Refused = refusals(res)
	gp := &gaps{all: len(res.Variants)}
	for _, t := range tiers(res) {
		rt := resultTier{Promise: t.Promise.String(), Survives: t.survives()}
		for _, r := range t.Rows {
			rt.Rows = append(rt.Rows, resultRows(res, r, gp)...)
		}
		v.Tiers = append(v.Tiers, rt)
	}
	order := variantOrder(res)
	for _, i := range order {
		vr := &res.Variants[i]
		v.Names = append(v.Names, columnHead{key{i}, clean(vr.Name), vr.Promise.String()})
	}
	v.Metrics = metricRows(res, order, gp)
	v.Percentiles = percentileRows(res, order, gp)
	v.Syscalls = syscallRows(res, order, gp)
	for i, x := range gp.reasons {
		v.Gaps = append(v.Gaps, gapView{i + 1, fmt.Sprintf("%s-n%d", anchor, i+1), clean(x.Where(gp.all)), x.Reason})
	}
	return v
}

// variantOrder groups the columns by promise.
func variantOrder(res *run.Result) []int {
	var out []int
	for _, t := range tiers(res) {
		for _, r := range t.Rows {
			out = append(out, r.Index)
		}
	}
	return out
}

func noted(gp *gaps, name string, v *run.VariantResult, f figure) note {
	if f.Why != "" {
		return note{f.Text, gp.add(name, clean(v.Name), f.Why), f.Why}
	}
	return note{Text: f.Text}
}

func resultRows(res *run.Result, r row, gp *gaps) []resultRow {
	v := r.V
	word := r.verdictWord(res)
	out := resultRow{
		Key: key{r.Index}, Name: clean(v.Name), Doc: clean(v.Doc), Word: clean(word), Class: verdictClass(word),
		Time:   noted(gp, "time/op", v, wholeSpeed(res, v)),
		P50:    noted(gp, "p50", v, percentileFigure(v, 50)),
		P99:    noted(gp, "p99", v, percentileFigure(v, 99)),
		Allocs: noted(gp, "allocs/op", v, metricFigure(v, run.Metric{Name: allocsPerOp, Unit: "1"})),
		Calls:  noted(gp, "syscalls/op", v, metricFigure(v, run.Metric{Name: syscallsPerOp, Unit: "1"})),
	}
	out.Settled, out.SettledLong = settled(v)
	if c := r.Comparison; c != nil {
		out.Ratio = note{Text: Ratio(c.Ratio), Full: comparisonDoc(*c)}
		out.P = holmText(c)
	}
	rows := []resultRow{out}
	for _, c := range r.Mixed {
		rows = append(rows, resultRow{
			Key: key{r.Index}, Name: clean(v.Name), Against: clean(c.Baseline), Mixed: true, Word: clean(c.Verdict), Class: verdictClass(c.Verdict),
			Ratio: note{Text: Ratio(c.Ratio), Full: comparisonDoc(c)}, P: holmText(&c),
		})
	}
	return rows
}

// wholeSpeed is the time of an operation with its interval, or the operations a second.
func wholeSpeed(res *run.Result, v *run.VariantResult) figure {
	f := timeFigure(v, Time)
	if f.Why != "" || !parallel(res) {
		return f
	}
	e := v.OpsPerSecond
	if !hasInterval(e) {
		return figure{Text: perSecond(e.Median) + " [?]"}
	}
	return figure{Text: fmt.Sprintf("%s [%s, %s]", perSecond(e.Median), perSecond(e.Lo), perSecond(e.Hi))}
}

func comparisonDoc(c run.Comparison) string {
	p := ""
	if holm := holmText(&c); holm != "" {
		p = fmt.Sprintf("p %s, after Holm %s; ", pValue(c.P), holm)
	}
	return clean(fmt.Sprintf("to %s; %s; %stolerance ±%s", c.Baseline, c.Test, p, percent(c.Tolerance)))
}

// settled is the steady state in one word, and in a sentence.
func settled(v *run.VariantResult) (short, long string) {
	switch {
	case v.Time.N == 0:
		return "", ""
	case v.Steady.Reached:
		return "yes", fmt.Sprintf("excursion %s, slope %s, trend %s", percent(v.Steady.Excursion), percent(v.Steady.Slope), v.Steady.Trend)
	}
	return "no", unsteadyText(&v.Steady)
}

func metricRows(res *run.Result, order []int, gp *gaps) []metricRow {
	var out []metricRow
	for _, m := range metricsOf(res) {
		row := metricRow{Title: metricTitle(m), Anchor: metricAnchor(m.Name), Doc: clean(m.Doc)}
		for _, i := range order {
			v := &res.Variants[i]
			n := noted(gp, row.Title, v, metricFigure(v, m))
			if e, ok := v.Metrics[m.Name]; ok && n.Gap == 0 && hasInterval(e) {
				n.Full = fmt.Sprintf("%s to %s over %s", quantity(e.Lo, m.Unit), quantity(e.Hi, m.Unit), units.Count(e.N, "block"))
			}
			row.Cells = append(row.Cells, n)
		}
		out = row.appendTo(out)
	}
	return out
}

// appendTo leaves out a row without a figure: the list of reasons below has it.
func (row metricRow) appendTo(rows []metricRow) []metricRow {
	if slices.ContainsFunc(row.Cells, func(n note) bool { return n.Gap == 0 }) {
		return append(rows, row)
	}
	return rows
}

func percentileRows(res *run.Result, order []int, gp *gaps) []metricRow {
	var ps []float64
	for _, v := range res.Variants {
		for _, l := range v.Latency {
			ps = append(ps, l.P)
		}
	}
	sort.Float64s(ps)
	var out []metricRow
	for _, p := range slices.Compact(ps) {
		row := metricRow{Title: fmt.Sprintf("p%v", p)}
		for _, i := range order {
			v := &res.Variants[i]
			row.Cells = append(row.Cells, noted(gp, row.Title, v, tailFigure(v, p)))
		}
		out = row.appendTo(out)
	}
	return out
}

func syscallRows(res *run.Result, order []int, gp *gaps) []metricRow {
	var names []string
	for _, v := range res.Variants {
		for name := range v.Syscalls {
			names = append(names, name)
		}
	}
	// The variants' own calls first: those of the Go runtime depend on how
	// goroutines happened to meet.
	slices.SortFunc(names, func(a, b string) int {
		if ra, rb := run.RuntimeSyscall(a), run.RuntimeSyscall(b); ra != rb {
			if rb {
				return -1
			}
			return 1
		}
		return strings.Compare(a, b)
	})
	names = slices.Compact(names)
	if len(names) == 0 {
		return nil // the metrics table says why
	}
	var out []metricRow
	for _, name := range names {
		row := metricRow{Title: clean(name)}
		if run.RuntimeSyscall(name) {
			row.Title += " (Go runtime)"
		}
		for _, i := range order {
			v := &res.Variants[i]
			switch n, ok := v.Syscalls[name]; {
			case v.Syscalls == nil:
				row.Cells = append(row.Cells, noted(gp, "system calls", v, missing(Reason(v.Missing["syscalls"]), Reason(v.Missing[syscallsPerOp]), failure(v))))
			case !ok:
				row.Cells = append(row.Cells, note{Text: "0"}) // counted, and not made
			default:
				row.Cells = append(row.Cells, note{Text: count(n)})
			}
		}
		out = append(out, row)
	}
	return out
}

// Span is the number of columns of the table that a tier's heading covers.
func (v *resultView) Span() int {
	if v.ShowP {
		return 10
	}
	return 9
}
