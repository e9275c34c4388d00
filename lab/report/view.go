// Package report writes a run of the lab for people: as text for a terminal, as
// Markdown, as one HTML file. [GoBench] writes it in the Go benchmark format.
//
// It only presents: every figure and every finding is already in the [run.Run],
// and report words it. A figure that was not measured shows as "n/a" with the
// reason, never as zero, and a speed never shows without what survives a crash at
// that speed.
//
// # Mistakes to avoid
//
//   - Parsing Text or Markdown. They are for people, and change; programs read the
//     run's JSON or GoBench.
//   - Putting GoBench of two places into one benchstat table: its lines are data of
//     the place they were measured in.
package report

import (
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode"

	"github.com/stele-go/stele/internal/units"
	"github.com/stele-go/stele/lab/run"
)

// mixedMark stands wherever two variants of different promises are compared.
const mixedMark = "≠"

const mixedLegend = mixedMark + " compares variants that promise different things: part of the difference is what survives a crash."

// notAvailable is shown in place of a figure that was not measured.
const notAvailable = "n/a"

// A group is one job in one place: one result, or one for each point of its
// parameters.
type group struct {
	Title   string // "mkdir/fresh-7"
	Place   string
	Results []*run.Result
}

// grouped collects the results of the same job and place, in the order in
// which the first of each came, the points of a group by parameter.
func grouped(r *run.Run) []*group {
	type key struct{ suite, name, place string }
	var out []*group
	byKey := map[key]*group{}
	for _, res := range r.Results {
		k := key{res.Suite, res.Name, res.Place}
		g := byKey[k]
		if g == nil {
			g = &group{Title: clean(res.Suite + "/" + res.Name), Place: clean(res.Place)}
			byKey[k] = g
			out = append(out, g)
		}
		g.Results = append(g.Results, res)
	}
	for _, g := range out {
		sort.SliceStable(g.Results, func(i, j int) bool {
			return lessParams(g.Results[i].Params, g.Results[j].Params)
		})
	}
	return out
}

