package logql

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/stele-go/stele/logql/internal/matrix"
	"github.com/stele-go/stele/logql/internal/pipeline"
	"github.com/stele-go/stele/logql/internal/prefilter"
	"github.com/stele-go/stele/logql/internal/window"
	"github.com/stele-go/stele/logql/syntax"
	"github.com/stele-go/stele/logstore"
)

// A leaf is a range aggregation as it is asked of the store.
type leaf struct {
	x        *execution
	expr     *syntax.RangeAggregation
	function *window.Function
	query    logstore.Query
	split    prefilter.Split
	grouping *syntax.Grouping // nil: by all labels
	// keepsErrors tells that lines with an error of a stage count as others do.
	keepsErrors bool
	node        *PlanNode
}

// leaf computes a range aggregation.
func (x *execution) leaf(expr *syntax.RangeAggregation, steps matrix.Steps, node *PlanNode) ([]matrix.Series, error) {
	f, err := window.New(expr, steps)
	if err != nil {
		return nil, &RequestError{"Query", err.Error()}
	}
	sel, err := selector(x.r.Query, expr.Log.Matchers)
	if err != nil {
		return nil, err
	}
	if err := x.limits.checkRange(f.From(), f.To()); err != nil {
		return nil, err
	}
	l := &leaf{x: x, expr: expr, function: f, grouping: effectiveGrouping(expr), keepsErrors: asksForErrors(expr), node: node}
	l.query = logstore.Query{Selector: sel, From: f.From(), To: f.To()}
	l.split = x.split(l.query, expr.Log.Stages)
	l.query.Filter = l.split.Filter
	l.describe()
	kept := x.kept.Load()
	groups, err := l.groups()
	l.split.Release()
	if err != nil {
		return nil, err
	}
	series, err := l.series(groups)
	if err != nil {
		return nil, err
	}
	for i := range series { // all else that was charged for the leaf is free
		kept += l.seriesBytes() + labelsBytes(series[i].Labels)
	}
	x.kept.Store(kept)
	return series, nil
}

// seriesBytes returns what a series of the leaf takes, without its labels.
func (l *leaf) seriesBytes() int64 {
	return int64(8*l.function.Steps() + l.function.Steps()/8 + groupBytes)
}

func labelsBytes(labels []matrix.Label) int64 {
	size := int64(0)
	for _, l := range labels {
		size += int64(len(l.Name) + len(l.Value) + labelBytes)
	}
	return size
}

// effectiveGrouping is the grouping of a leaf by what its function does: absent_over_time
// has one series, and without a grouping the label that is the value is none of the series'.
func effectiveGrouping(e *syntax.RangeAggregation) *syntax.Grouping {
	switch g := e.Grouping; {
	case e.Op == syntax.AbsentOverTime:
		return &syntax.Grouping{}
	case e.Unwrap == nil || g != nil && !g.Without:
		return g
	case g == nil:
		return &syntax.Grouping{Without: true, Labels: []string{e.Unwrap.Label}}
	default:
		return &syntax.Grouping{Without: true, Labels: append(slices.Clone(g.Labels), e.Unwrap.Label)}
	}
}

// asksForErrors reports whether a leaf is grouped by labels, and these or a label filter have
// __error__: then an error of a stage is nothing unexpected.
func asksForErrors(e *syntax.RangeAggregation) bool {
	if e.Grouping == nil || e.Grouping.Without {
		return false
	}
	return slices.Contains(e.Grouping.Labels, "__error__") || slices.ContainsFunc(e.Log.Stages, func(s syntax.Stage) bool {
		f, ok := s.(*syntax.LabelFilter)
		return ok && looksAt(f.Predicate, "__error__")
	})
}

// looksAt reports whether a predicate is about a label.
func looksAt(p syntax.Predicate, name string) bool {
	switch p := p.(type) {
	case *syntax.And:
		return looksAt(p.Left, name) || looksAt(p.Right, name)
	case *syntax.Or:
		return looksAt(p.Left, name) || looksAt(p.Right, name)
	case *syntax.TextPredicate:
		return p.Matcher.Name == name
	}
	return false
}

func (l *leaf) describe() {
	l.node.note("streams %s", l.query.Selector)
	l.node.split(l.split)
}

// A group is a series that grows.
type group struct {
	key         string // that of the map it is in
	labels      []matrix.Label
	accumulator *window.Accumulator
}

// groups returns the series, each with its accumulator, by a key of its labels.
func (l *leaf) groups() (map[string]*group, error) {
	switch {
	case l.query.To <= l.query.From: // which would be no end for the store
		return nil, nil
	case l.counts():
		return l.countGroups()
	}
	return l.foldGroups(l.query)
}

// series returns the results of groups, ordered by labels.
func (l *leaf) series(groups map[string]*group) ([]matrix.Series, error) {
	if l.expr.Op == syntax.AbsentOverTime {
		return l.absent(groups)
	}
	if err := l.x.charge(int64(len(groups)) * l.seriesBytes()); err != nil {
		return nil, err
	}
	out := make([]matrix.Series, 0, len(groups))
	for _, g := range groups {
		s, err := g.accumulator.Result(l.x.ctx, g.labels)
		if err == nil {
			err = l.x.ctx.Err()
		}
		if err != nil {
			return nil, err
		}
		if !s.Empty() {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b matrix.Series) int { return matrix.CompareLabels(a.Labels, b.Labels) })
	return out, nil
}

