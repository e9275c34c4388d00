package pipeline

import (
	"encoding/binary"
	"slices"

	"github.com/stele-go/stele/logql/syntax"
)

// Get returns a label of the last line.
func (r *Run) Get(name string) (value []byte, ok bool) {
	id, known := r.set.ids[name]
	if !known {
		return nil, false
	}
	return r.set.get(id)
}

// Each calls f with each label of the last line, ordered by name. With an error of a stage
// that includes __error__ and __error_details__. An unwrapped label is left out, unless
// it could not be unwrapped. Values may be empty, and are valid until the next Process.
func (r *Run) Each(f func(name string, value []byte, class LabelClass)) {
	r.set.sort()
	hidden := r.hidden()
	for _, l := range r.set.sorted {
		if l.id != hidden {
			f(r.set.names[l.id].text, l.value, l.class)
		}
	}
}

// hidden returns the id of the label whose value is Run.Value, -1 if there is none.
func (r *Run) hidden() int32 {
	if r.p.unwrap == nil || r.failed() {
		return -1
	}
	return r.p.unwrap.id
}

// keyLabels are the ids of the labels of a grouping.
type keyLabels struct {
	grouping *syntax.Grouping
	ids      []int32
}

func (s *labelSet) keyIDs(g *syntax.Grouping) []int32 {
	if s.key.grouping != g {
		s.key = keyLabels{grouping: g}
		for _, l := range g.Labels {
			s.key.ids = append(s.key.ids, s.id(l))
		}
	}
	return s.key.ids
}

// AppendKey appends to buf bytes that are equal exactly for lines whose results have the same
// labels, of those that by (grouping nil: all; Without: all others) selects. An unwrapped
// label is none of them unless grouping names it.
func (r *Run) AppendKey(buf []byte, grouping *syntax.Grouping) []byte {
	if grouping != nil && !grouping.Without {
		for _, id := range r.set.keyIDs(grouping) {
			value, ok := r.set.get(id)
			if !ok {
				buf = append(buf, 0)
				continue
			}
			buf = append(binary.AppendUvarint(buf, uint64(len(value))+1), value...)
		}
		return buf
	}
	var without []int32
	if grouping != nil {
		without = r.set.keyIDs(grouping)
	}
	hidden := r.hidden()
	r.set.sort()
	for _, l := range r.set.sorted {
		if l.id == hidden || slices.Contains(without, l.id) {
			continue
		}
		text := r.set.names[l.id].text
		buf = append(binary.AppendUvarint(buf, uint64(len(text))), text...)
		buf = append(binary.AppendUvarint(buf, uint64(len(l.value))), l.value...)
	}
	return buf
}
