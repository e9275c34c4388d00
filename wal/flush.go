package wal

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/internal/sys"
	"github.com/stele-go/stele/latency"
)

// flusher is the goroutine that writes the queued appends, until the queue is
// closed and empty. It is the queue's only consumer.
//
// Only appends that find another one under way are queued: a lone one writes in
// its own goroutine, which saves two switches of goroutines (BenchmarkHandOver).
// The flusher yields before it writes, so that all appenders that it has woken
// share the next flush, instead of forming two halves that take turns.
func (l *Log) flusher() {
	defer close(l.flushed)
	got := make([]*request, l.queue.Cap())
	woken := 0
	for {
		n, err := l.queue.PopBatch(context.Background(), got, l.o.MaxDelay)
		if err != nil {
			return // the queue is closed and empty
		}
		l.yield(woken)
		l.writeMu.Lock()
		n += l.queue.TryPopBatch(got[n:]) // those that came while it waited
		l.stats.largestBatch.Store(max(l.stats.largestBatch.Load(), uint64(n)))
		l.flush(got[:n])
		l.writeMu.Unlock()
		l.queued.Add(-int64(n))
		clear(got[:n])
		l.contended.Store(l.contendedAfter(n))
		woken = n
	}
}

// contendedAfter returns the value of contended after a flush of n requests. If
// one of the woken appenders led, it would write its own record only and keep
// the others waiting at its P (see yield), and so might the next. So several
// flushes of one request must pass before an appender leads again.
func (l *Log) contendedAfter(n int) int32 {
	const flushes = 16
	if l.o.Level != durability.Power {
		return 0
	}
	if n > 1 {
		return flushes
	}
	return max(0, l.contended.Load()-1)
}

// yield lets the woken appenders run before the flusher enters a system call.
// Goroutines in the run queue of its P stay there during the call, until the
// runtime's monitor takes the P away: it looks every 20 us to 10 ms, and leaves a
// P alone whose call is not the one it saw before. Another P steals them only
// when it is idle. So without yield the appenders that the last flush has woken
// would miss this one.
//
// One Gosched is not enough: now and then a P takes the next goroutine, perhaps
// the yielding one, from the global run queue. So yield repeats until all woken
// appenders are queued again, for a short time at most.
func (l *Log) yield(woken int) {
	const (
		least = 2
		most  = 100 * time.Microsecond
	)
	if l.o.Level != durability.Power {
		return
	}
	runtime.Gosched()
	if woken < 2 && l.queued.Load() < 2 {
		return
	}
	for begun, n := time.Now(), 1; n < least || l.queued.Load() < int64(woken) && time.Since(begun) < most; n++ {
		runtime.Gosched()
	}
}

// flush writes the requests, up to Options.MaxBatch bytes at once, and finishes
// them all. The caller holds writeMu.
func (l *Log) flush(reqs []*request) {
	err := l.checkPoisoned() // not checkOpen: requests queued before Close are written
	for _, r := range reqs {
		switch {
		case !r.take():
			l.stats.cancelled.Add(1)
			r.recycle()
			continue
		case err != nil:
		case r.many:
			r.pos, err = l.encodeAll(r.recs)
		default:
			r.pos, err = l.encode(r.rec, r.sum)
		}
		if err != nil {
			// Later ones would fail as well, on a full disk for example.
			l.finish(r, err, r.pos)
		} else if r.copied() {
			l.acks = append(l.acks, r)
		}
	}
	l.finishFlush()
}

// finish finishes a request whose first record has the position first; 0 if no
// record of it was encoded.
func (l *Log) finish(r *request, err error, first Position) {
	l.copied.Release(int64(r.weight))
	if err == nil {
		r.timer.Stop()
	}
	r.finish(l.outcome(err, first))
}

// outcome returns the error of an append whose first record had the position
// first, or 0: err, with ErrUnsure if a record of it may be durable, or become
// so.
func (l *Log) outcome(err error, first Position) error {
	switch {
	case err == nil || first == 0:
		return err
	case first < l.next: // a part of a batch is written
		return unsure(err)
	case l.attempted && (l.dirty > l.off || l.poisoned.Load() != nil):
		return unsure(err) // it may have been written, and was not overwritten
	}
	return err
}

