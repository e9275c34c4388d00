package logstore

import (
	"cmp"
	"context"
)

// A store to which deletions come, or whose sources are forgotten, and no entries, has
// nothing to seal. Its log is truncated all the same once it has grown by a file: the state
// that still counts is written again behind.

// noteState counts a record with state.
func (s *Store) noteState(bytes int) {
	if s.stateBytes.Add(int64(bytes)) >= s.o.logSegment() {
		s.seals.wake()
	}
}

// earlierState returns about how many bytes of state earlier lives have left in the log, or
// of entries, which are sealed first. A log that was truncated has two files, mostly.
func (s *Store) earlierState() int64 {
	used := s.log.Stats()
	return max(0, used.Bytes-used.Prepared-2*s.o.logSegment())
}

// hasMuchState reports whether the log is to be truncated for the records with state alone.
func (s *Store) hasMuchState() bool {
	return s.stateBytes.Load() >= s.o.logSegment() && s.replay.state() == nil
}

// truncateState truncates the log before position next. Its records behind position after,
// which is in a segment or before the log, have state alone.
func (s *Store) truncateState(ctx context.Context, after, next uint64) {
	defer s.stateBytes.Store(0) // after an error too: it is tried again at the next file
	err := cmp.Or(s.keepSources(after), s.saveKeysWhere(func(pos uint64) bool { return after < pos && pos < next }))
	if err != nil {
		s.bgErrors.set(truncating, err)
		return
	}
	s.truncate(ctx, next)
}

// keepSources appends the sources if records behind a position say something of them.
func (s *Store) keepSources(after uint64) error {
	s.sourcesMu.Lock()
	defer s.sourcesMu.Unlock()
	d := s.idempotency
	d.mu.Lock()
	needed := d.forgot || d.saved > after
	d.mu.Unlock()
	if !needed {
		return nil
	}
	return s.appendSources()
}
