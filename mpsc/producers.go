package mpsc

import (
	"context"
	"sync"
)

// producers is where producers wait for room.
//
// One of them at a time is woken, by the consumer when it frees a slot. The
// others are woken by those who were: whoever was woken fills a slot, and if
// there is still room wakes the next. So the consumer pays for one wake-up
// while the ring empties, and a producer that was woken and goes on pushing
// finds room for many values.
//
// No wake-up is lost, by the argument given at consumer: who begins to wait,
// and who was woken and is done, stores waiting and then looks at head; the
// consumer stores head and then loads waiting. A woken producer whose ctx is
// done passes the wake-up on.
type producers struct {
	mu    sync.Mutex
	queue waiters
	woken int     // those taken out of queue that have neither left nor come back
	spare *waiter // used before, linked by next; as many as ever waited at once
}

// waiter is a producer that waits.
type waiter struct {
	ready      chan struct{} // of capacity 1; gets one value for each time it is woken
	queued     bool
	prev, next *waiter
}

// claimLater is claim for a producer that found no room: it waits until there
// is some, the queue is closed or ctx is done.
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
		q.requeue(w) // somebody was faster
	}
}

// enqueue begins to wait.
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

// requeue goes on waiting after having been woken in vain, before those who
// came later.
func (q *Queue[T]) requeue(w *waiter) {
	q.mu.Lock()
	q.woken--
	q.queue.pushFront(w)
	q.unlockAndWake()
}

// leave ends the waiting of w, which was woken, or has lost patience; then it
// may have been woken at the same moment.
func (q *Queue[T]) leave(w *waiter, woken bool) {
	q.mu.Lock()
	if w.queued {
		q.queue.remove(w)
	} else {
		q.woken--
		if !woken {
			<-w.ready // w is to be used again
		}
	}
	w.next = q.spare
	q.spare = w
	q.unlockAndWake()
}

// wakeProducer wakes the one that has waited longest, unless one is already
// about to run.
func (q *Queue[T]) wakeProducer() {
	q.mu.Lock()
	q.unlockAndWake()
}

// unlockAndWake tells the consumer whether it has to wake somebody, looks
// whether it is too late for that, and if so wakes the first.
func (q *Queue[T]) unlockAndWake() {
	if q.woken > 0 || q.queue.first == nil {
		q.waiting.Store(false)
		q.mu.Unlock()
		return
	}
	q.waiting.Store(true)
	if !q.room() {
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

// wakeAllProducers is for Close: all that wait shall see closedBit.
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

// waiters is a list in the order of waiting.
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
