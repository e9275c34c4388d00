package iojob

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/stele-go/stele/internal/measure/uring"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
)

// A ringThread keeps requests of one thread in flight through an io_uring.
type ringThread struct {
	ring   *uring.Ring
	file   *os.File
	source *source
	arrive *arrivals
	slots  []slot
	free   []int
	done   []uring.Completion
	ended  []ending // whose operations Loop has not counted yet
	left   int64    // operations not issued yet
	every  int64    // writes to a sync; 0 is never
	sync   uring.Op // Fsync or Fdatasync
	wrote  int64    // since the last sync was begun
	hist   *run.Histogram
	tally  *tally
}

// A slot is a request in flight, and its memory.
type slot struct {
	buf     []byte
	op      operation
	begin   time.Time // it was pushed, or was to start
	syncing bool      // written, and its sync is in flight
}

type ending struct {
	slot int
	took time.Duration
}

func newRingThread(j *Job, f *os.File, s *source, a *arrivals, n int64) (*ringThread, error) {
	if err := uring.Probe(); err != nil {
		return nil, err
	}
	open := uring.New
	if j.engine() == enginePoll {
		if err := uring.Pollable(f); err != nil {
			return nil, err
		}
		open = uring.NewPolled
	}
	ring, err := open(j.Depth)
	if err != nil {
		return nil, err
	}
	r := &ringThread{
		ring: ring, file: f, source: s, arrive: a, left: n, every: j.syncEvery(), sync: uring.Fsync,
		slots: make([]slot, j.Depth), done: make([]uring.Completion, j.Depth), hist: run.NewHistogram(),
	}
	if j.sync() == syncData {
		r.sync = uring.Fdatasync
	}
	for i := range r.slots {
		r.slots[i].buf = buffer(int(j.largest()))
		r.free = append(r.free, i)
	}
	return r, nil
}

// run does operations until Loop ends: each is a request that has ended.
func (r *ringThread) run(b *lab.B, w *lab.Worker) error {
	for first := true; w.Loop(); first = false {
		if first && r.arrive != nil {
			r.arrive.begin()
		}
		e, err := r.next(b.Context())
		if err != nil {
			return err
		}
		s := &r.slots[e.slot]
		r.tally.bytes += int64(s.op.n)
		r.hist.Record(int64(e.took))
		if r.arrive != nil {
			w.Took(e.took)
		}
		if r.tally.split || r.arrive != nil {
			r.tally.add(s.op, e.took)
		}
		r.free = append(r.free, e.slot)
	}
	return nil
}

// next returns the next operation that has ended.
func (r *ringThread) next(ctx context.Context) (ending, error) {
	for {
		until, err := r.issue()
		if err != nil {
			return ending{}, err
		}
		if len(r.ended) > 0 {
			e := r.ended[0]
			r.ended = r.ended[1:]
			return e, nil
		}
		if err := ctx.Err(); err != nil {
			return ending{}, err
		}
		if r.ring.InFlight() == 0 {
			waitUntil(ctx, until)
			continue
		}
		n, err := r.ring.WaitUntil(r.done, 1, until)
		if err != nil {
			return ending{}, err
		}
		now := time.Now()
		for _, d := range r.done[:n] {
			if err := r.completed(d, now); err != nil {
				return ending{}, err
			}
		}
	}
}

// issue pushes a request for each free slot, in an open model as many as have arrived.
// It returns when the next one arrives, zero if none can be issued then.
func (r *ringThread) issue() (until time.Time, err error) {
	if len(r.free) == 0 || r.left == 0 {
		return time.Time{}, nil
	}
	now := time.Now()
	for len(r.free) > 0 && r.left > 0 {
		begin := now
		if r.arrive != nil {
			if begin = r.arrive.next(); begin.After(now) {
				return begin, nil
			}
			r.arrive.take()
		}
		i := r.free[len(r.free)-1]
		r.free = r.free[:len(r.free)-1]
		r.left--
		s := &r.slots[i]
		s.op, s.begin, s.syncing = r.source.next(), begin, false
		q := uring.Request{Op: uring.Read, File: r.file, Buf: s.buf[:s.op.n], Offset: s.op.off, Tag: uint64(i)}
		if s.op.write {
			q.Op = uring.Write
		}
		if err := r.ring.Push(q); err != nil {
			return time.Time{}, err
		}
	}
	return time.Time{}, nil
}

// completed ends an operation, or begins the sync that its write is due for.
func (r *ringThread) completed(d uring.Completion, now time.Time) error {
	i := int(d.Tag)
	s := &r.slots[i]
	switch {
	case d.Err != nil:
		return d.Err
	case !s.syncing && d.N != s.op.n:
		return fmt.Errorf("io_uring moved %d of %d bytes at offset %d", d.N, s.op.n, s.op.off)
	}
	if s.op.write && !s.syncing && r.every > 0 {
		if r.wrote++; r.wrote >= r.every {
			r.wrote, s.syncing = 0, true
			return r.ring.Push(uring.Request{Op: r.sync, File: r.file, Tag: d.Tag})
		}
	}
	r.ended = append(r.ended, ending{i, max(now.Sub(s.begin), 1)})
	return nil
}
