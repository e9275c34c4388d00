package run

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
)

// summarySchema names the layout of a Summary written as JSON.
const summarySchema = "stele.summary/1"

// A Summary is the outcome of a run in one row a finding, and what to do about it. It
// holds nothing that the Run does not.
type Summary struct {
	Schema string       `json:"schema"`
	Rows   []SummaryRow `json:"rows"`
	// Advice is the most rewarding first. It is shorter than the rows: one piece for all
	// points and places in which the same way wins.
	Advice []Advice `json:"advice,omitempty"`
	// Settle is set where more rounds would bring a verdict that is missing.
	Settle *Settle `json:"settle,omitempty"`
}

// FoundKnee is the Kind of the row of a surface. Its Way is the cheapest setting that is
// shown to reach the best throughput.
const FoundKnee = "knee"

// A SummaryRow is the outcome of one experiment in one place, for one promise.
type SummaryRow struct {
	Experiment string  `json:"experiment"` // Result.ID
	Place      string  `json:"place"`
	Promise    Promise `json:"promise"`
	// Here is what is left of Promise in Place, as in VariantResult.
	Here Promise `json:"here"`
	Kind string  `json:"kind"` // one of the Found constants
	// Way is the fastest variant. Where none is shown to be faster it is the one that
	// the others are compared with.
	Way string `json:"way"`
	// Against is the variant that Ratio compares Way with: the baseline, or, where the
	// baseline is the fastest, the one that comes closest.
	Against string `json:"against,omitempty"`
	// Ratio is the time of Way to that of Against, below 1 where Way is faster. It is
	// nil where nothing is shown to be faster.
	Ratio *Estimate `json:"ratio,omitempty"`
	// Tolerance is the difference that counts as the same, as a share.
	Tolerance float64 `json:"tolerance,omitempty"`
	// Same are the variants shown to be the same as Way within Tolerance, Unclear those
	// about which the run cannot tell whether they are.
	Same    []string `json:"same,omitempty"`
	Unclear []string `json:"unclear,omitempty"`
	// Visible is the smallest difference, as a share of the smaller time, that would
	// have been seen against each of Unclear; 0 where that is not known.
	Visible float64 `json:"visible,omitempty"`
	// Rounds is how many in all would probably settle Unclear, 0 where nothing is unclear
	// or no number can be named.
	Rounds int `json:"rounds_needed,omitempty"`
	// Time of one operation of Way, and OpsPerSecond, are as in VariantResult.
	Time         Estimate `json:"time_ns"`
	OpsPerSecond Estimate `json:"ops_per_second,omitzero"`
}

// An Advice is to take one way in place of another.
type Advice struct {
	Way     string  `json:"way"`
	Against string  `json:"against"`
	Promise Promise `json:"promise"`
	Here    Promise `json:"here"` // what is left of it in Places
	// Stay is set where Way is the baseline.
	Stay bool `json:"stay,omitempty"`
	// Experiments are the IDs of the results in which Way wins, each once.
	Experiments []string `json:"experiments"`
	Suite       string   `json:"suite"`
	Name        string   `json:"name"` // of the experiment, without its parameters
	Places      []string `json:"places"`
	// Least is the ratio nearest to 1 of them, Most the farthest from it.
	Least Estimate `json:"least_ratio"`
	Most  Estimate `json:"most_ratio"`
	// Of is the number of results of that experiment with this promise, N that of those
	// in which Way wins.
	N  int `json:"n"`
	Of int `json:"of"`
}

// A Settle says which results are unclear and what another run of these would take.
type Settle struct {
	Experiments []string `json:"experiments"`
	Suites      []string `json:"suites"`
	Rounds      int      `json:"rounds"`
	Took        Nanos    `json:"about_ns"` // what so many rounds would take, about
}

// Limits of Settle: more than that is no advice.
const (
	mostSettleRounds = 400
	mostSettleTime   = Nanos(1800e9)
)

// Summary derives the outcome of a run from its findings.
func (r *Run) Summary() *Summary {
	s := &Summary{Schema: summarySchema, Rows: []SummaryRow{}}
	for _, res := range r.Results {
		s.Rows = append(s.Rows, res.summary()...)
	}
	s.Advice = r.advice(s.Rows)
	s.Settle = r.settle(s.Rows)
	return s
}

// Write writes the summary as JSON, indented.
func (s *Summary) Write(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	if err := e.Encode(s); err != nil {
		return fmt.Errorf("run: write a summary: %w", err)
	}
	return nil
}

func (res *Result) summary() []SummaryRow {
	var out []SummaryRow
	for i := range res.Surfaces {
		s := &res.Surfaces[i]
		row := SummaryRow{Experiment: res.ID, Place: res.Place, Kind: FoundKnee, Way: cmp.Or(s.KneeHi, s.Best), Against: s.Best}
		if v := res.Variant(row.Way); v != nil {
			row.Promise, row.Here, row.Time, row.OpsPerSecond = v.Promise, v.Here, v.Time, v.OpsPerSecond
		}
		out = append(out, row)
	}
	if out != nil {
		return out
	}
	for i := range res.Findings {
		out = append(out, res.summaryRow(&res.Findings[i]))
	}
	return out
}

