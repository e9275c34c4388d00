package segment2

import (
	"iter"
	"slices"
	"strings"
)

// A Matcher tests whether streams meet conditions. It is for one goroutine.
type Matcher struct {
	terms []matcherTerm // by name
}

type matcherTerm struct {
	Condition
	without bool // a stream without the label meets the condition
	// met has results of Match, of at most maxMet values.
	met map[string]bool
}

// maxMet bounds the memory of a matcherTerm. A name with more values has mostly
// values of its own for each stream, so that their results help no other.
const maxMet = 1 << 12

// NewMatcher returns a Matcher of all conditions.
func NewMatcher(conditions []Condition) *Matcher {
	m := &Matcher{terms: make([]matcherTerm, len(conditions))}
	for i, c := range conditions {
		t := matcherTerm{Condition: c, without: c.Meets("")}
		if c.Match != nil {
			t.met = map[string]bool{}
		}
		m.terms[i] = t
	}
	slices.SortStableFunc(m.terms, func(a, b matcherTerm) int { return strings.Compare(a.Name, b.Name) })
	return m
}

// Meets reports whether a stream with these labels meets all conditions.
func (m *Matcher) Meets(labels string) bool {
	terms := m.terms
	for name, value := range allLabels(labels) {
		for len(terms) > 0 && terms[0].Name < name {
			if !terms[0].without {
				return false
			}
			terms = terms[1:]
		}
		for len(terms) > 0 && terms[0].Name == name {
			if !terms[0].meets(value) {
				return false
			}
			terms = terms[1:]
		}
		if len(terms) == 0 {
			return true
		}
	}
	for i := range terms {
		if !terms[i].without {
			return false
		}
	}
	return true
}

func (t *matcherTerm) meets(value string) bool {
	if t.met == nil {
		return t.Meets(value)
	}
	ok, known := t.met[value]
	if !known {
		if ok = t.Meets(value); len(t.met) < maxMet {
			t.met[value] = ok
		}
	}
	return ok
}

// allLabels ranges over the names and values of encoded labels, by name. It
// ends where they are not well-formed.
func allLabels(enc string) iter.Seq2[string, string] {
	return func(yield func(name, value string) bool) {
		for enc != "" {
			name, rest, ok := cutString(enc)
			if !ok {
				return
			}
			value, rest, ok := cutString(rest)
			if !ok || !yield(name, value) {
				return
			}
			enc = rest
		}
	}
}

// cutString cuts a string with its length before it off enc.
func cutString(enc string) (s, rest string, ok bool) {
	n, shift := uint64(0), 0
	for i := 0; i < len(enc) && shift < 63; i++ {
		n |= uint64(enc[i]&0x7f) << shift
		if enc[i] < 0x80 {
			if enc = enc[i+1:]; n > uint64(len(enc)) {
				return "", "", false
			}
			return enc[:n], enc[n:], true
		}
		shift += 7
	}
	return "", "", false
}
