package run

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
)

// MetricTime is the name of the time of one operation among the metrics that
// Compare takes.
const MetricTime = "time"

// CompareOptions are the metrics that Compare compares, and how strictly. The zero value
// compares the time of an operation with a tolerance of 5 %.
type CompareOptions struct {
	// Tolerance by metric: 0.05 lets a figure get worse by 5 %, 0 not at all.
	// The names are MetricTime, a percentile such as "p99" or "p99.9", those of
	// Metrics, and those that variants report. Time is always compared, with 0.05
	// where it is not named.
	Tolerance map[string]float64
	// Force compares runs although experiments, promises or the environment
	// differ, and lists the differences. Variants of both runs are compared; one of
	// them without data is Broken all the same.
	Force bool
	// Absolute compares every figure of the new runs with the same figure of the old
	// ones. Without it, a figure in time is compared by its ratio to the baseline's;
	// see Compare.
	Absolute bool
}

// An Outcome is the result of a comparison of two runs, or of a row of it.
type Outcome string

// Outcomes, from best to worst. Inconclusive is not a pass: the data show
// neither that a figure got worse nor that it did not. NotJudged is one of rows
// alone: the figure of a baseline.
const (
	NotJudged    Outcome = "not judged"
	Pass         Outcome = "pass"
	Inconclusive Outcome = "inconclusive"
	Regression   Outcome = "regression"
	Broken       Outcome = "broken"
)

// ExitCode is the exit code of a gate: 0 pass, 1 regression, 2 inconclusive, 3
// broken, and 3 for any other outcome.
func (o Outcome) ExitCode() int {
	switch o {
	case Pass:
		return 0
	case Regression:
		return 1
	case Inconclusive:
		return 2
	}
	return 3
}

func (o Outcome) worse(than Outcome) bool {
	order := []Outcome{NotJudged, Pass, Inconclusive, Regression, Broken}
	return slices.Index(order, o) > slices.Index(order, than)
}

// A CompareReport is the result of Compare, or of Run.CompareBuilds.
type CompareReport struct {
	// Outcome is the worst of the rows', and Broken where the runs cannot be
	// compared.
	Outcome Outcome `json:"outcome"`
	// Problems say why the runs cannot be compared.
	Problems []Mismatch `json:"problems,omitempty"`
	// Differences were overlooked, because Force was set or because they do not
	// affect the figures.
	Differences []Mismatch   `json:"differences,omitempty"`
	Rows        []CompareRow `json:"rows"`
	// Paired is set where both builds ran in the same rounds of one run.
	Paired bool `json:"paired,omitempty"`
	// OldRuns and NewRuns are the numbers of runs on the two sides.
	OldRuns int `json:"old_runs"`
	NewRuns int `json:"new_runs"`
	// PassRounds is the number of rounds a run with which a figure as noisy as the
	// noisiest of these probably passes if nothing has changed; see stats.RoundsNeeded.
	// 0 where no interval tells, and with several runs on a side.
	PassRounds int `json:"pass_rounds,omitempty"`
}

// A CompareRow is one metric of one variant.
type CompareRow struct {
	Experiment string   `json:"experiment"` // ID
	Place      string   `json:"place"`      // as the new run names it
	Variant    string   `json:"variant"`
	Metric     string   `json:"metric"`
	Unit       string   `json:"unit,omitempty"`
	Better     int      `json:"better"` // as in Metric
	Old        Estimate `json:"old"`
	New        Estimate `json:"new"`
	// Ratio is new to old: of the ratios to Baseline where it is not empty, else of the
	// figures themselves.
	Ratio     Ratio   `json:"ratio"`
	Baseline  string  `json:"baseline,omitempty"`
	Tolerance float64 `json:"tolerance"`
	Outcome   Outcome `json:"outcome"`
	Why       string  `json:"why"`             // one of the Why constants
	Reason    Reason  `json:"reason,omitzero"` // for WhyFew and WhyMissing
	Run       string  `json:"run,omitempty"`   // "old" or "new", the run that Reason is about; else both
	// Visible is the smallest change for the worse that an interval as wide would have
	// shown, as a share; 0 without an interval.
	Visible float64 `json:"visible,omitempty"`
	// Rounds is how many rounds a run would probably settle an inconclusive row, and
	// Runs how many runs on each side where there are several: see stats.RoundsNeeded.
	// They assume that the ratio is what it is here, and are 0 where it is so near the
	// tolerance that no number can be named.
	Rounds int `json:"rounds_needed,omitempty"`
	Runs   int `json:"runs_needed,omitempty"`
}

// Why a row has its outcome.
const (
	WhyWithin  = "within"  // the interval is within the tolerance, or better
	WhyBeyond  = "beyond"  // it is worse by more than the tolerance
	WhyAcross  = "across"  // it reaches over the tolerance: more rounds would narrow it
	WhyFew     = "few"     // there are too few samples; see Reason
	WhyMissing = "missing" // a figure is missing; see Reason
	WhySame    = "same"    // both sides are the same run
	// WhyBaseline: the variant is what others are compared with, or promises what no
	// other does, so nothing shows whether it or the machine has changed.
	WhyBaseline = "baseline"
	// WhyNoBaseline: no variant of the result has a baseline, or the baseline of one
	// side is not in the other.
	WhyNoBaseline = "no-baseline"
)

// A Ratio is an Estimate that may be infinite, where a figure was 0; JSON has
// it as the string "inf" then.
type Ratio Estimate

