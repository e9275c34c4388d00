package logstore

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/stele-go/stele/logstore/internal/catalog"
)

// # Deletions that cover others
//
// A deletion covers an earlier one whose entries are all among its own: it has the tenant,
// no matcher and no condition on lines that the other lacks, and a range of times that contains the other's. What
// the earlier one deletes lies at positions before its own, so before those of the later
// one too. So the earlier one need not pend once the later one is in the log, which is
// truncated only after that is durable. The other way round it is not so: a later deletion
// of less deletes what was appended between the two.

// covers reports whether p, which is the later one, covers o.
func (p *deletion) covers(o *deletion) bool {
	return p.Drop.Tenant == o.Drop.Tenant && p.Drop.From <= o.Drop.From && o.Drop.To <= p.Drop.To && hasAll(o.Lines, p.Lines) &&
		!slices.ContainsFunc(p.Selector, func(m Matcher) bool { return !o.Selector.has(m) })
}

// has reports whether a selector has a matcher.
func (sel Selector) has(m Matcher) bool {
	return slices.ContainsFunc(sel, func(o Matcher) bool { return o.Name == m.Name && o.Op == m.Op && o.Value == m.Value })
}

// notCovered returns the pending deletions that p, a new one, does not cover, the bytes of
// their items, and those of memory that they hold. p is due when the first of the others would have been: else one
// that is repeated within a minute would never be. mu is held.
func (ds *deletions) notCovered(p *deletion) (others []*deletion, bytes int, memory int64) {
	bytes, memory = ds.bytes, ds.held.Load()
	p.final.Store(false)
	for _, o := range ds.all() {
		if !p.covers(o) {
			others = append(others, o)
			continue
		}
		p.begun = min(p.begun, o.begun)
		p.standFor(o)
		bytes -= len(o.item().data)
		memory -= o.memory
	}
	return others, bytes, memory
}

// withoutCovered returns the deletions that no later one covers.
func withoutCovered(all []*deletion) (left []*deletion) {
	for _, o := range all {
		if !slices.ContainsFunc(all, func(p *deletion) bool { return p.Position > o.Position && p.covers(o) }) {
			left = append(left, o)
		}
	}
	return left
}

// full reports whether p, whose item has so many bytes, does not fit.
func (ds *deletions) full(p *deletion, bytes int) bool {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	_, ok := ds.fit(p, bytes)
	return !ok
}

// tooManyDeletions returns ErrDeletions with what the pending deletions wait for. The mutex
// of the deletions is held.
func (s *Store) tooManyDeletions() error {
	ds := &s.deletions
	pending := ds.all()
	missing := s.missingNow()
	waiting, file := 0, ""
	for _, p := range pending {
		if i := slices.IndexFunc(missing, p.mayBeIn); i >= 0 {
			waiting++
			file = filepath.Join(s.dir, catalog.SegmentDir, missing[i].Name())
		}
	}
	do := "Compact applies them"
	if waiting > 0 {
		do = fmt.Sprintf("%d of them are kept for segments that are missing, such as %s: bring it back, or accept its loss with a repair, by RepairOptions.AcceptMissing; Compact applies the others", waiting, file)
	}
	return fmt.Errorf("%w: %d, of %d bytes, with %d bytes of memory; want at most %d, %d and %d: %s", ErrDeletions,
		len(pending), ds.bytes, ds.held.Load(), maxDeletions, maxDeletionsBytes, ds.most, do)
}
