package server

import (
	"net/http/httptest"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/stele-go/stele/logql"
)

// closedWith reads until a tail is closed.
func closedWith(t testing.TB, c *websocket.Conn) websocket.CloseError {
	t.Helper()
	for {
		if _, _, err := c.Read(t.Context()); err != nil {
			e := websocket.CloseError{Code: websocket.CloseStatus(err), Reason: err.Error()}
			return e
		}
	}
}

// The history of a tail is a query: it waits for a turn, and has it no longer than its lines
// take. What comes later takes none.
func TestTailHistoryHasATurn(t *testing.T) {
	s := newServer(t, Options{Queries: QueryLimits{Max: 1, Wait: time.Millisecond}})
	web := httptest.NewServer(s)
	defer web.Close()
	now := time.Now()
	appendLine(t, s, now.Add(-time.Second), "api", "old")
	if err := s.reads.gate.enter(t.Context()); err != nil {
		t.Fatal(err)
	}
	if e := closedWith(t, dialTail(t, web.URL, "query", `{app="api"}`)); e.Code != websocket.StatusTryAgainLater {
		t.Errorf("without a turn: %v", e)
	}
	s.reads.gate.leave()
	c := dialTail(t, web.URL, "query", `{app="api"}`)
	readTailLines(t, c, 1)
	await(t, "the turn is free", func() bool { return s.reads.gate.running() == 0 })
	appendLine(t, s, now, "api", "new")
	if got := readTailLines(t, c, 1); got[0] != "new" {
		t.Errorf("then came %q", got)
	}
}

func TestTailHistoryHasALimitOfTime(t *testing.T) {
	s, _ := newEndlessServer(t, logql.Limits{Time: 1})
	web := httptest.NewServer(s)
	defer web.Close()
	if e := closedWith(t, dialTail(t, web.URL, "query", `{app="web"}`, "start", "1700000000")); e.Code != websocket.StatusPolicyViolation {
		t.Errorf("%v", e)
	}
	await(t, "the turn is free", func() bool { return s.reads.gate.running() == 0 })
}
