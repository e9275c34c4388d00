package logstore

import (
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"
)

const (
	// maxEvents is how many events wait for Options.Events at most.
	maxEvents = 1024
	// eventsClose is how long Close waits for Options.Events.
	eventsClose = time.Second
)

// An eventQueue delivers events to Options.Events, one after the other, in a
// goroutine of its own. Telling never waits: what the queue cannot hold is counted,
// and the count is told when there is room.
type eventQueue struct {
	deliver func(Event) // nil: nobody listens
	now     func() time.Time
	failed  func(error) // called with nil after a call of deliver that returned
	ready   signal
	done    chan struct{} // closed when run has ended

	mu      sync.Mutex
	list    []Event
	dropped int64
	closed  bool
	// report has the events of Open, which goes on while opening is set.
	report  Report
	opening bool
}

func newEventQueue(deliver func(Event), now func() time.Time, failed func(error)) *eventQueue {
	q := &eventQueue{
		deliver: deliver, now: now, failed: failed,
		ready: make(signal, 1), done: make(chan struct{}), opening: true,
	}
	if deliver == nil {
		close(q.done)
	} else {
		go q.run()
	}
	return q
}

// tell queues an event. It may be called with any lock held.
func (q *eventQueue) tell(e Event) {
	e.Time = q.now()
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.opening {
		if len(q.report.Events) < maxReport {
			q.report.Events = append(q.report.Events, e)
		} else {
			q.report.More++
		}
	}
	if q.deliver == nil || q.closed {
		return
	}
	if len(q.list) == maxEvents {
		q.dropped++
		return
	}
	q.list = append(q.list, e)
	q.ready.wake()
}

// endOpen tells that Open has found all there is.
func (q *eventQueue) endOpen() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.opening = false
}

// opened returns the events of Open.
func (q *eventQueue) opened() Report {
	q.mu.Lock()
	defer q.mu.Unlock()
	return Report{slices.Clone(q.report.Events), q.report.More}
}

func (q *eventQueue) run() {
	defer close(q.done)
	for range q.ready {
		for {
			list, closed := q.take()
			for _, e := range list {
				q.call(e)
			}
			if closed && len(list) == 0 {
				return
			}
			if len(list) == 0 {
				break
			}
		}
	}
}

// take takes all that waits. Dropped events came after those in the queue.
func (q *eventQueue) take() (list []Event, closed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	list, q.list = q.list, nil
	if q.dropped > 0 {
		list = append(list, Event{Kind: EventDropped, Time: q.now(), Count: q.dropped})
		q.dropped = 0
	}
	return list, q.closed
}

func (q *eventQueue) call(e Event) {
	defer func() {
		if v := recover(); v != nil {
			q.failed(fmt.Errorf("%v: %w", e.Kind, &PanicError{Value: v, Stack: debug.Stack(), in: "Options.Events"}))
		}
	}()
	q.deliver(e)
	q.failed(nil)
}

// close waits until all that was told is delivered, but no longer than eventsClose
// for a call that does not return. Nothing is told after it.
func (q *eventQueue) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.ready.wake()
	wait := time.NewTimer(eventsClose)
	defer wait.Stop()
	select {
	case <-q.done:
	case <-wait.C:
	}
}
