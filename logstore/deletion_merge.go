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
// no matcher that the other lacks, and a range of times that contains the other's. What
// the earlier one deletes lies at positions before its own, so before those of the later
// one too. So the earlier one need not pend once the later one is in the log, which is
// truncated only after that is durable. The other way round it is not so: a later deletion
// of less deletes what was appended between the two.

// covers reports whether p, which is the later one, covers o.
func (p *deletion) covers(o *deletion) bool {
	return p.Drop.Tenant == o.Drop.Tenant && p.Drop.From <= o.Drop.From && o.Drop.To <= p.Drop.To &&
		!slices.ContainsFunc(p.Selector, func(m Matcher) bool { return !o.Selector.has(m) })
}

// has reports whether a selector has a matcher.
func (sel Selector) has(m Matcher) bool {
	return slices.ContainsFunc(sel, func(o Matcher) bool { return o.Name == m.Name && o.Op == m.Op && o.Value == m.Value })
}

// notCovered returns the pending deletions that p, a new one, does not cover, and the
// bytes of their items. p is due when the first of the others would have been: else one
// that is repeated within a minute would never be. mu is held.
func (ds *deletions) notCovered(p *deletion) (others []*deletion, bytes int) {
	bytes = ds.bytes
	for _, o := range ds.all() {
		if !p.covers(o) {
			others = append(others, o)
			continue
		}
		p.begun = min(p.begun, o.begun)
		bytes -= len(o.item().data)
	}
	return others, bytes
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

// full reports whether there is no space for an item of so many bytes.
func (ds *deletions) full(bytes int) bool {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	return ds.bytes+bytes > maxDeletionsBytes
}

// tooManyDeletions returns ErrDeletions with what the pending deletions wait for.
func (s *Store) tooManyDeletions(pending []*deletion, bytes int) error {
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
	return fmt.Errorf("%w: %d of %d bytes; want at most %d: %s", ErrDeletions, len(pending), bytes, maxDeletionsBytes, do)
}
