package newfile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stele-go/stele/mpsc"
)

// ErrFull is what TrySubmit says when QueueOptions.Capacity requests wait.
var ErrFull = errors.New("newfile: queue is full")

// QueueOptions are the settings of a Queue. The zero value works.
type QueueOptions struct {
	// Capacity is how many requests wait at most. The default, 0, is 1,024.
	Capacity int
	// Batch is how many requests are taken at once at most. The default, 0, is
	// 64. At level Power they share one sync of each folder.
	Batch int
	// Linger is how long the first request of a batch waits for others at
	// most. The default, 0, is no time at level Kill, where waiting would gain
	// nothing, and at level Power 1 ms while another batch is being synced,
	// and else no time. A negative Linger is none.
	Linger time.Duration
	// Workers is how many batches are under way at once at most. The default,
	// 0, is 16 at level Power, where they mostly wait for the disk, and else
	// GOMAXPROCS but at most 8. Unless a Linger is set, a Create that finds
	// nobody waiting and a worker idle does the work itself.
	Workers int
	// Perm, before umask, is for requests that say none, and for Create. The
	// default, 0, is 0o666.
	Perm fs.FileMode
}

// A Request asks a Queue for one file.
type Request struct {
	Name  string
	Perm  fs.FileMode // 0 stands for QueueOptions.Perm
	Touch bool        // the file is only made: Done is given no file
	// Done is called once, with the open file or the reason why there is
	// none. It runs on one of the queue's own goroutines: it should hand the
	// file on and return, and must not call Submit, Create or Close of the
	// queue.
	Done func(f *os.File, err error)
}

// A Queue makes files in a Dir for many goroutines, by a few of its own. It may
// be used by many goroutines at once. What a file's name survives when its
// request is answered is what the Dir promises.
//
// Each request is answered exactly once: by the error of Submit, or by its
// Done. That holds when contexts are cancelled, when the disk is full, and for
// what waits when the queue is closed.
//
// When descriptors run out (EMFILE, ENFILE) the queue does not fail: it hands
// out what it has made, and tries again, after 1 ms at first and 100 ms at
// last, until somebody has closed a file. Requests behind that one wait too.
// The waiting ends with the ctx of the request, and with Close: then the answer
// is the *LimitError.
type Queue struct {
	d        *Dir
	requests *mpsc.Queue[request]
	batch    int
	linger   time.Duration
	perm     fs.FileMode

	lingerIfBusy bool // and not else

	closeOnce sync.Once
	closing   chan struct{}
	baton     chan struct{} // of capacity 1
	drainers  sync.WaitGroup

	workers int64
	busy    atomic.Int64 // drainers with a batch, and callers that help themselves
	helping sync.RWMutex // read-held by the latter, so that Close waits

	answered, failed, abandoned, batches, waits, limitWaits atomic.Uint64
}

// request is a Request, or a call of Create, under way.
type request struct {
	ctx   context.Context
	place place
	perm  fs.FileMode
	touch bool
	done  func(f *os.File, err error)
	call  *call // in place of done
}

// syncWorkers batches of the default size hold as many requests as wait at
// most by default.
const syncWorkers = 16

// NewQueue starts a queue. Close it before d.
func NewQueue(d *Dir, o QueueOptions) (*Queue, error) {
	if o.Capacity < 0 || o.Capacity > 1<<31-1 || o.Batch < 0 || o.Batch > 1<<20 || o.Workers < 0 {
		return nil, fmt.Errorf("newfile: queue: %w: %+v", fs.ErrInvalid, o)
	}
	if o.Capacity == 0 {
		o.Capacity = 1024
	}
	if o.Batch == 0 {
		o.Batch = 64
	}
	if o.Workers == 0 {
		o.Workers = min(runtime.GOMAXPROCS(0), maxWorkers)
		if d.power {
			o.Workers = syncWorkers
		}
	}
	lingerIfBusy := o.Linger == 0 && d.power
	if lingerIfBusy {
		o.Linger = time.Millisecond
	}
	if o.Perm == 0 {
		o.Perm = 0o666
	}
	q := &Queue{
		d: d, requests: mpsc.New[request](o.Capacity), batch: o.Batch, linger: o.Linger, perm: o.Perm, workers: int64(o.Workers),
		lingerIfBusy: lingerIfBusy,
		closing:      make(chan struct{}), baton: make(chan struct{}, 1),
	}
	q.baton <- struct{}{}
	for range o.Workers {
		q.drainers.Go((&drainer{Queue: q}).run)
	}
	return q, nil
}

// Submit hands r to the queue, and waits while that is full. If it returns
// nil, r.Done is called; if it returns an error, it never is. The error is
// fs.ErrInvalid for a name that Dir.Create refuses or a request without Done,
// fs.ErrClosed after Close, or that of ctx.
//
// ctx is also that of the request: if it is done when the request's turn
// comes, Done is given its error and no file is made.
func (q *Queue) Submit(ctx context.Context, r Request) error {
	req, err := q.request(ctx, r)
	if err != nil {
		return err
	}
	return q.push(req)
}

