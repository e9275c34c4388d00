package wal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"sync"
	"sync/atomic"

	"github.com/stele-go/stele/durability"
)

// A Reader reads the records of a log in order, those appended meanwhile
// included, once they are acknowledged. It verifies the checksum of every record.
// It is for one goroutine. A log may have any number of Readers; they slow down
// appends only by their use of disk and processors.
type Reader struct {
	l     *Log
	g     *segment // held; nil once the Reader has ended
	scan  scanner
	limit int64 // offset in g up to which records may be read
	end   error // of Next once g is nil
	wake  chan struct{}
}

// Reader returns a Reader that starts at position from, which is at most the
// next position; 0 is the first record. The error is ErrTruncated if the record
// has been discarded, ErrClosed, a *CorruptError, or that of the file system.
func (l *Log) Reader(from Position) (*Reader, error) {
	if l.store == nil {
		return nil, errUnopened
	}
	if l.closing.Load() {
		return nil, l.errClosed("read")
	}
	r := &Reader{l: l, wake: make(chan struct{}, 1)}
	if next := Position(l.acked.Load()); from > next {
		return nil, fmt.Errorf("wal: read %s from position %d; want at most %d, the next position", l.dir, from, next)
	}
	first := from == 0
	for {
		if first {
			from = l.store.first()
		}
		g, err := l.store.find(from)
		if first && errors.Is(err, ErrTruncated) {
			continue // truncated since
		}
		if err != nil {
			return nil, fmt.Errorf("wal: read %s from position %d: %w", l.dir, from, err)
		}
		r.enter(g)
		break
	}
	unwritten := l.writeOut()
	r.limit = l.tail.limit(r.g.number)
	if err := r.scan.seek(from, r.limit); err != nil {
		if err == errEnd && unwritten != nil {
			err = unwritten // from is in memory only
		} else {
			err = r.failed(err)
		}
		r.Close()
		return nil, err
	}
	return r, nil
}

// All returns an iterator over the records from position from on, those appended
// during the iteration included. An error ends it. The Data of a record is valid
// until the next step.
func (l *Log) All(from Position) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		r, err := l.Reader(from)
		if err != nil {
			yield(Record{}, err)
			return
		}
		defer r.Close()
		for {
			rec, err := r.Next()
			if err == io.EOF {
				return
			}
			if !yield(rec, err) || err != nil {
				return
			}
		}
	}
}

// enter starts reading the segment g, which is held.
func (r *Reader) enter(g *segment) {
	r.g = g
	r.scan.reset(g, firstOffset, g.first)
	r.limit = r.l.tail.limit(g.number)
}

// Next returns the next record, or io.EOF if it is not yet appended; Next may be
// called again. The Data of the record is valid until the next call. Other errors are
// *CorruptError, which each further call returns too; ErrTruncated, if
// TruncateBefore has removed the next segment; and ErrClosed.
func (r *Reader) Next() (Record, error) {
	for {
		if r.g == nil {
			return Record{}, cmp.Or(r.end, errUnopened)
		}
		rec, err := r.scan.next(r.limit)
		switch {
		case err == nil && rec.typ == typeData:
			return Record{rec.pos, rec.payload}, nil
		case err == nil && rec.typ == typeEnd:
			if err := r.nextSegment(); err != nil {
				return Record{}, err
			}
		case err == nil: // a control record
		case err == errEnd && r.limit < unlimited:
			if !r.more() {
				return Record{}, io.EOF
			}
		default:
			return Record{}, r.failed(err)
		}
	}
}

// Follow is Next, but instead of returning io.EOF it waits for the next record,
// until ctx is done or the log is closed or poisoned.
func (r *Reader) Follow(ctx context.Context) (Record, error) {
	for {
		rec, err := r.Next()
		if err != io.EOF {
			return rec, err
		}
		if err := r.follow(ctx); err != nil {
			return Record{}, err
		}
	}
}

