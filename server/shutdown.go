package server

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// calls counts the calls that are under way, and refuses new ones once it is closed.
type calls struct {
	n      atomic.Int64 // plus callsClosed once closed
	once   sync.Once
	closed atomic.Bool
	empty  chan struct{}
	init   sync.Once
}

const callsClosed = 1 << 40

func (c *calls) wait() chan struct{} {
	c.init.Do(func() { c.empty = make(chan struct{}) })
	return c.empty
}

// enter reports whether the call may go on; then leave must follow.
func (c *calls) enter() bool {
	if c.n.Add(1) < callsClosed {
		return true
	}
	c.leave()
	return false
}

func (c *calls) leave() {
	if c.n.Add(-1) == callsClosed {
		c.end()
	}
}

func (c *calls) end() { c.once.Do(func() { close(c.wait()) }) }

// count returns how many calls are under way.
func (c *calls) count() int64 { return c.n.Load() & (callsClosed - 1) }

// close refuses new calls, and waits until those under way have ended or ctx is done.
func (c *calls) close(ctx context.Context) error {
	if c.closed.CompareAndSwap(false, true) && c.n.Add(callsClosed) == callsClosed {
		c.end()
	}
	select {
	case <-c.wait():
		return nil
	case <-ctx.Done():
		return fmt.Errorf("server: %d requests were still under way: %w", c.count(), context.Cause(ctx))
	}
}

// Shutdown refuses new requests with 503, ends tails, waits until all others have been
// answered, and closes all connections; Serve returns then. Queries and exports that are
// still under way after half of the time to ctx's deadline are ended: they are answered
// with 503. If ctx is done before all have been answered, Shutdown closes the connections at
// once and returns an error. A push that was answered is kept in any case; one that was
// not may have been kept, and is known when it is sent again.
func (s *Server) Shutdown(ctx context.Context) error {
	s.stop()
	s.conns.refuse()
	if deadline, ok := ctx.Deadline(); ok {
		defer time.AfterFunc(time.Until(deadline)/2, s.hurry).Stop()
	}
	err := s.calls.close(ctx)
	s.hurry() // whatever is left
	s.conns.close(ctx)
	return err
}