// encode appends a record to the buffer and returns its position. If the record
// does not fit, encode first writes the buffer or goes on to the next segment;
// after an error of that the record is not in the buffer.
func (l *Log) encode(rec []byte, sum uint32) (Position, error) {
	if n := len(l.buf) - l.kept; n > 0 && n+headerSize+len(rec) > l.batch {
		if err := l.commit(); err != nil {
			return 0, err
		}
	}
	off := l.off + int64(len(l.buf)-l.kept)
	// More than once if an earlier Open with another SegmentSize has prepared
	// smaller segments.
	for l.seg.maxPayload(off) < int64(len(rec)) {
		if err := l.commit(); err != nil {
			return 0, err
		}
		if err := l.advance(); err != nil {
			return 0, err
		}
		off = l.off
	}
	l.grow(headerSize + len(rec))
	pos := l.next
	l.buf = l.seg.appendRecord(l.buf, off, typeData, pos, uint32(off-l.durable), sum, rec)
	l.next++
	return pos, nil
}

// grow grows the buffer for n more bytes and the rest of a block. Its memory is
// aligned for direct I/O. Between flushes it has the size of a batch: commit
// releases the memory of a longer record.
func (l *Log) grow(n int) {
	need := len(l.buf) + n + maxAlign
	if need <= cap(l.buf) {
		return
	}
	size := min(2*cap(l.buf), l.bufferSize())
	b := sys.AlignedBuffer(max(size, need), maxAlign)
	l.buf = b[:copy(b, l.buf)]
}

// bufferSize returns the capacity of the buffer between flushes.
func (l *Log) bufferSize() int { return l.batch + 2*maxAlign + headerSize }

// finishFlush commits the buffer. At level None it acknowledges the requests from
// memory, and commits only a buffer that is half full or has a Reader waiting.
func (l *Log) finishFlush() error {
	if l.o.Level != durability.None {
		return l.commit()
	}
	l.acknowledge(nil)
	if len(l.buf)-l.kept >= l.batch/2 || l.tail.followed() {
		// Its error is returned by the append that finds the buffer full.
		_ = l.commit()
	}
	return nil
}

// commit writes the buffer, at level Power durably, shows it to Readers and
// acknowledges it. After an error none of it is in the log; outcome knows whether
// it may still appear there. At level None it stays in the buffer after an error,
// since it is acknowledged.
func (l *Log) commit() error {
	n := len(l.buf) - l.kept
	if n == 0 {
		l.acknowledge(nil)
		return nil
	}
	l.attempted = false
	var t latency.Timer
	if l.o.Level == durability.Power {
		t = l.stats.syncs.Start()
	}
	if err := l.write(); err != nil {
		if l.o.Level != durability.None {
			l.next = l.written
			l.buf = l.buf[:l.kept]
			l.acknowledge(err)
		}
		return err
	}
	l.off += int64(n)
	l.stats.flushed(uint64(l.next - l.written))
	l.stats.bytes.Add(uint64(n))
	l.written = l.next
	if l.o.Level == durability.Power {
		t.Stop()
		l.durable = l.off
	}
	l.keepBlock()
	l.tail.publish(l.seg.number, l.off)
	l.acknowledge(nil)
	return nil
}

// keepBlock empties the buffer except for the last block if it is partly filled:
// direct I/O writes it again as a whole.
//
// That does not endanger the records in it. A device writes a sector whole or
// not at all, align is a multiple of the sector size, and the old sector and the
// new have the same acknowledged bytes.
func (l *Log) keepBlock() {
	kept := int(l.off & (l.out.align - 1))
	last := l.buf[len(l.buf)-kept:]
	if cap(l.buf) > 2*l.bufferSize() {
		l.buf = sys.AlignedBuffer(l.bufferSize(), maxAlign)
	}
	l.buf = l.buf[:copy(l.buf[:kept], last)]
	l.kept = kept
}

