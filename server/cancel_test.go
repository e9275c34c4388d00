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

	"github.com/coder/websocket"

	"github.com/stele-go/stele/logql"
	"github.com/stele-go/stele/logstore"
)

// An endlessSource does each piece of work of a store again and again until it is
// cancelled: whatever is asked takes long.
type endlessSource struct {
	*logstore.Store
	running, rounds atomic.Int64
	stopped         atomic.Int64 // when work last ended, in nanoseconds since the Unix epoch
}

// repeat works until ctx is done.
func repeat[T any](ctx context.Context, s *endlessSource, work func() (T, error)) (result T, err error) {
	s.running.Add(1)
	defer func() {
		s.stopped.Store(time.Now().UnixNano())
		s.running.Add(-1)
	}()
	for {
		if result, err = work(); err != nil || ctx.Err() != nil {
			return result, errors.Join(err, ctx.Err())
		}
		s.rounds.Add(1)
	}
}

func (s *endlessSource) Query(ctx context.Context, q logstore.Query) iter.Seq2[logstore.Result, error] {
	return func(yield func(logstore.Result, error) bool) {
		left := false
		_, err := repeat(ctx, s, func() (struct{}, error) {
			for r, err := range s.Store.Query(ctx, q) {
				if strings.HasPrefix(string(r.Line), "not UTF-8") || err != nil {
					continue // nothing but the end of ctx ends this
				}
				if left = !yield(r, nil); left {
					return struct{}{}, errors.New("the consumer has left")
				}
			}
			return struct{}{}, nil
		})
		if !left {
			yield(logstore.Result{}, err)
		}
	}
}

func (s *endlessSource) Fold(ctx context.Context, q logstore.Query, begin func(func(int64) error) logstore.Folder) error {
	_, err := repeat(ctx, s, func() (struct{}, error) { return struct{}{}, s.Store.Fold(ctx, q, begin) })
	return err
}

func (s *endlessSource) Aggregate(ctx context.Context, q logstore.Query, a logstore.Aggregation) ([]logstore.Group, error) {
	return repeat(ctx, s, func() ([]logstore.Group, error) { return s.Store.Aggregate(ctx, q, a) })
}

func (s *endlessSource) Patterns(ctx context.Context, q logstore.Query, a logstore.PatternAggregation) ([]logstore.PatternGroup, error) {
	return repeat(ctx, s, func() ([]logstore.PatternGroup, error) { return s.Store.Patterns(ctx, q, a) })
}

func (s *endlessSource) Labels(ctx context.Context, q logstore.Query) ([]string, error) {
	return repeat(ctx, s, func() ([]string, error) { return s.Store.Labels(ctx, q) })
}

func (s *endlessSource) LabelValues(ctx context.Context, name string, q logstore.Query) ([]string, error) {
	return repeat(ctx, s, func() ([]string, error) { return s.Store.LabelValues(ctx, name, q) })
}

func (s *endlessSource) Series(ctx context.Context, q logstore.Query) ([]logstore.Labels, error) {
	return repeat(ctx, s, func() ([]logstore.Labels, error) { return s.Store.Series(ctx, q) })
}

func newEndlessServer(t *testing.T, limits logql.Limits) (*Server, *endlessSource) {
	s := newDataServer(t, Options{})
	source := &endlessSource{Store: s.store}
	s.reads.engine = logql.NewEngine(source, logql.Options{Limits: limits})
	return s, source
}

// stops leaves once the source works, and waits for the end of the work.
func (s *endlessSource) stops(t *testing.T, what string, server *Server, leave func()) {
	t.Helper()
	rounds := s.rounds.Load()
	await(t, what+" runs", func() bool { return s.running.Load() > 0 && s.rounds.Load() > rounds+2 })
	left := time.Now()
	leave()
	await(t, what+" has stopped", func() bool {
		return s.running.Load() == 0 && server.reads.gate.running() == 0 && server.reads.exports.running() == 0
	})
	t.Logf("%s: stopped after %v", what, time.Unix(0, s.stopped.Load()).Sub(left))
}

// A client that leaves ends all work for it, whatever it has asked.
func TestLeavingEndsTheWork(t *testing.T) {
	s, source := newEndlessServer(t, logql.Limits{Time: time.Hour})
	web := httptest.NewServer(s)
	defer web.Close()
	const api = "/loki/api/v1/"
	for _, c := range []struct {
		path   string
		params []string
	}{
		{api + "query_range", []string{"query", `{app="web"} |= "nothing"`}},
		{api + "query_range", []string{"query", `{app="web"} | logfmt | n="x"`}},
		{api + "query_range", []string{"query", `sum(rate({app="web"} | logfmt | n > 5 [1m]))`}},
		{api + "query_range", []string{"query", `sum by (app) (count_over_time({env="prod"}[1m]))`}},
		{api + "labels", nil},
		{api + "label/app/values", nil},
		{api + "series", nil},
		{api + "index/stats", []string{"query", `{env="prod"}`}},
		{api + "index/volume", []string{"query", `{env="prod"}`}},
		{api + "index/volume_range", []string{"query", `{env="prod"}`}},
		{api + "detected_labels", nil},
		{api + "detected_fields", []string{"query", `{app="web"} |= "nothing"`}},
		{api + "patterns", []string{"query", `{app="web"}`}},
		{"/stele/api/v1/export", []string{"query", `{app="web"} |= "nothing"`}},
	} {
		ctx, leave := context.WithCancel(t.Context())
		r, err := http.NewRequestWithContext(ctx, "GET", web.URL+c.path+"?"+values(append(c.params, data...)...), nil)
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
		source.stops(t, c.path, s, leave)
		<-done
	}
}

// A client that leaves is noticed also if its body is no form, or has more than one: net/http
// looks only once the whole body has been read.
func TestLeavingWithABody(t *testing.T) {
	s, source := newEndlessServer(t, logql.Limits{Time: time.Hour})
	web := httptest.NewServer(s)
	defer web.Close()
	const part = "--x\r\nContent-Disposition: form-data; name=\"limit\"\r\n\r\n5\r\n--x--\r\n"
	for _, c := range []struct{ method, kind, body string }{
		{"POST", "", "ignored"}, {"POST", "application/json", "{}"}, {"GET", "application/json", "{}"},
		{"POST", "text/plain", strings.Repeat("x", 100_000)}, {"POST", "multipart/form-data; boundary=x", part + strings.Repeat("x", 20_000)},
	} {
		ctx, leave := context.WithCancel(t.Context())
		target := web.URL + "/loki/api/v1/query_range?" + values(append([]string{"query", `{app="web"} |= "nothing"`}, data...)...)
		r, err := http.NewRequestWithContext(ctx, c.method, target, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", c.kind)
		done := make(chan struct{})
		go func() {
			defer close(done)
			if res, err := http.DefaultClient.Do(r); err == nil {
				res.Body.Close()
			}
		}()
		source.stops(t, c.method+" "+c.kind, s, leave)
		<-done
	}
}

// The client of a tail that leaves while its history is looked for ends that.
func TestLeavingEndsTheHistory(t *testing.T) {
	s, source := newEndlessServer(t, logql.Limits{Time: time.Hour})
	web := httptest.NewServer(s)
	defer web.Close()
	c := dialTail(t, web.URL, "query", `{app="web"} |= "nothing"`, "start", "1700000000")
	source.stops(t, "the history", s, func() { _ = c.Close(websocket.StatusNormalClosure, "") })
	await(t, "the tail has ended", func() bool { return s.reads.tails.Load() == 0 })
}
