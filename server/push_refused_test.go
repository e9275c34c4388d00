package server

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/snappy"
)

// A push that is sent again, since its answer was lost, is told again what was refused.
func TestPushAgainTellsRefusals(t *testing.T) {
	s := newServer(t, Options{Push: PushLimits{Metadata: 1}})
	c := dial(t, listen(t, s))
	body := []byte(`{"streams":[{"stream":{"a":"1"},"values":[["1","kept"],["-5","old"],["2","x",{"a":"1","b":"2"}],["3","kept too"]]}]}`)
	var first string
	for i := range 3 {
		res, text := c.do(t, pushRequest("application/json", "", body))
		if res.StatusCode != 400 || res.Header.Get(refusedHeader) != "2" {
			t.Errorf("push %d: %d %s, %s: %s", i, res.StatusCode, text, refusedHeader, res.Header.Get(refusedHeader))
		}
		if first == "" {
			first = text
		}
		if text != first || !strings.Contains(text, "entry is too old") || !strings.Contains(text, "2 names of metadata") {
			t.Errorf("push %d: %s; the first answer was %s", i, text, first)
		}
	}
	if got := stored(t, s, ""); len(got) != 2 {
		t.Error(got)
	}
	whole := jsonPush(`{"a":"1"}`, 10, "x")
	for _, want := range []string{"", "1"} {
		if res, _ := c.do(t, pushRequest("application/json", "", whole)); res.StatusCode != 204 || res.Header.Get(knownHeader) != want {
			t.Errorf("%d, %s: %s, want %s", res.StatusCode, knownHeader, res.Header.Get(knownHeader), want)
		}
	}
}

// A push of which nothing was kept is not known: what was refused of it then is no answer to the
// same push once it is kept.
func TestPushKeptLater(t *testing.T) {
	s := newServer(t, Options{})
	c := dial(t, listen(t, s))
	for i, step := range []struct{ at, want string }{{"-5", "400"}, {"5", "204"}, {"5", "204 0 1"}} {
		body := `{"streams":[{"stream":{"a":"1"},"values":[["` + step.at + `","x"]]}]}`
		res, text := c.do(t, pushRequest("application/json", "", []byte(body), keyHeader, strings.Repeat("1", 32)))
		got := strconv.Itoa(res.StatusCode)
		if known := res.Header.Get(knownHeader); known != "" {
			got += " " + res.Header.Get(keptHeader) + " " + known
		}
		if got != step.want {
			t.Errorf("push %d: %s %s, want %s", i, got, text, step.want)
		}
	}
}

// What refusedBefore holds is bounded.
func TestRefusedBefore(t *testing.T) {
	var b refusedBefore
	for i := range 3 * maxBefore {
		name := pushName{key: [16]byte{1, byte(i), byte(i >> 8)}}
		b.mu.Lock()
		b.put(name, &statusError{text: strings.Repeat("x", i%7*3000)})
		b.mu.Unlock()
		if len(b.pushes) > maxBefore || b.bytes > maxBeforeBytes || len(b.order) > 2*maxBefore+1 {
			t.Fatalf("%d pushes with %d bytes, order has %d", len(b.pushes), b.bytes, len(b.order))
		}
		if b.pushes[name] == nil {
			t.Fatal("the last push is not remembered")
		}
	}
	if len(b.pushes) < maxBefore/10 {
		t.Errorf("only %d pushes are remembered", len(b.pushes))
	}
}

// An entry that is refused has its number, so that those behind it keep theirs.
func TestRefusedEntriesAreNumbered(t *testing.T) {
	s := newServer(t, Options{Push: PushLimits{Metadata: 1}})
	c := dial(t, listen(t, s))
	for i, step := range []struct{ values, offset, want string }{
		{`["1","a"],["2","x",{"a":"1","b":"2"}],["3","c"]`, "10", "400"},
		{`["3","c"]`, "12", "204 0 1"},
		{`["4","d"]`, "13", "204 1 0"},
	} {
		body := `{"streams":[{"stream":{"a":"1"},"values":[` + step.values + `]}]}`
		res, text := c.do(t, pushRequest("application/json", "", []byte(body), sourceHeader, "file", offsetHeader, step.offset))
		got := strconv.Itoa(res.StatusCode)
		if got == "204" {
			got += " " + res.Header.Get(keptHeader) + " " + res.Header.Get(knownHeader)
		}
		if got != step.want {
			t.Errorf("push %d: %s %s, want %s", i, got, text, step.want)
		}
	}
	if got := stored(t, s, ""); len(got) != 3 {
		t.Error(got)
	}
}

