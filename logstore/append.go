package logstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"syscall"

	"github.com/stele-go/stele/wal"
)

// Append adds the batch. It returns nil once all its entries are durable at
// Options.Level, and from then on queries find them: at Power they survive a
// power cut, at Kill kill -9. A crash before leaves all of the batch or nothing,
// if it has less than 4 MiB; a larger one is written in several steps, and a
// crash leaves some of these (durability.Prefix).
//
// An entry that is too old, too far in the future, or too long is refused; all
// others are kept, and the error is a *RejectedError that tells of each. The
// newest entry of a stream, which Options.LateWindow is about, may be one before
// in the same batch.
//
// Append waits while a crashed store replays its log, and where Options.Memory
// is used up; if ctx is done meanwhile its error wraps that of ctx, and nothing
// of the batch was kept. It is not cancelled while the log is being written.
// Other errors: ErrLowSpace, ErrFailed, ErrClosed. After an error that wraps
// ErrUnsure some of the batch may have been kept, or be found after the store
// was opened anew; after any other one nothing was.
//
// The lines are the caller's again when Append returns.
func (s *Store) Append(ctx context.Context, b Batch) error {
	s.life.RLock()
	defer s.life.RUnlock()
	if err := s.admits(ctx); err != nil {
		return fmt.Errorf("logstore: append to %s: %w", s.dir, err)
	}
	t := s.counts.appends.Start()
	w := appendings.Get().(*appending)
	defer w.giveBack()
	w.check(s, b)
	kept := 0
	for _, p := range w.pieces {
		if err := s.keep(ctx, w, b, p); err != nil {
			if kept > 0 {
				err = unsure(err)
				s.tell(b, w.rejected, kept)
			}
			s.withdraw(w.parts)
			return fmt.Errorf("logstore: append to %s: %w", s.dir, err)
		}
		kept += p.rows
	}
	s.tell(b, w.rejected, kept)
	if kept > 0 {
		t.Stop()
	}
	if len(w.rejected) > 0 {
		s.counts.rejected.Add(uint64(len(w.rejected)))
		return &RejectedError{Accepted: len(w.rows), Rejected: w.rejected}
	}
	return nil
}

// admits says why nothing can be appended now. It waits for the end of replay.
func (s *Store) admits(ctx context.Context) error {
	if s.log == nil {
		return errUnopened
	}
	select {
	case <-s.replay.ready:
	default:
		s.counts.waiting.Add(1)
		defer s.counts.waiting.Add(-1)
		select {
		case <-s.replay.ready:
		case <-s.closed:
			return ErrClosed
		case <-ctx.Done():
			return fmt.Errorf("the log is being replayed: %w", context.Cause(ctx))
		}
	}
	if s.closing() {
		return ErrClosed
	}
	if err := s.failed.Load(); err != nil {
		return *err
	}
	if err := s.space.refuses(); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// An appending is the memory of one Append.
type appending struct {
	rowSet
	pieces   []piece
	rejected []Rejection
	// seen is the newest entry of each stream so far. Several streams of the
	// batch may be the same.
	seen map[*stream]int64
}

// A piece becomes one record: parts first to last.
type piece struct {
	first, last int
	rows        int
	size        int // bytes of the record
}

func newAppending() *appending { return &appending{seen: map[*stream]int64{}} }

var appendings = sync.Pool{New: func() any { return newAppending() }}

func (w *appending) giveBack() {
	w.reset()
	w.pieces = w.pieces[:0]
	w.rejected = nil // the caller's
	clear(w.seen)
	if cap(w.rows) <= 1<<16 && cap(w.parts) <= 1<<14 {
		appendings.Put(w)
	}
}

// keep makes a record of a piece, appends it to the log, and puts its entries
// into memory.
func (s *Store) keep(ctx context.Context, w *appending, b Batch, p piece) error {
	parts := w.parts[p.first:p.last]
	c := claimOf(p.size, p.rows, len(parts))
	if err := s.pace.enter(ctx, c, s.noRoom); err != nil {
		return err
	}
	defer s.pace.entered(c.heads)
	m := s.enter()
	defer m.leave()
	buf, chunk, off := m.arena.reserve(p.size)
	s.pace.entered(c.arena)
	rec := w.appendRecord(buf[:0:len(buf)], b, parts)
	m.arena.written(chunk)
	for i := range parts {
		parts[i].stream = s.streams.hold(parts[i].stream, m)
	}
	// Not cancelled: what is in the log must be in memory, and a record takes
	// no longer than a sync.
	pos, err := s.log.Append(context.Background(), rec)
	if err != nil {
		return s.logError(err)
	}
	s.space.wrote(int64(p.size))
	s.insert(m, uint64(pos), &w.rowSet, parts, rec, spot{chunk, off})
	return nil
}

// withdraw has the streams forgotten that were made for an append that has failed.
func (s *Store) withdraw(parts []part) {
	var made []uint32
	for i := range parts {
		if st := parts[i].stream; st.newest.Load() == noTime && s.streams.at(st.n) == st {
			made = append(made, st.n)
		}
	}
	if len(made) > 0 && !s.catalog.Unmaintained(func() { s.gone(made) }) {
		s.streams.doubt(made)
	}
}

// enter returns the active memtable, with the caller counted inside.
func (s *Store) enter() *memtable {
	for {
		m := s.active.Load()
		m.inside.Add(1)
		if s.active.Load() == m {
			return m
		}
		m.leave()
	}
}

// A spot is where a record is in an arena.
type spot struct{ chunk, off uint32 }

// insert puts the rows of a record into the memtable that position pos belongs
// to: m, which the caller has entered, or one after it.
func (s *Store) insert(m *memtable, pos uint64, set *rowSet, parts []part, rec []byte, at spot) {
	own := m
	for !m.takes(pos) {
		m = m.next.Load()
	}
	if m != own {
		// The record is in the memory of one that will go sooner.
		var buf []byte
		buf, at.chunk, at.off = m.arena.reserve(len(rec))
		copy(buf, rec)
		m.arena.written(at.chunk)
	}
	var rows, raw int64
	for i := range parts {
		p := &parts[i]
		list := set.rows[p.first:p.last]
		newest := int64(noTime)
		for j := range list {
			r := &list[j]
			r.pos, r.chunk, r.off = uint32(pos-m.base), at.chunk, r.off+at.off
			newest = max(newest, r.time)
		}
		m.charge(m.head(p.stream.n).add(list, p.raw))
		p.stream.advance(newest)
		rows += int64(len(list))
		raw += p.raw
	}
	m.added(rows, raw, s.o.now().UnixNano())
	s.counts.entries.Add(uint64(rows))
	s.counts.bytes.Add(uint64(raw))
	if m.bytes.Load() >= s.sealSize {
		s.seals.wake()
	}
}

// logError turns an error of the log into one of the store.
func (s *Store) logError(err error) error {
	switch {
	case errors.Is(err, wal.ErrPoisoned):
		err = s.fail(err)
	case errors.Is(err, wal.ErrClosed):
		err = ErrClosed
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		err = s.space.full(err)
	}
	if errors.Is(err, wal.ErrUnsure) {
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

// fail has the store refuse appends from now on.
func (s *Store) fail(cause error) error {
	err := fmt.Errorf("%w: %w", ErrFailed, cause)
	s.failed.CompareAndSwap(nil, &err)
	s.pace.wakeAll()
	return err
}
