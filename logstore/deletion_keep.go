package logstore

import "fmt"

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