// All refused entries are counted, listed or not, and wherever they were refused.
func TestRefusedEntriesAreCounted(t *testing.T) {
	s := newServer(t, Options{})
	var streams []string
	for i := range 100 {
		streams = append(streams, fmt.Sprintf(`{"stream":{"a.%d":"1"},"values":[["1","x"],["2","y"]]}`, i))
	}
	var old []string
	for i := range 100 {
		old = append(old, fmt.Sprintf(`["-%d","x"]`, i+1))
	}
	body := `{"streams":[` + strings.Join(streams, ",") + `,{"stream":{"a":"1"},"values":[["7","kept"],` + strings.Join(old, ",") + `]}]}`
	res, text := dial(t, listen(t, s)).do(t, pushRequest("application/json", "", []byte(body)))
	if res.StatusCode != 400 || res.Header.Get(refusedHeader) != "300" || !strings.Contains(text, "total ignored: 300 out of 301") || !strings.Contains(text, "and 236 more") {
		t.Error(res.StatusCode, res.Header, text)
	}
	metrics := get(s, "GET", "/metrics").Body.String()
	for _, want := range []string{`{reason="labels"} 200`, `{reason="too_old"} 100`, `{reason="other"} 0`} {
		if !strings.Contains(metrics, "stele_push_rejected_lines_total"+want+"\n") {
			t.Errorf("%s is not in the metrics", want)
		}
	}
}

func TestPushHeaders(t *testing.T) {
	s := newServer(t, Options{})
	c := dial(t, listen(t, s))
	body := jsonPush(`{"a":"1"}`, 5, "x")
	for _, headers := range [][]string{
		{keyHeader, strings.Repeat("0", 32)}, {keyHeader, "12"}, {keyHeader, strings.Repeat("x", 32)}, {offsetHeader, "5"}, {sourceHeader, "a", offsetHeader, "x"}, {sourceHeader, "%"},
	} {
		if res, text := c.do(t, pushRequest("application/json", "", body, headers...)); res.StatusCode != 400 || !strings.Contains(text, headers[0]) && !strings.Contains(text, offsetHeader) {
			t.Error(headers, res.StatusCode, text)
		}
	}
	if got := stored(t, s, ""); len(got) != 0 {
		t.Error(got)
	}
}

// A lateBody calls come before each read.
type lateBody struct {
	io.Reader
	come func()
}

func (b *lateBody) Read(p []byte) (int, error) {
	b.come()
	return b.Reader.Read(p)
}

// The wait for memory begins when memory is needed: a slow body does not use it up.
func TestSlowBodyHasItsWait(t *testing.T) {
	s := newServer(t, Options{})
	ended, end := context.WithCancelCause(context.Background())
	end(errPushWait)
	s.pusher.shared.now.Store(&deadline{ended, func() {}, time.Now().Add(time.Hour).UnixNano()})
	body := string(jsonPush(`{"a":"1"}`, 5, "x"))
	p := push{contentType: "application/json", length: int64(len(body)), body: &lateBody{strings.NewReader(body), func() { s.pusher.shared.now.Store(nil) }}}
	if err := s.pusher.serve(&p); err != nil {
		t.Error(err)
	}
}

