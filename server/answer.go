package server

import (
	"bufio"
	"net"
	"net/http"
	"time"
)

// An answer is a ResponseWriter that knows what was written.
type answer struct {
	http.ResponseWriter
	status int // 0 until it is written
	bytes  int64
	limit  time.Duration // for the client to take the answer, from its first byte on; 0 means no limit
}

// code returns the status, as net/http writes it when the handler has not.
func (a *answer) code() int {
	if a.status == 0 {
		return http.StatusOK
	}
	return a.status
}

// WriteHeader writes the status.
func (a *answer) WriteHeader(status int) {
	if a.status == 0 || a.status < 200 {
		a.status = status
		a.hurry()
	}
	a.ResponseWriter.WriteHeader(status)
}

// hurry sets the deadline of the answer.
func (a *answer) hurry() {
	if a.limit > 0 {
		// A writer without deadlines, as in a test, has none.
		_ = http.NewResponseController(a.ResponseWriter).SetWriteDeadline(time.Now().Add(a.limit))
	}
}

// Write writes a part of the body.
func (a *answer) Write(p []byte) (int, error) {
	if a.status == 0 {
		a.status = http.StatusOK
		a.hurry()
	}
	n, err := a.ResponseWriter.Write(p)
	a.bytes += int64(n)
	return n, err
}

// Flush sends what was written so far.
func (a *answer) Flush() {
	if a.status == 0 {
		a.status = http.StatusOK
	}
	_ = http.NewResponseController(a.ResponseWriter).Flush() // some writers have no Flush
}

// Hijack hands over the connection, for a WebSocket.
func (a *answer) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	c, rw, err := http.NewResponseController(a.ResponseWriter).Hijack()
	if err == nil && a.status == 0 {
		a.status = http.StatusSwitchingProtocols
	}
	return c, rw, err
}

// Unwrap returns the inner writer, for http.ResponseController.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