// TrySubmit is Submit without waiting: while the queue is full it returns
// ErrFull.
func (q *Queue) TrySubmit(r Request) error {
	req, err := q.request(context.Background(), r)
	if err != nil {
		return err
	}
	switch err := q.requests.TryPush(req); err {
	case nil:
		return nil
	case mpsc.ErrFull:
		return ErrFull
	default:
		return fail("create", req.place.path, fs.ErrClosed)
	}
}

func (q *Queue) request(ctx context.Context, r Request) (request, error) {
	p, err := q.d.place("create", r.Name)
	if err != nil {
		return request{}, err
	}
	if r.Done == nil {
		return request{}, fail("create", p.path, fmt.Errorf("%w: a request without Done", fs.ErrInvalid))
	}
	if r.Perm == 0 {
		r.Perm = q.perm
	}
	return request{ctx: ctx, place: p, perm: r.Perm, touch: r.Touch, done: r.Done}, nil
}

func (q *Queue) push(r request) error {
	if r.ctx.Err() != nil {
		return fail("create", r.place.path, ctxErr(r.ctx))
	}
	err := q.requests.TryPush(r)
	if err == mpsc.ErrFull {
		q.waits.Add(1)
		err = q.requests.Push(r.ctx, r)
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, mpsc.ErrClosed):
		return fail("create", r.place.path, fs.ErrClosed)
	}
	return fail("create", r.place.path, ctxErr(r.ctx))
}

// call is a Create that waits for its file.
type call struct {
	state  atomic.Int32
	answer chan result // of capacity 1
}

const (
	callWaits int32 = iota
	callAnswered
	callAbandoned
)

type result struct {
	file *os.File
	err  error
}

var calls = sync.Pool{New: func() any { return &call{answer: make(chan result, 1)} }}

// Create is Dir.Create by way of the queue. If ctx is done first, Create
// returns its error without waiting for its turn: the file is then not made if
// that had not come, else it may be there, and its descriptor is closed. While
// Create does the work itself, see QueueOptions.Workers, only waiting for a
// descriptor ends with ctx.
func (q *Queue) Create(ctx context.Context, name string) (*os.File, error) {
	p, err := q.d.place("create", name)
	if err != nil {
		return nil, err
	}
	if q.help() {
		defer q.helped()
		r := request{ctx: ctx, place: p, perm: q.perm}
		f, err := (&drainer{Queue: q}).make(r)
		if err == nil && q.d.power {
			if err = q.sync(p.shard); err != nil {
				f.Close() // nothing was written
				f = nil
			}
		}
		q.count(err)
		return f, err
	}
	c := calls.Get().(*call)
	c.state.Store(callWaits)
	if err := q.push(request{ctx: ctx, place: p, perm: q.perm, call: c}); err != nil {
		calls.Put(c)
		return nil, err
	}
	var r result
	select {
	case r = <-c.answer:
	case <-ctx.Done():
		if c.state.CompareAndSwap(callWaits, callAbandoned) {
			return nil, fail("create", p.path, ctxErr(ctx)) // c is still the queue's
		}
		r = <-c.answer // the answer was on its way
	}
	calls.Put(c)
	return r.file, r.err
}

// help reports whether a caller may make its file itself: nobody waits, no
// batch is wanted, and fewer than Workers are at it. Handing a request over and
// waking those concerned costs about as much as a file, and at level Power the
// syncs of those who help themselves are shared as those of batches are.
func (q *Queue) help() bool {
	if q.linger > 0 && !q.lingerIfBusy || q.requests.Len() > 0 || q.busy.Load() >= q.workers || !q.helping.TryRLock() {
		return false
	}
	q.busy.Add(1)
	return true
}

func (q *Queue) helped() {
	q.busy.Add(-1)
	q.helping.RUnlock()
}

// Close ends the queue: from then on every request is refused with
// fs.ErrClosed. It returns when all that were accepted are answered. Closing
// again does nothing but wait.
func (q *Queue) Close() error {
	q.closeOnce.Do(func() {
		close(q.closing)
		q.requests.Close()
		q.helping.Lock() // for good
	})
	q.drainers.Wait()
	return nil
}

// QueueStats counts what a Queue has done since it was made.
type QueueStats struct {
	Depth      int    // requests that wait now
	Batches    uint64 // taken out of the queue by its goroutines
	Answered   uint64 // requests, with a file or an error,
	Failed     uint64 // of which with an error,
	Abandoned  uint64 // and of which nobody waited for any more: the file was closed
	Waits      uint64 // requests that found the queue full
	LimitWaits uint64 // times the queue waited for a descriptor
}

// Stats may be called at any time, and may be out of date when it returns.
func (q *Queue) Stats() QueueStats {
	return QueueStats{
		Depth: q.requests.Len(), Batches: q.batches.Load(),
		Answered: q.answered.Load(), Failed: q.failed.Load(), Abandoned: q.abandoned.Load(),
		Waits: q.waits.Load(), LimitWaits: q.limitWaits.Load(),
	}
}
