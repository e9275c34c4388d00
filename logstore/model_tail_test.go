package logstore_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/stele-go/stele/logstore"
)

// A follower is a running Tail or Follow.
type follower struct {
	cancel context.CancelFunc
	done   chan struct{}

	mu    sync.Mutex
	found []refEntry
	lost  int64 // entries that LaggedErrors report
	err   error
}

// begin starts the only Tail or Follow, which each ranges over, and returns once it has
// begun.
func begin(ctx context.Context, s *logstore.Store, each func(ctx context.Context, take func(logstore.Result, error))) *follower {
	ctx, cancel := context.WithCancel(ctx)
	t := &follower{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(t.done)
		each(ctx, t.take)
	}()
	for !s.Tailed() && !t.ended() {
		time.Sleep(100 * time.Microsecond)
	}
	return t
}

func (t *follower) take(f logstore.Result, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var lagged *logstore.LaggedError
	switch {
	case errors.As(err, &lagged):
		t.lost += lagged.Lost
	case err != nil:
		t.err = err
	default:
		t.found = append(t.found, entryOf(f))
	}
}

func (t *follower) ended() bool {
	select {
	case <-t.done:
		return true
	default:
		return false
	}
}

// has reports whether n entries have arrived or been lost.
func (t *follower) has(n int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return int64(len(t.found))+t.lost >= int64(n)
}

// end compares the entries that arrived with those acknowledged, in that order,
// and ends the Tail.
func (t *follower) end(want []refEntry) error {
	for begin := time.Now(); !t.has(len(want)) && !t.ended() && time.Since(begin) < 2*time.Minute; {
		time.Sleep(100 * time.Microsecond)
	}
	t.cancel()
	<-t.done
	if !errors.Is(t.err, context.Canceled) {
		return fmt.Errorf("it ended with %w", t.err)
	}
	missing, err := explain(want, func(refEntry) bool { return t.lost > 0 }, t.found, 0)
	if err == nil && int64(len(missing)) > t.lost {
		err = fmt.Errorf("%d entries are missing, and %d were reported lost", len(missing), t.lost)
	}
	return err
}
