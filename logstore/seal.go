package logstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/logstore/internal/segment"
	"github.com/stele-go/stele/wal"
)

// sealState is what callers and the goroutine that seals tell each other.
type sealState struct {
	signal

	mu      sync.Mutex
	waiters []chan error // of Seal

	active  atomic.Bool           // a memtable is being sealed
	count   atomic.Uint64         // memtables that became segments
	lastErr atomic.Pointer[error] // of the last attempt, nil if it went well
}

func (l *sealState) requested() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.waiters) > 0
}

func (l *sealState) takeWaiters() []chan error {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := l.waiters
	l.waiters = nil
	return w
}

// Seal writes all that is in memory into segments. What was acknowledged before
// is in segments, durable as at level Power, when it returns nil, and the log
// has given it up. If ctx is done first, the sealing goes on all the same.
func (s *Store) Seal(ctx context.Context) error {
	if err := s.waitReady(ctx); err != nil {
		return fmt.Errorf("logstore: seal %s: %w", s.dir, err)
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
		err = context.Cause(ctx)
	case <-s.closed:
		err = ErrClosed
	}
	if err != nil {
		return fmt.Errorf("logstore: seal %s: %w", s.dir, err)
	}
	return nil
}

// waitReady waits for the end of replay.
func (s *Store) waitReady(ctx context.Context) error {
	if s.log == nil {
		return errUnopened
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

// sealer seals until ctx is done.
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

// needsSeal tells whether there is a reason to seal the active memtable.
func (s *Store) needsSeal() bool {
	if s.seals.requested() {
		return true
	}
	m := s.active.Load()
	if s.throttle.blocked.Load() > 0 && m.bytes.Load() > 0 {
		return true
	}
	if m.count.Load() == 0 {
		return false
	}
	age := s.o.now().UnixNano() - m.oldest.Load() // negative: the clock was set back
	return m.bytes.Load() >= s.sealSize || age >= int64(s.o.SealAge) || age < 0
}

// sealAll seals all that is in memory, and answers those who asked for it.
func (s *Store) sealAll(ctx context.Context) {
	waiters := s.seals.takeWaiters()
	answer := func(err error) {
		for _, w := range waiters {
			w <- err
		}
		waiters = nil
	}
	m := s.active.Load()
	if m.count.Load() == 0 && m.bytes.Load() == 0 { // what was acknowledged has been counted
		answer(nil)
		return
	}
	m = s.freeze()
	m.waitDrained()
	if m.count.Load() == 0 {
		// Appends have taken its memory, and the log could not be written.
		s.removeMemtable(m, func() {})
		s.reads.switchSealed()
		answer(nil)
		return
	}
	for wait := 100 * time.Millisecond; ; wait = min(2*wait, 10*time.Second) {
		err := s.seal(ctx, m)
		if err == nil {
			s.seals.lastErr.Store(nil)
			answer(nil)
			s.maintainSignal.wake()
			return
		}
		if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
			err = s.space.setLow(err)
		}
		if ctx.Err() != nil {
			err = ErrClosed
		}
		s.seals.lastErr.Store(&err)
		answer(err)
		// Those who have asked since hear of it too. If it goes well after all
		// they stay for what comes after m, which may be what they asked for.
		for _, w := range s.seals.takeWaiters() {
			w <- err
		}
		s.throttle.wakeAll() // who waits for room is told why there is none
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// freeze makes a new memtable the active one and returns the old one, which gets
// nothing more but from those who are inside.
func (s *Store) freeze() *memtable {
	m := s.active.Load()
	next := s.addMemtable()
	m.freeze(next, s.nextPosition)
	s.active.Store(next)
	return m
}

// addMemtable makes one that queries see. So they do before an append that is in
// the one before can find it: what it puts there is acknowledged.
func (s *Store) addMemtable() *memtable {
	next := newMemtable(0, &s.chunks, s.throttle.addUsed)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mems = append(slices.Clone(s.mems), next)
	return next
}

// nextPosition is the position after the last that may have been inserted.
func (s *Store) nextPosition() uint64 {
	if next := s.replay.next.Load(); next != 0 {
		return next
	}
	_, next := s.log.Bounds()
	return uint64(next)
}

// seal makes a segment of m, in which nobody is inside, and has the log give up
// what is in it.
//
// Each entry is in a segment or is replayed, never both: the segment says that
// it has all positions after that of the one before it, up to the boundary of
// m, and it is durable before the log gives anything up. A crash before that
// leaves the log as it was; a crash between leaves both, and replay begins after
// the highest position that a segment has. What the log has acknowledged below
// level Power is synced first: after a power cut, a segment with positions that
// the log has lost would hide the entries that get these positions next.
func (s *Store) seal(ctx context.Context, m *memtable) error {
	s.seals.active.Store(true)
	defer s.seals.active.Store(false)
	t := s.counts.seals.Start()
	bytes := m.bytes.Load()
	s.throttle.sealStarted(bytes)
	defer s.throttle.sealEnded()
	if s.o.Level != durability.Power {
		if err := s.log.Sync(); err != nil {
			return err
		}
	}
	boundary := m.boundary.Load()
	info := segment.Info{
		After:   m.base - 1,
		Upto:    boundary - 1,
		Created: s.o.now().UnixNano(),
	}
	write := func(w *segment.Writer) error { return s.writeBlocks(ctx, w, m) }
	if err := s.catalog.Publish(ctx, info, write, func(publish func()) { s.removeMemtable(m, publish) }); err != nil {
		return err
	}
	s.reads.switchSealed()
	s.seals.count.Add(1)
	t.Stop()
	s.space.wrote(bytes)
	// An error leaves in the log what is in the segment too. The next one will
	// take it away, or replay leave it out.
	s.truncate(boundary)
	return nil
}

// removeMemtable takes m out of the list, in one step with what publish does.
func (s *Store) removeMemtable(m *memtable, publish func()) {
	s.mu.Lock()
	s.mems = slices.DeleteFunc(slices.Clone(s.mems), func(o *memtable) bool { return o == m })
	publish()
	m.setSealed(s.catalog)
	s.mu.Unlock()
	bytes := m.bytes.Load()
	s.throttle.free(bytes)
	m.release()
}

// truncate has the log give up what is before position next.
func (s *Store) truncate(next uint64) {
	err := s.log.TruncateBefore(wal.Position(next))
	s.bgErrors.set("giving up what is sealed of the log", err)
	first, _ := s.log.Bounds()
	s.catalog.SetTruncated(uint64(first) - 1)
}
