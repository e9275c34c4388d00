package server

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// A pressing context has a deadline soon, and is never done.
type pressing struct{ context.Context }

func (pressing) Deadline() (time.Time, bool) { return time.Now().Add(10 * time.Millisecond), true }

// A shutdown waits for queries for half of its time, and then ends them with an answer that
// says why.
func TestShutdownEndsQueries(t *testing.T) {
	s := newServer(t, Options{})
	e := newHeldEngine(s)
	answered := make(chan *httptest.ResponseRecorder, 1)
	go func() { answered <- get(s, "GET", instant) }()
	await(t, "the query runs", func() bool { return e.running.Load() == 1 })
	if err := s.Shutdown(pressing{context.Background()}); err != nil {
		t.Error(err)
	}
	w := <-answered
	if w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "shutting down") || w.Header().Get("Retry-After") == "" {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
}

// Without a deadline a shutdown waits for queries.
func TestShutdownWaitsForQueries(t *testing.T) {
	s := newServer(t, Options{})
	e := newHeldEngine(s)
	answered := make(chan *httptest.ResponseRecorder, 1)
	go func() { answered <- get(s, "GET", instant) }()
	await(t, "the query runs", func() bool { return e.running.Load() == 1 })
	done := make(chan error, 1)
	go func() { done <- s.Shutdown(context.Background()) }()
	await(t, "the shutdown has begun", func() bool { return s.calls.closed.Load() })
	close(e.release)
	if w := <-answered; w.Code != http.StatusOK {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}
