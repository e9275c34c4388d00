package server

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"
)

// answer reads the body of a push, appends it and answers. It reports whether the
// connection may go on.
func (d *directConn) answer() bool {
	begun := time.Now()
	status := http.StatusNoContent
	err := d.begin(begun)
	if err == nil {
		err = d.append()
	}
	whole := d.body.skip() && d.s.stopping.Err() == nil
	d.answered = time.Now()
	if err != nil {
		e := asStatus(err)
		if status = e.status; status >= 500 && e != errStopping {
			d.s.failures.log("push failed", status, "err", err, "from", d.conn.RemoteAddr())
		}
		d.out = appendFailure(d.out[:0], e, !whole)
	} else {
		d.out = d.appendKept(d.out[:0], !whole)
	}
	d.s.pusher.m.direct.Inc()
	d.s.metrics.pushes.add(status, d.answered.Sub(begun))
	// A client that never reads fills the kernel's buffers in the end.
	if limit := d.s.o.Conns.Write; d.writes.Sub(d.answered) < limit {
		d.writes = d.answered.Add(2 * limit)
		_ = d.conn.SetWriteDeadline(d.writes)
	}
	if _, err := d.conn.Write(d.out); err != nil {
		return false
	}
	d.lingers = !whole
	return whole
}

// append appends the push, unless the server is shutting down.
func (d *directConn) append() error {
	if !d.s.calls.enter() {
		return errStopping
	}
	defer d.s.calls.leave()
	return d.s.pusher.serve(&d.push)
}

// begin prepares the push whose headers have been read.
func (d *directConn) begin(now time.Time) (err error) {
	h := &d.head
	d.push = push{length: h.length, begun: now}
	d.push.contentType = same(&d.contentType, h.contentType)
	d.push.encoding = same(&d.encoding, h.encoding)
	d.push.source, d.push.offsetText = same(&d.source, h.source), string(h.offset)
	d.push.keyText = string(h.key)
	tenant := same(&d.tenant, h.tenant)
	d.body = directBody{d: d, left: h.length, begun: time.Time{}}
	switch {
	case d.s.o.Tenants:
		if d.push.tenant = tenant; tenant == "" {
			return errNoTenant
		}
		if err := checkTenant(tenant); err != nil {
			return err
		}
	case h.tenants > 0:
		d.s.ignoreTenant(tenant)
	}
	if h.length > d.s.o.Push.Body {
		return nil // it is refused, and not read
	}
	if small := int(min(h.length, directSize)); int64(small) == h.length {
		return d.readSmall(small)
	}
	d.push.body = &d.body
	return nil
}

// readSmall reads a body of n bytes into the buffer of the connection.
func (d *directConn) readSmall(n int) error {
	if d.from+n > len(d.buf) {
		d.from, d.to = 0, copy(d.buf, d.buf[d.from:d.to])
	}
	for d.to-d.from < n {
		d.body.pace()
		k, err := d.conn.Read(d.buf[d.to:])
		if d.to += k; err != nil && d.to-d.from < n {
			return bodyError(noEOF(err))
		}
		d.push.begun = time.Now()
	}
	d.push.ready = d.buf[d.from : d.from+n : d.from+n]
	d.from += n
	d.body.left = 0
	return nil
}

func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// same returns p as a string: the one in last, if it is the same.
func same(last *string, p []byte) string {
	if string(p) != *last {
		*last = string(p)
	}
	return *last
}

// A directBody reads a body that is larger than the buffer of its connection. It must come
// at ConnLimits.BodyRate.
type directBody struct {
	d     *directConn
	left  int64
	read  int64 // from the connection
	begun time.Time
	next  int64 // the value of read from which another deadline is needed
}

// pace sets the deadline of the next read.
func (b *directBody) pace() {
	if b.read < b.next {
		return
	}
	if b.begun.IsZero() {
		b.begun = time.Now()
	}
	o := &b.d.s.o.Conns
	b.next = b.read + pace
	b.d.setDeadline(b.begun.Add(o.Body + time.Duration(float64(b.next)/float64(o.BodyRate)*float64(time.Second))))
}

