package logstore

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/logstore/internal/segment2"
)

// sealState is shared by callers of Seal and the sealer.
type sealState struct {
	signal

	mu      sync.Mutex
	waiters []chan error // of Seal

	active  atomic.Bool           // a memtable is being sealed
	count   atomic.Uint64         // memtables that became segments
	memory  atomic.Int64          // bytes that the seal takes beside the memtable
	lastErr atomic.Pointer[error] // of the last attempt, nil if it went well
}

func (l *sealState) requested() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.waiters) > 0
}

// withFailure adds the error of the last attempt to one that ends a wait.
func (l *sealState) withFailure(err error) error {
	if last := l.lastErr.Load(); last != nil && !errors.Is(*last, err) {
		return errors.Join(err, *last)
	} else if last != nil {
		return *last
	}
	return err
}

func (l *sealState) takeWaiters() []chan error {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := l.waiters
	l.waiters = nil
	return w
}

// Seal writes all memtables into segments. When it returns nil, every entry
// acknowledged before is in a segment, durable as at level Power, and the log
// is truncated. If ctx is done first, or the store is closed, sealing goes on in the
// background, or with the next Open; if an attempt has failed meanwhile, its error is
// there beside that of ctx or ErrClosed.
func (s *Store) Seal(ctx context.Context) error {
	if err := s.waitReady(ctx); err != nil {
		return s.opError("seal", s.seals.withFailure(err))
	}
	done := make(chan error, 1)
	s.seals.mu.Lock()
	s.seals.waiters = append(s.seals.waiters, done)
	s.seals.mu.Unlock()
	s.seals.wake()
	var err error
	select {
	case err = <-done:
	case <-ctx.Done():
		err = s.seals.withFailure(context.Cause(ctx))
	case <-s.closed:
		err = s.seals.withFailure(ErrClosed)
	}
	if err != nil {
		return s.opError("seal", err)
	}
	return nil
}

// waitReady waits for the end of replay.
func (s *Store) waitReady(ctx context.Context) error {
	if s.log == nil {
		return errUnopened
	}
	if s.readOnly {
		return ErrReadOnly
	}
	select {
	case <-s.replay.ready:
		return s.replay.failure()
	case <-s.closed:
		return ErrClosed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// sealer seals memtables until ctx is done.
func (s *Store) sealer(ctx context.Context) {
	age := time.NewTimer(s.o.SealAge)
	defer age.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.seals.signal:
		case <-age.C:
		}
		for s.needsSeal() && ctx.Err() == nil {
			s.sealAll(ctx)
		}
		wait := s.o.SealAge
		if oldest := s.active.Load().oldest.Load(); oldest != 0 {
			wait = max(wait-time.Duration(s.o.now().UnixNano()-oldest), time.Millisecond)
		}
		age.Reset(wait)
	}
}

// needsSeal reports whether the active memtable is to be sealed now.
func (s *Store) needsSeal() bool {
	if s.seals.requested() {
		return true
	}
	m := s.active.Load()
	if s.throttle.blocked.Load() > 0 && m.bytes.Load() > 0 {
		return true
	}
	if m.count.Load() == 0 {
		return s.hasMuchState()
	}
	age := s.o.now().UnixNano() - m.oldest.Load() // negative: the clock was set back
	return m.bytes.Load() >= s.sealSize() || age >= int64(s.o.SealAge) || age < 0
}

// sealSize returns at how many bytes of memory a memtable is sealed: at half of
// what the streams leave, so that the next one can fill meanwhile. With very many
// streams it is a part of that which lets a seal forget most of them.
func (s *Store) sealSize() int64 {
	if s.sealAt != 0 {
		return s.sealAt
	}
	limit := s.throttle.limit
	return max((limit-s.streams.taken.Load())/2, limit/8)
}

// sealing and truncating are what Stats.BackgroundError calls the work of sealAll.
const (
	sealing    = "sealing what is in memory"
	truncating = "truncating the log"
)

