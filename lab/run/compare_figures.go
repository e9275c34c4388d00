package run

import (
	"errors"
	"fmt"
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

// errTooFew marks figures that are refused for want of samples, which is not
// the same as missing.
var errTooFew = errors.New("too few samples")

// figures returns a metric of a variant, one datum a block, or why there are
// none that can be trusted.
func figures(res *Result, v *VariantResult, m Metric) ([]float64, error) {
	if v.Error != "" {
		return nil, fmt.Errorf("%s failed: %s", v.Name, firstLine(v.Error))
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
			return nil, fmt.Errorf("a block of %s failed: %s", v.Name, firstLine(b.Error))
		}
		f, err := b.figure(m)
		if err != nil {
			return nil, err
		}
		x = append(x, f)
	}
	if len(x) == 0 {
		return nil, fmt.Errorf("%s has no %s blocks", v.Name, role)
	}
	return x, nil
}

// figure returns a metric of one block.
func (b *Block) figure(m Metric) (float64, error) {
	switch p, ok := percentileNamed(m.Name); {
	case m.Name == MetricTime:
		if !b.datum(b.Role) {
			return 0, fmt.Errorf("%s did nothing in round %d", b.Variant, b.Round)
		}
		return b.PerOp(), nil
	case ok:
		if b.Latency == nil {
			return 0, fmt.Errorf("%s has no latencies in round %d", b.Variant, b.Round)
		}
		if err := stats.CheckPercentile(p, b.Latency.Count(), confidence); err != nil {
			return 0, fmt.Errorf("%w in round %d: %w", errTooFew, b.Round, err)
		}
		return b.Latency.Quantile(p / 100), nil
	case m.Name == MetricSyscalls:
		if why := b.uncounted(); why != "" {
			return 0, fmt.Errorf("system calls of %s: %s", b.Variant, why)
		}
		return b.calls(), nil
	}
	x, ok := b.Metrics[m.Name]
	switch {
	case !ok && b.Missing[m.Name] != "":
		return 0, fmt.Errorf("%s of %s: %s", m.Name, b.Variant, b.Missing[m.Name])
	case !ok:
		return 0, fmt.Errorf("%s has no %s", b.Variant, m.Name)
	case !(x >= 0) || math.IsInf(x, 1):
		return 0, fmt.Errorf("%s of %s is %v, of which there is no ratio", m.Name, b.Variant, x)
	case m.Unit == "1" && strings.HasSuffix(m.Name, "_per_op"):
		// A few allocations or switches of the runtime fall on every block,
		// however many operations it did: 3.0004 is 3.
		x = math.Round(x*100) / 100
	}
	return x, nil
}
