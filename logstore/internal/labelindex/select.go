package labelindex

import (
	"cmp"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"
)

// A Condition is on the value of one label, "" if it is missing.
type Condition struct {
	Name string
	// Value is the required value. If Match is not nil, it decides instead. It
	// is called without a lock, for "" and for each value of the name, not for
	// each stream. Its result for a value must not change.
	Value string
	Match func(value string) bool
	// Not negates the condition.
	Not bool
}

func (c Condition) matches(value string) bool {
	if c.Match != nil {
		return c.Match(value) != c.Not
	}
	return (value == c.Value) != c.Not
}

// Select returns the streams of a space that meet all conditions; without
// conditions, all of them. The caller may change the bitmap.
func (x *Index) Select(space uint32, conditions ...Condition) *roaring.Bitmap {
	terms := make([]term, len(conditions))
	for i, c := range conditions {
		terms[i] = term{Condition: c, without: c.matches("")}
	}
	// Match may be slow, so it is called without the lock, and again for the
	// values added meanwhile, until there are none.
	x.mu.RLock()
	for x.collect(space, terms) {
		x.mu.RUnlock()
		for i := range terms {
			terms[i].evaluate()
		}
		x.mu.RLock()
	}
	defer x.mu.RUnlock()
	in := x.spaces[space]
	if in == nil {
		return roaring.New()
	}
	return in.evaluate(terms)
}

// A term is a condition and its evaluation.
type term struct {
	Condition
	// without reports that streams without the label meet the condition. Such a
	// term subtracts the streams that do not meet it; other terms select those
	// that do.
	without bool

	values []*posting // of the name
	met    []bool     // for the first of them, whether they meet it

	chosen *roaring.Bitmap // streams that the term selects or subtracts; not to be changed
	few    []*posting      // or their postings, while chosen is nil
	weight int             // how many they are
}

// collect collects the values, and reports whether any of them is not evaluated
// yet. mu is read-held.
func (x *Index) collect(number uint32, terms []term) (more bool) {
	in := x.spaces[number]
	if in == nil {
		return false
	}
	for i := range terms {
		t := &terms[i]
		nm := in.names[t.Name]
		if t.Match == nil || nm == nil {
			continue
		}
		// If the list does not begin with the evaluated values, some were
		// removed.
		if n := len(t.met); n > 0 && (n > len(nm.list) || nm.list[n-1] != t.values[n-1]) {
			t.met = nil
		}
		t.values = nm.list
		more = more || len(t.met) < len(t.values)
	}
	return more
}

func (t *term) evaluate() {
	t.met = slices.Grow(t.met, len(t.values)-len(t.met))
	for _, p := range t.values[len(t.met):] {
		t.met = append(t.met, t.matches(p.value))
	}
}

// evaluate intersects the selected streams, the fewest first, and subtracts the
// others. mu is read-held.
func (x *space) evaluate(terms []term) *roaring.Bitmap {
	for i := range terms {
		t := &terms[i]
		if t.choose(x.names[t.Name]); t.weight == 0 && !t.without {
			return roaring.New()
		}
	}
	slices.SortFunc(terms, func(a, b term) int { return cmp.Compare(a.weight, b.weight) })
	var found *roaring.Bitmap
	for i := range terms {
		switch t := &terms[i]; {
		case t.without:
		case found == nil:
			found = t.own()
		default:
			found.And(t.bitmap())
		}
	}
	if found == nil {
		found = x.all.Clone()
	}
	for i := range terms {
		if t := &terms[i]; t.without && t.weight > 0 && !found.IsEmpty() {
			found.AndNot(t.bitmap())
		}
	}
	return found
}

// choose sets the streams that the term selects or subtracts: the postings of
// the values that match other than a missing label does.
func (t *term) choose(nm *name) {
	switch {
	case nm == nil:
		return
	case t.Match == nil && t.Value == "":
		t.chosen = nm.all
	case t.Match == nil:
		if p := nm.values[t.Value]; p != nil {
			t.few = []*posting{p}
		}
	default:
		for i, p := range t.values {
			if t.met[i] != t.without {
				t.few = append(t.few, p)
			}
		}
		if len(t.few) == len(t.values) {
			t.chosen = nm.all
		}
	}
	switch {
	case t.chosen != nil:
		t.weight = int(t.chosen.GetCardinality())
	case len(t.few) == 1 && t.few[0].many != nil:
		t.chosen = t.few[0].many
		t.weight = t.few[0].len()
	default:
		for _, p := range t.few {
			t.weight += p.len()
		}
	}
}

// bitmap returns the streams of the term; the caller must not change it.
func (t *term) bitmap() *roaring.Bitmap {
	if t.chosen == nil {
		t.chosen = union(t.few)
	}
	return t.chosen
}

// own returns a copy that the caller may change.
func (t *term) own() *roaring.Bitmap {
	if t.chosen == nil {
		return union(t.few)
	}
	return t.chosen.Clone()
}

// Names returns the label names of the streams of a space in set, or of all if
// set is nil, sorted.
func (x *Index) Names(space uint32, set *roaring.Bitmap) []string {
	x.mu.RLock()
	var names []string
	if in := x.spaces[space]; in != nil {
		for n, nm := range in.names {
			if set == nil || nm.all.Intersects(set) {
				names = append(names, n)
			}
		}
	}
	x.mu.RUnlock()
	slices.Sort(names)
	return names
}

// Values returns the values of a label of the streams of a space in set, or of
// all if set is nil, sorted, without "".
func (x *Index) Values(space uint32, name string, set *roaring.Bitmap) []string {
	x.mu.RLock()
	values := x.values(space, name, set)
	x.mu.RUnlock()
	slices.Sort(values)
	return slices.Compact(values)
}

// values returns the values of Values in no order. mu is read-held.
func (x *Index) values(space uint32, name string, set *roaring.Bitmap) (values []string) {
	in := x.spaces[space]
	if in == nil || in.names[name] == nil {
		return nil
	}
	nm := in.names[name]
	if set != nil && set.GetCardinality() < uint64(len(nm.list)) {
		return x.valuesOf(in, name, set)
	}
	for _, p := range nm.list {
		if set == nil && p.len() > 0 || set != nil && p.intersects(set) {
			values = append(values, p.value)
		}
	}
	return values
}

// valuesOf reads the labels of each stream, for sets smaller than the number of
// values. mu is read-held.
func (x *Index) valuesOf(in *space, name string, set *roaring.Bitmap) (values []string) {
	for it := set.Iterator(); it.HasNext(); {
		n := it.Next()
		if !in.all.Contains(n) {
			continue
		}
		for _, l := range x.decode(x.byNumber.Get(n).enc) {
			if l.Name == name && l.Value != "" {
				values = append(values, l.Value)
			}
		}
	}
	return values
}
