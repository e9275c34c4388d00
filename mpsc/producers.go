package mpsc

import (
	"context"
	"sync"
)

// producers has the producers that wait for a free slot.
//
// The consumer wakes one when it frees a slot. A woken producer fills a slot and,
// if another is free, wakes the next. So the consumer pays for one wake-up while
// the ring empties, and a woken producer that goes on pushing finds many free
// slots.
//
// No wake-up is lost, by the argument given at consumer: a producer that starts to
// wait, or was woken and is done, stores waiting and then loads head; the consumer
// stores head and then loads waiting. A woken producer whose ctx is done passes
// the wake-up on.
type producers struct {
	mu    sync.Mutex
	queue waiters
	woken int     // taken out of queue, and neither left nor requeued
	spare *waiter // a free list, linked by next
}

// A waiter is a producer that waits.
type waiter struct {
	ready      chan struct{} // of capacity 1; gets a value for each wake-up
	queued     bool
	prev, next *waiter
}

// claimLater is claim for a producer that found the queue full: it waits until a
// slot is free, the queue is closed or ctx is done.
func (q *Queue[T]) claimLater(ctx context.Context) (uint64, error) {
	w := q.enqueue()
	for {
		select {
		case <-w.ready:
		case <-ctx.Done():
			q.leave(w, false)
			return 0, cancelled("push", ctx)
		}
		if p, err := q.claim(); err != ErrFull {
			q.leave(w, true)
			return p, err
		}
		q.requeue(w) // another producer took the slot
	}
}

// enqueue adds a waiter.
func (q *Queue[T]) enqueue() *waiter {
	q.mu.Lock()
	w := q.spare
	if w != nil {
		q.spare = w.next
	} else {
		w = &waiter{ready: make(chan struct{}, 1)}
	}
	q.queue.pushBack(w)
	q.unlockAndWake()
	return w
}

// requeue adds w, which was woken in vain, before the waiters that came later.
func (q *Queue[T]) requeue(w *waiter) {
	q.mu.Lock()
	q.woken--
	q.queue.pushFront(w)
	q.unlockAndWake()
}

// leave ends the wait of w. If woken is false its ctx is done, and it may have been
// woken at the same moment.
func (q *Queue[T]) leave(w *waiter, woken bool) {
	q.mu.Lock()
	if w.queued {
		q.queue.remove(w)
	} else {
		q.woken--
		if !woken {
			<-w.ready // so that w can be reused
		}
	}
	w.next = q.spare
	q.spare = w
	q.unlockAndWake()
}

// wakeProducer wakes the producer that has waited longest, unless a woken one is
// about to run.
func (q *Queue[T]) wakeProducer() {
	q.mu.Lock()
	q.unlockAndWake()
}

// unlockAndWake stores waiting for the consumer. If a slot is free by then it
// wakes the first waiter itself.
func (q *Queue[T]) unlockAndWake() {
	if q.woken > 0 || q.queue.first == nil {
		q.waiting.Store(false)
		q.mu.Unlock()
		return
	}
	q.waiting.Store(true)
	if !q.claimable() {
		q.mu.Unlock()
		return
	}
	q.waiting.Store(false)
	w := q.queue.first
	q.queue.remove(w)
	q.woken++
	q.mu.Unlock()
	w.ready <- struct{}{}
}

// wakeAllProducers wakes all waiters, which see closedBit.
func (q *Queue[T]) wakeAllProducers() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting.Store(false)
	for w := q.queue.first; w != nil; w = q.queue.first {
		q.queue.remove(w)
		q.woken++
		w.ready <- struct{}{}
	}
}

// waiters is a list of waiters, the oldest first.
type waiters struct{ first, last *waiter }

func (l *waiters) pushBack(w *waiter) {
	w.queued, w.prev, w.next = true, l.last, nil
	if l.last == nil {
		l.first = w
	} else {
		l.last.next = w
	}
	l.last = w
}

func (l *waiters) pushFront(w *waiter) {
	w.queued, w.prev, w.next = true, nil, l.first
	if l.first == nil {
		l.last = w
	} else {
		l.first.prev = w
	}
	l.first = w
}

func (l *waiters) remove(w *waiter) {
	w.queued = false
	if w.prev == nil {
		l.first = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next == nil {
		l.last = w.prev
	} else {
		w.next.prev = w.prev
	}
	w.prev, w.next = nil, nil
}
