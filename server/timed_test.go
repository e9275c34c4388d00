package server

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// A pipeListener yields connections without any buffer: what one side writes, the other
// has to read at once.
type pipeListener struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *pipeListener) Addr() net.Addr { return &net.TCPAddr{} }

// listenPipe serves pipes until the test ends; connect makes one.
func listenPipe(t testing.TB, s *Server) (connect func() net.Conn) {
	t.Helper()
	l := &pipeListener{conns: make(chan net.Conn), closed: make(chan struct{})}
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := s.Shutdown(ctx); err != nil {
			t.Error(err)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return func() net.Conn {
		client, server := net.Pipe()
		t.Cleanup(func() { client.Close() })
		l.conns <- server
		return client
	}
}

// A body that stalls ends the connection, whatever the answer is.
func TestStalledBodies(t *testing.T) {
	s := newServer(t, Options{Conns: ConnLimits{Body: 20 * time.Millisecond, BodyRate: 1 << 40}})
	addr := listen(t, s)
	const form = "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 1000\r\n\r\nquery="
	for request, want := range map[string]string{
		"POST /loki/api/v1/query HTTP/1.1\r\nHost: 127.0.0.1\r\n" + form:                                       "408",
		"POST /loki/api/v1/series HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nmatch": "408", // no form, but a body
		"POST /loki/api/v1/query HTTP/1.1\r\nHost: evil.example\r\n" + form:                                    "403",
		"POST /nothing HTTP/1.1\r\nHost: 127.0.0.1\r\n" + form:                                                 "404",
		"POST /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n" + form:                                                 "405",
		"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n" + form:                                                  "200",
		"POST /api/prom/push HTTP/1.1\r\nHost: 127.0.0.1\r\n" + form:                                           "408",
	} {
		t.Run(strings.Fields(request)[1]+want, func(t *testing.T) {
			c := dial(t, addr)
			if _, err := io.WriteString(c, request); err != nil {
				t.Fatal(err)
			}
			text := c.closes(t)
			if len(text) < 12 || want != "" && text[9:12] != want {
				t.Errorf("%.100q, want %s", text, want)
			}
		})
	}
	eventually(t, "no connection is open", func() bool { return s.conns.open.Load() == 0 })
}

// A client that does not read its answer loses the connection, also if that is a refusal.
func TestAnswersThatNobodyReads(t *testing.T) {
	s := newDataServer(t, Options{Conns: ConnLimits{Write: 20 * time.Millisecond}})
	connect := listenPipe(t, s)
	get := func(path string) string { return "GET " + path + " HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" }
	for _, request := range []string{
		get("/metrics"), get("/nothing"), get("/loki/api/v1/push"), get("/loki/api/v1/query?query={"), get("/ready"), get("/loki/api/v1/labels"),
		get("/loki/api/v1/query_range?" + values(append([]string{"query", `{app="web"}`}, data...)...)),
		get("/stele/api/v1/export?" + values(append([]string{"query", `{app="web"}`}, data...)...)),
		"GET /ready HTTP/1.1\r\nHost: evil.example\r\n\r\n",
		pushRequest("application/json", "", jsonPush(`{"a":"1"}`, 1, "x")), pushRequest("application/json", "", []byte("{")),
	} {
		t.Run(strings.Fields(request)[1], func(t *testing.T) {
			c := connect()
			if _, err := io.WriteString(c, request); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the connection is closed", func() bool { return s.conns.open.Load() == 0 })
		})
	}
}

// A lockedBuffer is a buffer for the log of a server.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// A panic ends its connection, and is logged, wherever the request is read.
func TestPanics(t *testing.T) {
	var log lockedBuffer
	s := newServer(t, Options{Logger: slog.New(slog.NewTextHandler(&log, nil)), Config: func() []byte { panic("no settings") }})
	addr := listen(t, s)
	store := s.pusher.store
	s.pusher.store = nil
	for request, want := range map[string]string{
		pushRequest("application/json", "", jsonPush(`{"a":"1"}`, 1, "x")): "a push panicked",
		"GET /config HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n":                  "no settings",
	} {
		c := dial(t, addr)
		if _, err := io.WriteString(c, request); err != nil {
			t.Fatal(err)
		}
		c.closes(t)
		eventually(t, want, func() bool { return strings.Contains(log.String(), want) })
	}
	s.pusher.store = store
	if res, text := dial(t, addr).do(t, pushRequest("application/json", "", jsonPush(`{"a":"1"}`, 1, "x"))); res.StatusCode != http.StatusNoContent {
		t.Error(res.StatusCode, text)
	}
	if n, free := s.calls.count(), s.pusher.memory.Free(); n != 0 || free != s.pusher.o.Memory {
		t.Errorf("%d calls, and %d bytes of memory are in use", n, s.pusher.o.Memory-free)
	}
}

func TestFailureLog(t *testing.T) {
	l := failureLog{logger: slog.New(slog.DiscardHandler)}
	now := time.Unix(1e9, 0)
	for i := range 100 {
		if ok, _ := l.admit(503, now); ok != (i < failuresEach) {
			t.Fatalf("answer %d: %v", i, ok)
		}
	}
	if ok, left := l.admit(507, now); !ok || left != 0 {
		t.Error("another status is not logged")
	}
	if ok, left := l.admit(503, now.Add(failurePeriod)); !ok || left != 100-failuresEach {
		t.Errorf("in the next period: %v, %d were not logged", ok, left)
	}
	l.admit(1000, now) // what no server answers
}

// What no endpoint takes is counted, under one name.
func TestUnknownPathsAreCounted(t *testing.T) {
	s := newServer(t, Options{})
	get(s, "GET", "/a")
	get(s, "DELETE", "/metrics")
	text := get(s, "GET", "/metrics").Body.String()
	if want := `stele_http_requests_total{path="other",status="4xx"} 2` + "\n"; !strings.Contains(text, want) {
		t.Errorf("%q is not in the metrics", want)
	}
}
