package rw

import (
	"github.com/stele-go/stele/internal/measure/aio"
	"github.com/stele-go/stele/internal/measure/uring"
	"github.com/stele-go/stele/suites/job"
)

// libaio opens a queue of native asynchronous I/O, for reads.
func libaio(depth int) (queue, error) {
	q, err := aio.NewQueue(depth)
	if err != nil {
		return nil, err
	}
	return &aioReads{q: q, done: make([]aio.Completion, depth)}, nil
}

type aioReads struct {
	q    *aio.Queue
	done []aio.Completion
}

func (a *aioReads) Push(r uring.Request) error {
	if r.Op != uring.Read {
		return job.Unsupported("%v by libaio is not measured", r.Op)
	}
	return a.q.Push(r.File, r.Buf, r.Offset, r.Tag)
}

func (a *aioReads) Wait(done []uring.Completion, atLeast int) (int, error) {
	n, err := a.q.Wait(a.done[:min(len(a.done), len(done))], atLeast)
	for i, c := range a.done[:n] {
		done[i] = uring.Completion(c)
	}
	return n, err
}

func (a *aioReads) Close() error { return a.q.Close() }
