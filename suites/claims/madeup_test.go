package claims

import (
	"math"
	"strings"
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/suitetest"
)

// made has made-up results of one place, for a rule to judge.
type made struct {
	place   run.Place
	results []*run.Result
}

func in(name, fs string) *made {
	return &made{place: run.Place{Name: name, Environment: run.Environment{FS: fs, GOMAXPROCS: 2}}}
}

// all makes up results for every experiment of a claim: times by variant.
func (m *made) all(c *Claim, time func(e *lab.Experiment, v string) float64) *made {
	for i := range c.Experiments {
		e := &c.Experiments[i]
		r := &run.Result{ID: e.ID(), Name: e.Name, Params: e.Params, Place: m.place.Name}
		base := e.Variants[0].Name
		for _, v := range e.Variants {
			t := time(e, v.Name)
			r.Variants = append(r.Variants, run.VariantResult{
				Name: v.Name, Time: suitetest.About(t), Syscalls: map[string]float64{},
				Metrics: map[string]run.Estimate{"allocs_per_op": suitetest.About(3), "alloc_bytes_per_op": suitetest.About(128)},
				Latency: []run.Percentile{{P: 99, NS: 10 * t}},
			})
			if v.Name != base {
				r.Comparisons = append(r.Comparisons, run.Comparison{Variant: v.Name, Baseline: base, Ratio: suitetest.About(t / time(e, base))})
			}
		}
		m.results = append(m.results, r)
	}
	return m
}

func (m *made) each(f func(r *run.Result, v *run.VariantResult)) *made {
	for _, r := range m.results {
		for i := range r.Variants {
			f(r, &r.Variants[i])
		}
	}
	return m
}

// tails gives each variant ten blocks, all of whose operations took its p99.
func (m *made) tails(ns func(r *run.Result, v *run.VariantResult) float64) *made {
	return m.each(func(r *run.Result, v *run.VariantResult) {
		for i := range 10 {
			h := run.NewHistogram()
			for range 300 {
				h.Record(int64(ns(r, v)))
			}
			r.Blocks = append(r.Blocks, run.Block{Variant: v.Name, Role: run.RoleTimed, Round: i + 1, Ops: 300, Batch: 1, Wall: run.Nanos(300 * v.Time.Median), Latency: h})
		}
	})
}

// pool gives each variant the p99 of all its blocks together, with the range of the
// blocks' as its interval.
func (m *made) pool() {
	m.each(func(r *run.Result, v *run.VariantResult) {
		all, blocks := run.NewHistogram(), 0
		p := run.Percentile{P: 99, Lo: math.Inf(1)}
		for i := range r.Blocks {
			b := &r.Blocks[i]
			if b.Variant != v.Name || b.Latency == nil {
				continue
			}
			blocks++
			all.Merge(b.Latency)
			q := b.Latency.Quantile(0.99)
			p.Lo, p.Hi = min(p.Lo, q), max(p.Hi, q)
		}
		if blocks == 0 {
			return
		}
		p.NS = all.Quantile(0.99)
		if n := all.Count(); n < 299 {
			p = run.Percentile{P: 99, Few: n, None: n == 0}
		}
		v.Latency = []run.Percentile{p}
	})
}

// sized sets the size of every variant's file.
func (m *made) sized(bytes float64) *made {
	return m.each(func(_ *run.Result, v *run.VariantResult) { v.Metrics["file_bytes"] = suitetest.About(bytes) })
}

// byVariant makes up times of variants, 100 us by default.
func byVariant(times map[string]float64) func(*lab.Experiment, string) float64 {
	return func(e *lab.Experiment, v string) float64 {
		for _, key := range []string{e.Name + "/" + v, v} {
			if t, ok := times[key]; ok {
				return t
			}
		}
		return 100_000
	}
}

// judge returns the only verdict.
func judge(t *testing.T, c *Claim, ms ...*made) run.Claim {
	t.Helper()
	var results []*run.Result
	var places []run.Place
	for _, m := range ms {
		m.pool()
		results, places = append(results, m.results...), append(places, m.place)
	}
	got := c.Judge(results, places)
	if len(got) != 1 {
		t.Fatalf("%s: %d verdicts, want 1", c.ID, len(got))
	}
	if got[0].ID != c.ID || got[0].Promise == "" || got[0].Why == "" {
		t.Errorf("%s: incomplete: %+v", c.ID, got[0])
	}
	return got[0]
}

func expect(t *testing.T, what string, got run.Claim, verdict string) {
	t.Helper()
	if got.Verdict != verdict {
		t.Errorf("%s: %s %q, want %q\nmeasured: %s\nwhy: %s", what, got.ID, got.Verdict, verdict, got.Measured, got.Why)
	}
	if strings.Contains(got.Measured, "NaN") {
		t.Errorf("%s: %s shows NaN: %s", what, got.ID, got.Measured)
	}
}
