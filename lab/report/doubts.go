package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/stele-go/stele/internal/units"
	"github.com/stele-go/stele/lab/run"
)

// A doubt is one reason to distrust figures of a run, with everything that it is about.
// A reason that several variants or experiments share is one doubt.
type doubt struct {
	Code  string
	Text  string
	About []subject
	Grave bool // something failed or is missing; else the figures are only noisy
}

// A subject is one variant of one experiment, or the whole experiment where Variant is
// empty.
type subject struct{ Experiment, Variant string }

// doubts collects the warnings of all variants of a run, the grave ones first.
func doubts(r *run.Run) []*doubt {
	d := &doubtList{}
	for _, res := range r.Results {
		id := verdictLine(r, res)
		if res.Cut != nil {
			d.add("cut", fmt.Sprintf("too few rounds for a verdict: the budget had room for %d of %d", res.Cut.Rounds, res.Cut.Needed), subject{id, ""}, true)
		}
		for i := range res.Variants {
			d.variant(id, &res.Variants[i], res.Cut != nil)
		}
	}
	slices.SortStableFunc(d.list, func(a, b *doubt) int {
		return cmp.Compare(boolInt(b.Grave), boolInt(a.Grave))
	})
	return d.list
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

type doubtList struct{ list []*doubt }

func (d *doubtList) add(code, text string, of subject, grave bool) {
	text = clean(text)
	at := slices.IndexFunc(d.list, func(x *doubt) bool { return x.Code == code && x.Text == text })
	if at < 0 {
		at = len(d.list)
		d.list = append(d.list, &doubt{Code: code, Text: text, Grave: grave})
	}
	d.list[at].About = append(d.list[at].About, subject{clean(of.Experiment), clean(of.Variant)})
}

func (d *doubtList) variant(id string, v *run.VariantResult, cut bool) {
	of := subject{id, v.Name}
	said := slices.ContainsFunc(v.Warnings, func(w run.Warning) bool { return strings.Contains(w.Text, v.Error) })
	switch {
	case v.Error == "" || said:
	case v.Unsupported && v.Time.N == 0:
		d.add("unsupported", "cannot be done here: "+strings.TrimPrefix(v.Error, v.Name+": "), of, true)
	case v.Time.N == 0:
		d.add("failed", "could not be measured: "+v.Error, of, true)
	default:
		d.add("failed", "failed in some blocks, which are in no figure: "+v.Error, of, true)
	}
	for i := range v.Warnings {
		w := &v.Warnings[i]
		switch w.Code {
		case run.WarnNotTimed:
			if v.Error == "" && !hasWarning(v, run.WarnFailed) { // which says why
				d.add(w.Code, variantWarning(v, w), of, true)
			}
		case run.WarnFewBlocks:
			if !cut { // which says why
				d.add(w.Code, fmt.Sprintf("too few blocks for an interval, which takes %d", w.Of), of, true)
			}
		case run.WarnOutliers:
			d.add(w.Code, "outliers, which stay in every figure", of, false)
		case run.WarnUnsteady:
			d.add(w.Code, "not steady by SNIA's rule", of, false)
		case run.WarnTrend:
			d.add(w.Code+v.Steady.Trend, v.Steady.Trend+" from the first block to the last", of, false)
		case run.WarnBatched:
			d.add(w.Code, "operations too short for the clock are timed several at a time: percentiles are of their means", of, false)
		case run.WarnOutOfRange:
			d.add(w.Code, "latencies below 1 ns or above 1 h are in no percentile", of, false)
		default:
			d.add(w.Code, variantWarning(v, w), of, true)
		}
	}
}

func hasWarning(v *run.VariantResult, code string) bool {
	return slices.ContainsFunc(v.Warnings, func(w run.Warning) bool { return w.Code == code })
}

// mostNames is how many names stand beside a doubt; more are counted.
const mostNames = 3

// Names names what a doubt is about, or counts it.
func (d *doubt) Names(all bool) string {
	var names []string
	experiments := map[string]bool{}
	for _, a := range d.About {
		experiments[a.Experiment] = true
		if a.Variant == "" {
			names = append(names, a.Experiment)
		} else {
			names = append(names, a.Variant)
		}
	}
	if len(experiments) > 1 && d.About[0].Variant != "" {
		names = d.byExperiment()
	}
	switch n := len(d.About); {
	case all || n <= mostNames:
		return strings.Join(names, ", ")
	case d.About[0].Variant == "":
		return units.Count(n, "experiment")
	case len(experiments) == 1:
		return units.Count(n, "variant")
	default:
		return fmt.Sprintf("%s of %s", units.Count(n, "variant"), units.Count(len(experiments), "experiment"))
	}
}

// byExperiment names the variants with their experiment.
func (d *doubt) byExperiment() []string {
	var order []string
	variants := map[string][]string{}
	for _, a := range d.About {
		if variants[a.Experiment] == nil {
			order = append(order, a.Experiment)
		}
		variants[a.Experiment] = append(variants[a.Experiment], a.Variant)
	}
	for i, e := range order {
		order[i] = strings.Join(variants[e], ", ") + " (" + e + ")"
	}
	return order
}

// Sentence is the doubt with what it is about.
func (d *doubt) Sentence(all bool) string {
	if d.Grave {
		return d.Names(all) + ": " + strings.TrimSuffix(d.Text, ".") + "."
	}
	return upperFirst(d.Text) + ": " + d.Names(all) + "."
}

// A placeDoubt is a warning that one or more places share.
type placeDoubt struct {
	Code, Text string
	Places     []string
}

// placeDoubts are the warnings of all places, each once. Those about the machine are
// the same everywhere.
func placeDoubts(r *run.Run) []*placeDoubt {
	var out []*placeDoubt
	for i := range r.Places {
		e := &r.Places[i].Environment
		for k := range e.Warnings {
			w := &e.Warnings[k]
			at := slices.IndexFunc(out, func(d *placeDoubt) bool { return d.Code == w.Code })
			if at < 0 {
				at = len(out)
				out = append(out, &placeDoubt{Code: clean(w.Code), Text: clean(PlaceWarning(e, w))})
			}
			out[at].Places = append(out[at].Places, clean(r.Places[i].Name))
		}
	}
	return out
}

// Words are the text with the other places that it holds for.
func (d *placeDoubt) Words(places int) string {
	if len(d.Places) < 2 || len(d.Places) == places {
		if places > 1 && len(d.Places) < places {
			return d.Places[0] + ": " + d.Text
		}
		return d.Text
	}
	return strings.Join(d.Places, ", ") + ": " + d.Text
}

// firstSentence cuts a text after its first full stop.
func firstSentence(s string) string {
	if i := strings.Index(s, ". "); i >= 0 {
		return s[:i+1]
	}
	return s
}
