package server

import (
	"context"
	"net/http"
	"time"

	"github.com/stele-go/stele/internal/semaphore"
)

// A gate bounds how many queries run at once. Those that find it full wait their turn.
type gate struct {
	of     string // what enters it, in the plural
	most   int
	limits QueryLimits // Queue and Wait
	room   *semaphore.Weighted
}

func newGate(of string, most int, l QueryLimits) *gate {
	return &gate{of: of, most: most, limits: l, room: semaphore.New(int64(most))}
}

func (g *gate) running() int64 { return int64(g.most) - g.room.Free() }

func (g *gate) waiting() int { return g.room.Waiting() }

// enter waits until the query may run; leave must follow. The error is answered with 429 if
// too many wait already, or if the wait took too long.
func (g *gate) enter(ctx context.Context) error {
	if g.room.TryAcquire(1, 0) == 1 {
		return nil
	}
	if g.room.Waiting() >= g.limits.Queue {
		return retryLater(http.StatusTooManyRequests, 5, "too many %s: %d run and %d wait", g.of, g.most, g.limits.Queue)
	}
	tooLong := retryLater(http.StatusTooManyRequests, 5, "too many %s: %d run, and none has ended within %v", g.of, g.most, g.limits.Wait)
	ctx, end := context.WithTimeoutCause(ctx, g.limits.Wait, tooLong)
	defer end()
	_, err := g.room.Acquire(ctx, 1)
	return err
}

func (g *gate) leave() { g.room.Release(1) }

// run runs a query of a kind that counts: it waits for its turn, runs f, and answers with
// what f returns. The turn ends before the answer is sent, as soon as there is memory for
// the result: a client that reads slowly keeps no other from its turn.
func (s *Server) run(w http.ResponseWriter, c *call, f func(ctx context.Context, queued time.Duration) (reply, error)) error {
	begun := time.Now()
	if err := s.reads.gate.enter(c.Context()); err != nil {
		return err
	}
	answer, err := s.runInTurn(c.Context(), begun, f)
	if err != nil {
		return err
	}
	defer s.reads.answers.Release(answer.bytes)
	defer s.reads.observe(phaseAnswer, time.Now())
	answerJSON(w, c, http.StatusOK, answer.write)
	return nil
}

// runInTurn runs f, and ends the turn. The memory of the result is the caller's to release.
func (s *Server) runInTurn(ctx context.Context, begun time.Time, f func(ctx context.Context, queued time.Duration) (reply, error)) (reply, error) {
	defer s.reads.gate.leave()
	s.reads.observe(phaseQueue, begun)
	running := time.Now()
	answer, err := f(ctx, running.Sub(begun))
	s.reads.observe(phaseRun, running)
	if err != nil {
		return reply{}, err
	}
	tooLong := retryLater(http.StatusTooManyRequests, 5, "too many clients read their answers slowly: there was no memory for another one within %v", s.o.Queries.Wait)
	ctx, end := context.WithTimeoutCause(ctx, s.o.Queries.Wait, tooLong)
	defer end()
	_, err = s.reads.answers.Acquire(ctx, answer.bytes)
	return answer, err
}
