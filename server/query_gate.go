package server

import (
	"context"
	"net/http"
	"time"

	"github.com/stele-go/stele/internal/semaphore"
)

// A gate bounds how many queries run at once. Those that find it full wait their turn.
type gate struct {
	limits QueryLimits
	room   *semaphore.Weighted
}

func newGate(l QueryLimits) *gate { return &gate{limits: l, room: semaphore.New(int64(l.Max))} }

func (g *gate) running() int64 { return int64(g.limits.Max) - g.room.Free() }

func (g *gate) waiting() int { return g.room.Waiting() }

// enter waits until the query may run; leave must follow. The error is answered with 429 if
// too many wait already, or if the wait took too long.
func (g *gate) enter(ctx context.Context) error {
	if g.room.TryAcquire(1, 0) == 1 {
		return nil
	}
	if g.room.Waiting() >= g.limits.Queue {
		return retryLater(http.StatusTooManyRequests, 5, "too many queries: %d run and %d wait", g.limits.Max, g.limits.Queue)
	}
	tooLong := retryLater(http.StatusTooManyRequests, 5, "too many queries: %d run, and none has ended within %v", g.limits.Max, g.limits.Wait)
	ctx, end := context.WithTimeoutCause(ctx, g.limits.Wait, tooLong)
	defer end()
	_, err := g.room.Acquire(ctx, 1)
	return err
}

func (g *gate) leave() { g.room.Release(1) }

// run runs a query of a kind that counts: it waits for its turn, runs f, and answers with
// what f returns. The turn ends with the answer, as the result takes memory until then.
func (s *Server) run(w http.ResponseWriter, c *call, f func(ctx context.Context, queued time.Duration) (write func(*body), err error)) error {
	begun := time.Now()
	if err := s.reads.gate.enter(c.Context()); err != nil {
		return err
	}
	defer s.reads.gate.leave()
	s.reads.observe(phaseQueue, begun)
	running := time.Now()
	write, err := f(c.Context(), running.Sub(begun))
	s.reads.observe(phaseRun, running)
	if err != nil {
		return err
	}
	answering := time.Now()
	answerJSON(w, c, http.StatusOK, write)
	s.reads.observe(phaseAnswer, answering)
	return nil
}
