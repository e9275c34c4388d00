package logstore

import (
	"math"
	"sync/atomic"
)

const (
	// maxDeletions bounds the pending deletions: a query looks at those of its tenant.
	maxDeletions = 1000
	// deletionBytes is about the memory of a pending deletion, and deletionMatcherBytes
	// that of one of its matchers, beside names, values and programs.
	deletionBytes        = 500
	deletionMatcherBytes = 250
)

// limitDeletions bounds the memory of pending deletions by a part of their share, and
// that of the values which their regular expressions are known to match by another.
func (s *Store) limitDeletions() {
	s.deletions.most = s.o.share(otherShare) / 4
	s.deletions.matches.limit = s.o.share(otherShare) / 8
}

// fit returns the pending deletions that stay beside p, whose item has so many bytes, and
// whether it fits beside them. mu is held.
func (ds *deletions) fit(p *deletion, encoded int) (others []*deletion, ok bool) {
	others, bytes, memory := ds.notCovered(p)
	return others, len(others) < maxDeletions && bytes+encoded <= maxDeletionsBytes && memory+p.memory <= ds.most
}

// memory returns the bytes that pending deletions hold.
func (ds *deletions) memory() int64 { return ds.held.Load() + ds.matches.used.Load() }

// checkPrograms returns an error for a wrong condition on lines, and for a regular
// expression that is too large to be pending. An older version may have accepted it: it is applied, then.
func (d *Deletion) checkPrograms() error {
	for _, m := range d.Lines {
		if _, err := m.check(maxDeletionProgram); err != nil {
			return err
		}
	}
	for _, m := range d.Selector {
		if m.Op != Matches && m.Op != NotMatches {
			continue
		}
		if _, err := m.checkProgram(maxDeletionProgram); err != nil {
			return err
		}
	}
	return nil
}

// size returns about the memory of what is gone by a deletion.
func (g *gone) size() int64 {
	n := int64(deletionBytes + len(g.Tenant))
	for _, m := range g.selector {
		n += int64(deletionMatcherBytes + len(m.Name) + len(m.Value))
		if m.Op < Matches {
			continue
		}
		size, _ := m.checkProgram(math.MaxInt64) // it is compiled
		n += size.Bytes() + int64(len(m.Value))  // of the expression with its anchors
	}
	return n
}

// shareMatches counts the values that regular expressions of pending deletions are known
// to match together, and lets go of those of deletions that are no longer pending.
func (ds *deletions) shareMatches(before, all []*deletion) {
	for _, p := range all {
		for _, v := range p.matches {
			v.shareWith(&ds.matches)
		}
	}
	pending := map[*deletion]bool{}
	for _, p := range all {
		pending[p] = true
	}
	for _, p := range before {
		if !pending[p] {
			for _, v := range p.matches {
				v.shareWith(nil)
			}
		}
	}
}

// matchBudget bounds the values of several valueMatches.
type matchBudget struct {
	limit int64
	used  atomic.Int64
}

// take takes n bytes, and reports whether it could.
func (b *matchBudget) take(n int64) bool {
	if b.used.Add(n) > b.limit {
		b.used.Add(-n)
		return false
	}
	return true
}

// shareWith has v take the memory of its values from a budget: with nil, it gives back
// what it took, and keeps none any more.
func (v *valueMatches) shareWith(b *matchBudget) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.budget == b {
		return
	}
	if v.budget != nil {
		v.budget.used.Add(-int64(v.bytes))
	}
	v.matches, v.bytes, v.budget = nil, 0, b
	v.closed = b == nil
}
