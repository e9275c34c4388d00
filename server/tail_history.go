package server

import (
	"context"
	"sync"
	"time"

	"github.com/stele-go/stele/logql"
)

// A tailHistory is the part of a tail that counts as a query: it has a turn, which ends with
// the last of the lines that there were before, and at the latest with the time that a
// query may take.
type tailHistory struct {
	left  int // lines that are still to come
	once  sync.Once
	timer *time.Timer
	over  func()
}

// beginHistory waits for a turn, and looks where the lines of r begin; it sets r.After.
func (s *Server) beginHistory(ctx context.Context, r *logql.Request) (*tailHistory, error) {
	begun := time.Now()
	if err := s.reads.gate.enter(ctx); err != nil {
		return nil, err
	}
	s.reads.observe(phaseQueue, begun)
	running := time.Now()
	h := &tailHistory{over: func() {
		s.reads.observe(phaseHistory, running)
		s.reads.gate.leave()
	}}
	var err error
	if r.After, h.left, err = s.reads.engine.History(ctx, *r); err != nil || h.left == 0 {
		h.end()
		return h, err
	}
	h.timer = time.AfterFunc(s.reads.engine.Limits().Time-time.Since(running), h.end)
	return h, nil
}

// line counts a line that has come.
func (h *tailHistory) line() {
	if h.left > 0 {
		if h.left--; h.left == 0 {
			h.end()
		}
	}
}

// end ends the turn, at the first call.
func (h *tailHistory) end() { h.once.Do(h.over) }

func (h *tailHistory) close() {
	if h.timer != nil {
		h.timer.Stop()
	}
	h.end()
}
