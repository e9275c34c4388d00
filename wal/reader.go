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

// A Reader reads the records of a log in their order, those that are appended
// meanwhile too, once they are acknowledged. It verifies the checksum of every
// record. It is for one goroutine; a log may have any number of readers, and
// they do not slow down appends but by what they take of disk and processors.
type Reader struct {
	l     *Log
	g     *segment // held; nil once the reader is closed, or at an end for good
	scan  scanner
	limit int64 // of what may be read in g; unlimited, if g is complete
	end   error // why g is nil
	wake  chan struct{}
}

// Reader reads from the record at from on; 0 is the first that is there.
// ErrTruncated: it has been given up. from may be at most the position that
// comes next.
func (l *Log) Reader(from Position) (*Reader, error) {
	if l.store == nil {
		return nil, errUnopened
	}
	if l.closing.Load() {
		return nil, l.errClosed("read")
	}
	r := &Reader{l: l, wake: make(chan struct{}, 1)}
	if next := Position(l.acked.Load()); from > next {
		return nil, fmt.Errorf("wal: read %s from %d: the next record will be %d", l.dir, from, next)
	}
	first := from == 0
	for {
		if first {
			from = l.store.first()
		}
		g, err := l.store.find(from)
		if first && errors.Is(err, ErrTruncated) {
			continue // just now
		}
		if err != nil {
			return nil, fmt.Errorf("wal: read %s from %d: %w", l.dir, from, err)
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

// All ranges over the records from the one at from on that are there now, or
// are added meanwhile. An error is the last that it yields. The Data of a
// record is valid until the next.
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

// enter goes on with the segment g, which is held.
func (r *Reader) enter(g *segment) {
	r.g = g
	r.scan.reset(g, firstOffset, g.first)
	r.limit = r.l.tail.limit(g.number)
}

// Next returns the next record, and io.EOF if there is none yet. Its Data is
// valid until the next call. Other errors: *CorruptError, again with each call;
// ErrTruncated, if the next record lies in a file that TruncateBefore has given
// up while the reader was in the file before; ErrClosed.
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

// Follow is Next, but where that would give io.EOF it waits for another record,
// until ctx is done, or the log is closed or poisoned.
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

// follow waits until there may be more.
func (r *Reader) follow(ctx context.Context) error {
	t := &r.l.tail
	t.wait(r)
	defer t.leave(r)
	// Only now: whoever adds something after this look wakes the reader.
	if r.more() {
		return nil
	}
	if err := r.l.checkOpen(); err != nil {
		return err
	}
	select {
	case <-r.wake:
		return nil
	case <-ctx.Done():
		return cancelled("follow", ctx)
	}
}

// more looks whether there is more to read in the segment than there was.
func (r *Reader) more() bool {
	if Position(r.l.acked.Load()) > r.scan.pos {
		_ = r.l.writeOut() // its error comes out of an append
	}
	limit := r.l.tail.limit(r.g.number)
	grown := limit > r.limit
	r.limit = limit
	return grown
}

func (r *Reader) nextSegment() error {
	g, err := r.l.store.after(r.g)
	if g == nil && err == nil {
		err = errors.New("the segment is complete, and the last")
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

// failed is the error for err of the scanner.
func (r *Reader) failed(err error) error {
	switch err {
	case errInvalid:
		if r.l.closing.Load() && !r.g.hasName() {
			// Whoever has the log now has given the file up, and uses it again.
			return r.l.errClosed("read")
		}
		return r.scan.corrupt()
	case errEnd:
		return &CorruptError{File: r.g.path, Offset: r.scan.off, Reason: "the segment has no end record"}
	}
	return err
}

func (r *Reader) leave(end error) {
	if r.g != nil {
		r.l.store.release(r.g)
	}
	r.g, r.end = nil, end
}

// Close ends the reader. Closing again does nothing.
func (r *Reader) Close() error {
	if r.l == nil {
		return errUnopened
	}
	r.leave(r.l.errClosed("read"))
	return nil
}

// writeOut writes what level None keeps in memory.
func (l *Log) writeOut() error {
	if l.o.Level != durability.None {
		return nil
	}
	l.writeMu.Lock()
	defer l.writeMu.Unlock()
	if err := l.checkOpen(); err != nil {
		return err
	}
	return l.commit()
}

// unlimited is the limit of a complete segment.
const unlimited = math.MaxInt64

// A tail is up to where readers may read: all before is acknowledged, and in
// the file.
type tail struct {
	mu     sync.Mutex
	number uint64
	off    int64

	waiting []*Reader
	waiters atomic.Int32 // len(waiting)
}

// publish moves the tail.
func (t *tail) publish(number uint64, off int64) {
	t.mu.Lock()
	t.number, t.off = number, off
	t.wakeLocked()
	t.mu.Unlock()
}

// limit is where reading ends in the segment of that number.
func (t *tail) limit(number uint64) int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case number < t.number:
		return unlimited
	case number > t.number:
		return firstOffset // it was found before the tail moved there
	}
	return t.off
}

// followed reports whether readers wait for more.
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