// write writes the buffer. After an error, wipe keeps the bytes of the failed
// write from appearing after records that are written later.
func (l *Log) write() error {
	if err := l.wipe(); err != nil {
		return err
	}
	if l.out.file != l.seg.file {
		if err := l.out.use(l.seg.file); err != nil {
			return l.failed("append", err)
		}
	}
	l.attempted = true
	if l.o.Level != durability.Power {
		if _, err := l.seg.file.WriteAt(l.buf, l.off); err != nil {
			return l.writeFailed(err, int64(len(l.buf)))
		}
		return nil
	}
	b := l.buf
	if rest := len(b) & int(l.out.align-1); rest > 0 {
		n := len(b)
		b = b[:n+int(l.out.align)-rest]
		clear(b[n:]) // zeros are no record
	}
	if err, lost := l.out.write(b, l.off-int64(l.kept)); err != nil {
		if lost {
			return l.poison(err)
		}
		return l.writeFailed(err, int64(len(b)-l.kept))
	}
	return nil
}

// writeFailed handles a failed write of n bytes at the tail, of which any part may
// have been written.
func (l *Log) writeFailed(err error, n int64) error {
	if l.o.Level == durability.None {
		return l.failed("append", err) // the next write has the same bytes
	}
	l.dirty = max(l.dirty, l.off+n)
	_ = l.wipe() // after an error it is called again before the next write
	return l.failed("append", err)
}

// wipe durably overwrites with zeros what a failed write may have left after the
// tail. Otherwise shorter records written there later might be followed by whole
// records of that write, which was reported as failed. Nothing is written until
// wipe succeeds.
func (l *Log) wipe() error {
	if l.dirty <= l.off {
		return nil
	}
	zeros := make([]byte, min(l.dirty-l.off, 1<<20))
	for off := l.off; off < l.dirty; off += int64(len(zeros)) {
		if _, err := l.seg.file.WriteAt(zeros[:min(int64(len(zeros)), l.dirty-off)], off); err != nil {
			return l.failed("append", err)
		}
	}
	if err := sys.SyncData(l.seg.file); err != nil {
		return l.poison(err)
	}
	l.dirty = 0
	return nil
}

// fullRetry is the time for which appends return the last error of creating a
// segment before they try again, which writes a whole segment.
const fullRetry = 100 * time.Millisecond

// advance goes on to the next segment, with an empty buffer. All before the tail
// is then durable.
func (l *Log) advance() error {
	if l.fullErr != nil && time.Since(l.fullAt) < fullRetry {
		return l.fullErr
	}
	if err := l.wipe(); err != nil {
		return err
	}
	t := l.stats.switches.Start()
	g, err := l.store.advance(l.off, l.durable, l.next)
	if errors.Is(err, errSyncFailed) {
		return l.poison(err)
	}
	if err != nil {
		l.dirty = max(l.dirty, l.off+endSize) // perhaps a part of the end record
		l.fullErr, l.fullAt = l.failed("append", err), time.Now()
		return l.fullErr
	}
	l.fullErr = nil
	l.seg, l.off, l.durable, l.buf, l.kept = g, firstOffset, firstOffset, l.buf[:0], 0
	l.out.close()
	l.tail.publish(g.number, firstOffset)
	t.Stop()
	l.store.prepare()
	return nil
}

// acknowledge finishes the requests in acks.
func (l *Log) acknowledge(err error) {
	if err == nil {
		l.acked.Store(uint64(l.next))
	}
	for i, r := range l.acks {
		l.acks[i] = nil
		l.finish(r, err, r.pos)
	}
	l.acks = l.acks[:0]
}

// failed returns the error of op on the last segment.
func (l *Log) failed(op string, err error) error {
	return fmt.Errorf("wal: %s to %s: %w", op, l.dir, err)
}

// poison makes all later appends and syncs fail, after a failed sync. The kernel
// may have dropped the pages that it could not write, and reports the error once
// (fsync(2); "Can Applications Recover from fsync Failures?", USENIX ATC 2020).
// Only Open, which reads the log again, can tell what is on the disk.
func (l *Log) poison(cause error) error {
	err := fmt.Errorf("wal: sync of %s: %w; %w", l.dir, cause, ErrPoisoned)
	l.poisoned.CompareAndSwap(nil, &err)
	l.tail.wakeAll()
	return err
}