// UnmarshalJSON reads what MarshalJSON wrote.
func (r *Ratio) UnmarshalJSON(data []byte) error {
	var j struct {
		Value, Lo, Hi any
		Confidence    float64
		N             int
	}
	if err := json.Unmarshal(data, &j); err != nil {
		return err
	}
	number := func(v any) float64 {
		switch v := v.(type) {
		case float64:
			return v
		case string:
			return math.Inf(1)
		}
		return math.NaN()
	}
	*r = Ratio{number(j.Value), number(j.Lo), number(j.Hi), j.Confidence, j.N}
	return nil
}

// MarshalJSON writes NaN as null and infinity as "inf".
func (r Ratio) MarshalJSON() ([]byte, error) {
	value := func(f float64) any {
		switch {
		case math.IsNaN(f):
			return nil
		case math.IsInf(f, 1):
			return "inf"
		}
		return f
	}
	return json.Marshal(struct {
		Value      any     `json:"value"`
		Lo         any     `json:"lo"`
		Hi         any     `json:"hi"`
		Confidence float64 `json:"confidence"`
		N          int     `json:"n"`
	}{value(r.Median), value(r.Lo), value(r.Hi), r.Confidence, r.N})
}

// Compare compares new runs with old ones, for a gate. Results are paired by experiment
// and place, variants by name; where each run has one place, its name does not matter.
// The figures are taken from the blocks, one datum a block; a percentile is that of the
// operations of all blocks of a run together, as in VariantResult.Latency.
//
// Two runs are apart in time, and a machine that has become 5 % slower in between slows
// everything. So a figure that depends on the speed of the machine (in ns or B/s) is
// compared by its ratio to the figure of the baseline of the same promise, block by
// block of the same round: the ratio of these ratios, new to old, is judged. The
// baseline should be code that does not change, the standard library's way for example,
// and the other variants the code under test. The baseline itself is NotJudged: nothing
// shows whether it or the machine has changed. A result without any variant that can be
// judged is Inconclusive. CompareOptions.Absolute judges every figure by itself, as it
// does counts always, and every change of the machine with it.
//
// The interval at 95 % is that of stats.RatioOfRuns. With several runs on a side, what
// differs from run to run is in it; with one on each, it is not. A run against itself is
// a ratio of exactly 1, however few its rounds. Metrics with Better 0 may move by the
// tolerance in either direction; the others may also improve without limit.
//
//   - Pass: the whole interval is within the tolerance, or better.
//   - Regression: the whole interval is beyond it.
//   - Inconclusive: the interval reaches over it, or there are too few data.
//   - Broken: a figure is missing, or the runs are not of the same
//     experiments, promises and environment.
func Compare(old, new []*Run, o CompareOptions) *CompareReport {
	c := newComparer(o, slices.Concat(old, new)...)
	c.old, c.new = old, new
	c.report.OldRuns, c.report.NewRuns = len(old), len(new)
	if len(old) == 0 || len(new) == 0 {
		c.problem(Mismatch{Code: MismatchNothing})
	}
	if len(c.report.Problems) == 0 {
		c.run()
	}
	return c.finish()
}

// newComparer checks the options for a comparison of figures of the runs.
func newComparer(o CompareOptions, runs ...*Run) *comparer {
	c := &comparer{force: o.Force, absolute: o.Absolute, metrics: maps.Clone(o.Tolerance), report: &CompareReport{Outcome: Pass, Rows: []CompareRow{}}}
	if c.metrics == nil {
		c.metrics = map[string]float64{}
	}
	if _, ok := c.metrics[MetricTime]; !ok {
		c.metrics[MetricTime] = 0.05
	}
	for _, name := range slices.Sorted(maps.Keys(c.metrics)) {
		t := c.metrics[name]
		if !(t >= 0) || math.IsInf(t, 1) {
			c.problem(Mismatch{Code: MismatchTolerance, Field: name, New: strconv.FormatFloat(t, 'g', -1, 64)})
		}
		if !known(name, runs...) {
			c.problem(Mismatch{Code: MismatchMetric, Field: name})
		}
	}
	return c
}

// metricNames returns the names of the metrics to compare, in order.
func (c *comparer) metricNames() []string { return slices.Sorted(maps.Keys(c.metrics)) }

// finish draws the outcome from the rows and the problems.
func (c *comparer) finish() *CompareReport {
	if len(c.report.Problems) > 0 {
		c.report.Outcome = Broken
	}
	for _, row := range c.report.Rows {
		if row.Outcome.worse(c.report.Outcome) {
			c.report.Outcome = row.Outcome
		}
	}
	return c.report
}

type comparer struct {
	old, new        []*Run
	places          map[*Run]map[string]string // the name of each place in a run, by that in the first new one
	metrics         map[string]float64
	force, absolute bool
	report          *CompareReport
}

func (c *comparer) problem(m Mismatch) { c.report.Problems = append(c.report.Problems, m) }

func (c *comparer) difference(m Mismatch) {
	if !slices.Contains(c.report.Differences, m) {
		c.report.Differences = append(c.report.Differences, m)
	}
}

// mismatch is a problem unless CompareOptions.Force is set.
func (c *comparer) mismatch(m Mismatch) {
	if c.force {
		c.difference(m)
	} else if !slices.Contains(c.report.Problems, m) {
		c.problem(m)
	}
}
