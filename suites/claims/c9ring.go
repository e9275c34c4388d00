package claims

import (
	"runtime"
	"sync/atomic"
	"syscall"
	"time"
)

// pathMax is PATH_MAX of Linux, the length of a path with its final zero.
const pathMax = 4096

// A ringEntry is a request to create a file, as the report lays it out: fixed, so that the ring
// holds no pointer.
type ringEntry struct {
	path  [pathMax]byte
	mode  uint32
	flags int32
	due   time.Duration // since the ring was made; the callback's argument
}

// A createRing is the report's ring: one producer, one consumer that polls, and a head and a
// tail that count for ever. The consumer drains it once 64 requests are there or the first has
// waited for 1 ms.
type createRing struct {
	entries    []ringEntry
	_          [64]byte
	head       atomic.Uint64 // next to be written, by the producer
	_          [64]byte
	tail       atomic.Uint64 // next to be read, by the consumer
	_          [64]byte
	closed     atomic.Bool
	begun      time.Time
	drained    chan struct{}
	failed     error
	onFinished func(due, now time.Duration)
}

const (
	ringBatch  = 64
	ringLinger = time.Millisecond
)

func newCreateRing(size int, begun time.Time, onFinished func(due, now time.Duration)) *createRing {
	r := &createRing{entries: make([]ringEntry, size), begun: begun, drained: make(chan struct{}), onFinished: onFinished}
	for i := range r.entries {
		r.entries[i].mode = 1 // all pages are there before the timer starts
	}
	return r
}

// push adds a request. It reports false if the ring is full.
func (r *createRing) push(path string, mode uint32, flags int, due time.Duration) bool {
	at := r.head.Load()
	if at-r.tail.Load() == uint64(len(r.entries)) {
		return false
	}
	e := &r.entries[at%uint64(len(r.entries))]
	e.path[copy(e.path[:pathMax-1], path)] = 0
	e.mode, e.flags, e.due = mode, int32(flags), due
	r.head.Store(at + 1)
	return true
}

// consume creates the files until the ring is closed and empty.
func (r *createRing) consume() {
	defer close(r.drained)
	var since time.Time // when the first of the waiting requests was seen
	for {
		closing := r.closed.Load()
		at, end := r.tail.Load(), r.head.Load()
		switch {
		case at == end && closing:
			return
		case at == end:
			since = time.Time{}
			runtime.Gosched()
			continue
		case since.IsZero():
			since = time.Now()
		}
		if end-at < ringBatch && !closing && time.Since(since) < ringLinger {
			runtime.Gosched()
			continue
		}
		for ; at < end; at++ {
			r.create(&r.entries[at%uint64(len(r.entries))])
			r.tail.Store(at + 1)
		}
		since = time.Time{}
	}
}

// create is openat and close, and the callback.
func (r *createRing) create(e *ringEntry) {
	n := 0
	for e.path[n] != 0 {
		n++
	}
	fd, err := syscall.Open(string(e.path[:n]), int(e.flags), e.mode)
	if err == nil {
		err = syscall.Close(fd)
	}
	if err != nil && r.failed == nil {
		r.failed = err
	}
	r.onFinished(e.due, time.Since(r.begun))
}

// close waits until all requests are done, and returns the first error.
func (r *createRing) close() error {
	r.closed.Store(true)
	<-r.drained
	return r.failed
}