// pause takes d, in which nobody could read the body, out of its time.
func (b *directBody) pause(d time.Duration) {
	if !b.begun.IsZero() {
		b.begun, b.next = b.begun.Add(d), b.read
	}
}

func (b *directBody) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, io.EOF
	}
	if int64(len(p)) > b.left {
		p = p[:b.left]
	}
	if d := b.d; d.from < d.to {
		n := copy(p, d.buf[d.from:d.to])
		d.from += n
		b.left -= int64(n)
		return n, nil
	}
	b.pace()
	n, err := b.d.conn.Read(p[:min(len(p), pace)])
	b.left -= int64(n)
	b.read += int64(n)
	return n, err
}

// skip reads what is left of a body, if that is little. It reports whether nothing is left.
func (b *directBody) skip() bool {
	const little = 256 << 10
	if b.left > little {
		return false
	}
	if b.left > 0 {
		if _, err := io.Copy(io.Discard, struct{ io.Reader }{b}); err != nil {
			return false
		}
	}
	return b.left == 0
}

// linger waits a little for the client to read the answer: closing a connection with
// bytes that nobody has read resets it, and the answer may be lost.
func (d *directConn) linger() {
	c, ok := d.conn.(interface{ CloseWrite() error })
	if !ok || c.CloseWrite() != nil {
		return
	}
	_ = d.conn.SetReadDeadline(time.Now().Add(500 * time.Millisecond))
	b := newBuffer(bufferSizes[firstSize])
	defer b.release()
	for {
		if _, err := d.conn.Read(b.p); err != nil {
			return
		}
	}
}

// appendKept appends the answer to a push that is kept.
func (d *directConn) appendKept(b []byte, last bool) []byte {
	b = append(b, "HTTP/1.1 204 No Content\r\nDate: "...)
	b = append(b, d.s.conns.date.at(d.answered)...)
	b = append(b, "\r\n"...)
	if d.push.tells() {
		b = strconv.AppendInt(append(b, keptHeader+": "...), int64(d.push.given.Kept), 10)
		b = strconv.AppendInt(append(b, "\r\n"+knownHeader+": "...), int64(d.push.given.Known), 10)
		b = append(b, "\r\n"...)
	}
	if last {
		b = append(b, "Connection: close\r\n"...)
	}
	return append(b, "\r\n"...)
}

// appendFailure appends the answer with an error.
func appendFailure(b []byte, e *statusError, last bool) []byte {
	b = append(b, "HTTP/1.1 "...)
	b = strconv.AppendInt(b, int64(e.status), 10)
	b = append(append(append(b, ' '), http.StatusText(e.status)...), "\r\nContent-Type: text/plain; charset=utf-8\r\nX-Content-Type-Options: nosniff\r\n"...)
	if e.retry > 0 {
		b = strconv.AppendInt(append(b, "Retry-After: "...), int64(e.retry), 10)
		b = append(b, "\r\n"...)
	}
	if e.refused > 0 {
		b = strconv.AppendInt(append(b, refusedHeader+": "...), int64(e.refused), 10)
		b = append(b, "\r\n"...)
	}
	if last {
		b = append(b, "Connection: close\r\n"...)
	}
	b = strconv.AppendInt(append(b, "Content-Length: "...), int64(len(e.text)+1), 10)
	b = append(append(b, "\r\n\r\n"...), e.text...)
	return append(b, '\n')
}

// A dateText is the text of the header Date, made once a second.
type dateText struct{ last atomic.Pointer[datedText] }

type datedText struct {
	second int64
	text   string
}

// at returns the text at a time, which is about now.
func (t *dateText) at(now time.Time) string {
	d := t.last.Load()
	if d == nil || d.second != now.Unix() {
		d = &datedText{now.Unix(), now.UTC().Format(http.TimeFormat)}
		t.last.Store(d)
	}
	return d.text
}
