package wal

import (
	"context"
	"errors"
	"sync"
)

// A Pending is an append that is under way. It is for one goroutine.
type Pending struct {
	request
	own []byte // the copy of the record
}

var pendings = sync.Pool{New: func() any { return &Pending{request: request{done: make(chan struct{}, 1)}} }}

// maxKeptCopy is the largest copy, in bytes, whose memory is used again.
const maxKeptCopy = 64 << 10

// errWaited is what a second Wait gets, if it is noticed.
var errWaited = errors.New("wal: Wait was called again after it had returned")

// AppendAsync adds rec and does not wait until it is durable: Wait of what it
// returns does. Once Wait has returned a position, rec survives what Append
// says; until then it may be gone after a crash, or be there whole. rec is
// copied, and the caller's again at once. Appends of one goroutine keep their
// order, with those of Append too. Whoever never calls Wait never hears whether
// the record came to be in the log; it is written all the same.
//
// It waits only while twice Options.MaxBatch bytes, or Options.Queue records,
// are under way.
func (l *Log) AppendAsync(rec []byte) *Pending {
	p := pendings.Get().(*Pending)
	ctx := context.Background()
	if err := l.accepts(ctx, len(rec)); err != nil {
		return p.failed(err)
	}
	p.timer = l.stats.async.Start()
	if l.budget.take(len(rec) + headerSize) {
		l.stats.waits.Add(1)
	}
	p.own = append(p.own[:0], rec...)
	p.rec, p.sum, p.weight = p.own, checksum(p.own), len(rec)+headerSize
	p.state.Store(stWaiting)
	if err := l.enqueue(ctx, &p.request); err != nil {
		l.budget.release(p.weight)
		return p.failed(err)
	}
	return p
}

// failed is a Pending that never was under way.
func (p *Pending) failed(err error) *Pending {
	p.state.Store(stTaken)
	p.finish(err)
	return p
}

// Wait waits until the record is durable at the level of the log, and returns
// its position, or the error that Append would have.
//
// If ctx is done first its error wraps ctx.Err() and ErrUnsure: the append goes
// on, and Wait may be called again. Else p must not be used any more: its
// memory is, for other appends. A Wait too many is an error if it is noticed
// in time.
func (p *Pending) Wait(ctx context.Context) (Position, error) {
	if p.state.Load() == stGone {
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
			return 0, unsure(cancelled("append", ctx))
		}
	}
	pos, err := p.pos, p.err
	own := p.own
	if cap(own) > maxKeptCopy {
		own = nil
	}
	p.rec, p.sum, p.weight, p.pos, p.err, p.own = nil, 0, 0, 0, nil, own
	p.state.Store(stGone)
	pendings.Put(p)
	if err != nil {
		return 0, err
	}
	return pos, nil
}

// A budget is for the bytes that AppendAsync has copied and nobody has
// written yet.
type budget struct {
	mu   sync.Mutex
	room sync.Cond
	left int
	full int
}

func (b *budget) init(full int) { b.left, b.full, b.room.L = full, full, &b.mu }

// take takes n bytes, and reports whether it had to wait. Who wants more than
// there ever are waits for all of them.
func (b *budget) take(n int) (waited bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.left < min(n, b.full) {
		waited = true
		b.room.Wait()
	}
	b.left -= n
	return waited
}

func (b *budget) release(n int) {
	if n == 0 {
		return
	}
	b.mu.Lock()
	b.left += n
	b.mu.Unlock()
	b.room.Broadcast()
}
