package run

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/stele-go/stele/lab/stats"
)

// metricNamed describes a metric; of those that variants report themselves
// it is not known which way is better.
func metricNamed(name string) Metric {
	if name == MetricTime {
		return Metric{Name: name, Unit: "ns", Better: -1}
	}
	if _, ok := percentileNamed(name); ok {
		return Metric{Name: name, Unit: "ns", Better: -1}
	}
	for _, m := range Metrics() {
		if m.Name == name {
			return m
		}
	}
	return Metric{Name: name}
}

func metricNames() []string {
	var names []string
	for _, m := range metricList {
		names = append(names, m.Name)
	}
	return names
}

// known reports whether a figure has that name: one of the lab's, or one that
// a variant of the runs reports.
func known(name string, runs ...*Run) bool {
	if _, ok := percentileNamed(name); ok || name == MetricTime || slices.Contains(metricNames(), name) {
		return true
	}
	for _, r := range runs {
		for _, res := range r.Results {
			for i := range res.Blocks {
				_, had := res.Blocks[i].Metrics[name]
				if _, missing := res.Blocks[i].Missing[name]; had || missing {
					return true
				}
			}
		}
	}
	return false
}

// percentileNamed reads "p99.9".
func percentileNamed(name string) (float64, bool) {
	digits, ok := strings.CutPrefix(name, "p")
	if !ok {
		return 0, false
	}
	p, err := strconv.ParseFloat(digits, 64)
	return p, err == nil && p > 0 && p < 100
}

// figures returns a metric of a variant, one datum a block, or why there are
// none that can be trusted.
func figures(res *Result, v *VariantResult, m Metric) ([]float64, Reason) {
	if v.Error != "" {
		return nil, Reason{Code: ReasonVariantFailed, Text: firstLine(v.Error)}
	}
	role := RoleTimed
	if m.Name == MetricSyscalls {
		role = RoleCounted
	}
	var x []float64
	for i := range res.Blocks {
		b := &res.Blocks[i]
		if b.Variant != v.Name || b.Role != role {
			continue
		}
		if b.Error != "" {
			return nil, Reason{Code: ReasonBlockFailed, Text: firstLine(b.Error)}
		}
		f, why := b.figure(m)
		if why != (Reason{}) {
			return nil, why
		}
		x = append(x, f)
	}
	if len(x) == 0 {
		return nil, Reason{Code: ReasonNoBlocks, Text: role}
	}
	return x, Reason{}
}

// figure returns a metric of one block.
func (b *Block) figure(m Metric) (float64, Reason) {
	switch p, ok := percentileNamed(m.Name); {
	case m.Name == MetricTime:
		if !b.datum(b.Role) {
			return 0, Reason{Code: ReasonNoOps, Round: b.Round}
		}
		return b.PerOp(), Reason{}
	case ok:
		if b.Latency == nil {
			return 0, Reason{Code: ReasonNoLatencies, Round: b.Round}
		}
		if n, need := b.Latency.Count(), stats.MinSamples(p/100, confidence); n < int64(need) {
			return 0, Reason{Code: ReasonFewLatencies, Round: b.Round, N: n, Of: int64(need)}
		}
		return b.Latency.Quantile(p / 100), Reason{}
	case m.Name == MetricSyscalls:
		if why := b.uncounted(); why != (Reason{}) {
			return 0, why
		}
		return b.calls(), Reason{}
	}
	x, ok := b.Metrics[m.Name]
	switch {
	case !ok:
		return 0, cmp.Or(b.Missing[m.Name], Reason{Code: ReasonNotRecorded})
	case !(x >= 0) || math.IsInf(x, 1):
		return 0, Reason{Code: ReasonNoRatio, Text: strconv.FormatFloat(x, 'g', -1, 64)}
	case m.Unit == "1" && strings.HasSuffix(m.Name, "_per_op"):
		// A few allocations or switches of the runtime fall on every block,
		// however many operations it did: 3.0004 is 3.
		x = math.Round(x*100) / 100
	}
	return x, Reason{}
}
