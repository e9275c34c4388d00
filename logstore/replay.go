package logstore

import (
	"context"
	"fmt"
	"sync/atomic"
)

// replayState is the state of the replay of the log after Open.
type replayState struct {
	ready chan struct{} // closed when it has ended
	// next is the position to be replayed next, 0 once replay has ended: then
	// the log's own next counts.
	next        atomic.Uint64
	first, last uint64 // positions to be replayed: [first, last)
	entries     uint64 // position of the last record with entries, see logContents
	err         atomic.Pointer[error]
}

// state returns nil once all of the log is replayed.
func (r *replayState) state() error {
	select {
	case <-r.ready:
		return r.failure()
	default:
		return ErrReplaying
	}
}

// failure returns the error that ended the replay early, or nil.
func (r *replayState) failure() error {
	if err := r.err.Load(); err != nil {
		return *err
	}
	return nil
}

// Ready returns a channel that is closed once the log has been replayed, or
// found damaged; in the latter case Append and every query return the error.
// Close closes it too. Until then appends block, and queries yield the entries
// replayed so far.
func (s *Store) Ready() <-chan struct{} {
	if s.log == nil { // not opened: a caller that waits sees the errors
		closed := make(chan struct{})
		close(closed)
		return closed
	}
	return s.replay.ready
}

// beginReplay determines the positions to be replayed: those that no segment
// holds. of are the terms that the log tells.
func (s *Store) beginReplay(of logTerms) {
	first, next := s.log.Bounds()
	upto := s.catalog.Upto()
	s.beginTerms(upto)
	if first > upto+1 { // what lies between may have begun another term
		s.terms.begin(first-1, of.at(first-1))
	}
	s.replay.first, s.replay.last = max(first, upto+1), next
	s.replay.next.Store(s.replay.first)
}

// beginTerms takes the term of the position upto from the segment that ends there.
func (s *Store) beginTerms(upto uint64) {
	segs := s.catalog.Snapshot()
	defer segs.Release()
	for seg := range segs.Segments() {
		if info := seg.Info(); info.Upto == upto && info.Term != 0 {
			s.terms.begin(upto, info.Term)
		}
	}
}

// runReplay inserts the records of the log that are in no segment.
//
// Positions are replayed once, in order. Memtables that fill are sealed as
// always, at boundaries that are positions, with replay.next for the log's own
// next: insert reads the boundary after next was set to the position after. So
// if the process is killed again, the next replay begins after the sealed
// positions.
func (s *Store) runReplay(ctx context.Context) {
	err := s.replayAll(ctx)
	switch {
	case ctx.Err() != nil:
		err = ErrClosed
		s.replay.err.Store(&err)
	case err != nil:
		err = s.fail(fmt.Errorf("replay of the log: %w", err))
		s.replay.err.Store(&err)
	default:
		s.replay.next.Store(0)
	}
	close(s.replay.ready)
}

func (s *Store) replayAll(ctx context.Context) error {
	if s.replay.first >= s.replay.last {
		return nil
	}
	var set rowSet
	for rec, err := range s.log.Records(ctx, s.replay.first) {
		if err != nil {
			return err
		}
		if ctx.Err() != nil || rec.Position >= s.replay.last {
			break
		}
		if err := s.replayOne(ctx, &set, rec); err != nil {
			return fmt.Errorf("position %d: %w", rec.Position, err)
		}
	}
	return ctx.Err()
}

func (s *Store) replayOne(ctx context.Context, set *rowSet, rec logRecord) error {
	err := set.parse(rec.Data, func(enc []byte) *stream {
		if set.tenant == nil {
			set.tenant = s.replayedTenant(set.head.tenant, halfOf(s.o.Clock.Elapsed()))
		}
		return s.streams.find(set.tenant, Labels{string(enc)})
	})
	if set.tenant != nil {
		defer set.tenant.leave()
	}
	if err != nil {
		return err
	}
	s.catalog.Witness(set.head.accepted)
	if len(set.state) > 0 {
		if err := s.applyState(set.state, rec.Position); err != nil {
			return err
		}
		s.replay.next.Store(rec.Position + 1)
		return nil
	}
	elapsed := s.o.Clock.Elapsed()
	c := reservationFor(len(rec.Data), len(set.rows), set.streams)
	// If nothing can be sealed, replay waits: sealing is retried.
	wait := func() error { return nil }
	if s.readOnly {
		wait = s.scratchError
	}
	if err := s.throttle.reserve(ctx, c, wait); err != nil {
		return err
	}
	defer s.throttle.unreserve(c.rows)
	m := s.enter()
	defer m.leave()
	s.hold(m, set.tenant, set.streams)
	for i := range set.streams {
		if p := &set.streams[i]; p.stream.counted.Load() != halfOf(elapsed) {
			s.admits(p.stream, set.tenant, p.labels, halfOf(elapsed))
		}
	}
	set.rank()
	buf, chunk, off := m.arena.Reserve(len(rec.Data))
	s.throttle.unreserve(c.arena)
	copy(buf, rec.Data)
	m.arena.Finish(chunk)
	s.replay.next.Store(rec.Position + 1)
	own := s.insert(m, rec.Position, set, set.streams, buf, arenaRef{chunk, off}, s.o.now().UnixNano())
	s.idempotency.note(&set.head, rec.Position, own.base, elapsed)
	return nil
}
