package run

import (
	"fmt"
	"math"
	"testing"
	"time"
)

// aHistory is n runs, from one of which on variant b takes step times as long. The
// machine's own speed wanders far more than that from run to run.
func aHistory(seed uint64, n, from int, step float64) *History {
	var names []string
	var runs []*Run
	for i := range n {
		ratio := 1.0
		if i >= from {
			ratio = step
		}
		d := newDisk(seed*1000+uint64(i), 0.04)
		r := shifted(simulated(seed*1000+uint64(i), 8, d, ratio), math.Exp(0.3*d.rng.NormFloat64()))
		r.Started = time.Date(2026, 1, 1+i, 0, 0, 0, 0, time.UTC)
		r.Build = &Build{Revision: fmt.Sprintf("%040d", i)}
		// Files come in the order of their names, which is not that of the runs.
		names, runs = append(names, fmt.Sprintf("%03d.json", (i*7)%n)), append(runs, r)
	}
	for i := range runs {
		k := (i * 7) % n
		names[i], names[k], runs[i], runs[k] = names[k], names[i], runs[k], runs[i]
	}
	return NewHistory(names, runs, HistoryOptions{})
}

func TestHistory(t *testing.T) {
	h := aHistory(1, 20, 12, 1.15)
	if len(h.Runs) != 20 || h.Runs[0].Build.Revision != fmt.Sprintf("%040d", 0) || h.Runs[19].Build.Revision != fmt.Sprintf("%040d", 19) {
		t.Fatalf("runs: %+v", h.Runs)
	}
	if len(h.Series) != 1 || h.Series[0].Variant != "b" || h.Series[0].Baseline != "a" || len(h.Series[0].Points) != 20 {
		t.Fatalf("series: %+v", h.Series)
	}
	s := h.Series[0]
	if len(s.Changes) != 1 || s.Changes[0].Point < 11 || s.Changes[0].Point > 13 || math.Abs(s.Changes[0].Ratio-1.15) > 0.05 {
		t.Errorf("changes: %+v", s.Changes)
	}
	levels := s.Levels()
	if len(levels) != 20 || math.Abs(levels[19]/levels[0]-s.Changes[0].Ratio) > 1e-9 {
		t.Errorf("levels: %v", levels)
	}
}

// A run that lacks a variant is a gap in its series, and what differs on the machine is
// noted.
func TestHistoryOfUnlikeRuns(t *testing.T) {
	a, b, c := simulated(1, 8, newDisk(1, 0.02), 1), simulated(2, 8, newDisk(2, 0.02), 1), simulated(3, 8, newDisk(3, 0.02), 1)
	for i, r := range []*Run{a, b, c} {
		r.Started = time.Date(2026, 1, 1+i, 0, 0, 0, 0, time.UTC)
	}
	b.Results[0].Variants = b.Results[0].Variants[:1]
	c.Places[0].Environment.Kernel = "7.1"
	h := NewHistory([]string{"a", "b", "c"}, []*Run{a, b, c}, HistoryOptions{})
	if len(h.Series) != 1 || len(h.Series[0].Points) != 2 || h.Series[0].Points[1].Run != 2 {
		t.Errorf("series: %+v", h.Series)
	}
	if len(h.Runs[1].Differs) != 0 || len(h.Runs[2].Differs) != 1 || h.Runs[2].Differs[0].Field != "kernel" {
		t.Errorf("differences: %+v", h.Runs)
	}
	if h := NewHistory([]string{"a"}, []*Run{a}, HistoryOptions{Absolute: true}); len(h.Series) != 2 || h.Series[0].Baseline != "" {
		t.Errorf("absolute: %+v", h.Series)
	}
}

// Histories without a change have one in 5 % of the cases, and a step of 15 % in blocks
// with 4 % of noise is found.
func TestHistoryFalseAlarmsAndPower(t *testing.T) {
	trials := simulations(30)
	alarms, found := 0, 0
	for i := range uint64(trials) {
		if len(aHistory(i+1, 16, 16, 1).Series[0].Changes) > 0 {
			alarms++
		}
		if len(aHistory(i+1, 16, 10, 1.15).Series[0].Changes) > 0 {
			found++
		}
	}
	t.Logf("of %d histories of 16 runs: %d alarms without a change, %d steps of 15 %% found", trials, alarms, found)
	if alarms > max(5, trials*8/100) { // 5 %, and what chance adds to it
		t.Errorf("%d of %d histories without a change have one", alarms, trials)
	}
	if found < trials*9/10 {
		t.Errorf("a step of 15 %% is found in %d of %d histories", found, trials)
	}
}
