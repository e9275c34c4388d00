package logstore

import (
	"fmt"
	"slices"
	"time"

	"github.com/stele-go/stele/logstore/internal/catalog"
)

// deletionDelay is how long a deletion waits for others before segments are rewritten
// for it alone.
const deletionDelay = time.Minute

// due returns what the catalog is to leave out.
func (ds *deletions) due(clock Clock) func() (list []catalog.Gone, applied uint64) {
	return func() (list []catalog.Gone, applied uint64) {
		for _, p := range ds.all() {
			applied = p.Position + 1
			list = append(list, catalog.Gone{Drop: p.Drop, Due: p.begun == 0 || clock.Elapsed()-p.begun >= deletionDelay})
		}
		return list, applied
	}
}

// forgetDeletions drops the deletions of which no entry is left. It writes nothing:
// the next seal does not keep them.
func (s *Store) forgetDeletions() {
	all := s.deletions.all()
	if len(all) == 0 || s.replay.state() != nil {
		return
	}
	missing := s.missingNow()
	var done []*deletion
	for _, p := range all {
		// Memory first: what is sealed meanwhile is in a segment then.
		if s.unsealedBefore(p.Position) || slices.ContainsFunc(missing, p.mayBeIn) {
			continue
		}
		if files, _ := s.catalog.Remaining(p.Drop); files == 0 {
			done = append(done, p)
		}
	}
	if len(done) == 0 {
		return
	}
	ds := &s.deletions
	ds.mu.Lock()
	defer ds.mu.Unlock()
	ds.set(slices.DeleteFunc(slices.Clone(ds.all()), func(p *deletion) bool { return slices.Contains(done, p) }))
}

// unsealedBefore reports whether memtables may have entries at positions before pos.
func (s *Store) unsealedBefore(pos uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.mems, func(m *memtable) bool {
		// An append enters before its record gets a position.
		return (m.appenders.Load() > 0 || m.count.Load() > 0) && m.base < pos // which is set by then
	})
}

// missingNow returns the segments that are missing: they may come back.
func (s *Store) missingNow() []rosterEntry {
	r := &s.roster
	r.mu.Lock()
	defer r.mu.Unlock()
	s.expected() // it updates r.missing
	return slices.Clone(r.missing)
}

// mayBeIn reports whether a segment that is missing may have entries of p.
func (p *deletion) mayBeIn(e rosterEntry) bool {
	return e.After+1 < p.Position && (e.Rows == 0 || p.meets(e.MinTime, e.MaxTime))
}

// keepDeletions appends the pending deletions whose records lie before position next
// of the log again, so that it can be truncated there, and returns up to where it
// can: TruncateBefore makes what was appended durable first. A deletion that is there
// twice, after a crash, means what it means once.
func (s *Store) keepDeletions(next uint64) (uint64, error) {
	ds := &s.deletions
	ds.mu.Lock()
	defer ds.mu.Unlock()
	var due []*deletion
	for _, p := range ds.all() {
		if p.logged < next {
			due = append(due, p)
		}
	}
	for len(due) > 0 {
		var items []stateItem
		bytes := 0
		for bytes < maxDeletionBytes && len(items) < len(due) {
			items = append(items, due[len(items)].item())
			bytes += len(items[len(items)-1].data)
		}
		pos, err := s.appendState(items...)
		if err != nil {
			for _, p := range due {
				next = min(next, p.logged)
			}
			return next, fmt.Errorf("the pending deletions: %w", err)
		}
		for _, p := range due[:len(items)] {
			p.logged = pos
		}
		due = due[len(items):]
	}
	return next, nil
}