// lessParams orders by key, numbers by value: depth=2 comes before depth=16.
func lessParams(a, b run.Params) bool {
	keys := make([]string, 0, len(a))
	for k := range a {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	for _, k := range keys {
		if a[k] == b[k] {
			continue
		}
		x, errX := strconv.ParseFloat(a[k], 64)
		y, errY := strconv.ParseFloat(b[k], 64)
		if errX == nil && errY == nil {
			return x < y
		}
		return a[k] < b[k]
	}
	return false
}

// pointLabel names one point of a group: "depth=4".
func pointLabel(res *run.Result) string {
	return clean(strings.ReplaceAll(res.Params.String(), "/", ", "))
}

// A tier is the variants of one promise: those that are compared with each
// other.
type tier struct {
	Promise run.Promise
	Rows    []row
}

// A row is one variant and its comparisons.
type row struct {
	Index      int // of the variant in the experiment
	V          *run.VariantResult
	Comparison *run.Comparison  // with the baseline of its promise; nil without one
	Mixed      []run.Comparison // across promises
}

// survives is what is left of the tier's promise where it was measured.
func (t *tier) survives() string { return survives(t.Rows[0].V) }

func tiers(res *run.Result) []*tier {
	var out []*tier
	for i := range res.Variants {
		v := &res.Variants[i]
		at := slices.IndexFunc(out, func(t *tier) bool { return t.Promise == v.Promise })
		if at < 0 {
			at = len(out)
			out = append(out, &tier{Promise: v.Promise})
		}
		r := row{Index: i, V: v}
		for j := range res.Comparisons {
			c := &res.Comparisons[j]
			switch {
			case c.Variant != v.Name:
			case c.Mixed:
				r.Mixed = append(r.Mixed, *c)
			case r.Comparison == nil:
				r.Comparison = c
			}
		}
		out[at].Rows = append(out[at].Rows, r)
	}
	return out
}

// isBaseline reports whether others are compared with this variant.
func isBaseline(res *run.Result, name string) bool {
	return slices.ContainsFunc(res.Comparisons, func(c run.Comparison) bool {
		return !c.Mixed && c.Baseline == name
	})
}

// verdictWord is the verdict of a row, "baseline" for the variant that others are
// compared with.
func (r row) verdictWord(res *run.Result) string {
	switch {
	case r.V.Unsupported && r.V.Time.N == 0:
		return "not here"
	case r.V.Error != "" && r.V.Time.N == 0:
		return "failed"
	case r.Comparison != nil:
		return r.Comparison.Verdict
	case isBaseline(res, r.V.Name):
		return "baseline"
	}
	return "not compared"
}

// batchMark stands at percentiles of the means of several operations.
const batchMark = "*"

// batchNote explains batchMark, and is empty where it does not show.
func batchNote(res *run.Result) string {
	var parts []string
	for _, v := range res.Variants {
		if v.Batch > 1 {
			parts = append(parts, fmt.Sprintf("%s (%s at a time)", v.Name, count(float64(v.Batch))))
		}
	}
	if parts == nil {
		return ""
	}
	return clean("means of several operations, timed together because one is too short for the clock: " + strings.Join(parts, ", ") +
		". A single slow operation does not show in them.")
}

// methodNotes are the number of rounds and the noise of a result.
func methodNotes(r *run.Run, res *run.Result) []string {
	notes := []string{noiseNote(res)}
	switch {
	case res.Rounds == 0: // nothing was timed, or an older Stele wrote it
	case res.Rounds < r.Settings.Rounds:
		notes = append(notes, fmt.Sprintf("Rounds run: %d of at most %d.", res.Rounds, r.Settings.Rounds))
	default:
		notes = append(notes, fmt.Sprintf("Rounds run: %d.", res.Rounds))
	}
	return notes
}

func noiseNote(res *run.Result) string {
	if res.Noise == nil {
		return "Noise floor: not measured, so the tolerance is not checked against it."
	}
	var parts []string
	for _, n := range append([]run.Noise{*res.Noise}, res.MoreNoise...) {
		parts = append(parts, fmt.Sprintf("%s (%s against itself: %s)", percent(n.Floor), n.Variant, Ratio(n.Ratio)))
	}
	return clean("Noise floor: " + strings.Join(parts, "; ") + ". Differences below it mean nothing here.")
}

// holmNote says that with the test that was asked for nothing can be called faster or
// slower, whatever is measured; "" where something can.
func holmNote(res *run.Result) string {
	stuck := 0
	for i := range res.Comparisons {
		if c := &res.Comparisons[i]; c.Test == run.TestMannWhitney && holmText(c) == "" {
			stuck++
		}
	}
	if stuck == 0 {
		return ""
	}
	return fmt.Sprintf("The p-value cannot fall below 0.05 in %s: there are too few rounds for so many comparisons, and with this test nothing can be called faster or slower.", units.Count(stuck, "comparison"))
}

// promises lists every promise in the run, the strongest first.
func promises(r *run.Run) []run.Promise {
	var out []run.Promise
	for _, res := range r.Results {
		for _, v := range res.Variants {
			if !slices.Contains(out, v.Promise) {
				out = append(out, v.Promise)
			}
		}
	}
	sort.Slice(out, func(i, j int) bool {
		if out[i].Writes() != out[j].Writes() {
			return out[i].Writes()
		}
		if out[i].Level != out[j].Level {
			return out[i].Level < out[j].Level
		}
		return out[i].After < out[j].After
	})
	return out
}

func anyMixed(r *run.Run) bool {
	return slices.ContainsFunc(r.Results, func(res *run.Result) bool {
		return slices.ContainsFunc(res.Comparisons, func(c run.Comparison) bool { return c.Mixed })
	})
}

// verdictLine names a result for the list of verdicts.
func verdictLine(r *run.Run, res *run.Result) string {
	s := res.ID
	if len(r.Places) > 1 {
		s += " in " + res.Place
	}
	return clean(s)
}

// clean replaces characters that could move a terminal's cursor or break a line.
// A Run may come from a file that another person wrote.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r):
			return unicode.ReplacementChar
		}
		return r
	}, s)
}
