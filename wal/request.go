package wal

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/stele-go/stele/latency"
)

// A request is an append in the queue. Its state says whether the appender that
// waits for it owns it, or the flusher.
type request struct {
	// rec is the record and sum its checksum. If many is set, recs is a batch,
	// perhaps empty: then the request only waits for those before it. They are
	// the caller's memory, not read after stCopied.
	rec  []byte
	sum  uint32
	many bool
	recs [][]byte

	dir string // of the log, for errors

	// timer, of AppendAsync, runs from the call on, if the request is sampled.
	timer latency.Timer
	// weight is its share of Log.copied in bytes.
	weight int

	// The result, the flusher's until it sends on done.
	pos Position
	err error

	state atomic.Uint32
	// done, of capacity 1, gets one value when the flusher gives up the request:
	// finished, or to an appender in stCancelling.
	done chan struct{}
}

// States of a request. The flusher moves it down the left column. An appender
// whose context is done moves it to the right:
//
//	stWaiting ── stAbandoned     never written; the flusher recycles it
//	   │
//	stTaken ──── stCancelling    the flusher is copying the caller's bytes, and
//	   │                         sends on done when it has
//	stCopied ─── stAbandoned     the flusher recycles it when it is written
//	   │
//	stFinished
const (
	stWaiting = iota
	stTaken
	stCopied
	stFinished
	stCancelling
	stAbandoned
)

var requests = sync.Pool{New: func() any { return &request{done: make(chan struct{}, 1)} }}

// recycle keeps r for the next append. The caller must be its only user.
func (r *request) recycle() {
	*r = request{done: r.done}
	requests.Put(r)
}

// take makes the flusher the owner, unless the appender has abandoned r.
func (r *request) take() bool { return r.state.CompareAndSwap(stWaiting, stTaken) }

// copied ends the use of the caller's bytes. It reports whether the flusher
// still owns r, which it does not if the appender was waiting for just that.
func (r *request) copied() bool {
	if r.state.CompareAndSwap(stTaken, stCopied) {
		return true
	}
	r.done <- struct{}{}
	return false
}

// finish gives r back to its appender with the result.
func (r *request) finish(err error) {
	r.err = err
	if r.state.Swap(stFinished) == stAbandoned {
		r.recycle()
		return
	}
	r.done <- struct{}{}
}

// await waits for the result of r, and recycles r.
func (r *request) await(ctx context.Context) (Position, error) {
	if ctx.Done() == nil { // a receive takes half the time of a select
		<-r.done
		return r.result()
	}
	dir := r.dir // r may be recycled once it is abandoned
	select {
	case <-r.done:
		return r.result()
	case <-ctx.Done():
	}
	for {
		switch r.state.Load() {
		case stWaiting:
			if r.state.CompareAndSwap(stWaiting, stAbandoned) {
				return 0, cancelled("append to", dir, ctx)
			}
		case stTaken:
			if r.state.CompareAndSwap(stTaken, stCancelling) {
				<-r.done
				r.recycle()
				return 0, unsure(cancelled("append to", dir, ctx))
			}
		case stCopied:
			if r.state.CompareAndSwap(stCopied, stAbandoned) {
				return 0, unsure(cancelled("append to", dir, ctx))
			}
		default:
			<-r.done
			return r.result()
		}
	}
}

// result recycles r and returns its result.
func (r *request) result() (Position, error) {
	pos, err := r.pos, r.err
	r.recycle()
	if err != nil {
		return 0, err
	}
	return pos, nil
}

// cancelled returns the error of op on the log in dir for a ctx that is done.
func cancelled(op, dir string, ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if cause == err {
		return fmt.Errorf("wal: %s %s: %w", op, dir, err)
	}
	return fmt.Errorf("wal: %s %s: %w: %w", op, dir, err, cause)
}

// unsure wraps the error of an append that may be durable, or become so.
func unsure(err error) error { return fmt.Errorf("%w; %w", err, ErrUnsure) }
