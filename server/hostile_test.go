package server

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/snappy"
)

// eventually waits until a condition holds.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for begun := time.Now(); !holds(); time.Sleep(time.Millisecond) {
		if time.Since(begun) > time.Minute {
			t.Fatalf("not within a minute: %s", what)
		}
	}
}

// hurried are limits for tests of slow clients.
func hurried() Options {
	return Options{Conns: ConnLimits{Header: 50 * time.Millisecond, Idle: 50 * time.Millisecond, Body: 50 * time.Millisecond, BodyRate: 1 << 30}}
}

// closes reports that the server ends the connection, and returns what it had said.
func (c *rawClient) closes(t testing.TB) string {
	t.Helper()
	if err := c.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(c.r)
	if ne, ok := errors.AsType[net.Error](err); ok && ne.Timeout() {
		t.Fatal("the connection is still open")
	}
	return string(text)
}

// Slow clients, and those who only connect, hold neither connections nor goroutines.
func TestSlowClients(t *testing.T) {
	s := newServer(t, hurried())
	addr := listen(t, s)
	patient := newServer(t, Options{Conns: ConnLimits{Body: 50 * time.Millisecond, BodyRate: 1 << 30}}) // with a test that is slow to begin
	patientAddr := listen(t, patient)
	before := runtime.NumGoroutine()
	for _, sent := range []string{"", "P", "POST /loki/api/v1/push HTTP/1.1\r\nHost: 127", "GET /metrics HTTP/1.1\r\nHo", "\r\n\r\n"} {
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				c := dial(t, addr)
				_, _ = io.WriteString(c, sent) // it may be closed by then
				c.closes(t)
			})
		}
		all.Wait()
	}
	for range 5 {
		c := dial(t, patientAddr)
		io.WriteString(c, pushRequest("application/json", "", make([]byte, 10_000))[:5000])
		if text := c.closes(t); !strings.HasPrefix(text, "HTTP/1.1 408 ") {
			t.Errorf("%q", text)
		}
	}
	eventually(t, "no connection is open", func() bool { return s.conns.open.Load()+patient.conns.open.Load() == 0 })
	eventually(t, "goroutines have ended", func() bool { return runtime.NumGoroutine() <= before+3 })
	for _, s := range []*Server{s, patient} {
		if free := s.pusher.memory.Free(); free != s.pusher.o.Memory {
			t.Error(s.pusher.o.Memory-free, "bytes of memory are not given back")
		}
	}
}

// A body that says it is large takes memory only as it comes.
func TestAnnouncedBodies(t *testing.T) {
	s := newServer(t, Options{Push: PushLimits{Body: 1 << 20, Decompressed: 1 << 20, Memory: 1, Entries: 1000}})
	addr := listen(t, s)
	head, _, _ := strings.Cut(pushRequest("application/json", "", make([]byte, 1<<20)), "\x00")
	for range 64 {
		c := dial(t, addr)
		if _, err := io.WriteString(c, head+"{"); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "all are being read", func() bool { return s.calls.count() == 64 })
	if res, text := dial(t, addr).do(t, pushRequest("application/json", "", jsonPush(`{"a":"1"}`, 1, "x"))); res.StatusCode != 204 {
		t.Error(res.StatusCode, text)
	}
}

// A bomb is refused before it goes off.
func TestBombs(t *testing.T) {
	s := newServer(t, Options{Push: PushLimits{Body: 4 << 20, Decompressed: 8 << 20}})
	addr := listen(t, s)
	var zip bytes.Buffer
	w := gzip.NewWriter(&zip)
	for range 64 {
		w.Write(make([]byte, 1<<20))
	}
	w.Close()
	twice := gzipped(zip.Bytes())
	for _, c := range []struct {
		name, contentType, encoding string
		body                        []byte
		want                        int
	}{
		{"gzip", "application/json", "gzip", zip.Bytes(), 413},
		{"gzip in gzip", "application/json", "gzip", twice, 400},
		{"snappy, declared", "", "", append(binary.AppendUvarint(nil, 4<<30-1), 0), 413},
		{"snappy, declared and within the limit", "", "", append(binary.AppendUvarint(nil, 8<<20), 0), 400},
		{"snappy, true", "", "", snappy.Encode(nil, make([]byte, 9<<20)), 413},
		{"snappy of zeros", "", "", snappy.Encode(nil, make([]byte, 7<<20)), 400},
		{"too large", "application/json", "", make([]byte, 4<<20+1), 413},
	} {
		t.Run(c.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			conn := dial(t, addr)
			go io.WriteString(conn, pushRequest(c.contentType, c.encoding, c.body)) // it may be refused before its end
			res, text := conn.answer(t)
			runtime.ReadMemStats(&after)
			if res.StatusCode != c.want {
				t.Errorf("%d %s, want %d", res.StatusCode, text, c.want)
			}
			if took := after.TotalAlloc - before.TotalAlloc; took > 64<<20 {
				t.Errorf("%d bytes were allocated", took)
			}
		})
	}
}

