package logql

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/stele-go/stele/logql/syntax"
	"github.com/stele-go/stele/logstore"
)

// A VolumeRequest asks for the bytes of streams.
type VolumeRequest struct {
	Selection // Limit 0 means 100 series, those with the most bytes
	// Step is that of VolumeRange; 0 means one step.
	Step time.Duration
	// Labels are those by which volumes are told; none means those that the selector
	// names. Streams without one of the Labels are not counted.
	Labels []string
	// ByName tells the volume of each name of a label (Loki's aggregateBy=labels), else
	// that of each combination of values (series).
	ByName bool
}

const defaultVolumes = 100

// Volume returns a Vector of bytes at the time End, the largest first. It reads no line.
func (e *Engine) Volume(ctx context.Context, r VolumeRequest) (*Result, error) {
	r.Step = 0
	result, err := e.volumes(ctx, r)
	if err != nil {
		return nil, err
	}
	for _, row := range result.Series {
		row.Points[0].Time = r.End
	}
	result.Kind = Vector
	return result, nil
}

// VolumeRange returns a Matrix of bytes in each step, by the last millisecond of the step,
// or the End, as Loki has it.
func (e *Engine) VolumeRange(ctx context.Context, r VolumeRequest) (*Result, error) {
	if r.Step <= 0 {
		r.Step = max(time.Duration(r.End-r.Start), 1)
	}
	if n := (r.End - r.Start) / int64(r.Step); n > int64(e.limits.Steps) {
		return nil, &LimitError{"Limits.Steps", int64(e.limits.Steps), fmt.Sprintf("%d points a series: make the step longer", n)}
	}
	result, err := e.volumes(ctx, r)
	if err != nil {
		return nil, err
	}
	for _, row := range result.Series {
		for i := range row.Points {
			end := row.Points[i].Time + int64(r.Step)
			if end < r.End {
				row.Points[i].Time = end - int64(time.Millisecond)
			} else {
				row.Points[i].Time = r.End
			}
		}
	}
	return result, nil
}

// volumes returns a Matrix of the series with the most bytes, the largest first.
func (e *Engine) volumes(ctx context.Context, r VolumeRequest) (*Result, error) {
	q, matchers, err := r.query()
	if err != nil {
		return nil, err
	}
	q.Limit = 0
	for _, name := range r.Labels {
		if name == "" {
			return nil, &RequestError{"Labels", "one without a name"}
		}
		q.Selector = append(q.Selector, logstore.Matcher{Name: name, Op: logstore.NotEqual})
	}
	a := r.aggregation(matchers)
	x := e.look(ctx, r.Tenant)
	defer x.end()
	q, done := x.ask(q, nil)
	groups, err := x.source.Aggregate(x.ctx, q, a)
	done()
	if err = partial(err); err != nil {
		return nil, x.explainError(err)
	}
	rows := volumeRows(groups, r)
	slices.SortStableFunc(rows, func(a, b Series) int { return cmp.Compare(total(b), total(a)) })
	limit := r.Limit
	if limit == 0 {
		limit = defaultVolumes
	}
	result := &Result{Kind: Matrix, Series: rows[:min(limit, len(rows))]}
	x.finish(result)
	return result, nil
}

// aggregation says what the store adds up for a request.
func (r *VolumeRequest) aggregation(matchers []syntax.Matcher) logstore.Aggregation {
	a := logstore.Aggregation{By: slices.Clone(r.Labels)}
	if r.Step > 0 {
		a.Step, a.Offset = r.Step, time.Duration(r.Start%int64(r.Step))
	}
	if r.ByName {
		// Which names a stream has, and none of its values, is what counts: but a
		// group of the store is one of values.
		a.By, a.Without = nil, true
		return a
	}
	if len(a.By) == 0 {
		for _, m := range matchers {
			a.By = append(a.By, m.Name)
		}
	}
	slices.Sort(a.By)
	a.By = slices.Compact(a.By)
	a.Without = len(a.By) == 0
	return a
}

func volumeRows(groups []logstore.Group, r VolumeRequest) []Series {
	if r.ByName {
		return volumesByName(groups, r.Labels)
	}
	rows := make([]Series, 0, len(groups))
	for _, g := range groups {
		rows = append(rows, Series{pairs(g.Labels), volumePoints(g.Buckets)})
	}
	return rows
}

func volumePoints(buckets []logstore.Bucket) []Point {
	points := make([]Point, len(buckets))
	for i, b := range buckets {
		points[i] = Point{b.Start, float64(b.Bytes)}
	}
	return points
}

// volumesByName adds up the groups that have each label.
func volumesByName(groups []logstore.Group, only []string) []Series {
	sums := map[string]map[int64]float64{}
	for _, g := range groups {
		for name := range g.Labels.All() {
			if len(only) > 0 && !slices.Contains(only, name) {
				continue
			}
			if sums[name] == nil {
				sums[name] = map[int64]float64{}
			}
			for _, b := range g.Buckets {
				sums[name][b.Start] += float64(b.Bytes)
			}
		}
	}
	var rows []Series
	for name, byTime := range sums {
		row := Series{Labels: []LabelPair{{name, ""}}}
		for t, bytes := range byTime {
			row.Points = append(row.Points, Point{t, bytes})
		}
		slices.SortFunc(row.Points, func(a, b Point) int { return cmp.Compare(a.Time, b.Time) })
		rows = append(rows, row)
	}
	slices.SortFunc(rows, func(a, b Series) int { return cmp.Compare(a.Labels[0].Name, b.Labels[0].Name) })
	return rows
}

func total(s Series) float64 {
	sum := 0.0
	for _, p := range s.Points {
		sum += p.Value
	}
	return sum
}
