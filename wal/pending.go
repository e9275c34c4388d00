package wal

import (
	"context"
	"errors"
	"sync"
)

// A Pending is an append by AppendAsync. It is for one goroutine.
type Pending struct {
	request
	data []byte // the record
}

var pendings = sync.Pool{New: func() any { return &Pending{request: request{done: make(chan struct{}, 1)}} }}

// maxKeptCopy is the largest copy, in bytes, whose memory is reused.
const maxKeptCopy = 64 << 10

// errWaited is the error of a second Wait, if that is noticed.
var errWaited = errors.New("wal: Pending.Wait was called after it had returned a result: call it once")

// AppendAsync appends a copy of rec and returns before it is durable. Once
// Pending.Wait has returned a position, the record survives what Append says;
// until then a crash leaves it whole or not at all. Appends of one goroutine
// keep their order, calls of Append included. A record is written even if Wait
// is never called, but then its error is lost.
//
// AppendAsync blocks while twice Options.MaxBatch bytes, or Options.Queue
// records, are under way.
func (l *Log) AppendAsync(rec []byte) *Pending {
	p := pendings.Get().(*Pending)
	ctx := context.Background()
	if err := l.checkAppend(ctx, len(rec)); err != nil {
		return p.failed(err)
	}
	p.timer = l.stats.async.Start()
	if waited, _ := l.copied.Acquire(ctx, int64(len(rec)+headerSize)); waited {
		l.stats.waits.Add(1)
	}
	p.data = append(p.data[:0], rec...)
	p.rec, p.sum, p.weight = p.data, checksum(p.data), len(rec)+headerSize
	p.state.Store(stWaiting)
	if err := l.enqueue(ctx, &p.request); err != nil {
		l.copied.Release(int64(p.weight))
		return p.failed(err)
	}
	return p
}

// failed makes p an append that was not queued.
func (p *Pending) failed(err error) *Pending {
	p.state.Store(stTaken)
	p.finish(err)
	return p
}

// Wait waits until the record is durable at the level of the log. It returns
// its position, or an error as Append does.
//
// If ctx is done first, the error wraps ctx.Err() and ErrUnsure: the append goes
// on, and Wait may be called again. After any other result do not use p: its
// memory is reused by other appends, so a further Wait is an error only if that
// is noticed in time.
func (p *Pending) Wait(ctx context.Context) (Position, error) {
	if p.state.Load() == stAbandoned {
		return 0, errWaited
	}
	if p.done == nil {
		return 0, errUnopened
	}
	select {
	case <-p.done:
	default:
		select {
		case <-p.done:
		case <-ctx.Done():
			return 0, unsure(cancelled("append to", p.dir, ctx))
		}
	}
	pos, err := p.pos, p.err
	if cap(p.data) > maxKeptCopy {
		p.data = nil
	}
	p.rec, p.sum, p.weight, p.pos, p.err = nil, 0, 0, 0, nil
	p.state.Store(stAbandoned)
	pendings.Put(p)
	if err != nil {
		return 0, err
	}
	return pos, nil
}