// More clients than there are places wait for theirs.
func TestConnections(t *testing.T) {
	s := newServer(t, Options{Conns: ConnLimits{Max: 4}})
	addr := listen(t, s)
	var first []*rawClient
	for i := range 4 {
		c := dial(t, addr)
		if res, text := c.do(t, pushRequest("application/json", "", jsonPush(`{"a":"1"}`, int64(i), "x"))); res.StatusCode != 204 {
			t.Fatal(res.StatusCode, text)
		}
		first = append(first, c)
	}
	late := dial(t, addr)
	answered := make(chan int)
	go func() {
		res, _ := late.do(t, pushRequest("application/json", "", jsonPush(`{"a":"1"}`, 9, "x")))
		answered <- res.StatusCode
	}()
	if n := s.conns.open.Load(); n != 4 {
		t.Error(n, "connections")
	}
	first[0].Close()
	if status := <-answered; status != 204 {
		t.Error(status)
	}
}

// Pushes that find no memory wait, and are told to come again.
func TestNoMemory(t *testing.T) {
	s := newServer(t, Options{Push: PushLimits{Body: 1 << 10, Decompressed: 1 << 10, Wait: 20 * time.Millisecond}})
	addr := listen(t, s)
	if _, err := s.pusher.memory.Acquire(t.Context(), s.pusher.o.Memory); err != nil {
		t.Fatal(err)
	}
	request := pushRequest("application/json", "", jsonPush(`{"a":"1"}`, 1, "x"))
	c := dial(t, addr)
	if res, text := c.do(t, request); res.StatusCode != 429 || res.Header.Get("Retry-After") != "1" {
		t.Error(res.StatusCode, res.Header, text)
	}
	s.pusher.memory.Release(s.pusher.o.Memory)
	if res, text := c.do(t, request); res.StatusCode != 204 {
		t.Error(res.StatusCode, text)
	}
}

// A store that takes nothing is the server's fault, so that clients send again.
func TestClosedStore(t *testing.T) {
	s := newServer(t, Options{})
	if err := s.store.Close(); err != nil {
		t.Fatal(err)
	}
	res, text := dial(t, listen(t, s)).do(t, pushRequest("application/json", "", jsonPush(`{"a":"1"}`, 1, "x")))
	if res.StatusCode != 503 || res.Header.Get("Retry-After") == "" {
		t.Error(res.StatusCode, text)
	}
}