// absent returns the series of absent_over_time, whose labels are those of which the selector
// has one matcher, an =.
func (l *leaf) absent(groups map[string]*group) ([]matrix.Series, error) {
	var a *window.Accumulator
	for _, g := range groups {
		a = g.accumulator
	}
	if err := l.x.charge(l.seriesBytes() + l.function.AccumulatorBytes()); err != nil {
		return nil, err
	}
	if a == nil {
		a = l.function.NewAccumulator()
	}
	matchers := map[string]int{}
	for _, m := range l.expr.Log.Matchers {
		matchers[m.Name]++
	}
	var labels []matrix.Label
	for _, m := range l.expr.Log.Matchers {
		if m.Op == syntax.Equal && m.Value != "" && matchers[m.Name] == 1 {
			labels = append(labels, matrix.Label{Name: m.Name, Value: m.Value})
		}
	}
	slices.SortFunc(labels, func(a, b matrix.Label) int { return strings.Compare(a.Name, b.Name) })
	s, err := a.Result(l.x.ctx, labels)
	if err != nil || s.Empty() {
		return nil, err
	}
	return []matrix.Series{s}, nil
}

// foldGroups reads the lines that q selects.
func (l *leaf) foldGroups(q logstore.Query) (map[string]*group, error) {
	o := l.x.pipelineOptions()
	o.Unwrap = l.expr.Unwrap
	if g := l.grouping; g == nil || g.Without {
		o.AllLabels = true
	} else {
		o.Need = g.Labels
	}
	p, err := pipeline.Compile(l.split.Rest, o)
	if err != nil {
		return nil, inQuery(err, l.x.r.Query)
	}
	f, lines := l.byFields(p), q
	switch q.NoLines = !l.bytes() && onlyLabels(l.split.Rest, f); {
	case q.NoLines && q.Filter == nil:
		l.node.note("reads times and metadata once, for all steps, and no line")
	case q.NoLines:
		l.node.note("reads times and metadata once, for all steps, and lines that the filter needs")
	case f != nil:
		l.askFields(&q, f)
		l.node.note("reads fields from columns, and lines where columns have none, once, for all steps")
	default:
		l.node.note("reads the lines once, for all steps")
	}
	q.Cursors = l.function.Ordered()
	folders, err := l.fold(q, p, f)
	if q.Cursors && errors.Is(err, fs.ErrInvalid) { // a store without them
		lines.NoLines = q.NoLines
		folders, err = l.fold(lines, p, nil)
	}
	if err != nil {
		if err = l.x.tolerate(err); err != nil {
			return nil, err
		}
	}
	return l.merge(folders)
}

// fold returns the folders that have taken the lines.
func (l *leaf) fold(q logstore.Query, p *pipeline.Pipeline, fields *pipeline.Fields) ([]*folder, error) {
	var folders []*folder
	var alike []*alikeRows
	q, done := l.x.ask(q, l.node)
	err := l.x.source.Fold(l.x.ctx, q, func(charge func(int64) error) logstore.Folder {
		if q.Fields != nil {
			f := newFieldFolder(l, p, fields, charge)
			folders, alike = append(folders, f.folder), append(alike, &f.alike)
			return f
		}
		f := newFolder(l, p, charge)
		folders = append(folders, f)
		return f
	})
	done()
	for _, f := range folders {
		f.run.Release()
	}
	for _, a := range alike {
		a.release()
	}
	return folders, err
}

// readsNoLine reports whether stages look at labels only.
func readsNoLine(stages []syntax.Stage) bool {
	return !slices.ContainsFunc(stages, func(s syntax.Stage) bool {
		switch s.(type) {
		case *syntax.LabelFilter, *syntax.Drop, *syntax.Keep:
			return false
		}
		return true
	})
}

// merge adds up what the goroutines have.
func (l *leaf) merge(folders []*folder) (map[string]*group, error) {
	sum := map[string]*group{}
	for _, f := range folders {
		for key, g := range f.groups {
			if err := l.x.ctx.Err(); err != nil {
				return nil, err
			}
			if known := sum[key]; known == nil {
				sum[key] = g
			} else if err := known.accumulator.Merge(g.accumulator, l.x.charge); err != nil {
				return nil, err
			}
		}
		if err := l.checkSeries(len(sum)); err != nil {
			return nil, err
		}
	}
	return sum, nil
}

func (l *leaf) checkSeries(n int) error {
	if n > l.x.limits.Parts {
		return &LimitError{"Limits.Parts", int64(l.x.limits.Parts), fmt.Sprintf("at least %d series of %s: aggregate by fewer labels", n, l.expr)}
	}
	return nil
}

// bytes reports whether the value of a line is its length.
func (l *leaf) bytes() bool {
	return l.expr.Op == syntax.BytesOverTime || l.expr.Op == syntax.BytesRate
}
