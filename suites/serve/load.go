package serve

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/stele-go/stele/internal/measure/procstat"
	"github.com/stele-go/stele/latency"
)

// A Load is clients that push.
type Load struct {
	Addr  string
	Conns int
	// Count is how many requests of Requests are sent, from its next one on; 0 means all
	// that are left.
	Count int
	// Rate is how many requests are due a second, over all connections; 0 is a closed
	// loop, in which a client sends a request when the last was answered. The latency of a
	// request that is due counts from that time on, however late it is sent.
	Rate float64
}

// Figures are those of a Load.
type Figures struct {
	Requests int64
	Took     time.Duration
	CPU      time.Duration // of this process, which is the clients
	Latency  latency.Snapshot
}

// PerSecond returns the requests a second.
func (f *Figures) PerSecond() float64 { return float64(f.Requests) / f.Took.Seconds() }

// Run pushes requests, and returns when all are answered. A status other than 204 is an
// error.
func (l Load) Run(ctx context.Context, requests *Requests) (f Figures, err error) {
	most := int64(requests.Count())
	if l.Count > 0 {
		most = min(most, requests.next.Load()+int64(l.Count))
	}
	clients := make([]*Client, l.Conns)
	for i := range clients {
		if clients[i], err = Dial(ctx, l.Addr); err != nil {
			return f, err
		}
		defer clients[i].Close()
	}
	var took latency.Histogram
	var done atomic.Int64
	due := ticks{rate: l.Rate}
	errs := make([]error, l.Conns)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	before, err := procstat.SelfUsage()
	if err != nil {
		return f, err
	}
	begun := time.Now()
	var all sync.WaitGroup
	for i, c := range clients {
		all.Go(func() {
			r := requests.reader()
			if l.Rate > 0 {
				r.run = 1
			}
			for ctx.Err() == nil {
				request, err := r.take(most)
				if request == nil || err != nil {
					errs[i] = err
					return
				}
				from := due.wait()
				if errs[i] = c.Push(request); errs[i] != nil {
					cancel()
					return
				}
				took.Record(time.Since(from))
				done.Add(1)
			}
		})
	}
	all.Wait()
	ended := time.Since(begun)
	requests.next.Store(most)
	after, err := procstat.SelfUsage()
	cpu := after.User + after.System - before.User - before.System
	return Figures{done.Load(), ended, cpu, took.Snapshot()}, errors.Join(errors.Join(errs...), context.Cause(ctx), err)
}

// A Client is a connection of a client that takes little time of its own.
type Client struct {
	conn    net.Conn
	raw     syscall.RawConn
	buf     [8 << 10]byte
	request []byte // not sent yet
	err     error  // of sending it
	step    func(uintptr) bool
}

// Dial connects to a server.
func Dial(ctx context.Context, addr string) (*Client, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	raw, err := conn.(syscall.Conn).SyscallConn()
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	c := &Client{conn: conn, raw: raw}
	c.step = c.sendAndWait
	return c, nil
}

// Close closes the connection.
func (c *Client) Close() error { return c.conn.Close() }

var kept = []byte("HTTP/1.1 204 ")

// Push sends a request and waits for its answer, which must be 204.
func (c *Client) Push(request []byte) error {
	c.request, c.err = request, nil
	if err := c.raw.Read(c.step); err != nil || c.err != nil {
		return cmp.Or(c.err, err)
	}
	for n := 0; ; {
		k, err := c.conn.Read(c.buf[n:])
		n += k
		if i := bytes.Index(c.buf[:n], []byte("\r\n\r\n")); i >= 0 {
			if bytes.HasPrefix(c.buf[:n], kept) && i+4 == n {
				return nil
			}
			return fmt.Errorf("serve: a push was answered with %.300q", c.buf[:n])
		}
		if err != nil {
			return fmt.Errorf("serve: no answer to a push: %w", err)
		}
	}
}

// sendAndWait sends the request, and reports true when it is called again: then there is
// something to read. net.Conn.Read would try to read first, and the answer is never there yet.
func (c *Client) sendAndWait(uintptr) bool {
	if c.request == nil {
		return true
	}
	_, c.err = c.conn.Write(c.request)
	c.request = nil
	return c.err != nil
}
