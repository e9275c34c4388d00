package wal

import (
	"context"
	"fmt"

	"github.com/stele-go/stele/internal/queue"
)

// Append adds rec and returns its position once it is durable at the level of
// the log: at Power it survives a power cut, at Kill kill -9, at None it may be
// lost when the process exits. After a crash in the middle of it the record is
// there whole or not at all; records that Append returned before are there.
// rec may be empty, and is the caller's again when Append returns.
//
// An append that is alone writes and syncs in its own goroutine. While one is
// under way others queue up, and the next flush writes and syncs them together.
//
// If ctx is done before the record is being written it is never written, and
// the error wraps ctx.Err(). If it is done later the error also wraps
// ErrUnsure: the record may become durable, or be there already. An append
// that writes in its own goroutine does not look at ctx any more, nor does a
// record get two positions: after ErrUnsure a reader tells.
//
// Other errors: ErrTooLarge; ErrClosed; ErrPoisoned; that of the write, such as
// ENOSPC, after which the record is not in the log, nor ever will be, unless
// the error wraps ErrUnsure.
func (l *Log) Append(ctx context.Context, rec []byte) (Position, error) {
	t := l.stats.appends.Start()
	pos, err := l.append(ctx, rec)
	if err == nil {
		t.Stop()
	}
	return pos, err
}

func (l *Log) append(ctx context.Context, rec []byte) (Position, error) {
	if err := l.accepts(ctx, len(rec)); err != nil {
		return 0, err
	}
	sum := checksum(rec) // here, so that appenders do it at the same time
	if l.lead() {
		pos, err := l.appendNow(rec, sum)
		l.right.Unlock()
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

// AppendBatch is Append of several records, one after the other with nothing
// between. It returns the position of the first. Each of them survives what
// Append says, and no more is promised for them together: after a crash, or an
// error that wraps ErrUnsure, the first of them may be there without the
// others. An empty batch adds nothing; its position is 0.
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
	if err := l.accepts(ctx, longest); err != nil || len(recs) == 0 {
		return 0, err
	}
	if l.lead() {
		pos, err := l.appendAllNow(recs)
		l.right.Unlock()
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

// accepts says why no record of so many bytes can be added.
func (l *Log) accepts(ctx context.Context, size int) error {
	if l.store == nil {
		return errUnopened
	}
	if size > l.maxRecord {
		return fmt.Errorf("wal: append to %s: %w: %d bytes, and %d is the most", l.dir, ErrTooLarge, size, l.maxRecord)
	}
	if ctx.Err() != nil {
		return cancelled("append", ctx)
	}
	return l.refuses()
}

// lead takes the right to flush for an appender that is alone. That it is
// alone keeps the order: what it, or somebody it knows of, has queued before
// must come before.
func (l *Log) lead() bool {
	if l.o.MaxDelay > 0 || l.crowd.Load() > 0 || l.queued.Load() > 0 || !l.right.TryLock() {
		return false
	}
	if l.queued.Load() > 0 {
		l.right.Unlock() // the flusher waits for it
		return false
	}
	return true
}

// enqueue hands r to the flusher.
func (l *Log) enqueue(ctx context.Context, r *request) error {
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
		return cancelled("append", ctx)
	}
	return l.errClosed("append")
}

// appendNow is an append by whoever has the right to flush.
func (l *Log) appendNow(rec []byte, sum uint32) (Position, error) {
	if err := l.refuses(); err != nil {
		return 0, err
	}
	pos, err := l.encode(rec, sum)
	if err == nil {
		err = l.settle()
	}
	if err != nil {
		return 0, l.outcome(err, pos)
	}
	return pos, nil
}

func (l *Log) appendAllNow(recs [][]byte) (Position, error) {
	if err := l.refuses(); err != nil {
		return 0, err
	}
	pos, err := l.encodeAll(recs)
	if err == nil {
		err = l.settle()
	}
	if err != nil {
		return 0, l.outcome(err, pos)
	}
	return pos, nil
}

// encodeAll encodes recs and returns the position of the first; with an error
// also, if any was encoded, and so may have been written.
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
