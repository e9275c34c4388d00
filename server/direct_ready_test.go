package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// A pinger sends pushes of one line each, and knows what the store must have.
type pinger struct {
	*rawClient
	at   int64
	want []string
}

// request returns the next push, of a line with so many bytes more.
func (p *pinger) request(more int) string {
	p.at++
	line := fmt.Sprint("line ", p.at, strings.Repeat("x", more))
	p.want = append(p.want, fmt.Sprintf("{a=%q} %d %s {}", "1", p.at, line))
	return pushRequest("application/json", "", jsonPush(`{"a":"1"}`, p.at, line))
}

// push sends a push, in these parts, and reads the answer.
func (p *pinger) push(t *testing.T, more int, cuts ...int) {
	t.Helper()
	request := p.request(more)
	for _, cut := range cuts {
		if _, err := io.WriteString(p, request[:cut]); err != nil {
			t.Fatal(err)
		}
		request = request[cut:]
		time.Sleep(time.Millisecond) // so that it mostly comes by itself; either way is right
	}
	p.is204(t, request)
}

func (p *pinger) is204(t *testing.T, request string) {
	t.Helper()
	if err := p.SetDeadline(time.Now().Add(time.Minute)); err != nil { // each waits for the disk
		t.Fatal(err)
	}
	if res, body := p.do(t, request); res.StatusCode != http.StatusNoContent {
		t.Fatal(res.Status, body)
	}
}

// newPinger returns a client whose pushes have come one by one for a while.
func newPinger(t *testing.T, addr string, at int64) *pinger {
	p := &pinger{rawClient: dial(t, addr), at: at}
	for range 40 {
		p.push(t, 0)
	}
	return p
}

// A connection on which pushes came one by one takes all others too: cut, in numbers, large,
// and requests for net/http.
func TestPingPong(t *testing.T) {
	s := newServer(t, Options{})
	addr := listen(t, s)
	p := newPinger(t, addr, 1e18)
	for range 3 {
		p.push(t, 0, 10)  // in its first line
		p.push(t, 0, 90)  // in its headers
		p.push(t, 0, 170) // in its body
		for range 40 {
			p.push(t, 0)
		}
		p.push(t, 100_000)
		p.push(t, directSize-300) // nearly as large as the buffer, or larger
		for n := range 300 {
			p.push(t, directSize-400+n)
		}
		several := ""
		for range 100 {
			several += p.request(0)
		}
		p.is204(t, several)
		for range 99 {
			if res, body := p.answer(t); res.StatusCode != http.StatusNoContent {
				t.Fatal(res.Status, body)
			}
		}
		for range 40 {
			p.push(t, 0)
		}
	}
	if res, body := p.do(t, pushRequest("application/json", "", []byte("no JSON"))); res.StatusCode != http.StatusBadRequest {
		t.Fatal(res.Status, body)
	}
	for range 40 {
		p.push(t, 0)
	}
	if res, _ := p.do(t, "GET /ready HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"); res.StatusCode != http.StatusOK {
		t.Fatal(res.Status)
	}
	p.push(t, 0)
	checkStored(t, s, p.want)
}

func checkStored(t *testing.T, s *Server, want []string) {
	t.Helper()
	got := stored(t, s, "")
	if len(got) != len(want) {
		t.Fatalf("%d lines are stored, want %d", len(got), len(want))
	}
	for i := range got {
		if got[i] != want[i] {
			t.Fatalf("line %d is %.200q, want %.200q", i, got[i], want[i])
		}
	}
}

// The server sees that such a client leaves, in each way.
func TestPingPongEnds(t *testing.T) {
	s := newServer(t, Options{})
	addr := listen(t, s)
	leave := []func(p *pinger){
		func(p *pinger) { _ = p.Close() },
		func(p *pinger) { _ = p.Conn.(*net.TCPConn).CloseWrite() },
		func(p *pinger) { _ = p.Conn.(*net.TCPConn).SetLinger(0); _ = p.Close() },
		func(p *pinger) { _, _ = io.WriteString(p, p.request(0)); _ = p.Close() },
		func(p *pinger) { _, _ = io.WriteString(p, p.request(0)[:100]); _ = p.Close() },
	}
	for i, f := range leave {
		f(newPinger(t, addr, int64(i+1)*1e18))
	}
	for deadline := time.Now().Add(time.Minute); s.conns.open.Load() > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d connections are open", s.conns.open.Load())
		}
	}
}

