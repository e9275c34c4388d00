package run

import (
	"fmt"
	"slices"
	"time"
)

// run compares every run with the first new one, and then the figures.
func (c *comparer) run() {
	first := c.new[0]
	c.places = map[*Run]map[string]string{}
	for i, r := range slices.Concat(c.old, c.new) {
		side := "old"
		if i >= len(c.old) {
			side = "new"
		}
		if r.Schema != first.Schema {
			c.problem(Mismatch{Code: MismatchSchema, Old: r.Schema, New: first.Schema})
			return
		}
		if r.Partial != nil {
			c.difference(Mismatch{Code: MismatchPartial, Field: side, Old: r.Partial.Cause})
		}
		c.settings(r, first)
		c.places[r] = c.pairPlaces(r, first)
	}
	c.allResults()
	if len(c.report.Rows) == 0 {
		c.problem(Mismatch{Code: MismatchNothing})
	}
}

func (c *comparer) settings(r, first *Run) {
	setting := func(field string, old, new any) {
		if old != new {
			c.mismatch(Mismatch{Code: MismatchSetting, Field: field, Old: fmt.Sprint(old), New: fmt.Sprint(new)})
		}
	}
	old, new := r.Settings, first.Settings
	setting("in_process", old.InProcess, new.InProcess)
	// A longer block leaves more files behind for its own operations to meet,
	// and so does a block that need not wait for variants the quick set lacks.
	setting("block_time_ns", time.Duration(old.BlockTime), time.Duration(new.BlockTime))
	setting("quick", old.Quick, new.Quick)
}

// pairPlaces returns the name of each place of r by the name that it has in first.
func (c *comparer) pairPlaces(r, first *Run) map[string]string {
	names := map[string]string{}
	for i := range r.Places {
		p := &r.Places[i]
		q := first.place(p.Name)
		if len(r.Places) == 1 && len(first.Places) == 1 {
			q = &first.Places[0]
		}
		if q == nil {
			c.mismatch(Mismatch{Code: MismatchPlace, Place: p.Name})
			continue
		}
		names[q.Name] = p.Name
		for _, d := range p.Environment.Diff(q.Environment) {
			if d.Matters {
				c.mismatch(Mismatch{Code: MismatchEnvironment, Place: q.Name, Field: d.Field, Old: d.Old, New: d.New})
			}
		}
	}
	return names
}

func (r *Run) place(name string) *Place {
	i := slices.IndexFunc(r.Places, func(p Place) bool { return p.Name == name })
	if i < 0 {
		return nil
	}
	return &r.Places[i]
}

// A resultOf is a result with the run that it is from.
type resultOf struct {
	*Result
	run *Run
}

// at returns the result of an experiment in a place, by its name in the first new
// run, of each of the runs that have one.
func (c *comparer) at(id, place string, runs []*Run) (list []resultOf) {
	for _, r := range runs {
		theirs, ok := c.places[r][place]
		i := slices.IndexFunc(r.Results, func(res *Result) bool { return ok && res.ID == id && res.Place == theirs })
		if i >= 0 {
			list = append(list, resultOf{r.Results[i], r})
		}
	}
	return list
}

// allResults compares the results, in the order of the old runs and then of the new.
func (c *comparer) allResults() {
	type key struct{ id, place string }
	seen := map[key]bool{}
	for _, r := range slices.Concat(c.old, c.new) {
		canonical := map[string]string{}
		for name, theirs := range c.places[r] {
			canonical[theirs] = name
		}
		for _, res := range r.Results {
			place, ok := canonical[res.Place]
			if k := (key{res.ID, place}); ok && !seen[k] {
				seen[k] = true
				c.results(res.ID, place)
			}
		}
	}
}

// results compares one experiment in one place.
func (c *comparer) results(id, place string) {
	olds, news := c.at(id, place, c.old), c.at(id, place, c.new)
	where := Mismatch{Experiment: id, Place: place}
	if !c.both(where, len(olds), len(news)) {
		return
	}
	begin := len(c.report.Rows)
	seen := map[string]bool{}
	for _, res := range slices.Concat(olds, news) {
		for i := range res.Variants {
			if name := res.Variants[i].Name; !seen[name] {
				seen[name] = true
				c.variant(place, name, olds, news)
			}
		}
	}
	rows := c.report.Rows[begin:]
	if !slices.ContainsFunc(rows, func(row CompareRow) bool { return row.Outcome != NotJudged }) {
		for i := range rows {
			rows[i].Outcome, rows[i].Why = Inconclusive, WhyNoBaseline
		}
	}
}

// both reports whether a result or a variant that so many runs have can be compared,
// and notes those that lack it.
func (c *comparer) both(where Mismatch, olds, news int) bool {
	where.Code = MismatchMissing
	switch {
	case olds == 0:
		where.Code = MismatchAdded
		c.difference(where)
		return false
	case olds < len(c.old):
		where.Field = "old"
		c.mismatch(where)
	case news < len(c.new):
		if news > 0 {
			where.Field = "new"
		}
		c.mismatch(where)
	}
	return news > 0
}

// variant compares the figures of one variant, in a row each.
func (c *comparer) variant(place, name string, olds, news []resultOf) {
	has := func(res resultOf) bool { return res.Variant(name) != nil }
	olds = slices.DeleteFunc(slices.Clone(olds), func(res resultOf) bool { return !has(res) })
	news = slices.DeleteFunc(slices.Clone(news), func(res resultOf) bool { return !has(res) })
	id := ""
	for _, res := range slices.Concat(olds, news) {
		id = res.ID
	}
	if !c.both(Mismatch{Experiment: id, Variant: name}, len(olds), len(news)) {
		return
	}
	now := news[0].Variant(name).Promise
	for _, res := range slices.Concat(olds, news[1:]) {
		if was := res.Variant(name).Promise; was != now && !now.replaces(was) {
			c.mismatch(Mismatch{Code: MismatchPromise, Experiment: id, Variant: name, Old: was.String(), New: now.String()})
		}
	}
	for _, metric := range c.metricNames() {
		c.report.Rows = append(c.report.Rows, c.row(place, name, olds, news, metricNamed(metric)))
	}
}