// sealAll seals all that is in memory, and answers the callers of Seal.
func (s *Store) sealAll(ctx context.Context) {
	waiters := s.seals.takeWaiters()
	answer := func(err error) {
		for _, w := range waiters {
			w <- err
		}
		waiters = nil
	}
	m := s.active.Load()
	if m.count.Load() == 0 && m.bytes.Load() == 0 && !s.hasMuchState() { // acknowledged entries have been counted
		answer(nil)
		return
	}
	m = s.freeze()
	m.waitDrained()
	if m.count.Load() == 0 {
		// Appends have taken its memory, and the log could not be written, or there is
		// much state. The positions of records with state alone go to the next segment.
		s.active.Load().after = m.after
		s.removeMemtable(m, func() {})
		s.reads.handOver()
		if s.hasMuchState() {
			s.truncateState(ctx, m.after, m.boundary.Load())
		}
		answer(nil)
		return
	}
	full := 0 // attempts that found no space
	for wait := 100 * time.Millisecond; ; wait = min(2*wait, 10*time.Second) {
		err := s.seal(ctx, m)
		if err == nil {
			s.seals.lastErr.Store(nil)
			s.bgErrors.set(sealing, nil)
			answer(nil)
			s.maintainSignal.wake()
			return
		}
		if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
			full++
			err = s.space.confirm(err, full > 1)
		}
		if ctx.Err() != nil {
			// Close has ended the attempt, perhaps: that says nothing of what is wrong.
			if errors.Is(err, context.Canceled) {
				err = s.seals.withFailure(ErrClosed)
			} else {
				err = errors.Join(ErrClosed, err)
			}
		}
		s.seals.lastErr.Store(&err)
		s.bgErrors.set(sealing, err)
		answer(err)
		// Callers that came since get the error too. After a success they are kept for
		// the next memtable, which may hold the entries they mean.
		for _, w := range s.seals.takeWaiters() {
			w <- err
		}
		s.throttle.wakeAll() // appends that wait for memory ask sealError again
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// freeze replaces the active memtable by a new one and returns the old one,
// which only appends already inside still change.
func (s *Store) freeze() *memtable {
	m := s.active.Load()
	next := s.addMemtable()
	m.freeze(next, s.nextPosition)
	s.active.Store(next)
	return m
}

func (s *Store) newMemtable(base uint64) *memtable {
	m := newMemtable(base, &s.pool, s.throttle.take)
	m.onRelease = s.streams.released.add
	return m
}

// addMemtable makes a memtable that queries see: before an append that is
// inside the one before can find it, as that append's entries are acknowledged.
func (s *Store) addMemtable() *memtable {
	next := s.newMemtable(0)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mems = append(slices.Clone(s.mems), next)
	return next
}

// nextPosition returns the position after the last that may have been inserted.
func (s *Store) nextPosition() uint64 {
	if next := s.replay.next.Load(); next != 0 {
		return next
	}
	_, next := s.log.Bounds()
	return next
}

// seal writes m, which no append is inside of, as a segment, and truncates the
// log.
//
// Each entry is in a segment or is replayed, never both: the segment covers all
// positions after those of the one before it, up to the boundary of m, and it
// is durable before the log is truncated. A crash before that leaves the log as
// it was; a crash in between leaves both, and replay begins after the highest
// position of a segment. Below level Power the log is synced first: else, after
// a power cut, a segment with positions that the log has lost would hide the
// entries that get these positions next.
func (s *Store) seal(ctx context.Context, m *memtable) error {
	s.seals.active.Store(true)
	defer s.seals.active.Store(false)
	t := s.counts.seals.Start()
	bytes := m.bytes.Load()
	s.throttle.sealStarted(bytes)
	defer s.throttle.sealEnded()
	if s.o.Level != durability.Power {
		if err := s.log.Sync(ctx); err != nil {
			return err
		}
	}
	boundary := m.boundary.Load()
	info := segment2.Info{
		After: m.after, Upto: boundary - 1, Created: s.catalog.Created(),
		Log: s.log.ID(), TermBefore: s.terms.at(m.after), Term: s.terms.at(boundary - 1),
	}
	write := func(w *segment2.Writer) error {
		if err := s.writeSegment(ctx, w, m); err != nil {
			return err
		}
		return s.writeBatches(w, info.After, info.Upto)
	}
	if err := s.catalog.Publish(ctx, info, write, func(publish func()) { s.removeMemtable(m, publish) }); err != nil {
		return err
	}
	s.reads.handOver()
	s.idempotency.sealed(info.Upto)
	s.seals.count.Add(1)
	t.Stop()
	s.space.wrote(bytes)
	// After an error the log still has records of the segment. The next truncation
	// drops them, and replay skips them.
	if !s.readOnly {
		s.truncate(ctx, boundary)
	}
	return nil
}

// removeMemtable removes m from the list, in one step with publish.
func (s *Store) removeMemtable(m *memtable, publish func()) {
	s.mu.Lock()
	s.mems = slices.DeleteFunc(slices.Clone(s.mems), func(o *memtable) bool { return o == m })
	publish()
	m.setSealed(s.catalog)
	s.mu.Unlock()
	s.throttle.free(m.bytes.Load() - m.streamMemory())
	m.release()
}

// truncate drops the records of the log before position next, but never all rosters,
// nor pending deletions. While the log is held, it is left to the release.
func (s *Store) truncate(ctx context.Context, next uint64) {
	h := &s.truncation
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.held > 0 {
		h.due = max(h.due, next)
		return
	}
	next, kept := s.keepDeletions(next)
	upto, err := s.rosterBefore(next)
	if err != nil && s.log.TruncateBefore(ctx, next) == nil {
		upto, err = s.rosterBefore(next) // there is space now
	}
	err = errors.Join(kept, err, s.log.TruncateBefore(ctx, upto))
	if err == nil {
		err = s.dropMarks()
		if upto == next { // else the records of state from there on count further
			s.stateBytes.Store(0)
		}
	}
	s.bgErrors.set(truncating, err)
	first, _ := s.log.Bounds()
	s.catalog.SetTruncated(first - 1)
}
