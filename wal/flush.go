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

// flusher runs until the queue is closed, and empty. It is the queue's only
// consumer.
//
// It is for those only that find somebody writing: an append that is alone
// writes in its own goroutine, since to go by the flusher costs it two switches
// of goroutines (BenchmarkHandOver). It yields before it writes: see yield. So
// appenders that go on at once share the next flush, all of them, instead of
// forming two halves that take turns.
func (l *Log) flusher() {
	defer close(l.flushed)
	got := make([]*request, l.queue.Cap())
	woken := 0
	for {
		n, err := l.queue.PopBatch(context.Background(), got, l.o.MaxDelay)
		if err != nil {
			return // it is closed, and empty
		}
		l.yield(woken)
		l.writeMu.Lock()
		n = l.takeMore(got, n)
		l.stats.largestBatch.Store(max(l.stats.largestBatch.Load(), uint64(n)))
		l.flush(got[:n])
		l.writeMu.Unlock()
		l.queued.Add(-int64(n))
		clear(got[:n])
		l.contended.Store(l.contendedAfter(n))
		woken = n
	}
}

// contendedAfter is what becomes of crowd after a flush of n requests. One of those
// that were woken, if it led, would write its own record only, and keep the
// others waiting at its P (see yield), and the next of them might do so too. So
// it takes several flushes of one request until somebody leads.
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

// yield lets those go first that are ready to run. While a goroutine is in a
// call, others that are queued at its P (in the words of Go's scheduler) stay
// there until the monitor of the runtime takes the P away, which looks every
// 20 us to 10 ms, and leaves it alone if the call is not the one it saw before.
// Another P steals them, but not as long as it has something else to do: a query
// will. So those that were woken by the flush before would wait for this one.
//
// Once is not enough: now and then a P takes the next goroutine, which may be
// the one that yields, from the queue of all Ps, and the rest of its own later.
// Those that were woken may all come again, and if they do not they are not
// waited for for long.
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

// takeMore fills got, in which n requests are, with those that came while the
// right was waited for.
func (l *Log) takeMore(got []*request, n int) int {
	return n + l.queue.TryPopBatch(got[n:])
}

// flush writes the requests, as many at once as Options.MaxBatch lets it, and
// gives them all back. The caller has the right to flush.
func (l *Log) flush(reqs []*request) {
	err := l.checkPoisoned() // what Close finds in the queue is written
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
			// Those behind it would fail as well, on a full disk for example.
			l.finish(r, err, r.pos)
		} else if r.copied() {
			l.acks = append(l.acks, r)
		}
	}
	l.settle()
}

// finish gives a request back, whose first record has the position first; 0, if
// nothing of it was encoded.
func (l *Log) finish(r *request, err error, first Position) {
	l.budget.release(r.weight)
	if err == nil {
		r.timer.Stop()
	}
	r.finish(l.outcome(err, first))
}

// outcome is the error err of an append whose first record had the position
// first, or 0: it wraps ErrUnsure, if there is anything of the append that may
// be, or become, durable.
func (l *Log) outcome(err error, first Position) error {
	switch {
	case err == nil || first == 0:
		return err
	case first < l.next: // a batch, in part
		return unsure(err)
	case l.attempted && (l.dirty > l.off || l.poisoned.Load() != nil):
		return unsure(err) // it may have been written, and was not wiped out
	}
	return err
}

