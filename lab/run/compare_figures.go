package run

import (
	"cmp"
	"maps"
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

// figures returns a metric of a variant by round, or the reason why it has no figures
// that can be trusted. A percentile stands for the blocks whose latencies are put together: its
// figures are those of the blocks, and a block may have too few for it.
func (res *Result) figures(name, role string, m Metric) (series, Reason) {
	v := res.Variant(name)
	if v.Error != "" && role == RoleTimed {
		return nil, Reason{Code: ReasonVariantFailed, Text: firstLine(v.Error)}
	}
	if m.Name == MetricSyscalls {
		role = map[string]string{RoleTimed: RoleCounted, RoleAgainst: RoleAgainstCounted}[role]
	}
	x := series{}
	for i := range res.Blocks {
		b := &res.Blocks[i]
		if b.Variant != name || b.Role != role {
			continue
		}
		if b.Error != "" {
			return nil, Reason{Code: ReasonBlockFailed, Text: firstLine(b.Error)}
		}
		f, why := b.figure(m)
		if why != (Reason{}) {
			return nil, why
		}
		x[b.Round] = f
	}
	if len(x) == 0 {
		return nil, Reason{Code: ReasonNoBlocks, Text: role}
	}
	if p, ok := percentileNamed(m.Name); ok {
		return x, res.fewLatencies(name, role, p)
	}
	return x, Reason{}
}

// fewLatencies says why all blocks together have no percentile p.
func (res *Result) fewLatencies(name, role string, p float64) Reason {
	if res.grouped(name, role) {
		return Reason{Code: ReasonGrouped}
	}
	var n int64
	for _, h := range res.histograms(name, role) {
		n += h.Count()
	}
	if need := int64(stats.MinSamples(p/100, confidence)); n < need {
		return Reason{Code: ReasonFewLatencies, N: n, Of: need}
	}
	return Reason{}
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

// A source is a figure of one run.
type source struct {
	data []float64 // one a block, to be shown
	stats.Statistic
}

// sources returns a figure of a variant from each of the results, divided by that of
// base where it is not empty, or why it is missing.
func sources(from []resultOf, name, base string, m Metric) (list []source, why Reason) {
	for _, res := range from {
		s, missing := res.source(name, base, m, RoleTimed)
		if _, first := firstMissing(why, missing); first != why {
			why = first
		}
		list = append(list, s)
	}
	if why != (Reason{}) {
		return nil, why
	}
	return list, Reason{}
}

// source returns a figure of a variant, divided by that of base where it is not empty:
// in each round where it is one a block, else that of all blocks.
func (res *Result) source(name, base string, m Metric, role string) (source, Reason) {
	of, why := res.figures(name, role, m)
	if why != (Reason{}) {
		return source{}, why
	}
	p, isPercentile := percentileNamed(m.Name)
	if base == "" {
		s := source{data: of.at(rounds(of))}
		s.Statistic = stats.MedianOf(s.data)
		if isPercentile {
			blocks := pool(res.histograms(name, role))
			s.Statistic = blocks.statistic(p / 100)
			s.data = []float64{s.Of(ones(s.N))}
		}
		return s, Reason{}
	}
	other, why := res.figures(base, role, m)
	if why != (Reason{}) {
		return source{}, why
	}
	if isPercentile {
		s, why := res.latencyRatio(res.latencies(name, role), res.latencies(base, role), p)
		return source{Statistic: s}, why
	}
	s, why := quotients(of, other)
	return source{data: s, Statistic: stats.MedianOf(s)}, why
}

// quotients returns the ratios of two series in the rounds that both have.
func quotients(of, to series) ([]float64, Reason) {
	both := rounds(of, to)
	if len(both) == 0 {
		return nil, Reason{Code: ReasonNoBlocks, Text: "paired"}
	}
	x := make([]float64, len(both))
	for i, round := range both {
		x[i] = quotient(of[round], to[round])
	}
	return x, Reason{}
}

// quotient is a ratio of two figures that may be 0: 0 to 0 counts as 1.
func quotient(a, b float64) float64 {
	if a == b {
		return 1
	}
	return a / b
}

// histograms returns the latencies of a variant's blocks of a role, in the order of the
// rounds.
func (res *Result) histograms(name, role string) []*Histogram {
	by := res.latencies(name, role)
	var list []*Histogram
	for _, round := range slices.Sorted(maps.Keys(by)) {
		list = append(list, by[round])
	}
	return list
}

func ones(n int) []int { return slices.Repeat([]int{1}, n) }

func statistics(list []source) []stats.Statistic {
	var s []stats.Statistic
	for _, x := range list {
		s = append(s, x.Statistic)
	}
	return s
}

// medianOfAll is the median over the blocks of all runs, to be shown.
func medianOfAll(list []source) Estimate {
	var all []float64
	for _, s := range list {
		all = append(all, s.data...)
	}
	return estimate(stats.Median(all, confidence))
}

// resamplesFor is the number of resamples of a bootstrap of a figure.
func resamplesFor(m Metric) int {
	if _, ok := percentileNamed(m.Name); ok {
		return tailResamples
	}
	return resamples
}
