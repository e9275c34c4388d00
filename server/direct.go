package server

import (
	"bytes"
	"net"
	"net/http"
	"runtime/debug"
	"sync/atomic"
	"time"
)

// directSize is the size of the buffer of a connection: for headers, and for small bodies.
const directSize = 4 << 10

// A directConn reads the pushes of a connection: HTTP/1.1, POST to the path of pushes with a
// Content-Length, and headers in the plainest form. One goroutine reads, appends and
// answers. Whatever else comes is for net/http, which gets all bytes of the request:
// so nothing has to be understood here that is rare.
type directConn struct {
	s        *Server
	conn     net.Conn
	buf      []byte
	from, to int       // what has been read and not used
	until    time.Time // the deadline of reads, zero if there is none
	writes   time.Time // that of writes
	answered time.Time // when the last push was, zero before
	idle     atomic.Bool
	head     knownHead
	push     push
	body     directBody
	out      []byte
	lingers  bool // the client may not have read the last answer
	ready    readyReader
	// The strings of the last request: most clients send the same ones again.
	host, tenant, contentType, encoding, source string
}

func newDirectConn(s *Server, conn net.Conn) *directConn {
	d := &directConn{s: s, conn: conn, buf: make([]byte, directSize)}
	d.ready.init(d)
	return d
}

// An outcome says how a connection goes on.
type outcome int

const (
	goesOn outcome = iota
	isOver
	isForHTTP // net/http gets it
)

// rest returns what was read and not used.
func (d *directConn) rest() []byte { return bytes.Clone(d.buf[d.from:d.to]) }

// wake ends the wait for a request during a shutdown.
func (d *directConn) wake() {
	if d.idle.Load() {
		_ = d.conn.SetReadDeadline(time.Unix(1, 0))
	}
}

// serve answers pushes. It reports whether net/http is to go on; else the connection is closed.
func (d *directConn) serve() (hand bool) {
	defer func() {
		if p := recover(); p != nil { // as net/http does: it ends the connection, and nothing else
			d.s.failures.log("a push panicked", http.StatusInternalServerError, "panic", p, "from", d.conn.RemoteAddr(), "stack", string(debug.Stack()))
			d.s.metrics.pushes.add(http.StatusInternalServerError, 0)
		}
		if !hand {
			_ = d.conn.Close()
			return
		}
		_ = d.conn.SetDeadline(time.Time{}) // net/http has its own
	}()
	then := goesOn
	for then == goesOn {
		if then = d.serveOne(); then == goesOn && d.from == d.to {
			then = d.ready.serve()
		}
	}
	if d.lingers {
		d.linger()
	}
	return then == isForHTTP
}

// serveOne waits for a request, reads it and answers it.
func (d *directConn) serveOne() outcome {
	n, ok := d.readHead()
	if !ok {
		return isOver
	}
	if n == 0 || !d.head.read(d.buf[d.from:d.from+n]) {
		return isForHTTP
	}
	return d.serveHead(n)
}

// serveHead answers the request whose headers, of n bytes, were parsed.
func (d *directConn) serveHead(n int) outcome {
	if string(d.head.host) != d.host {
		host := string(d.head.host)
		if !plainHost(d.head.host) || d.s.guard.check(host, "", "") != nil {
			return isForHTTP // net/http says so
		}
		d.host = host
	}
	d.from += n
	if !d.answer() {
		return isOver
	}
	return goesOn
}

// readHead reads the headers of the next request and returns their length, 0 if they are
// too long for a direct reader. It returns false at the end of the connection.
func (d *directConn) readHead() (n int, ok bool) {
	if d.from == d.to {
		d.from, d.to = 0, 0
		if !d.await() {
			return 0, false
		}
	}
	slow := false
	for seen := d.from; ; {
		if i := bytes.Index(d.buf[max(d.from, seen-3):d.to], []byte("\r\n\r\n")); i >= 0 {
			return max(d.from, seen-3) + i + 4 - d.from, true
		}
		seen = d.to
		if d.from > 0 {
			seen -= d.from
			d.from, d.to = 0, copy(d.buf, d.buf[d.from:d.to])
		}
		if d.to == len(d.buf) || !mayBePush(d.buf[:d.to]) || hasBareLF(d.buf[:d.to]) {
			return 0, true
		}
		if !slow { // from now on the client is in a hurry
			slow = true
			d.setDeadline(time.Now().Add(d.s.o.Conns.Header))
		}
		k, err := d.conn.Read(d.buf[d.to:])
		if d.to += k; err != nil && k == 0 {
			return 0, false
		}
	}
}

// await waits for the first bytes of a request.
func (d *directConn) await() bool {
	defer d.idle.Store(false)
	if !d.expect() {
		return false
	}
	k, err := d.conn.Read(d.buf)
	d.to = k
	return k > 0 || err == nil
}

// expect makes the connection idle, with the deadline of that. It returns false during a
// shutdown.
func (d *directConn) expect() bool {
	// A deadline is set anew only when it has lost a part of its time: each costs.
	now := d.answered
	if now.IsZero() {
		now = time.Now()
	}
	if idle := d.s.o.Conns.Idle; d.until.IsZero() || d.until.Sub(now) < idle-idle/8 || d.until.Sub(now) > idle {
		d.setDeadline(now.Add(idle))
	}
	d.idle.Store(true)
	return d.s.stopping.Err() == nil
}

func (d *directConn) setDeadline(t time.Time) {
	d.until = t
	_ = d.conn.SetReadDeadline(t)
}
