package logstore

import (
	"cmp"
	"slices"

	"github.com/stele-go/stele/logstore/internal/catalog"
)

// logTerms are the terms that a log tells, by position. A record without a term is of
// that of the record before it. Where records are lost a term may have begun, so the
// next ones are of an unknown term, until they tell it.
type logTerms struct {
	list []termStart // by position; term 0: unknown
	last uint64      // position of the last record, 0 without one
}

// next notes a record.
func (t *logTerms) next(pos uint64) {
	if t.last == 0 || pos != t.last+1 {
		t.forget(pos)
	}
	t.last = pos
}

// forget notes that a term may have begun behind a position that has no term.
func (t *logTerms) forget(pos uint64) {
	t.list = append(t.list, termStart{pos, 0})
}

// begin notes that a term begins at a position.
func (t *logTerms) begin(pos, term uint64) { t.list = append(t.list, termStart{pos, term}) }

// goesOn notes that the record at a position, and the one before it, are of a term. So
// are those before, to where it was lost which term that is: and the last one that was
// lost.
func (t *logTerms) goesOn(term uint64) {
	if n := len(t.list); n > 0 && t.list[n-1].term == 0 {
		t.list[n-1] = termStart{max(t.list[n-1].from, 1) - 1, term}
	}
}

// at returns the term of a position, 0 if that is not known.
func (t logTerms) at(pos uint64) (term uint64) {
	i, ok := slices.BinarySearchFunc(t.list, pos, func(s termStart, pos uint64) int { return cmp.Compare(s.from, pos) })
	if !ok {
		i--
	}
	for ok && i+1 < len(t.list) && t.list[i+1].from == pos {
		i++
	}
	if i < 0 {
		return 0
	}
	return t.list[i].term
}

// with returns the terms, with that of the first records by the segments of the log, if
// the log does not tell it: those records are all of one term, and so is the position
// before.
func (t logTerms) with(first uint64, found []catalog.Holding, other func(catalog.Holding) bool) logTerms {
	if len(t.list) == 0 || t.list[0].term != 0 || t.list[0].from != first || first == 0 {
		return t
	}
	upto := t.last
	if len(t.list) > 1 {
		upto = t.list[1].from - 1
	}
	best := termStart{upto + 1, 0}
	for _, h := range found {
		if !other(h) && h.Term != 0 && h.Upto+1 >= first && h.Upto < best.from {
			best = termStart{h.Upto, h.Term}
		}
	}
	t.list = slices.Clone(t.list)
	t.list[0] = termStart{first - 1, best.term}
	return t
}