// A shutdown does not wait for such a client, and one that pushes meanwhile gets an answer.
func TestPingPongShutdown(t *testing.T) {
	s := newServer(t, Options{})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	idle, busy := newPinger(t, l.Addr().String(), 1e18), newPinger(t, l.Addr().String(), 2e18)
	ended := make(chan error, 1)
	go func() {
		for {
			if _, err := io.WriteString(busy, busy.request(0)); err != nil {
				ended <- nil
				return
			}
			res, err := http.ReadResponse(busy.r, nil)
			if err != nil {
				ended <- nil // idle at that moment
				return
			}
			_, _ = io.Copy(io.Discard, res.Body)
			if res.StatusCode != http.StatusNoContent && res.StatusCode != http.StatusServiceUnavailable {
				ended <- fmt.Errorf("answered with %s", res.Status)
				return
			}
		}
	}()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := s.Shutdown(ctx); err != nil {
		t.Error(err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
	if _, err := idle.r.ReadByte(); err != io.EOF {
		t.Errorf("the idle client got %v, want the end", err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// A shutdown whose time is over does not wait for a push of such a client, which waits itself.
func TestPingPongShutdownEnds(t *testing.T) {
	s := newServer(t, Options{Push: PushLimits{Wait: time.Hour}})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	p := newPinger(t, l.Addr().String(), 1e18)
	all := s.pusher.memory.Size()
	if _, err := s.pusher.memory.Acquire(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(p, p.request(0)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the push waits for memory", func() bool { return s.pusher.memory.Waiting() == 1 })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	ended := make(chan error, 1)
	go func() { ended <- s.Shutdown(ctx) }()
	select {
	case err := <-ended:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%v, want that it was cancelled", err)
		}
	case <-time.After(time.Minute):
		t.Error("the shutdown waits for the push")
	}
	s.pusher.memory.Release(all)
	if err := <-served; err != nil {
		t.Error(err)
	}
	eventually(t, "the connection is closed", func() bool { return s.conns.open.Load() == 0 })
}

// A shiftedConn is a TCP connection whose bytes are not those that come.
type shiftedConn struct{ *net.TCPConn }

func (c shiftedConn) Read(p []byte) (int, error) {
	n, err := c.TCPConn.Read(p)
	for i := range p[:max(n, 0)] {
		p[i]--
	}
	return n, err
}

type shiftedListener struct{ net.Listener }

func (l shiftedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return shiftedConn{c.(*net.TCPConn)}, nil
}

// A connection that wraps another one is read through its own Read, always.
func TestPingPongWrapped(t *testing.T) {
	s := newServer(t, Options{})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(shiftedListener{l}) }()
	p := &pinger{rawClient: dial(t, l.Addr().String()), at: 1e18}
	for range 50 {
		request := []byte(p.request(0))
		for i := range request {
			request[i]++
		}
		p.is204(t, string(request))
	}
	checkStored(t, s, p.want)
	if err := s.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// BenchmarkPingPong is pushes of one line on a connection, one after the other.
func BenchmarkPingPong(b *testing.B) {
	s := newServer(b, Options{})
	c := dial(b, listen(b, s))
	b.ReportAllocs()
	at := int64(1e18)
	answer := make([]byte, 1<<10)
	for b.Loop() {
		at++
		if _, err := io.WriteString(c, pushRequest("application/json", "", jsonPush(`{"a":"1"}`, at, "line"))); err != nil {
			b.Fatal(err)
		}
		if n, err := c.Conn.Read(answer); err != nil || !strings.HasPrefix(string(answer[:n]), "HTTP/1.1 204") {
			b.Fatalf("%q, %v", answer[:n], err)
		}
	}
}
