package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/coder/websocket"

	"github.com/stele-go/stele/logql"
	"github.com/stele-go/stele/logstore"
	"github.com/stele-go/stele/server/internal/params"
)

var tailRoutes = []route{
	{"GET", "/loki/api/v1/tail", tailing, (*Server).serveTail},
	{"GET", "/api/prom/tail", tailing, (*Server).serveTail},
}

const (
	maxDelay = 5 // seconds; as Loki has it
	// tailPing is how often a client is asked whether it is still there, and tailWait how
	// long it may take to answer, or to take a message unless ConnLimits.Write is less.
	tailPing = 30 * time.Second
	tailWait = 10 * time.Second
)

// serveTail sends lines over a WebSocket as they are acknowledged. The handshake's guard
// against foreign pages is that of all endpoints.
func (s *Server) serveTail(w http.ResponseWriter, c *call) error {
	v, err := paramsOf(w, c)
	if err != nil {
		return err
	}
	r, delay, err := s.tailRequest(v, c.tenant)
	if err != nil {
		return err
	}
	if n := s.reads.tails.Add(1); n > int64(s.o.Queries.Tails) {
		s.reads.tails.Add(-1)
		return retryLater(http.StatusTooManyRequests, 30, "too many tails: %d are under way", s.o.Queries.Tails)
	}
	defer s.reads.tails.Add(-1)
	conn, err := websocket.Accept(w, c.Request, &websocket.AcceptOptions{
		InsecureSkipVerify: true, // the guard has checked the Origin
		CompressionMode:    websocket.CompressionDisabled,
	})
	if err != nil {
		return nil // Accept has answered
	}
	defer func() { _ = conn.CloseNow() }() // it is closed already, or gone
	code, reason := closing(s.tail(conn, c, r, delay))
	_ = conn.Close(code, reason) // the client may be gone
	return nil
}

// tailRequest reads query, start, limit and delay_for.
func (s *Server) tailRequest(v params.Values, tenant string) (r logql.Request, delay time.Duration, err error) {
	log, err := parseLog(v.Get("query"))
	if err != nil {
		return r, 0, err
	}
	r = logql.Request{Tenant: tenant, Query: v.Get("query"), Expr: log}
	if r.Limit, err = v.Count("limit", defaultLines, 1); err != nil {
		return r, 0, err
	}
	if err := s.checkLines(r.Limit); err != nil {
		return r, 0, err
	}
	if r.Start, err = v.Time("start", v.Now().Add(-time.Hour).UnixNano()); err != nil {
		return r, 0, err
	}
	r.Start = max(r.Start, 1) // 0 would be no history
	n, err := v.Count("delay_for", 0, 0)
	if err == nil && n > maxDelay {
		err = &params.Error{Name: "delay_for", Value: v.Get("delay_for"), Want: fmt.Sprintf("at most %d seconds", maxDelay)}
	}
	return r, time.Duration(n) * time.Second, err
}

// tail sends lines until the client leaves, the server stops, or the store fails.
func (s *Server) tail(conn *websocket.Conn, c *call, r logql.Request, delay time.Duration) error {
	// The context of a read or a write that is done closes the connection; that of the call is
	// done when the server stops, of which the client is told.
	connected := conn.CloseRead(context.WithoutCancel(c.Context()))
	ctx, end := context.WithCancelCause(connected)
	defer end(nil)
	defer context.AfterFunc(c.Context(), func() { end(context.Cause(c.Context())) })()
	t := &tailer{
		conn: conn, ctx: connected, end: end, room: s.reads.tailRoom, lost: s.reads.lost, delay: max(delay, tailLinger), patience: min(tailWait, s.o.Conns.Write),
		sorted: delay > 0, categorized: categorizes(c.Header),
	}
	defer t.close()
	defer t.keepAlive()()
	history, err := s.beginHistory(ctx, &r)
	if err != nil {
		return cmp.Or(context.Cause(ctx), err)
	}
	defer history.close()
	for line, err := range s.reads.engine.Tail(ctx, r) {
		var lagged *logstore.LaggedError
		switch {
		case errors.As(err, &lagged):
			t.drop(lagged.Lost)
		case err != nil:
			return cmp.Or(context.Cause(ctx), err)
		default:
			t.add(line)
			history.line()
		}
		if ctx.Err() != nil {
			break
		}
	}
	return context.Cause(ctx)
}

// closing returns how a WebSocket is closed.
func closing(err error) (websocket.StatusCode, string) {
	switch {
	case errors.Is(err, errStopping):
		return websocket.StatusGoingAway, errStopping.text
	case err == nil || errors.Is(err, context.Canceled):
		return websocket.StatusNormalClosure, ""
	}
	if e := asStatus(err); e.status == http.StatusTooManyRequests {
		return websocket.StatusTryAgainLater, closeText(e.text)
	}
	text, ok := refusedQuery(err)
	if ok {
		return websocket.StatusPolicyViolation, closeText(text)
	}
	return websocket.StatusInternalError, closeText(err.Error())
}

// closeText cuts a text to what a close frame has room for.
func closeText(s string) string { return strings.ToValidUTF8(s[:min(len(s), 120)], "") }
