// Package semaphore is a weighted semaphore that serves its waiters in turn.
package semaphore

import (
	"context"
	"fmt"
	"slices"
	"sync"
)

// A Weighted limits how much of something, bytes for example, is in use at once.
// Waiters get theirs in the order of their calls, so that a large request is not
// starved by small ones. Make it by New.
type Weighted struct {
	mu    sync.Mutex
	size  int64
	free  int64 // below 0 while a request of more than size is in use
	queue []*waiter
}

type waiter struct {
	n       int64
	granted chan struct{} // closed
}

// New returns a semaphore for size units.
func New(size int64) *Weighted { return &Weighted{size: size, free: size} }

// Acquire takes n units, and waits for them if it must. A request of more than
// there are waits until all are free. If ctx is done, before or during the wait, Acquire
// takes none and returns ctx's cause. waited reports whether it had to wait.
func (s *Weighted) Acquire(ctx context.Context, n int64) (waited bool, err error) {
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	s.mu.Lock()
	if len(s.queue) == 0 && s.fits(n) {
		s.free -= n
		s.mu.Unlock()
		return false, nil
	}
	w := &waiter{n, make(chan struct{})}
	s.queue = append(s.queue, w)
	s.mu.Unlock()
	select {
	case <-w.granted:
	case <-ctx.Done():
	}
	if ctx.Err() == nil {
		return true, nil
	}
	s.mu.Lock()
	if i := slices.Index(s.queue, w); i >= 0 {
		s.queue = slices.Delete(s.queue, i, i+1)
	} else {
		s.free += n // granted at the same moment
	}
	s.grant() // the next one may need less
	s.mu.Unlock()
	return true, context.Cause(ctx)
}

// TryAcquire takes up to n units, but leaves at least leave, and returns how many
// it took. It takes none while others wait.
func (s *Weighted) TryAcquire(n, leave int64) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) > 0 {
		return 0
	}
	n = max(0, min(n, s.free-leave))
	s.free -= n
	return n
}

// Release gives back n units. It panics if fewer are in use.
func (s *Weighted) Release(n int64) {
	if n == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if used := s.size - s.free; n > used {
		panic(fmt.Sprintf("semaphore: Release: %d units; want at most the %d in use", n, used))
	}
	s.free += n
	s.grant()
}

// Size returns how much there is in all.
func (s *Weighted) Size() int64 { return s.size }

// Free returns how many units are free.
func (s *Weighted) Free() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.free
}

// Waiting returns how many calls of Acquire wait.
func (s *Weighted) Waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.queue)
}

// fits reports whether a request of n units can be granted. The caller holds mu.
func (s *Weighted) fits(n int64) bool { return s.free >= min(n, s.size) }

// grant serves the waiters at the front of the queue. The caller holds mu.
func (s *Weighted) grant() {
	granted := 0
	for _, w := range s.queue {
		if !s.fits(w.n) {
			break
		}
		s.free -= w.n
		close(w.granted)
		granted++
	}
	s.queue = slices.Delete(s.queue, 0, granted)
}
