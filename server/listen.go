package server

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stele-go/stele/internal/semaphore"
)

// conns are the connections of a server. Each is first read by a direct reader, which
// knows pushes only and takes a fraction of what net/http takes for one. At the first request
// that is none, the connection goes to net/http for the rest of its life.
type conns struct {
	s      *Server
	http   http.Server
	places *semaphore.Weighted // for connections
	open   atomic.Int64
	in     atomic.Int64 // bytes that clients have sent
	out    atomic.Int64 // bytes that they were sent

	mu     sync.Mutex
	closed bool
	lists  map[net.Listener]bool
	direct map[*directConn]bool
	ended  sync.WaitGroup // of direct connections
	date   dateText
}

func newConns(s *Server) *conns {
	return &conns{
		s: s, places: semaphore.New(int64(s.o.Conns.Max)), lists: map[net.Listener]bool{}, direct: map[*directConn]bool{},
		http: http.Server{
			Handler: timed{s}, ReadHeaderTimeout: s.o.Conns.Header, IdleTimeout: s.o.Conns.Idle, MaxHeaderBytes: 64 << 10,
			ErrorLog: slog.NewLogLogger(s.o.Logger.Handler(), slog.LevelWarn),
		},
	}
}

// Serve answers the requests of connections that it accepts from l, until Shutdown, after
// which it returns nil, or until l fails. It closes l.
func (s *Server) Serve(l net.Listener) error {
	c := s.conns
	defer l.Close()
	if !c.add(l) {
		return nil
	}
	defer c.remove(l)
	handed := &handedListener{Listener: l, conns: make(chan net.Conn), done: make(chan struct{})}
	served := make(chan error, 1)
	go func() { served <- c.http.Serve(handed) }()
	err := c.accept(l, handed)
	if s.stopping.Err() == nil { // the listener has failed
		_ = handed.Close()
		<-served
		return err
	}
	<-served
	return nil
}

// accept accepts connections until the listener fails or is closed.
func (c *conns) accept(l net.Listener, handed *handedListener) error {
	for {
		if _, err := c.places.Acquire(c.s.stopping, 1); err != nil {
			return nil
		}
		conn, err := l.Accept()
		if err != nil {
			c.places.Release(1)
			if isTemporary(err) { // descriptors are short, for example
				c.s.o.Logger.Warn("a connection cannot be accepted", "err", err)
				select {
				case <-time.After(50 * time.Millisecond):
					continue
				case <-c.s.stopping.Done():
				}
			}
			return err
		}
		d := newDirectConn(c.s, &countedConn{Conn: conn, in: &c.in, out: &c.out, release: sync.OnceFunc(c.gone)})
		c.open.Add(1)
		if !c.addDirect(d) {
			_ = d.conn.Close()
			continue
		}
		go func() {
			defer c.removeDirect(d)
			if d.serve() {
				handed.hand(&replayedConn{Conn: d.conn, first: d.rest()})
			}
		}()
	}
}

// gone notes that a connection is closed.
func (c *conns) gone() {
	c.open.Add(-1)
	c.places.Release(1)
}

func isTemporary(err error) bool {
	e, ok := errors.AsType[interface {
		error
		Temporary() bool
	}](err)
	return ok && e.Temporary()
}

func (c *conns) add(l net.Listener) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.lists[l] = true
	return true
}

func (c *conns) remove(l net.Listener) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.lists, l)
}

func (c *conns) addDirect(d *directConn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.direct[d] = true
	c.ended.Add(1)
	return true
}

func (c *conns) removeDirect(d *directConn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.direct, d)
	c.ended.Done()
}

// refuse closes the listeners and idle direct connections.
func (c *conns) refuse() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for l := range c.lists {
		_ = l.Close()
	}
	for d := range c.direct {
		d.wake()
	}
}

// close waits until all connections are closed or ctx is done, and closes them then.
func (c *conns) close(ctx context.Context) {
	ended := make(chan struct{})
	go func() {
		c.ended.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-ctx.Done():
	}
	if c.http.Shutdown(ctx) != nil {
		_ = c.http.Close()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for d := range c.direct {
		// A connection whose push a readyReader serves is closed once that is answered, and Close
		// waits for it: one that waits for the store ends with that.
		go func() { _ = d.conn.Close() }()
	}
}

// A countedConn counts its bytes, and gives its place back when it is closed.
type countedConn struct {
	net.Conn
	in, out *atomic.Int64
	release func()
}

// Read reads bytes of the client.
func (c *countedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.in.Add(int64(n))
	return n, err
}

// Write writes bytes to the client.
func (c *countedConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.out.Add(int64(n))
	return n, err
}

func (c *countedConn) Close() error {
	defer c.release()
	return c.Conn.Close()
}

// CloseWrite ends what is sent, if the connection can do that.
func (c *countedConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

// A handedListener yields the connections that direct readers have handed over.
type handedListener struct {
	net.Listener
	conns  chan net.Conn
	done   chan struct{}
	closed atomic.Bool
}

func (l *handedListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

// Close makes Accept return.
func (l *handedListener) Close() error {
	if l.closed.CompareAndSwap(false, true) {
		close(l.done)
	}
	return nil
}

// hand passes a connection to net/http.
func (l *handedListener) hand(c net.Conn) {
	select {
	case l.conns <- c:
	case <-l.done:
		_ = c.Close()
	}
}

// A replayedConn yields first what a direct reader has read.
type replayedConn struct {
	net.Conn
	first []byte
}

func (c *replayedConn) Read(p []byte) (int, error) {
	if len(c.first) > 0 {
		n := copy(p, c.first)
		if c.first = c.first[n:]; len(c.first) == 0 {
			c.first = nil
		}
		return n, nil
	}
	return c.Conn.Read(p)
}
