package server

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
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

// A slowWriter takes an answer once it is released.
type slowWriter struct {
	*httptest.ResponseRecorder
	begun, release chan struct{}
}

func (w *slowWriter) Write(p []byte) (int, error) {
	close(w.begun)
	<-w.release
	return w.ResponseRecorder.Write(p)
}

// A client that reads slowly keeps no other from its turn: its answer waits in memory of
// its own, and only if there is none of that the query keeps its turn.
func TestSlowReaderLeavesItsTurn(t *testing.T) {
	s := newServer(t, Options{Queries: QueryLimits{Max: 1, Wait: time.Hour}})
	w := &slowWriter{httptest.NewRecorder(), make(chan struct{}), make(chan struct{})}
	done := make(chan struct{})
	go func() {
		defer close(done)
		r := httptest.NewRequest("GET", "/loki/api/v1/query?"+values("query", `label_replace(vector(1), "a", "b", "", "")`), nil)
		r.Host = "localhost"
		s.ServeHTTP(w, r)
	}()
	<-w.begun
	if other := get(s, "GET", instant); other.Code != 200 {
		t.Errorf("another query: %d %s", other.Code, other.Body)
	}
	if s.reads.answers.Free() == answerMemory {
		t.Error("the answer takes no memory")
	}
	rest := s.reads.answers.TryAcquire(answerMemory, 0)
	s.o.Queries.Wait = time.Millisecond
	if other := get(s, "GET", "/loki/api/v1/query?"+values("query", `label_replace(vector(1), "a", "b", "", "")`)); other.Code != http.StatusTooManyRequests {
		t.Errorf("a query for whose answer there is no memory: %d %s", other.Code, other.Body)
	}
	s.reads.answers.Release(rest)
	close(w.release)
	<-done
	if s.reads.gate.running() != 0 || s.reads.answers.Free() != answerMemory {
		t.Errorf("%d run at the end, with %d bytes of %d", s.reads.gate.running(), s.reads.answers.Free(), answerMemory)
	}
}

// Exports have turns of their own.
func TestExportTakesNoTurnOfQueries(t *testing.T) {
	s := newDataServer(t, Options{Queries: QueryLimits{Max: 1, Exports: 1, Wait: time.Millisecond}})
	if err := s.reads.gate.enter(t.Context()); err != nil {
		t.Fatal(err)
	}
	if lines, last := export(t, s, "query", `{app="web"}`); len(lines) != 50 || !last.End {
		t.Errorf("%d lines, then %+v", len(lines), last)
	}
	s.reads.gate.leave()
	if err := s.reads.exports.enter(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer s.reads.exports.leave()
	if w := get(s, "GET", "/stele/api/v1/export?"+values("query", `{app="web"}`)); w.Code != http.StatusTooManyRequests || !strings.Contains(w.Body.String(), "too many exports") {
		t.Errorf("an export too many: %d %s", w.Code, w.Body)
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
