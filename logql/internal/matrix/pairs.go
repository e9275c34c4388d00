package matrix

import (
	"fmt"

	"github.com/stele-go/stele/logql/syntax"
)

// pairs computes an operation of the series of two sides that belong together. One side
// may have many series for one of the other, if the query says so.
func (e *evaluator) pairs(x *syntax.Binary, left, right []Series) (Result, error) {
	many, one, side := left, right, "right"
	group := syntax.OneToOne
	if x.Matching != nil {
		group = x.Matching.Group
	}
	if group == syntax.GroupRight {
		many, one, side = right, left, "left"
	}
	names, not := matching(x)
	ones, err := e.ones(x, one, side)
	if err != nil {
		return Result{}, err
	}
	var (
		out  = newUnion(e.n)
		seen = make(map[string][]uint64) // see addPairs

		key, grouped, id []byte
	)
	for i := range many {
		key = appendKey(key[:0], many[i].Labels, names, not)
		for _, o := range ones[string(key)] {
			if err := e.work(e.n); err != nil {
				return Result{}, err
			}
			l, r := &many[i], o
			if group == syntax.GroupRight {
				l, r = o, &many[i]
			}
			if !overlap(l.Has, r.Has) {
				continue
			}
			labels := resultLabels(x, many[i].Labels, o.Labels)
			if id = key; group != syntax.OneToOne {
				grouped = appendKey(grouped[:0], labels, nil, true)
				id = grouped
			}
			if !addPairs(seen, string(id), l, r) {
				return Result{}, twice(x, group)
			}
			if err := e.room(e.bytes(len(out.series)+1) + e.hasBytes(len(seen))); err != nil {
				return Result{}, err
			}
			s := NewSeries(labels, e.n)
			columnOf(x).compute(&s, l, r, l)
			if s.Empty() {
				continue
			}
			if !out.add(s) {
				return Result{}, twice(x, group)
			}
			if err := e.fits(x, len(out.series)); err != nil {
				return Result{}, err
			}
		}
	}
	return Result{Series: out.series}, nil
}

// twice returns the error of a second pair at a step where there may be one.
func twice(x *syntax.Binary, group syntax.Group) error {
	if group == syntax.OneToOne {
		return &MatchError{x, "multiple matches for labels: many-to-one matching must be explicit (group_left/group_right)"}
	}
	return &MatchError{x, "multiple matches for labels: grouping labels must ensure unique matches"}
}

// addPairs adds the steps at which both series have a value to those of key: what pairs them
// one to one, else the labels of the result. It returns false if one of them is there already,
// also, as in Loki, if a comparison drops one of the pairs.
func addPairs(seen map[string][]uint64, key string, l, r *Series) bool {
	has := seen[key]
	if has == nil {
		has = make([]uint64, len(l.Has))
		seen[key] = has
	}
	for w := range has {
		both := l.Has[w] & r.Has[w]
		if has[w]&both != 0 {
			return false
		}
		has[w] |= both
	}
	return true
}

// ones returns the series of the side of which one may pair, by the labels that pair
// them. Several may do so if they have values at different steps.
func (e *evaluator) ones(x *syntax.Binary, series []Series, side string) (map[string][]*Series, error) {
	names, not := matching(x)
	out := make(map[string][]*Series)
	var key []byte
	for i := range series {
		s := &series[i]
		key = appendKey(key[:0], s.Labels, names, not)
		for _, other := range out[string(key)] {
			if err := e.work(len(s.Has)); err != nil {
				return nil, err
			}
			if overlap(other.Has, s.Has) {
				return nil, &MatchError{x, fmt.Sprintf("found duplicate series on the %s hand-side;many-to-many matching not allowed: matching labels must be unique on one side", side)}
			}
		}
		out[string(key)] = append(out[string(key)], s)
	}
	return out, nil
}

// resultLabels returns the labels of a pair.
func resultLabels(x *syntax.Binary, many, one []Label) []Label {
	m := x.Matching
	if m == nil {
		return many
	}
	if m.Group == syntax.OneToOne {
		return selectLabels(many, m.Labels, !m.On)
	}
	out := many
	for _, name := range m.Include {
		out = withLabel(out, name, label(one, name))
	}
	return out
}
