package logstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"syscall"
	"time"
)

// Append adds the batch. It returns nil once all its entries are durable at
// Options.Level and visible to queries: at Power they survive a power cut, at
// Kill kill -9. A crash before that leaves all of the batch or nothing, if it
// is smaller than 4 MiB; a larger one is written in several steps, and a crash
// leaves some of them (durability.Prefix).
//
// An entry that is too old, too far in the future, or too long is refused, or of
// a stream too many (Options.MaxStreams); all others are kept, and the error is
// a *RejectedError that lists each. The
// newest entry of a stream, to which Options.LateWindow refers, may be an
// earlier one of the same batch.
//
// Append blocks while a crashed store replays its log, and when Options.Memory
// is used up. If ctx is done meanwhile, the error wraps that of ctx, and no
// entry of the batch was kept. A write to the log is not cancelled. Other
// errors: ErrLowSpace, ErrFailed, ErrClosed. After an error that wraps
// ErrUnsure, some entries may have been kept, or be found after the store is
// opened again: AppendWith can be repeated then. After any other error none was.
//
// Append does not keep the lines.
func (s *Store) Append(ctx context.Context, b Batch) error {
	_, err := s.AppendWith(ctx, b, AppendOptions{})
	return err
}

// checkAppend returns an error if no entry can be appended now. It waits for the
// end of replay.
func (s *Store) checkAppend(ctx context.Context) error {
	if err := s.checkChange(ctx); err != nil {
		return err
	}
	return s.space.check()
}