// encode puts a record into the buffer and returns its position. To make room
// it writes what the buffer holds, and goes on to the next segment; an error
// of that leaves the record out.
func (l *Log) encode(rec []byte, sum uint32) (Position, error) {
	if n := len(l.buf) - l.kept; n > 0 && n+headerSize+len(rec) > l.batch {
		if err := l.commit(); err != nil {
			return 0, err
		}
	}
	off := l.off + int64(len(l.buf)-l.kept)
	// More than once where files of a smaller size were prepared by a log with
	// another option.
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

// grow makes room in the buffer for n more bytes, and for the rest of a block.
// Its memory is aligned for direct I/O. It stays at the size of a batch; a
// longer record gets memory of its own, given up by commit.
func (l *Log) grow(n int) {
	need := len(l.buf) + n + maxAlign
	if need <= cap(l.buf) {
		return
	}
	size := min(2*cap(l.buf), l.bufferSize())
	b := sys.AlignedBuffer(max(size, need), maxAlign)
	l.buf = b[:copy(b, l.buf)]
}

// bufferSize is what the buffer may have between flushes.
func (l *Log) bufferSize() int { return l.batch + 2*maxAlign + headerSize }

// settle ends a flush: all that was encoded is acknowledged, at level None
// from memory, or not, and then the error says why.
func (l *Log) settle() error {
	if l.o.Level != durability.None {
		return l.commit()
	}
	l.acknowledge(nil)
	if len(l.buf)-l.kept >= l.batch/2 || l.tail.followed() {
		// Its error comes out of the append that finds the buffer full.
		_ = l.commit()
	}
	return nil
}

// commit writes what the buffer holds, at level Power durably, publishes it
// and acknowledges it. After an error none of it is in the log; outcome says
// whether it may come to be. But at level None it stays in the buffer, since it
// has been acknowledged.
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
	l.stats.records.Add(uint64(l.next - l.written))
	l.stats.bytes.Add(uint64(n))
	l.stats.flushes.Add(1)
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

// keepBlock empties the buffer but for the last block, of which only a part
// is written: direct I/O has to write it again as a whole.
//
// That harms nothing of what is in it. A device writes a sector whole or not
// at all, align is a multiple of its size, and the old sector and the new both
// hold the same acknowledged bytes.
func (l *Log) keepBlock() {
	kept := int(l.off & (l.out.align - 1))
	last := l.buf[len(l.buf)-kept:]
	if cap(l.buf) > 2*l.bufferSize() {
		l.buf = sys.AlignedBuffer(l.bufferSize(), maxAlign)
	}
	l.buf = l.buf[:copy(l.buf[:kept], last)]
	l.kept = kept
}

// write writes the buffer. If it fails it sees to it that what was written
// never appears behind records that are written later.
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

// writeFailed is for a write of n bytes at the tail that failed, and may have
// come to any part of them.
func (l *Log) writeFailed(err error, n int64) error {
	if l.o.Level == durability.None {
		return l.failed("append", err) // the same bytes will be written there
	}
	l.dirty = max(l.dirty, l.off+n)
	_ = l.wipe() // what it leaves undone it does before the next write
	return l.failed("append", err)
}

// wipe overwrites by zeros what a write that failed may have left behind the
// tail, and makes that durable: else, shorter records written there later
// might be followed by whole ones of that write, which nobody was promised.
// Until it succeeds nothing is written.
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

// fullRetry is how long an error of making the next segment is given again
// before it is tried again: making one writes a whole segment.
const fullRetry = 100 * time.Millisecond

// advance goes on to the next segment. All before the tail is written then,
// and durable.
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
		l.dirty = max(l.dirty, l.off+endSize) // a part of the end record, perhaps
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

// acknowledge gives back the requests that were encoded.
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

// failed is the error of op on the last segment.
func (l *Log) failed(op string, err error) error {
	return fmt.Errorf("wal: %s to %s: %w", op, l.dir, err)
}

// poison has the log refuse everything from now on: a sync failed. The kernel
// may have dropped the pages that it could not write and will not tell again
// (fsync(2), "Can Applications Recover from fsync Failures?", USENIX ATC 2020),
// so what is on the disk is known only by reading it anew: by Open.
func (l *Log) poison(cause error) error {
	err := fmt.Errorf("wal: sync of %s: %w; %w", l.dir, cause, ErrPoisoned)
	l.poisoned.CompareAndSwap(nil, &err)
	l.tail.wakeAll()
	return err
}
