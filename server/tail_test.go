package server

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/stele-go/stele/logstore"
)

// dialTail opens a tail, and fails the test unless it is accepted.
func dialTail(t testing.TB, url string, namesAndValues ...string) *websocket.Conn {
	t.Helper()
	c, _, err := websocket.Dial(t.Context(), url+"/loki/api/v1/tail?"+values(namesAndValues...), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.CloseNow() })
	c.SetReadLimit(1 << 22)
	return c
}

type tailMessage struct {
	Streams []struct {
		Stream map[string]string
		Values [][]any
	}
	EncodingFlags  []string
	DroppedEntries []struct{ Labels map[string]string } `json:"dropped_entries"`
}

func readTail(t testing.TB, c *websocket.Conn) (m tailMessage) {
	t.Helper()
	_, text, err := c.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return m
}

// readTailLines reads until there are n lines.
func readTailLines(t testing.TB, c *websocket.Conn, n int) (lines []string) {
	t.Helper()
	for len(lines) < n {
		for _, s := range readTail(t, c).Streams {
			for _, v := range s.Values {
				lines = append(lines, v[1].(string))
			}
		}
	}
	return lines
}

func appendLine(t testing.TB, s *Server, at time.Time, app, line string) {
	t.Helper()
	err := s.store.Append(t.Context(), logstore.Batch{{
		Labels:  logstore.MustLabels("app", app),
		Entries: []logstore.Entry{{Time: at.UnixNano(), Line: []byte(line), Metadata: logstore.MustLabels("trace_id", "t1")}},
	}})
	if err != nil {
		t.Fatal(err)
	}
}

// A tail has the newest lines first, and then each line once, in the order of their
// acknowledgement.
func TestTail(t *testing.T) {
	s := newServer(t, Options{})
	web := httptest.NewServer(s)
	defer web.Close()
	now := time.Now()
	for i := range 5 {
		appendLine(t, s, now.Add(time.Duration(i-10)*time.Second), "api", fmt.Sprint("old ", i))
	}
	appendLine(t, s, now.Add(-2*time.Hour), "api", "older than an hour")
	c := dialTail(t, web.URL, "query", `{app="api"}`, "limit", "3")
	if got := strings.Join(readTailLines(t, c, 3), ", "); got != "old 2, old 3, old 4" {
		t.Errorf("history: %s", got)
	}
	for i := range 200 {
		appendLine(t, s, now.Add(time.Duration(i)*time.Millisecond), "api", fmt.Sprint("new ", i))
		appendLine(t, s, now, "other", "not asked for")
	}
	for i, line := range readTailLines(t, c, 200) {
		if line != fmt.Sprint("new ", i) {
			t.Fatalf("line %d is %q", i, line)
		}
	}
	if err := c.Close(websocket.StatusNormalClosure, ""); err != nil {
		t.Error(err)
	}
	await(t, "no tail is left", func() bool { return s.reads.tails.Load() == 0 && s.reads.tailRoom.Free() == tailMemory })
}

// await waits until ok returns true.
func await(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited a minute: %s", what)
		}
	}
}