// What is no plain HTTP/1.1 goes to net/http, which refuses what is wrong.
func TestOddRequests(t *testing.T) {
	s := newServer(t, Options{})
	addr := listen(t, s)
	const post = "POST /loki/api/v1/push HTTP/1.1\r\n"
	const body = `{"streams":[{"stream":{"a":"1"},"values":[["1","x"]]}]}`
	length := fmt.Sprintf("Content-Length: %d\r\n", len(body))
	const typed = "Host: 127.0.0.1\r\nContent-Type: application/json\r\n"
	for name, c := range map[string]struct {
		request string
		want    string
	}{
		"chunked":             {post + typed + fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(body), body), "204"},
		"expects":             {post + typed + length + "Expect: 100-continue\r\n\r\n" + body, "100"},
		"HTTP/1.0":            {strings.Replace(post, "1.1", "1.0", 1) + typed + length + "\r\n" + body, "204"},
		"closes":              {post + typed + length + "Connection: close\r\n\r\n" + body, "204"},
		"two lengths":         {post + typed + length + "Content-Length: 1\r\n\r\n" + body, "400"},
		"length and chunked":  {post + typed + length + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400"},
		"a blank in a name":   {post + typed + "X y: 1\r\n" + length + "\r\n" + body, "400"},
		"a blank behind":      {post + typed + "Content-Length : 5\r\n\r\n" + body, "400"},
		"no host":             {post + "Content-Type: application/json\r\n" + length + "\r\n" + body, "400"},
		"two hosts":           {post + typed + "Host: x\r\n" + length + "\r\n" + body, "400"},
		"a foreign host":      {post + "Host: evil.example\r\n" + length + "\r\n" + body, "403"},
		"a foreign origin":    {post + typed + "Origin: http://evil.example\r\n" + length + "\r\n" + body, "403"},
		"a page":              {post + typed + "Sec-Fetch-Site: cross-site\r\n" + length + "\r\n" + body, "403"},
		"no length":           {post + typed + "\r\n", "400"},
		"a sign":              {post + typed + "Content-Length: +5\r\n\r\nabcde", "400"},
		"headers that fold":   {post + typed + length + "X-A: b\r\n c\r\n\r\n" + body, "204"},
		"many headers":        {post + typed + strings.Repeat("X-A: "+strings.Repeat("b", 100)+"\r\n", 60) + length + "\r\n" + body, "204"},
		"too many headers":    {post + typed + strings.Repeat("X-A: "+strings.Repeat("b", 100)+"\r\n", 900) + length + "\r\n" + body, "431"},
		"lines end with LF":   {strings.ReplaceAll(post+typed+length+"\r\n", "\r\n", "\n") + body, "204"},
		"LF after the first":  {post + strings.ReplaceAll(typed+length+"\r\n", "\r\n", "\n") + body, "204"},
		"a path with a query": {strings.Replace(post, "push", "push?x=1", 1) + typed + length + "\r\n" + body, "204"},
	} {
		t.Run(name, func(t *testing.T) {
			conn := dial(t, addr)
			go io.WriteString(conn, c.request)
			line, err := conn.r.ReadString('\n')
			if err != nil || len(line) < 12 || line[9:12] != c.want {
				t.Errorf("%q, %v; want %s", line, err, c.want)
			}
		})
	}
}

// Shutdown answers what is under way, and ends within its time whatever clients do.
func TestShutdown(t *testing.T) {
	s := newServer(t, Options{Push: PushLimits{Wait: time.Hour}})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	if _, err := s.pusher.memory.Acquire(t.Context(), s.pusher.o.Memory); err != nil {
		t.Fatal(err)
	}
	idle, waiting, slow := dial(t, l.Addr().String()), dial(t, l.Addr().String()), dial(t, l.Addr().String())
	answered := make(chan int)
	go func() {
		res, _ := waiting.do(t, pushRequest("application/json", "", jsonPush(`{"a":"1"}`, 1, "x")))
		answered <- res.StatusCode
	}()
	eventually(t, "a push waits for memory", func() bool { return s.pusher.memory.Waiting() == 1 })
	io.WriteString(slow, "POST /loki")
	ended := make(chan error)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { ended <- s.Shutdown(ctx) }()
	idle.closes(t)
	s.pusher.memory.Release(s.pusher.o.Memory)
	if status := <-answered; status != 204 {
		t.Error(status)
	}
	waiting.closes(t)
	cancel() // its time is over, and the slow client is still there
	<-ended
	slow.closes(t)
	if err := <-served; err != nil {
		t.Error(err)
	}
	if _, err := net.Dial("tcp", l.Addr().String()); err == nil {
		t.Error("the server still listens")
	}
	if got := stored(t, s, ""); len(got) != 1 {
		t.Error(got)
	}
}

// FuzzHead: what the direct reader takes has the meaning that net/http gives it.
func FuzzHead(f *testing.F) {
	f.Add("Host: a\r\nContent-Length: 5\r\nContent-Type: x\r\n")
	f.Add("Host: a\r\nContent-Length: 5\r\nX-Scope-OrgID:  t \r\nConnection: keep-alive\r\n")
	f.Fuzz(checkHead)
}
