package run

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/stele-go/stele/lab/stats"
)

// A History is the runs of one job over the time of a project, as a series for each
// variant.
type History struct {
	Runs   []HistoryRun    `json:"runs"`   // in the order of their times
	Series []HistorySeries `json:"series"` // in the order of the last run
}

// A HistoryRun is one run of a History.
type HistoryRun struct {
	Name    string    `json:"name"` // of its file
	Started time.Time `json:"started"`
	Build   *Build    `json:"build,omitempty"`
	// Differs has what matters of the environment and the settings that differs from the
	// run before, by its JSON name.
	Differs []Difference `json:"differs,omitempty"`
}

// A HistorySeries is the figures of one variant.
type HistorySeries struct {
	Experiment string `json:"experiment"` // ID
	Place      string `json:"place"`
	Variant    string `json:"variant"`
	// Baseline is the variant that the time is divided by; empty where the figure is the
	// time of an operation in nanoseconds.
	Baseline string          `json:"baseline,omitempty"`
	Points   []HistoryPoint  `json:"points"`
	Changes  []HistoryChange `json:"changes"`
}

// A HistoryPoint is the figure of one run.
type HistoryPoint struct {
	Run    int      `json:"run"` // index in History.Runs
	Figure Estimate `json:"figure"`
}

// A HistoryChange is a place where the level of a series changes.
type HistoryChange struct {
	Point int     `json:"point"` // index in Points of the first one after the change
	Ratio float64 `json:"ratio"` // of the level after it to that before it
	P     float64 `json:"p"`     // see stats.ChangePoint
}

// HistoryOptions are the settings of NewHistory.
type HistoryOptions struct {
	// Absolute takes the time of an operation in place of its ratio to the baseline's.
	Absolute bool
}

// NewHistory makes a history of runs, each with the name of its file. The figure of a
// run is the median of the ratios of a variant's time to its baseline's, as in
// Comparison.Ratio, so that a faster machine is no change; baselines have no series
// then. A change is marked where stats.ChangePoints finds one, which takes eight runs
// or more: it is for looking back, and Compare for the newest run. A history without a
// change has a mark in 5 % of the cases at most, all of its series together. names and runs have
// the same length.
func NewHistory(names []string, runs []*Run, o HistoryOptions) *History {
	order := make([]int, len(runs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(runs[a].Started.Compare(runs[b].Started), cmp.Compare(names[a], names[b]))
	})
	h := &History{Runs: []HistoryRun{}, Series: []HistorySeries{}}
	var before *Run
	for i, k := range order {
		r := runs[k]
		h.Runs = append(h.Runs, HistoryRun{Name: names[k], Started: r.Started, Build: r.Build, Differs: differs(before, r)})
		h.add(i, r, o.Absolute)
		before = r
	}
	h.sortSeries()
	for i := range h.Series {
		h.Series[i].findChanges(alpha / float64(len(h.Series)))
	}
	return h
}

// add adds the figures of the run with that index.
func (h *History) add(index int, r *Run, absolute bool) {
	for _, res := range r.Results {
		for i := range res.Variants {
			v := &res.Variants[i]
			series := HistorySeries{Experiment: res.ID, Place: res.Place, Variant: v.Name, Points: []HistoryPoint{}, Changes: []HistoryChange{}}
			if len(r.Places) == 1 {
				series.Place = "" // its name is that of a directory, which may differ from run to run
			}
			times := res.times(v.Name, RoleTimed)
			if !absolute {
				base := res.baselineFor(v)
				if base == v {
					continue
				}
				series.Baseline = base.Name
				ratio, _ := quotients(times, res.times(base.Name, RoleTimed))
				if len(ratio) > 0 {
					h.point(series, HistoryPoint{index, estimate(stats.Bootstrap(stats.MedianOf(ratio), confidence, res.random(r.Seed, "history", v.Name), resamples))})
				}
				continue
			}
			if len(times) > 0 {
				h.point(series, HistoryPoint{index, estimate(stats.Median(times.at(rounds(times)), confidence))})
			}
		}
	}
}

// point adds a point to the series of that experiment, place, variant and baseline.
func (h *History) point(like HistorySeries, p HistoryPoint) {
	i := slices.IndexFunc(h.Series, func(s HistorySeries) bool {
		return s.Experiment == like.Experiment && s.Place == like.Place && s.Variant == like.Variant && s.Baseline == like.Baseline
	})
	if i < 0 {
		i = len(h.Series)
		h.Series = append(h.Series, like)
	}
	h.Series[i].Points = append(h.Series[i].Points, p)
}

// sortSeries puts the series of one experiment together, in the order in which they
// came up.
func (h *History) sortSeries() {
	first := map[[2]string]int{}
	for i, s := range h.Series {
		k := [2]string{s.Experiment, s.Place}
		if _, ok := first[k]; !ok {
			first[k] = i
		}
	}
	slices.SortStableFunc(h.Series, func(a, b HistorySeries) int {
		return cmp.Compare(first[[2]string{a.Experiment, a.Place}], first[[2]string{b.Experiment, b.Place}])
	})
}

// findChanges marks the changes of a series.
func (s *HistorySeries) findChanges(alpha float64) {
	x := make([]float64, len(s.Points))
	for i, p := range s.Points {
		x[i] = p.Figure.Median
	}
	points := stats.ChangePoints(x, alpha, rand.New(rand.NewPCG(uint64(len(x)), 0)))
	for i, p := range points {
		from, to := 0, len(x)
		if i > 0 {
			from = points[i-1].At
		}
		if i+1 < len(points) {
			to = points[i+1].At
		}
		s.Changes = append(s.Changes, HistoryChange{Point: p.At, Ratio: median(x[p.At:to]) / median(x[from:p.At]), P: p.P})
	}
}

func median(x []float64) float64 {
	if len(x) == 0 {
		return math.NaN()
	}
	return stats.Quantile(slices.Sorted(slices.Values(x)), 0.5)
}

// Levels returns the median of each stretch of the series between its changes, one for
// each point.
func (s *HistorySeries) Levels() []float64 {
	var ends []int
	for _, c := range s.Changes {
		ends = append(ends, c.Point)
	}
	levels := make([]float64, 0, len(s.Points))
	from := 0
	for _, to := range append(ends, len(s.Points)) {
		var x []float64
		for _, p := range s.Points[from:to] {
			x = append(x, p.Figure.Median)
		}
		levels = append(levels, slices.Repeat([]float64{median(x)}, to-from)...)
		from = to
	}
	return levels
}

// differs returns what matters of the environment and the settings in which a run
// differs from the one before it.
func differs(before, r *Run) []Difference {
	if before == nil {
		return nil
	}
	var list []Difference
	for i := range r.Places {
		p := before.place(r.Places[i].Name)
		if len(before.Places) == 1 && len(r.Places) == 1 {
			p = &before.Places[0]
		}
		if p == nil {
			continue
		}
		for _, d := range p.Environment.Diff(r.Places[i].Environment) {
			if d.Matters && !slices.Contains(list, d) {
				list = append(list, d)
			}
		}
	}
	if a, b := before.Settings.BlockTime, r.Settings.BlockTime; a != b {
		list = append(list, Difference{Field: "block_time_ns", Old: time.Duration(a).String(), New: time.Duration(b).String(), Matters: true})
	}
	return list
}
