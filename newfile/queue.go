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

	"github.com/stele-go/stele/internal/queue"
	"github.com/stele-go/stele/latency"
)

// ErrFull is the error of TrySubmit while QueueOptions.Capacity requests wait.
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
//
// The zero Queue is not open: its methods fail with fs.ErrInvalid.
type Queue struct {
	d        *Dir
	requests *queue.Queue[request]
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

	creates latency.Sampler
	drains  latency.Sampler
}

// request is a Request, or a call of Create, under way.
type request struct {
	timer latency.Timer // from the call on, or none
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

func (o QueueOptions) check() error {
	switch {
	case o.Capacity < 0 || o.Capacity > 1<<31-1:
		return invalid("QueueOptions.Capacity: %d requests; want 0 (%d) to %d", o.Capacity, defaultCapacity, 1<<31-1)
	case o.Batch < 0 || o.Batch > 1<<20:
		return invalid("QueueOptions.Batch: %d requests; want 0 (%d) to %d", o.Batch, defaultBatch, 1<<20)
	case o.Workers < 0:
		return invalid("QueueOptions.Workers: %d; want 0 (%d at level power, else GOMAXPROCS but at most %d) or more", o.Workers, syncWorkers, maxWorkers)
	}
	return nil
}

const defaultCapacity, defaultBatch = 1024, 64

// timedAtKill is how many requests, or batches, there are to one that is timed
// at level Kill, where reading the clock twice would cost a few per cent of one.
const timedAtKill = 16

// NewQueue starts a queue. Close it before d. A setting that is refused is
// fs.ErrInvalid.
func NewQueue(d *Dir, o QueueOptions) (*Queue, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	if !d.opened() {
		return nil, invalid("NewQueue: d: a Dir that OpenDir did not open")
	}
	if o.Capacity == 0 {
		o.Capacity = defaultCapacity
	}
	if o.Batch == 0 {
		o.Batch = defaultBatch
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
		d: d, requests: queue.New[request](o.Capacity), batch: o.Batch, linger: o.Linger, perm: o.Perm, workers: int64(o.Workers),
		lingerIfBusy: lingerIfBusy,
		closing:      make(chan struct{}), baton: make(chan struct{}, 1),
	}
	if !d.power {
		q.creates.OneOf, q.drains.OneOf = timedAtKill, timedAtKill
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
	case queue.ErrFull:
		return ErrFull
	default:
		return fail("create", req.place.path, fs.ErrClosed)
	}
}

func (q *Queue) request(ctx context.Context, r Request) (request, error) {
	if q.d == nil {
		return request{}, fail("create", r.Name, errNotOpen)
	}
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
	return request{timer: q.creates.Start(), ctx: ctx, place: p, perm: r.Perm, touch: r.Touch, done: r.Done}, nil
}

func (q *Queue) push(r request) error {
	if r.ctx.Err() != nil {
		return fail("create", r.place.path, ctxErr(r.ctx))
	}
	err := q.requests.TryPush(r)
	if err == queue.ErrFull {
		q.waits.Add(1)
		err = q.requests.Push(r.ctx, r)
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, queue.ErrClosed):
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
	if q.d == nil {
		return nil, fail("create", name, errNotOpen)
	}
	p, err := q.d.place("create", name)
	if err != nil {
		return nil, err
	}
	timer := q.creates.Start()
	if q.help() {
		defer q.helped()
		r := request{timer: timer, ctx: ctx, place: p, perm: q.perm}
		f, err := (&drainer{Queue: q}).make(r)
		if err == nil && q.d.power {
			if err = q.sync(p.shard); err != nil {
				f.Close() // nothing was written
				f = nil
			}
		}
		q.count(r, err)
		return f, err
	}
	c := calls.Get().(*call)
	c.state.Store(callWaits)
	if err := q.push(request{timer: timer, ctx: ctx, place: p, perm: q.perm, call: c}); err != nil {
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
	if q.d == nil {
		return fail("close", "", errNotOpen)
	}
	q.closeOnce.Do(func() {
		close(q.closing)
		q.requests.Close()
		q.helping.Lock() // for good
	})
	q.drainers.Wait()
	return nil
}

// QueueStats counts and times what a Queue has done since it was made.
type QueueStats struct {
	Depth      int    // requests that wait now
	Batches    uint64 // taken out of the queue by its goroutines
	Answered   uint64 // requests, with a file or an error,
	Failed     uint64 // of which with an error,
	Abandoned  uint64 // and of which nobody waited for any more: the file was closed
	Waits      uint64 // requests that found the queue full
	LimitWaits uint64 // times the queue waited for a descriptor

	// Create is how long requests took, from the call of Submit, TrySubmit or
	// Create to their answer, the waiting for their turn included. Requests
	// answered with an error count; requests that Submit refused do not. At level
	// Power all are timed, at level Kill one of 16, chosen at random.
	Create latency.Snapshot
	// Drain is how long batches took, from their being taken out of the queue
	// until all their requests were answered; as often as requests.
	Drain latency.Snapshot
}

// Stats may be called at any time, and may be out of date when it returns.
func (q *Queue) Stats() QueueStats {
	if q.d == nil {
		return QueueStats{}
	}
	return QueueStats{
		Depth: q.requests.Len(), Batches: q.batches.Load(),
		Answered: q.answered.Load(), Failed: q.failed.Load(), Abandoned: q.abandoned.Load(),
		Waits: q.waits.Load(), LimitWaits: q.limitWaits.Load(),
		Create: q.creates.Snapshot(), Drain: q.drains.Snapshot(),
	}
}
