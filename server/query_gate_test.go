package server

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stele-go/stele/logql"
)

// A heldEngine runs queries that end when they are released, or cancelled.
type heldEngine struct {
	engine
	running atomic.Int64
	release chan struct{}
	ended   chan error
}

func newHeldEngine(s *Server) *heldEngine {
	e := &heldEngine{engine: s.reads.engine, release: make(chan struct{}), ended: make(chan error, 100)}
	s.reads.engine = e
	return e
}

func (e *heldEngine) Run(ctx context.Context, r logql.Request) (*logql.Result, error) {
	e.running.Add(1)
	defer e.running.Add(-1)
	select {
	case <-e.release:
		e.ended <- nil
		return &logql.Result{Kind: logql.Vector}, nil
	case <-ctx.Done():
		e.ended <- ctx.Err()
		return nil, ctx.Err()
	}
}

func (e *heldEngine) Stream(ctx context.Context, r logql.Request) iter.Seq2[logql.Line, error] {
	return func(yield func(logql.Line, error) bool) {
		if yield(logql.Line{Time: 1, Text: "a line"}, nil) {
			yield(logql.Line{}, errors.New("the disk is gone"))
		}
	}
}

const instant = "/loki/api/v1/query?query=vector(1)"

func TestGate(t *testing.T) {
	s := newServer(t, Options{Queries: QueryLimits{Max: 2, Queue: 1, Wait: time.Hour}})
	e := newHeldEngine(s)
	codes := make(chan int, 3)
	start := func() { go func() { codes <- get(s, "GET", instant).Code }() }
	start()
	start()
	await(t, "two run", func() bool { return e.running.Load() == 2 && s.reads.gate.running() == 2 })
	start()
	await(t, "one waits", func() bool { return s.reads.gate.waiting() == 1 })
	if w := get(s, "GET", instant); w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") == "" {
		t.Errorf("a fourth query: %d %v", w.Code, w.Header())
	}
	close(e.release)
	for range 3 {
		if code := <-codes; code != 200 {
			t.Errorf("status %d", code)
		}
	}
	if s.reads.gate.running() != 0 {
		t.Errorf("%d run at the end", s.reads.gate.running())
	}
}

func TestGateWaitsNotForEver(t *testing.T) {
	s := newServer(t, Options{Queries: QueryLimits{Max: 1, Wait: time.Millisecond}})
	e := newHeldEngine(s)
	done := make(chan int, 1)
	go func() { done <- get(s, "GET", instant).Code }()
	await(t, "one runs", func() bool { return e.running.Load() == 1 })
	if w := get(s, "GET", instant); w.Code != http.StatusTooManyRequests {
		t.Errorf("the second query: %d %s", w.Code, w.Body)
	}
	close(e.release)
	<-done
}

// A client that leaves ends its query, and gives its turn to another.
func TestClientLeaves(t *testing.T) {
	s := newServer(t, Options{Queries: QueryLimits{Max: 1}})
	e := newHeldEngine(s)
	web := httptest.NewServer(s)
	defer web.Close()
	ctx, leave := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, "GET", web.URL+instant, nil)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if res, err := http.DefaultClient.Do(r); err == nil {
			res.Body.Close()
		}
	}()
	await(t, "the query runs", func() bool { return e.running.Load() == 1 })
	leave()
	if err := <-e.ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the query ended with %v", err)
	}
	<-done
	await(t, "the turn is free", func() bool { return s.reads.gate.running() == 0 })
}