// follow waits until there may be a further record.
func (r *Reader) follow(ctx context.Context) error {
	t := &r.l.tail
	t.wait(r)
	defer t.leave(r)
	// After wait, as an append from now on wakes the Reader.
	if r.more() {
		return nil
	}
	if err := r.l.checkOpen("follow"); err != nil {
		return err
	}
	select {
	case <-r.wake:
		return nil
	case <-ctx.Done():
		return cancelled("follow", r.l.dir, ctx)
	}
}

// more updates limit and reports whether it has grown.
func (r *Reader) more() bool {
	if Position(r.l.acked.Load()) > r.scan.pos {
		_ = r.l.writeOut() // an append returns its error
	}
	limit := r.l.tail.limit(r.g.number)
	grown := limit > r.limit
	r.limit = limit
	return grown
}

// nextSegment goes on to the next segment.
func (r *Reader) nextSegment() error {
	g, err := r.l.store.after(r.g)
	if g == nil && err == nil {
		err = errors.New("the next segment is missing")
	}
	if err != nil {
		err = fmt.Errorf("wal: read %s: %w", r.l.dir, err)
		r.leave(err)
		return err
	}
	r.l.store.release(r.g)
	r.enter(g)
	return nil
}

// failed returns the error for err of the scanner.
func (r *Reader) failed(err error) error {
	switch err {
	case errInvalid:
		if r.l.closing.Load() && !r.g.hasName() {
			// Another process has the log now, and has recycled the file.
			return r.l.errClosed("read")
		}
		return r.scan.corrupt()
	case errEnd:
		return &CorruptError{File: r.g.path, Offset: r.scan.off, Reason: "the segment has no end record"}
	}
	return err
}

// leave ends the Reader with the error end.
func (r *Reader) leave(end error) {
	if r.g != nil {
		r.l.store.release(r.g)
	}
	r.g, r.end = nil, end
}

// Close closes the Reader. A second Close does nothing.
func (r *Reader) Close() error {
	if r.l == nil {
		return errUnopened
	}
	r.leave(r.l.errClosed("read"))
	return nil
}

// writeOut writes the buffer at level None.
func (l *Log) writeOut() error {
	if l.o.Level != durability.None {
		return nil
	}
	l.writeMu.Lock()
	defer l.writeMu.Unlock()
	if err := l.checkOpen("read"); err != nil {
		return err
	}
	return l.commit()
}

// unlimited is the limit of a complete segment.
const unlimited = math.MaxInt64

// A tail is the place up to which Readers may read: all before it is
// acknowledged and in the file.
type tail struct {
	mu     sync.Mutex
	number uint64
	off    int64

	waiting []*Reader
	waiters atomic.Int32 // len(waiting)
}

// publish moves the tail and wakes the waiting Readers.
func (t *tail) publish(number uint64, off int64) {
	t.mu.Lock()
	t.number, t.off = number, off
	t.wakeLocked()
	t.mu.Unlock()
}

// limit returns the offset up to which Readers may read segment number.
func (t *tail) limit(number uint64) int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case number < t.number:
		return unlimited
	case number > t.number:
		return firstOffset // the tail has not moved there yet
	}
	return t.off
}

// followed reports whether Readers wait.
func (t *tail) followed() bool { return t.waiters.Load() > 0 }

func (t *tail) wait(r *Reader) {
	t.mu.Lock()
	defer t.mu.Unlock()
	select {
	case <-r.wake: // of an earlier wait
	default:
	}
	t.waiting = append(t.waiting, r)
	t.waiters.Store(int32(len(t.waiting)))
}

func (t *tail) leave(r *Reader) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, w := range t.waiting {
		if w == r {
			last := len(t.waiting) - 1
			t.waiting[i], t.waiting[last] = t.waiting[last], nil
			t.waiting = t.waiting[:last]
			t.waiters.Store(int32(last))
			return
		}
	}
}

func (t *tail) wakeAll() {
	t.mu.Lock()
	t.wakeLocked()
	t.mu.Unlock()
}

func (t *tail) wakeLocked() {
	for _, r := range t.waiting {
		select {
		case r.wake <- struct{}{}:
		default:
		}
	}
}
