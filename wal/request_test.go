package wal

import (
	"context"
	"errors"
	"testing"
	"time"
)

// The result of a request whose context is done depends on the progress of the
// flusher.
func TestRequestStates(t *testing.T) {
	failure := errors.New("failure")
	for _, c := range []struct {
		name    string
		before  func(r *request) // ctx is done
		after   func(r *request) // and the appender has checked
		unsure  bool
		written bool // the appender gets the result
		flusher bool // the flusher recycles the request
	}{
		{name: "waiting", after: func(r *request) {
			if r.take() {
				t.Error("the flusher takes a request that its appender has abandoned")
			}
		}, flusher: true},
		{name: "taken", before: func(r *request) { r.take() }, after: func(r *request) {
			if r.copied() {
				t.Error("the flusher keeps a request that is waited for")
			}
		}, unsure: true},
		{name: "taken, failed", before: func(r *request) { r.take() }, after: func(r *request) { r.finish(failure) }, unsure: true},
		{name: "copied", before: func(r *request) { r.take(); r.copied() }, after: func(r *request) { r.finish(nil) }, unsure: true, flusher: true},
		{name: "finished", before: func(r *request) { r.take(); r.copied(); r.finish(nil) }, written: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &request{pos: 7, done: make(chan struct{}, 1)}
			if c.before != nil {
				c.before(r)
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			var pos Position
			var err error
			ended := make(chan bool)
			go func() {
				pos, err = r.await(ctx)
				close(ended)
			}()
			if c.after != nil {
				if !c.flusher { // the appender waits for the flusher
					for r.state.Load() != stCancelling {
						time.Sleep(time.Millisecond)
					}
				} else {
					<-ended
				}
				c.after(r)
			}
			<-ended
			if c.written {
				if pos != 7 || err != nil {
					t.Errorf("%d, %v", pos, err)
				}
				return
			}
			if !errors.Is(err, context.Canceled) || errors.Is(err, ErrUnsure) != c.unsure {
				t.Error(err)
			}
		})
	}
}
