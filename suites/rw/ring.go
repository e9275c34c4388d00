package rw

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/stele-go/stele/internal/measure/uring"
	"github.com/stele-go/stele/internal/sys"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/datafile"
	"github.com/stele-go/stele/suites/job"
)

// A queue has requests in flight: a uring.Ring, or one of libaio.
type queue interface {
	Push(q uring.Request) error
	Wait(done []uring.Completion, atLeast int) (int, error)
	Close() error
}

// openQueue opens a queue for depth requests in flight.
type openQueue func(depth int) (queue, error)

// interrupted opens an io_uring whose completions come by interrupt.
func interrupted(depth int) (queue, error) {
	if err := uring.Probe(); err != nil {
		return nil, err
	}
	return uring.New(depth)
}

// polled opens an io_uring whose completions are polled for.
func polled(depth int) (queue, error) {
	if err := uring.Probe(); err != nil {
		return nil, err
	}
	return uring.NewPolled(depth)
}

// A ringLoop keeps requests of one size in flight through a queue. It is for one
// goroutine.
type ringLoop struct {
	u     queue
	bufs  [][]byte
	free  []int       // buffers that no request has
	begun []time.Time // of the request that has the buffer
	at    []int64     // its offset
	done  []uring.Completion
	hist  *run.Histogram // from Push to the result
}

// openRing returns a ringLoop with a request in flight for each buffer.
func openRing(open openQueue, bufs [][]byte) (*ringLoop, error) {
	depth := len(bufs)
	u, err := open(depth)
	if err != nil {
		return nil, err
	}
	r := &ringLoop{u: u, bufs: bufs, begun: make([]time.Time, depth), at: make([]int64, depth), done: make([]uring.Completion, depth), hist: run.NewHistogram()}
	for i := range depth {
		r.free = append(r.free, i)
	}
	return r, nil
}

// ringBuffers returns depth blocks of memory, aligned for direct I/O.
func ringBuffers(depth, block int) [][]byte {
	bufs := make([][]byte, depth)
	for i := range bufs {
		bufs[i] = datafile.Touched(sys.AlignedBuffer(block, datafile.PageSize))
	}
	return bufs
}

func (r *ringLoop) close() error { return r.u.Close() }

// run does n requests. An operation of the loop is a request that has ended. run fills
// the ring before the first and keeps it full while there are requests left.
func (r *ringLoop) run(loop func() bool, n int64, where order, request uring.Request, ended func(off int64, p []byte) error) error {
	var issued int64
	var ready []uring.Completion
	for loop() {
		if len(ready) == 0 {
			if len(r.free) > 0 && issued < n {
				now := time.Now()
				for ; len(r.free) > 0 && issued < n; issued++ {
					k := r.free[len(r.free)-1]
					r.free = r.free[:len(r.free)-1]
					r.begun[k], r.at[k] = now, where(issued)
					q := request
					q.Buf, q.Offset, q.Tag = r.bufs[k], r.at[k], uint64(k)
					if err := r.u.Push(q); err != nil {
						return err
					}
				}
			}
			k, err := r.u.Wait(r.done, 1)
			if err != nil {
				return err
			}
			if ready = r.done[:k]; k == 0 {
				return fmt.Errorf("io_uring: %d requests were submitted and fewer completed", issued)
			}
			now := time.Now()
			for _, d := range ready {
				r.hist.Record(max(1, int64(now.Sub(r.begun[d.Tag]))))
			}
		}
		d := ready[0]
		ready = ready[1:]
		buf := r.bufs[d.Tag]
		switch {
		case d.Err != nil:
			return d.Err
		case d.N != len(buf):
			return fmt.Errorf("io_uring %v at offset %d moved %d of %d bytes", request.Op, r.at[d.Tag], d.N, len(buf))
		}
		if ended != nil {
			if err := ended(r.at[d.Tag], buf); err != nil {
				return err
			}
		}
		r.free = append(r.free, int(d.Tag))
	}
	return nil
}

// RequestP50 is the median latency of a request, from its submission to its end.
const RequestP50 = "request_p50_ns"

// reportRequests gives the lab the latencies of requests; else it would take the time
// between two that end.
func reportRequests(b *lab.B, hists ...*run.Histogram) {
	all := job.Timer{Hist: run.NewHistogram()}
	for _, h := range hists {
		all.Hist.Merge(h)
	}
	all.Report(b, "request")
	b.SetLatency(all.Hist)
}

// runRings does the block's operations in as many goroutines as threads, each with its
// own ring.
func runRings(b *lab.B, f *os.File, open openQueue, threads, depth, block int, where func(id int) (order, error), request uring.Request, look bool) (err error) {
	rings, orders := make([]*ringLoop, threads), make([]order, threads)
	for i := range rings {
		if orders[i], err = where(i); err != nil {
			return err
		}
		if rings[i], err = openRing(open, ringBuffers(depth, block)); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, rings[i].close()) }()
	}
	request.File = f
	one := func(loop func() bool, id int) error {
		var l looker
		var ended func(off int64, p []byte) error
		if look {
			ended = func(off int64, p []byte) error { l.off = off; return l.look(p) }
		}
		return rings[id].run(loop, shareOf(b.N, threads, id), orders[id], request, ended)
	}
	b.SetBytes(int64(block))
	b.InFlight(depth)
	if threads == 1 {
		err = one(b.Loop, 0)
	} else {
		err = b.Parallel(threads, func(w *lab.Worker) error { return one(w.Loop, w.ID) })
	}
	var hists []*run.Histogram
	for _, r := range rings {
		hists = append(hists, r.hist)
	}
	reportRequests(b, hists...)
	return err
}