// The account of memory is right also after pushes that found a part of what they needed.
func TestMemoryIsGivenBack(t *testing.T) {
	s := newServer(t, Options{Push: PushLimits{Body: 1 << 20, Decompressed: 1 << 20, Entries: 1000, Wait: 20 * time.Millisecond}})
	m := s.pusher.memory
	addr := listen(t, s)
	const left = 10
	if _, err := m.Acquire(t.Context(), s.pusher.o.Memory-left); err != nil {
		t.Fatal(err)
	}
	if res, text := dial(t, addr).do(t, pushRequest("application/json", "", jsonPush(`{"a":"1"}`, 1, "x"))); res.StatusCode != 429 {
		t.Error(res.StatusCode, text)
	}
	if free := m.Free(); free != left {
		t.Errorf("%d bytes are free, want %d", free, left)
	}
	m.Release(s.pusher.o.Memory - left)
}

// A push waits for the memory of its whole body, rather than fail when some of it has come.
func TestBodyWaitsForMemory(t *testing.T) {
	s := newServer(t, Options{Push: PushLimits{Body: 1 << 20, Decompressed: 4 << 20, Entries: 1000, Wait: time.Hour}})
	m := s.pusher.memory
	held := m.Size() - 100<<10
	if _, err := m.Acquire(t.Context(), held); err != nil {
		t.Fatal(err)
	}
	c := dial(t, listen(t, s))
	var noise strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&noise, "%d ", i*7919%100_003)
	}
	line := noise.String()[:200<<10]
	body := snappy.Encode(nil, protoPush(`{a="1"}`, 1, line, line[1:], line[2:]))
	answered := make(chan *http.Response, 1)
	go func() {
		res, _ := c.do(t, pushRequest("", "", body))
		answered <- res
	}()
	eventually(t, "the push waits for memory", func() bool { return m.Waiting() == 1 })
	m.Release(held)
	if res := <-answered; res.StatusCode != 204 {
		t.Error(res.StatusCode, res.Header)
	}
	if free := m.Free(); free != m.Size() {
		t.Errorf("%d bytes of %d are free", free, m.Size())
	}
}

// A pacedConn reads a body, and notes the deadlines of its reads.
type pacedConn struct {
	net.Conn
	io.Reader
	deadlines []time.Time
}

func (c *pacedConn) Read(p []byte) (int, error) { return c.Reader.Read(p) }

func (c *pacedConn) SetReadDeadline(t time.Time) error {
	c.deadlines = append(c.deadlines, t)
	return nil
}

// While a push waits for memory, the time of its body stands still: that the server has none is
// not the client's slowness.
func TestWaitIsNotOfTheBody(t *testing.T) {
	s := newServer(t, Options{Push: PushLimits{Body: 1 << 20, Decompressed: 1 << 20, Entries: 1000, Wait: time.Hour}})
	body := jsonPush(`{"a":"1"}`, 1, strings.Repeat("x", 100<<10))
	for name, reader := range map[string]func(c *pacedConn) io.Reader{
		"net/http": func(c *pacedConn) io.Reader {
			return &pacedBody{pacedReader: newPacedReader(c, c.SetReadDeadline, &s.o.Conns)}
		},
		"direct": func(c *pacedConn) io.Reader {
			return &directBody{d: newDirectConn(s, c), left: int64(len(body))}
		},
	} {
		m := s.pusher.memory
		held := m.Size() - 20<<10 // the first bytes of the body find some
		if _, err := m.Acquire(t.Context(), held); err != nil {
			t.Fatal(err)
		}
		c := &pacedConn{Reader: bytes.NewReader(body)}
		served := make(chan error, 1)
		go func() {
			served <- s.pusher.serve(&push{contentType: "application/json", length: int64(len(body)), body: reader(c), keyText: fmt.Sprintf("%032x", name[:1])})
		}()
		eventually(t, "the push waits for memory", func() bool { return m.Waiting() == 1 })
		begun := time.Now()
		time.Sleep(time.Millisecond)
		waited := time.Since(begun) // or more
		m.Release(held)
		if err := <-served; err != nil {
			t.Error(name, err)
		}
		if n := len(c.deadlines); n < 2 || c.deadlines[n-1].Sub(c.deadlines[0]) < waited {
			t.Errorf("%s: the deadlines %v, after a wait of %v", name, c.deadlines, waited)
		}
	}
}
