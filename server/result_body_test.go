package server

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestAcceptsGzip(t *testing.T) {
	for header, want := range map[string]bool{
		"": false, "gzip": true, "deflate, gzip": true, "gzip;q=0.5": true, "gzip;q=0": false, "gzip; q=0.0": false, "GZIP": true, "br": false, "gzip;q=1": true, "x-gzip": false,
	} {
		if got := acceptsGzip(header); got != want {
			t.Errorf("%q: %v", header, got)
		}
	}
}

func TestCompressedAnswers(t *testing.T) {
	s := newDataServer(t, Options{})
	target := "/loki/api/v1/query_range?" + values(append([]string{"query", `{app="web"}`}, data...)...)
	plain := get(s, "GET", target)
	w := get(s, "GET", target, "Accept-Encoding", "gzip")
	if w.Header().Get("Content-Encoding") != "gzip" || w.Header().Get("Vary") != "Accept-Encoding" {
		t.Fatalf("headers: %v", w.Header())
	}
	z, err := gzip.NewReader(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	if !json.Valid(text) || len(text) < plain.Body.Len()/2 {
		t.Errorf("%d bytes; plain are %d", len(text), plain.Body.Len())
	}
	if small := get(s, "GET", "/loki/api/v1/labels?"+values(data...), "Accept-Encoding", "gzip"); small.Header().Get("Content-Encoding") != "" {
		t.Error("an answer of a few bytes is compressed")
	}
}

// A connection on which an answer was written serves the next one, whenever that comes.
func TestWriteDeadlineEnds(t *testing.T) {
	s := newDataServer(t, Options{})
	deadlines := make(chan time.Time, 100)
	web := httptest.NewUnstartedServer(timed{s})
	web.Config.ConnContext = nil
	web.Listener = deadlineListener{web.Listener, deadlines}
	web.Start()
	defer web.Close()
	res, err := http.Get(web.URL + "/loki/api/v1/labels")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	var last, set time.Time
	eventually(t, "a deadline is set, and cleared", func() bool { // the answer may be here first
		for len(deadlines) > 0 {
			if last = <-deadlines; !last.IsZero() {
				set = last
			}
		}
		return !set.IsZero() && last.IsZero()
	})
}

type deadlineListener struct {
	net.Listener
	deadlines chan time.Time
}

func (l deadlineListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return deadlineConn{c, l.deadlines}, err
}

type deadlineConn struct {
	net.Conn
	deadlines chan time.Time
}

func (c deadlineConn) SetWriteDeadline(t time.Time) error {
	c.deadlines <- t
	return c.Conn.SetWriteDeadline(t)
}

func TestAnswersAreNotSniffed(t *testing.T) {
	s := newDataServer(t, Options{})
	for _, path := range []string{"/loki/api/v1/labels", "/loki/api/v1/query?query={", "/ready"} {
		w := get(s, "GET", path)
		if kind := w.Header().Get("Content-Type"); kind == "" || strings.Contains(kind, "html") {
			t.Errorf("%s: type %q", path, kind)
		}
	}
}

// A deadlineCounter counts the deadlines that a handler sets.
type deadlineCounter struct {
	*httptest.ResponseRecorder
	n int
}

func (w *deadlineCounter) SetReadDeadline(time.Time) error  { w.n++; return nil }
func (w *deadlineCounter) SetWriteDeadline(time.Time) error { w.n++; return nil }

// Inside another server the deadlines of that one count: a Server neither sets nor clears any.
func TestDeadlinesOfAnotherServer(t *testing.T) {
	s := newDataServer(t, Options{})
	for _, target := range []string{
		"/loki/api/v1/labels", "/loki/api/v1/query_range?" + values(append([]string{"query", `{app="web"}`}, data...)...),
		"/stele/api/v1/export?" + values(append([]string{"query", `{app="web"}`}, data...)...), "/metrics", "/nothing", "/loki/api/v1/query?query={",
	} {
		r := httptest.NewRequest("GET", target, nil)
		r.Host = "localhost"
		own, other := &deadlineCounter{ResponseRecorder: httptest.NewRecorder()}, &deadlineCounter{ResponseRecorder: httptest.NewRecorder()}
		if s.ServeHTTP(other, r); other.n > 0 {
			t.Errorf("%s: %d deadlines are set", target, other.n)
		}
		if (timed{s}).ServeHTTP(own, r); own.n == 0 {
			t.Errorf("%s: no deadline is set on a connection of the server's own", target)
		}
	}
}
