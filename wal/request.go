package wal

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/stele-go/stele/latency"
)

// A request is an append that goes through the queue. At any time it belongs
// to the appender that waits for it or to the flusher, as its state says.
type request struct {
	// rec is the record, with its sum; recs, if many is set, are the records
	// of a batch, which may be none: then the request waits for those before it.
	// They are the caller's memory, and not looked at once state is stCopied.
	rec  []byte
	sum  uint32
	many bool
	recs [][]byte

	// timer, of AppendAsync, runs from the call on, if it was chosen.
	timer latency.Timer
	// weight is how much of Log.budget it has.
	weight int

	// What became of it; the flusher's until it sends on done.
	pos Position
	err error

	state atomic.Uint32
	// done, of capacity 1, gets one value when the flusher gives the request
	// back: finished, or to an appender in stCancelling.
	done chan struct{}
}

// States of a request. The left column is the flusher's way. An appender whose
// context is done leaves it:
//
//	stWaiting ── stAbandoned        it is never written; the flusher drops it
//	   │
//	stTaken ──── stCancelling     the flusher is copying the caller's bytes; it
//	   │                       gives the request back when it has
//	stCopied ─── stAbandoned        the flusher drops it when it is written
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

// recycle keeps r for the next append. Nobody else may know it any more.
func (r *request) recycle() {
	*r = request{done: r.done}
	requests.Put(r)
}

// take makes the request the flusher's, unless the appender has gone.
func (r *request) take() bool { return r.state.CompareAndSwap(stWaiting, stTaken) }

// copied says that the caller's bytes are not needed any more. It reports
// whether the flusher still has the request: not if the appender was waiting
// for just that.
func (r *request) copied() bool {
	if r.state.CompareAndSwap(stTaken, stCopied) {
		return true
	}
	r.done <- struct{}{}
	return false
}

// finish gives the request back with what became of it.
func (r *request) finish(err error) {
	r.err = err
	if r.state.Swap(stFinished) == stAbandoned {
		r.recycle()
		return
	}
	r.done <- struct{}{}
}

// await waits for the request, and recycles it.
func (r *request) await(ctx context.Context) (Position, error) {
	select {
	case <-r.done:
		return r.result()
	case <-ctx.Done():
	}
	for {
		switch r.state.Load() {
		case stWaiting:
			if r.state.CompareAndSwap(stWaiting, stAbandoned) {
				return 0, cancelled("append", ctx)
			}
		case stTaken:
			if r.state.CompareAndSwap(stTaken, stCancelling) {
				<-r.done
				r.recycle()
				return 0, unsure(cancelled("append", ctx))
			}
		case stCopied:
			if r.state.CompareAndSwap(stCopied, stAbandoned) {
				return 0, unsure(cancelled("append", ctx))
			}
		default:
			<-r.done
			return r.result()
		}
	}
}

func (r *request) result() (Position, error) {
	pos, err := r.pos, r.err
	r.recycle()
	if err != nil {
		return 0, err
	}
	return pos, nil
}

// cancelled is the error of op for a ctx that is done.
func cancelled(op string, ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if cause == err {
		return fmt.Errorf("wal: %s: %w", op, err)
	}
	return fmt.Errorf("wal: %s: %w: %w", op, err, cause)
}

// unsure is err of an append that may all the same be found after a crash, or
// become durable.
func unsure(err error) error { return fmt.Errorf("%w; %w", err, ErrUnsure) }
