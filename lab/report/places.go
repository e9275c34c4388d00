package report

import (
	"slices"

	"github.com/stele-go/stele/lab/run"
)

// A placeTable has the times of one experiment in every place of a run that has several.
type placeTable struct {
	Label  string
	Places []string
	Tiers  []placeTier
}

type placeTier struct {
	Promise, Level, Survives string
	Rows                     []placeRow
}

type placeRow struct {
	Name  string
	Cells []placeCell
}

// A placeCell is a way in one place: its speed, and its ratio to the baseline there.
type placeCell struct {
	Speed, Ratio, Word, Class string
	Kept                      string // what it survives there, where that is less than promised
}

// placeTables has a table for each experiment that was run in two places or more.
func placeTables(r *run.Run) []placeTable {
	var out []placeTable
	var done []string
	for _, res := range ordered(r) {
		if slices.Contains(done, res.ID) || len(res.Surfaces) > 0 {
			continue
		}
		done = append(done, res.ID)
		var all []*run.Result
		for _, o := range r.Results {
			if o.ID == res.ID {
				all = append(all, o)
			}
		}
		if len(all) > 1 {
			out = append(out, newPlaceTable(shortID(r, res), all))
		}
	}
	return out
}

func newPlaceTable(label string, all []*run.Result) placeTable {
	t := placeTable{Label: label}
	for _, res := range all {
		t.Places = append(t.Places, clean(res.Place))
	}
	for _, tier := range tiers(all[0]) {
		pt := placeTier{Promise: clean(tier.Promise.String()), Level: levelClass(tier.Promise), Survives: clean(tier.Promise.Survives())}
		for _, row := range tier.Rows {
			pr := placeRow{Name: clean(row.V.Name)}
			for _, res := range all {
				pr.Cells = append(pr.Cells, newPlaceCell(res, row.V.Name))
			}
			pt.Rows = append(pt.Rows, pr)
		}
		t.Tiers = append(t.Tiers, pt)
	}
	return t
}

func newPlaceCell(res *run.Result, variant string) placeCell {
	for _, t := range tiers(res) {
		for _, row := range t.Rows {
			if row.V.Name != variant {
				continue
			}
			word := clean(row.verdictWord(res))
			c := placeCell{Speed: notAvailable, Word: word, Class: verdictClass(word)}
			if row.V.Time.N > 0 && known(row.V.Time.Median) {
				c.Speed = speed(res, row.V)
			}
			if left := here(row.V); left != row.V.Promise {
				c.Kept = clean(left.Survives())
			}
			if ratioKnown(row.Comparison) {
				c.Ratio = times(row.Comparison.Ratio.Median) + " " + verdictSign(row.Comparison.Verdict)
			}
			return c
		}
	}
	return placeCell{Speed: "-"}
}
