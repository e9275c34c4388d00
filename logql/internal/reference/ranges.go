package reference

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/stele-go/stele/logql/syntax"
)

// A Sample is the value of a series at the moment that is asked about.
type Sample struct {
	Labels Labels
	Value  float64
}

// window is what a function over a range of time sees of one series.
type window struct {
	labels Labels
	values []float64 // in the order of the entries: of Unwrap, else the sizes of lines
}

// rangeAggregation computes a function over the lines in (at-offset-interval, at-offset].
func rangeAggregation(n *syntax.RangeAggregation, entries []Entry, at int64) ([]Sample, error) {
	if n.Op == syntax.RateCounter {
		return nil, ErrUnsupported
	}
	end := at - int64(n.Offset)
	windows := map[string]*window{}
	for _, e := range entries {
		if e.Time <= end-int64(n.Interval) || e.Time > end {
			continue
		}
		s := process(n.Log, e)
		if s == nil {
			continue
		}
		value, ok := float64(len(s.text)), true
		if n.Unwrap != nil {
			value, ok = s.unwrap(n.Unwrap)
		}
		if !ok {
			continue
		}
		if s.unsupported {
			return nil, ErrUnsupported
		}
		if s.err != "" {
			return nil, ErrPipeline
		}
		if n.Unwrap != nil && (n.Grouping == nil || n.Grouping.Without) {
			delete(s.labels, n.Unwrap.Label)
		}
		labels := group(s.labels, n.Grouping)
		w := windows[labels.Key()]
		if w == nil {
			w = &window{labels: labels}
			windows[labels.Key()] = w
		}
		w.values = append(w.values, value)
	}
	if n.Op == syntax.AbsentOverTime {
		return absent(n.Log, len(windows)), nil
	}
	var samples []Sample
	for _, w := range windows {
		samples = append(samples, Sample{w.labels, w.value(n)})
	}
	return samples, nil
}

// unwrap returns the value of a line, and whether the line counts.
func (s *state) unwrap(u *syntax.Unwrap) (float64, bool) {
	text, _ := s.get(u.Label)
	if text == "" {
		return 0, false
	}
	value, err := convert(text, u.Conversion)
	if err != nil {
		s.fail("SampleExtractionErr")
	}
	for _, f := range u.Filters {
		if !s.predicate(f.Predicate) {
			return 0, false
		}
	}
	return value, true
}

func convert(text string, c syntax.Conversion) (float64, error) {
	switch c {
	case syntax.ConvertDuration:
		d, err := time.ParseDuration(text)
		return d.Seconds(), err
	case syntax.ConvertBytes:
		return size(text)
	}
	return number(text)
}

// absent has one series, with the labels that the selector names, if there are no others.
func absent(log *syntax.LogExpr, series int) []Sample {
	if series > 0 {
		return nil
	}
	labels := Labels{}
	for i, m := range log.Matchers {
		others := slices.Concat(log.Matchers[:i], log.Matchers[i+1:])
		if m.Op == syntax.Equal && !slices.ContainsFunc(others, func(o syntax.Matcher) bool { return o.Name == m.Name }) {
			labels[m.Name] = m.Value
		}
	}
	return []Sample{{labels, 1}}
}

// group returns those labels that a grouping selects.
func group(labels Labels, g *syntax.Grouping) Labels {
	kept := Labels{}
	for name, value := range labels {
		if g == nil || slices.Contains(g.Labels, name) != g.Without {
			kept[name] = value
		}
	}
	return kept
}

// withoutEmpty leaves out labels that are empty: functions over series, and operators, do not
// see them. (Those of Loki do.)
func withoutEmpty(l Labels) Labels {
	maps.DeleteFunc(l, func(_, value string) bool { return value == "" })
	return l
}

func (w *window) value(n *syntax.RangeAggregation) float64 {
	count := float64(len(w.values))
	switch n.Op {
	case syntax.CountOverTime:
		return count
	case syntax.Rate:
		if n.Unwrap == nil {
			return count / n.Interval.Seconds()
		}
		return sum(w.values) / n.Interval.Seconds()
	case syntax.BytesRate:
		return sum(w.values) / n.Interval.Seconds()
	case syntax.BytesOverTime, syntax.SumOverTime:
		return sum(w.values)
	case syntax.AvgOverTime:
		return sum(w.values) / count
	case syntax.MinOverTime:
		return slices.Min(w.values)
	case syntax.MaxOverTime:
		return slices.Max(w.values)
	case syntax.StddevOverTime:
		return math.Sqrt(variance(w.values))
	case syntax.StdvarOverTime:
		return variance(w.values)
	case syntax.FirstOverTime:
		return w.values[0]
	case syntax.LastOverTime:
		return w.values[len(w.values)-1]
	}
	return quantile(w.values, n.Quantile)
}

func sum(values []float64) (total float64) {
	for _, v := range values {
		total += v
	}
	return total
}

func variance(values []float64) float64 {
	mean, total := sum(values)/float64(len(values)), 0.0
	for _, v := range values {
		total += (v - mean) * (v - mean)
	}
	return total / float64(len(values))
}

// quantile interpolates between the values on both sides of the place.
func quantile(values []float64, q float64) float64 {
	if q < 0 {
		return math.Inf(-1)
	}
	if q > 1 {
		return math.Inf(1)
	}
	sorted := slices.Sorted(slices.Values(values))
	place := q * float64(len(sorted)-1)
	low := int(place)
	high := min(low+1, len(sorted)-1)
	weight := place - float64(low)
	return sorted[low]*(1-weight) + sorted[high]*weight
}
