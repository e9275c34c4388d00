package wal

import (
	"context"
	"fmt"

	"github.com/stele-go/stele/internal/queue"
)

// Append appends rec and returns its position once it is durable at the level
// of the log: at Power it survives a power cut, at Kill kill -9, at None it is
// lost when the process exits. A crash during Append leaves the record whole or
// not at all, and never without the records before it (durability.Prefix). rec
// may be empty. Append does not keep rec.
//
// A lone append writes and syncs in its own goroutine. Appends that come
// meanwhile are queued, and the next flush writes and syncs them together.
//
// If ctx is done before the write of the record begins, the record is never
// written and the error wraps ctx.Err(). If ctx is done later, the error also
// wraps ErrUnsure: the record may be durable, or become so. An append that
// writes in its own goroutine no longer watches ctx. To learn the outcome after
// ErrUnsure, read the log.
//
// Other errors are ErrTooLarge, ErrClosed, ErrPoisoned, and those of the write,
// such as ENOSPC. After those the record is not in the log and never will be,
// unless the error wraps ErrUnsure.
func (l *Log) Append(ctx context.Context, rec []byte) (Position, error) {
	t := l.stats.appends.Start()
	pos, err := l.append(ctx, rec)
	if err == nil {
		t.Stop()
	}
	return pos, err
}

func (l *Log) append(ctx context.Context, rec []byte) (Position, error) {
	if err := l.checkAppend(ctx, len(rec)); err != nil {
		return 0, err
	}
	sum := checksum(rec) // outside writeMu, so that appenders compute in parallel
	if l.lead() {
		pos, err := l.appendNow(rec, sum)
		l.writeMu.Unlock()
		return pos, err
	}
	r := requests.Get().(*request)
	r.rec, r.sum = rec, sum
	if err := l.enqueue(ctx, r); err != nil {
		r.recycle()
		return 0, err
	}
	return r.await(ctx)
}

// AppendBatch appends recs at consecutive positions and returns the first. Each
// record survives what Append says. The batch is not atomic: after a crash, or
// an error that wraps ErrUnsure, the log may have the first records of it
// without the others. An empty batch appends nothing and returns position 0.
func (l *Log) AppendBatch(ctx context.Context, recs [][]byte) (Position, error) {
	t := l.stats.appends.Start()
	pos, err := l.appendBatch(ctx, recs)
	if err == nil && len(recs) > 0 {
		t.Stop()
	}
	return pos, err
}

func (l *Log) appendBatch(ctx context.Context, recs [][]byte) (Position, error) {
	longest := 0
	for _, rec := range recs {
		longest = max(longest, len(rec))
	}
	if err := l.checkAppend(ctx, longest); err != nil || len(recs) == 0 {
		return 0, err
	}
	if l.lead() {
		pos, err := l.appendAllNow(recs)
		l.writeMu.Unlock()
		return pos, err
	}
	r := requests.Get().(*request)
	r.many, r.recs = true, recs
	if err := l.enqueue(ctx, r); err != nil {
		r.recycle()
		return 0, err
	}
	return r.await(ctx)
}

// checkAppend returns an error if no record of size bytes can be appended.
func (l *Log) checkAppend(ctx context.Context, size int) error {
	if l.store == nil {
		return errUnopened
	}
	if size > l.maxRecord {
		return fmt.Errorf("wal: append to %s: %w: %d bytes; want at most %d", l.dir, ErrTooLarge, size, l.maxRecord)
	}
	if ctx.Err() != nil {
		return cancelled("append to", l.dir, ctx)
	}
	return l.checkOpen("append to")
}

// lead locks writeMu for a lone append, and reports whether it did. It does not
// while requests are queued: those that the caller, or a goroutine that it
// waited for, has queued must be written first.
func (l *Log) lead() bool {
	if l.o.MaxDelay > 0 || l.contended.Load() > 0 || l.queued.Load() > 0 || !l.writeMu.TryLock() {
		return false
	}
	if l.queued.Load() > 0 {
		l.writeMu.Unlock() // the flusher waits for it
		return false
	}
	return true
}

// enqueue hands r to the flusher. It waits while the queue is full.
func (l *Log) enqueue(ctx context.Context, r *request) error {
	r.dir = l.dir
	l.queued.Add(1)
	err := l.queue.TryPush(r)
	if err == queue.ErrFull {
		l.stats.waits.Add(1)
		err = l.queue.Push(ctx, r)
	}
	if err == nil {
		return nil
	}
	l.queued.Add(-1)
	if ctx.Err() != nil {
		return cancelled("append to", l.dir, ctx)
	}
	return l.errClosed("append to")
}

// appendNow writes rec at once. The caller holds writeMu.
func (l *Log) appendNow(rec []byte, sum uint32) (Position, error) {
	if err := l.checkOpen("append to"); err != nil {
		return 0, err
	}
	return l.flushNow(l.encode(rec, sum))
}

// appendAllNow is appendNow of a batch.
func (l *Log) appendAllNow(recs [][]byte) (Position, error) {
	if err := l.checkOpen("append to"); err != nil {
		return 0, err
	}
	return l.flushNow(l.encodeAll(recs))
}

// flushNow finishes the flush of an append with the result of its encoding.
func (l *Log) flushNow(first Position, err error) (Position, error) {
	if err == nil {
		err = l.finishFlush()
	}
	if err != nil {
		return 0, l.outcome(err, first)
	}
	return first, nil
}

// encodeAll encodes recs and returns the position of the first. With an error
// the position is not 0 if any was encoded, and so may have been written.
func (l *Log) encodeAll(recs [][]byte) (first Position, err error) {
	for i, rec := range recs {
		pos, err := l.encode(rec, checksum(rec))
		if err != nil {
			return first, err
		}
		if i == 0 {
			first = pos
		}
	}
	return first, nil
}