func (res *Result) summaryRow(f *Finding) SummaryRow {
	row := SummaryRow{
		Experiment: res.ID, Place: res.Place, Promise: f.Promise, Kind: f.Kind, Way: f.Baseline,
		Tolerance: f.Tolerance, Same: f.Same, Visible: f.Visible, Rounds: f.RoundsNeeded,
	}
	switch f.Kind {
	case FoundWinner:
		row.Way, row.Against, row.Ratio = f.Fastest, f.Baseline, f.Ratio
	case FoundBest:
		row.Against = f.Next
		if f.Ratio != nil {
			e := f.Ratio.inverse()
			row.Ratio = &e
		}
	}
	for i := range f.Unclear {
		row.Unclear = append(row.Unclear, f.Unclear[i].Variant)
	}
	if v := res.Variant(row.Way); v != nil {
		row.Here, row.Time, row.OpsPerSecond = v.Here, v.Time, v.OpsPerSecond
	}
	return row
}

// inverse is the ratio the other way round.
func (e Estimate) inverse() Estimate {
	e.Median, e.Lo, e.Hi = 1/e.Median, 1/e.Hi, 1/e.Lo
	return e
}

// result returns the result of a row.
func (r *Run) result(row *SummaryRow) *Result {
	i := slices.IndexFunc(r.Results, func(res *Result) bool { return res.ID == row.Experiment && res.Place == row.Place })
	return r.Results[i]
}

// advice joins the rows that recommend the same, and sorts by what is gained for sure:
// the end of the interval nearest to 1.
func (r *Run) advice(rows []SummaryRow) []Advice {
	var out []Advice
	for i := range rows {
		row := &rows[i]
		if row.Ratio == nil || row.Against == "" || math.IsNaN(row.Ratio.Hi) {
			continue
		}
		res := r.result(row)
		at := slices.IndexFunc(out, func(a Advice) bool {
			return a.Suite == res.Suite && a.Name == res.Name && a.Promise == row.Promise && a.Here == row.Here && a.Way == row.Way && a.Stay == (row.Kind == FoundBest)
		})
		if at < 0 {
			at = len(out)
			out = append(out, Advice{
				Way: row.Way, Against: row.Against, Promise: row.Promise, Here: row.Here, Stay: row.Kind == FoundBest, Suite: res.Suite, Name: res.Name,
				Least: *row.Ratio, Most: *row.Ratio, Of: r.like(rows, res, row.Promise),
			})
		}
		out[at].add(row)
	}
	slices.SortStableFunc(out, func(a, b Advice) int { return cmp.Compare(a.Least.Hi, b.Least.Hi) })
	return out
}

func (a *Advice) add(row *SummaryRow) {
	a.N++
	if !slices.Contains(a.Experiments, row.Experiment) {
		a.Experiments = append(a.Experiments, row.Experiment)
	}
	if !slices.Contains(a.Places, row.Place) {
		a.Places = append(a.Places, row.Place)
	}
	if row.Ratio.Hi > a.Least.Hi {
		a.Least, a.Against = *row.Ratio, row.Against
	}
	if row.Ratio.Median < a.Most.Median {
		a.Most = *row.Ratio
	}
}

// like counts the rows of a promise in all points and places of an experiment.
func (r *Run) like(rows []SummaryRow, of *Result, p Promise) int {
	n := 0
	for i := range rows {
		if res := r.result(&rows[i]); res.Suite == of.Suite && res.Name == of.Name && rows[i].Promise == p {
			n++
		}
	}
	return n
}

// settle asks for the rounds that settle every row without a verdict, within limits.
func (r *Run) settle(rows []SummaryRow) *Settle {
	var s Settle
	var round Nanos // of all results together
	for i := range rows {
		row := &rows[i]
		if row.Kind != FoundUnclear || row.Rounds == 0 || row.Rounds > mostSettleRounds {
			continue
		}
		res := r.result(row)
		round += res.roundTime()
		s.Rounds = max(s.Rounds, row.Rounds)
		s.Experiments = append(s.Experiments, res.ID)
		s.Suites = append(s.Suites, res.Suite)
	}
	s.Took = round * Nanos(s.Rounds)
	if len(s.Experiments) == 0 || s.Took > mostSettleTime {
		return nil
	}
	slices.Sort(s.Suites)
	s.Suites = slices.Compact(s.Suites)
	slices.Sort(s.Experiments)
	s.Experiments = slices.Compact(s.Experiments)
	return &s
}

// roundTime is the time between the starts of two rounds, the preparation of blocks
// included.
func (res *Result) roundTime() Nanos {
	first, last, rounds := Nanos(math.MaxInt64), Nanos(0), map[int]bool{}
	for i := range res.Blocks {
		if b := &res.Blocks[i]; b.Role == RoleTimed {
			first, last = min(first, b.Start), max(last, b.Start+b.Wall)
			rounds[b.Round] = true
		}
	}
	if len(rounds) == 0 {
		return 0
	}
	return (last - first) / Nanos(len(rounds))
}