func TestTailStagesAndCategories(t *testing.T) {
	s := newServer(t, Options{})
	web := httptest.NewServer(s)
	defer web.Close()
	c, _, err := websocket.Dial(t.Context(), web.URL+"/loki/api/v1/tail?"+values("query", `{app="api"} | logfmt | n > 1`), &websocket.DialOptions{
		HTTPHeader: http.Header{"X-Loki-Response-Encoding-Flags": {"categorize-labels"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.CloseNow() }()
	appendLine(t, s, time.Now(), "api", "n=1")
	appendLine(t, s, time.Now(), "api", "n=2")
	m := readTail(t, c)
	text, err := json.Marshal(m.Streams[0].Values[0][1:])
	if err != nil {
		t.Fatal(err)
	}
	if want := `["n=2",{"parsed":{"n":"2"},"structuredMetadata":{"trace_id":"t1"}}]`; string(text) != want || len(m.EncodingFlags) != 1 || len(m.Streams[0].Stream) != 1 {
		t.Errorf("got %s of %v, want %s", text, m.Streams[0].Stream, want)
	}
}

// delay_for lets late lines take their place, if they come within that time.
func TestTailDelay(t *testing.T) {
	s := newServer(t, Options{})
	web := httptest.NewServer(s)
	defer web.Close()
	c := dialTail(t, web.URL, "query", `{app="api"}`, "delay_for", "1")
	for together := false; !together; { // else this machine has taken a second in between
		now := time.Now().UnixNano()
		batch := logstore.Batch{{Labels: logstore.MustLabels("app", "api")}}
		for _, i := range []int64{3, 1, 2} {
			batch[0].Entries = append(batch[0].Entries, logstore.Entry{Time: now + i, Line: fmt.Append(nil, i)})
		}
		if err := s.store.Append(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
		got := ""
		for len(got) < 3 {
			part := strings.Join(readTailLines(t, c, 1), "")
			together = len(part) == 3
			got += part
		}
		if together && got != "123" {
			t.Errorf("the order is %v", got)
		}
	}
}

func TestTailIsGuarded(t *testing.T) {
	s := newServer(t, Options{Queries: QueryLimits{Tails: 1}})
	web := httptest.NewServer(s)
	defer web.Close()
	dial := func(header, value string) int {
		c, r, err := websocket.Dial(t.Context(), web.URL+"/loki/api/v1/tail?"+values("query", `{app="api"}`), &websocket.DialOptions{
			HTTPHeader: http.Header{header: {value}},
		})
		if err == nil {
			t.Cleanup(func() { _ = c.CloseNow() })
		}
		return r.StatusCode
	}
	if got := dial("Origin", "http://evil.example"); got != http.StatusForbidden {
		t.Errorf("a foreign Origin: %d", got)
	}
	if got := dial("Accept", "*/*"); got != http.StatusSwitchingProtocols {
		t.Fatalf("the first tail: %d", got)
	}
	if got := dial("Accept", "*/*"); got != http.StatusTooManyRequests {
		t.Errorf("one tail too many: %d", got)
	}
}

func TestTailEndsAtShutdown(t *testing.T) {
	s := newServer(t, Options{})
	web := httptest.NewServer(s)
	defer web.Close()
	c := dialTail(t, web.URL, "query", `{app="api"}`)
	await(t, "the tail has begun", func() bool { return s.reads.tails.Load() == 1 })
	read := make(chan error, 1)
	go func() {
		_, _, err := c.Read(t.Context())
		read <- err
	}()
	if err := s.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-read; websocket.CloseStatus(err) != websocket.StatusGoingAway {
		t.Errorf("the tail ended with %v; want going away", err)
	}
}

// deafConn is the connection of a client that reads nothing once it is deaf.
type deafConn struct {
	net.Conn
	deaf *atomic.Bool
	end  <-chan struct{}
}

func (c deafConn) Read(p []byte) (int, error) {
	if c.deaf.Load() {
		<-c.end
	}
	return c.Conn.Read(p)
}

// Clients that read nothing hold no more memory than all tails may hold, and the lines go on
// to the others.
func TestHostileTails(t *testing.T) {
	s := newServer(t, Options{})
	web := httptest.NewServer(s)
	defer web.Close()
	var deaf atomic.Bool
	dialer := &net.Dialer{}
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dialer.DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return deafConn{conn, &deaf, t.Context().Done()}, nil
	}}}
	const hostile = 20
	for range hostile {
		c, _, err := websocket.Dial(t.Context(), web.URL+"/loki/api/v1/tail?"+values("query", `{app="api"}`), &websocket.DialOptions{HTTPClient: client})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { go func() { _ = c.CloseNow() }() })
	}
	good := dialTail(t, web.URL, "query", `{app="api"}`)
	deaf.Store(true)
	await(t, "the tails have looked for lines from before", func() bool { // of which they take no more than 100
		return strings.Contains(get(s, "GET", "/metrics").Body.String(), fmt.Sprintf("stele_query_seconds_count{phase=\"history\"} %d\n", hostile+1))
	})
	line := strings.Repeat("x", 64<<10)
	var most uint64
	got := make(chan int, 1)
	go func() {
		n := 0
		for n < 300 {
			_, text, err := good.Read(t.Context())
			if err != nil {
				break
			}
			n += strings.Count(string(text), "xxx\"")
		}
		got <- n
	}()
	for range 300 { // 400 MB for all tails
		appendLine(t, s, time.Now(), "api", line)
		var m runtime.MemStats
		if runtime.ReadMemStats(&m); m.HeapAlloc > most {
			most = m.HeapAlloc
		}
	}
	if held := tailMemory - s.reads.tailRoom.Free(); held > tailMemory {
		t.Errorf("tails hold %d bytes", held)
	}
	if n := <-got; n != 300 {
		t.Errorf("the tail that reads got %d lines; want 300", n)
	}
	t.Logf("most heap: %d MB", most>>20)
}

// TestIdleTails measures what idle tails take: STELE_LONG=1 go test -run TestIdleTails -v
func TestIdleTails(t *testing.T) {
	if os.Getenv("STELE_LONG") == "" {
		t.Skip("it measures memory, and says it; STELE_LONG=1 runs it")
	}
	s := newServer(t, Options{})
	web := httptest.NewServer(s)
	defer web.Close()
	inUse := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapInuse + m.StackInuse
	}
	const n = 2000
	before, goroutines := inUse(), runtime.NumGoroutine()
	for range n {
		// Bare connections, so that the client's side takes little.
		conn, err := net.Dial("tcp", strings.TrimPrefix(web.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprintf(conn, "GET /loki/api/v1/tail?%s HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n",
			values("query", `{app="api"}`))
	}
	await(t, "all tails have begun", func() bool { return s.reads.tails.Load() == n })
	t.Logf("an idle tail takes %d bytes and %.1f goroutines", (inUse()-before)/n, float64(runtime.NumGoroutine()-goroutines)/n)
}
