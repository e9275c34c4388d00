package report

import (
	"cmp"
	"slices"
	"sort"
	"strings"

	"github.com/stele-go/stele/lab/run"
)

// A figure is a text, or the reason why it is missing.
type figure struct {
	Text string
	Why  string // empty where there is a figure
}

func missing(why ...string) figure {
	return figure{notAvailable, clean(cmp.Or(append(why, reasonWords[run.ReasonNotRecorded])...))}
}

// failure is why a variant could not be measured, or "".
func failure(v *run.VariantResult) string {
	if v.Error == "" {
		return ""
	}
	return "could not be measured: " + v.Error
}

func timeFigure(v *run.VariantResult, write func(run.Estimate) string) figure {
	if v.Time.N == 0 || !known(v.Time.Median) {
		return missing(failure(v), "no block was finished")
	}
	return figure{Text: write(v.Time)}
}

// speedHead heads a column of speeds.
func speedHead(res *run.Result) string {
	if parallel(res) {
		return "ops/s"
	}
	return "time/op"
}

// speedFigure is the time of an operation with how far it may be off, or the operations
// a second where goroutines share them.
func speedFigure(res *run.Result, v *run.VariantResult) figure {
	f := timeFigure(v, plusMinus)
	if f.Why != "" || !parallel(res) {
		return f
	}
	e := v.OpsPerSecond
	return figure{Text: perSecond(e.Median) + " " + offBy(e)}
}

func percentileFigure(v *run.VariantResult, p float64) figure {
	for _, l := range v.Latency {
		if l.P != p {
			continue
		}
		if err := l.Err(); err != nil {
			return missing(err.Error())
		}
		if !known(l.NS) {
			return missing()
		}
		if v.Batch > 1 {
			return figure{Text: duration(l.NS) + batchMark}
		}
		return figure{Text: duration(l.NS)}
	}
	return missing(Reason(v.Missing["latency"]), failure(v))
}

// tailFigure is a percentile with how far it may be off, where it has an interval.
func tailFigure(v *run.VariantResult, p float64) figure {
	f := percentileFigure(v, p)
	for _, l := range v.Latency {
		if l.P == p && l.Lo > 0 && v.Batch <= 1 && f.Why == "" {
			f.Text += " " + offBy(run.Estimate{Median: l.NS, Lo: l.Lo, Hi: l.Hi})
		}
	}
	return f
}

func metricFigure(v *run.VariantResult, m run.Metric) figure {
	if e, ok := v.Metrics[m.Name]; ok && known(e.Median) {
		return figure{Text: quantity(e.Median, m.Unit)}
	}
	if m.Name == syscallsPerOp {
		return missing(Reason(v.Missing[m.Name]), Reason(v.Missing["syscalls"]), failure(v))
	}
	return missing(Reason(v.Missing[m.Name]), failure(v))
}

const (
	allocsPerOp   = "allocs_per_op"
	syscallsPerOp = "syscalls_per_op"
)

// metricsOf lists the metrics of the variants of res: the lab's own first, in the
// lab's order, then the variants' own by name.
func metricsOf(res *run.Result) []run.Metric {
	seen := map[string]bool{"syscalls": true, "latency": true}
	has := func(name string) bool {
		return slices.ContainsFunc(res.Variants, func(v run.VariantResult) bool {
			_, measured := v.Metrics[name]
			_, why := v.Missing[name]
			return measured || why
		})
	}
	var out []run.Metric
	for _, m := range run.Metrics() {
		seen[m.Name] = true
		if has(m.Name) || m.Name == syscallsPerOp {
			out = append(out, m)
		}
	}
	var own []string
	for _, v := range res.Variants {
		for name := range v.Metrics {
			own = append(own, name)
		}
		for name := range v.Missing {
			own = append(own, name)
		}
	}
	sort.Strings(own)
	for _, name := range slices.Compact(own) {
		if !seen[name] {
			out = append(out, run.Metric{Name: name, Unit: "1", Doc: "reported by the variant itself"})
		}
	}
	return out
}

// metricTitle is the name of a metric for people: "cpu user/op". The figure
// beside it carries the unit.
func metricTitle(m run.Metric) string {
	s := m.Name
	if m.Unit == "ns" {
		s = strings.TrimSuffix(strings.Replace(s, "_ns_per_op", "_per_op", 1), "_ns")
	}
	if m.Unit == "B" {
		s = strings.TrimSuffix(s, "_bytes")
	}
	s = strings.Replace(s, "_per_op", "/op", 1)
	s = strings.Replace(s, "_per_second", "/s", 1)
	return clean(strings.ReplaceAll(s, "_", " "))
}

// gaps collects why figures are missing, each reason once.
type gaps struct {
	reasons []*gap
	all     int // variants in the experiment
}

type gap struct {
	Reason string
	items  []gapItem
}

type gapItem struct {
	figure   string
	variants []string
}

// add notes a missing figure and returns the number of its reason, from 1.
func (g *gaps) add(figure, variant, reason string) int {
	at := slices.IndexFunc(g.reasons, func(x *gap) bool { return x.Reason == reason })
	if at < 0 {
		at = len(g.reasons)
		g.reasons = append(g.reasons, &gap{Reason: reason})
	}
	x := g.reasons[at]
	for i := range x.items {
		if x.items[i].figure == figure {
			if !slices.Contains(x.items[i].variants, variant) {
				x.items[i].variants = append(x.items[i].variants, variant)
			}
			return at + 1
		}
	}
	x.items = append(x.items, gapItem{figure, []string{variant}})
	return at + 1
}

// Where says which figures the reason is about.
func (x *gap) Where(all int) string {
	var order []string
	figures := map[string][]string{} // by variants
	for _, it := range x.items {
		variants := strings.Join(it.variants, ", ")
		if len(it.variants) == all && all > 1 {
			variants = "all variants"
		}
		if figures[variants] == nil {
			order = append(order, variants)
		}
		figures[variants] = append(figures[variants], it.figure)
	}
	for i, variants := range order {
		order[i] = strings.Join(figures[variants], ", ") + " (" + variants + ")"
	}
	return strings.Join(order, "; ")
}
