package server

import (
	"bytes"
	"net"
	"syscall"
)

// A readyReader serves the small pushes of a connection whose client sends one when the last was
// answered. net.Conn.Read reads first, and waits when nothing is there, which costs a system
// call for each push; a readyReader waits first. It may, as it looks for all that comes within one
// call of syscall.RawConn.Read: in that, what has come since the last wait ends the next one,
// and a read that has not filled the buffer has taken all there was.
//
// A client that closes its side right behind its last push, and not after the answer, may be
// noticed only by TCP's keep-alive, or by ConnLimits.Idle.
type readyReader struct {
	d    *directConn
	raw  syscall.RawConn // nil if the connection has none
	in   func(bytes int)
	seen int // calls of serve since one has read
	then outcome
	call func(fd uintptr) (done bool) // of read
}

// readyAfter is how many pushes of a connection are served before a readyReader serves it.
const readyAfter = 16

func (r *readyReader) init(d *directConn) {
	c, ok := d.conn.(*countedConn)
	if !ok {
		return
	}
	tcp, ok := c.Conn.(*net.TCPConn) // not one that wraps it, which may read otherwise
	if !ok {
		return
	}
	if raw, err := tcp.SyscallConn(); err == nil {
		r.d, r.raw, r.call = d, raw, r.read
		r.in = func(bytes int) { c.in.Add(int64(bytes)) }
	}
}

// serve serves pushes until there is one that is not small, or has not come whole. Then it
// returns goesOn, and what was read is in the buffer.
func (r *readyReader) serve() outcome {
	if r.raw == nil {
		return goesOn
	}
	if r.seen++; r.seen < readyAfter {
		return goesOn
	}
	r.then, r.seen = goesOn, 0
	if !r.d.expect() {
		return isOver
	}
	err := r.raw.Read(r.call)
	r.d.idle.Store(false)
	if err != nil && r.then == goesOn {
		return isOver
	}
	return r.then
}

// read is called at first, and whenever there may be something to read. It must not read or
// wait by the connection, whose lock of readers is held.
func (r *readyReader) read(fd uintptr) (done bool) {
	d := r.d
	d.idle.Store(false)
	for {
		k, err := syscall.Read(int(fd), d.buf)
		switch {
		case err == syscall.EINTR:
			continue
		case err == syscall.EAGAIN:
			return r.wait()
		case err != nil || k == 0:
			r.then = isOver
			return true
		}
		r.in(k)
		for d.from, d.to = 0, k; d.from < d.to; {
			n := r.whole()
			if n == 0 {
				return true
			}
			if r.then = d.serveHead(n); r.then != goesOn {
				return true
			}
		}
		if k < len(d.buf) {
			return r.wait()
		}
	}
}

// wait makes the caller wait, unless the server is shutting down.
func (r *readyReader) wait() (done bool) {
	r.d.from, r.d.to = 0, 0
	if !r.d.expect() {
		r.then = isOver
		return true
	}
	return false
}

// whole parses the headers of a push that is in the buffer with all of its body, and returns
// their length, 0 if there is no such push.
func (r *readyReader) whole() int {
	d := r.d
	p := d.buf[d.from:d.to]
	n := bytes.Index(p, []byte("\r\n\r\n")) + 4
	if n < 4 || !d.head.read(p[:n]) || d.head.length > int64(len(p)-n) {
		return 0
	}
	return n
}