// checkChange returns an error if nothing can be written to the log now. It waits
// for the end of replay.
func (s *Store) checkChange(ctx context.Context) error {
	if s.log == nil {
		return errUnopened
	}
	if s.readOnly {
		return ErrReadOnly
	}
	if err := s.awaitReplay(ctx); err != nil {
		return err
	}
	if err := s.failed.Load(); err != nil {
		return *err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// awaitReplay waits for the end of replay. The error is that of ctx, or ErrClosed.
func (s *Store) awaitReplay(ctx context.Context) error {
	select {
	case <-s.replay.ready:
	default:
		s.counts.replayWaiters.Add(1)
		defer s.counts.replayWaiters.Add(-1)
		select {
		case <-s.replay.ready:
		case <-s.closed:
			return ErrClosed
		case <-ctx.Done():
			return fmt.Errorf("the log is being replayed: %w", context.Cause(ctx))
		}
	}
	if s.isClosed() {
		return ErrClosed
	}
	return nil
}

// An appendState is the memory of one Append.
type appendState struct {
	rowSet
	records  []recordRange
	rejected rejectedSet
	// seen has the streams of the batch so far: several of them may be the same.
	seen   map[Labels]seenStream
	now    time.Time     // when the append began
	half   uint32        // of the census
	limits TenantOptions // of the tenant
	// names are those of the batch. begin counts its entries that are known, and
	// before those before the stream that is validated.
	names         AppendOptions
	begin, before int
}

// A seenStream is what a batch has of a stream so far.
type seenStream struct {
	newest       int64 // time
	record, rows int   // rows in the last record that has some
}

// A recordRange becomes one record: streams first to last.
type recordRange struct {
	first, last int
	rows        int
	size        int // bytes of the record
	// handled counts the entries of the batch up to the last one of the record,
	// or up to the end of the batch if no record follows, that is if more is not
	// set. Refused entries are counted.
	handled int
	more    bool
}

func newAppendState() *appendState { return &appendState{seen: map[Labels]seenStream{}} }

var appendStates = sync.Pool{New: func() any { return newAppendState() }}

func (w *appendState) release(s *Store) {
	w.rejected.release(s)
	w.reset()
	w.records = w.records[:0]
	clear(w.seen)
	w.names, w.limits, w.before = AppendOptions{}, TenantOptions{}, 0
	if cap(w.rows) <= 1<<16 && cap(w.streams) <= 1<<14 {
		appendStates.Put(w)
	}
}

// appendRecord encodes one record, appends it to the log, and inserts its
// entries into a memtable, and passes them to tails. Before them, kept entries of
// the batch were.
func (s *Store) appendRecord(ctx context.Context, w *appendState, b Batch, p recordRange, kept int) (pos uint64, err error) {
	parts := w.streams[p.first:p.last]
	c := reservationFor(p.size, p.rows, parts)
	if err := s.throttle.reserve(ctx, c, s.sealError); err != nil {
		return 0, err
	}
	defer s.throttle.unreserve(c.rows)
	m := s.enter()
	defer m.leave()
	s.hold(m, w.tenant, parts)
	buf, chunk, off := m.arena.Reserve(p.size)
	s.throttle.unreserve(c.arena)
	rec := w.encodeRecord(buf[:0:len(buf)], b, p)
	m.arena.Finish(chunk)
	s.appending.RLock()
	defer s.appending.RUnlock()
	// Not cancelled: a record in the log must be in memory too, and it takes no
	// longer than a sync.
	pos, err = s.log.Append(context.Background(), rec)
	if err != nil {
		return 0, s.logError(err)
	}
	s.space.wrote(int64(p.size))
	own := s.insert(m, pos, &w.rowSet, parts, rec, arenaRef{chunk, off}, w.now.UnixNano())
	if w.names.isSet() {
		h := w.headOf(p)
		s.idempotency.note(&h, pos, own.base, s.reading(w.now).elapsed)
	}
	s.notifyTails(w.tenant.name, b, &w.rejected, kept, p.rows, pos)
	return pos, nil
}

// hold registers the streams of a record in m. The caller has entered m and the
// tenant.
func (s *Store) hold(m *memtable, of *tenant, parts []recordStream) {
	for i := range parts {
		p := &parts[i]
		p.stream, p.in = s.streams.hold(p.stream, of, p.labels, m)
	}
}

// enter returns the active memtable, and counts the caller among its appenders.
func (s *Store) enter() *memtable {
	for {
		m := s.active.Load()
		m.appenders.Add(1)
		if s.active.Load() == m {
			return m
		}
		m.leave()
	}
}

// An arenaRef is the place of a record in an arena.
type arenaRef struct{ chunk, off uint32 }

// insert puts the rows of a record into the memtable that owns position pos, which
// it returns: m, which the caller has entered and which holds the streams, or a later
// one. now is the time, in nanoseconds.
func (s *Store) insert(m *memtable, pos uint64, set *rowSet, parts []recordStream, rec []byte, at arenaRef, now int64) *memtable {
	own := m
	for !m.owns(pos) {
		m = m.next.Load()
	}
	if m != own {
		// The record is in the arena of a memtable that is released sooner.
		var buf []byte
		buf, at.chunk, at.off = m.arena.Reserve(len(rec))
		copy(buf, rec)
		m.arena.Finish(at.chunk)
		for i := range parts {
			parts[i].in = m.stream(parts[i].stream)
		}
	}
	var rows, raw int64
	for i := range parts {
		p := &parts[i]
		list := set.rows[p.first:p.last]
		newest := int64(noTime)
		for j := range list {
			r := &list[j]
			r.pos, r.chunk, r.off = uint32(pos-m.base), uint16(at.chunk), r.off+at.off
			r.place = uint16(min(p.place+j, maxPlaces))
			newest = max(newest, r.time)
		}
		m.insert(p.in, list, p.raw)
		p.stream.advance(newest)
		rows += int64(len(list))
		raw += p.raw
	}
	m.added(rows, raw, now)
	s.counts.entries.Add(uint64(rows))
	s.counts.bytes.Add(uint64(raw))
	if m.bytes.Load() >= s.sealSize() {
		s.seals.wake()
	}
	return m
}

// logError turns an error of an append to the log into one of the store.
func (s *Store) logError(err error) error {
	switch {
	case errors.Is(err, errLogFailed):
		err = s.fail(err)
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		err = s.space.setLow(err)
	}
	if errors.Is(err, errLogUnsure) {
		err = unsure(err)
	}
	return err
}

func unsure(err error) error {
	if errors.Is(err, ErrUnsure) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrUnsure, err)
}

// fail makes the store refuse appends from now on.
func (s *Store) fail(cause error) error {
	err := fmt.Errorf("%w: %w", ErrFailed, cause)
	if s.failed.CompareAndSwap(nil, &err) {
		s.events.tell(Event{Kind: EventFailed, Reason: cause.Error()})
	}
	s.throttle.wakeAll()
	return err
}
