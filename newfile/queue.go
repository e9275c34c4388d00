package newfile

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stele-go/stele/internal/queue"
	"github.com/stele-go/stele/internal/setting"
	"github.com/stele-go/stele/latency"
)

// ErrFull is the error of TrySubmit while QueueOptions.Capacity requests wait.
var ErrFull = errors.New("newfile: queue is full")

// QueueOptions are the settings of a Queue. The zero value works.
type QueueOptions struct {
	// Capacity is the most requests that wait. The default, 0, is 1,024.
	Capacity int
	// Batch is the most requests in one batch. At level Power they share one
	// sync of each directory. The default, 0, is 64.
	Batch int
	// Linger is the longest time that the first request of a batch waits for
	// others. The default, 0, is no time at level Kill, where waiting gains
	// nothing; at level Power it is 1 ms while another batch is being synced,
	// else no time. A negative Linger is no time.
	Linger time.Duration
	// Workers is the most batches under way at once. The default, 0, is 16 at
	// level Power, where they mostly wait for the disk, else GOMAXPROCS, at most
	// 8. Unless Linger is set, a Create that finds no request waiting and a
	// worker idle does the work itself.
	Workers int
	// Perm, before umask, is the mode of files of Create and of requests
	// without one. The default, 0, is 0o666.
	Perm fs.FileMode
}

// A Request asks a Queue for one file.
type Request struct {
	Name  string
	Perm  fs.FileMode // 0 stands for QueueOptions.Perm
	Touch bool        // the file is not opened: Done gets a nil file
	// Done is called once, with the open file or the error. It runs in a worker
	// of the queue: it should hand the file on and return.
	//
	// Done must not call Submit, Create or Close of the queue.
	Done func(f *os.File, err error)
}

// A Queue creates files in a Dir for many goroutines, by a few workers. Its
// methods are safe for concurrent use. When a request is answered, the name of
// the file survives what the Dir promises.
//
// Each request is answered exactly once: by the error of Submit, or by its
// Done. That holds when contexts are cancelled, when the disk is full, and for
// the requests that wait when the queue is closed.
//
// When descriptors run out (EMFILE, ENFILE) the queue does not fail: it answers
// the requests whose files are open, and retries the others, at first after 1
// ms, at last every 100 ms, until a file is closed. Later requests wait too. The
// waiting ends with the ctx of the request, and with Close: then the answer is
// the *LimitError.
//
// The zero Queue is not open: its methods fail with fs.ErrInvalid.
type Queue struct {
	d        *Dir
	requests *queue.Queue[request]
	batch    int
	linger   time.Duration
	perm     fs.FileMode

	lingerIfBusy bool // linger only while another batch is under way

	closeOnce sync.Once
	closing   chan struct{}
	popToken  chan struct{} // of capacity 1; held by the worker that pops
	running   sync.WaitGroup

	workers int64
	busy    atomic.Int64 // workers with a batch, and calls of Create that do the work
	inline  sync.RWMutex // read-held by such calls, so that Close waits

	answered, failed, abandoned, batches, waits, limitWaits atomic.Uint64

	creates latency.Sampler
	drains  latency.Sampler
}

// A request is a Request, or a call of Create, under way.
type request struct {
	timer latency.Timer // runs from the call on, if the request is sampled
	ctx   context.Context
	at    location
	perm  fs.FileMode
	touch bool
	done  func(f *os.File, err error)
	call  *call // in place of done
}

// syncWorkers is the default of Workers at level Power. That many batches of the
// default size hold as many requests as the default Capacity.
const syncWorkers = 16

func (o QueueOptions) check() error {
	switch {
	case o.Capacity < 0 || o.Capacity > 1<<31-1:
		return setting.Wrong("newfile: QueueOptions.Capacity", o.Capacity, "0 (%d requests) to %d", defaultCapacity, 1<<31-1)
	case o.Batch < 0 || o.Batch > 1<<20:
		return setting.Wrong("newfile: QueueOptions.Batch", o.Batch, "0 (%d requests) to %d", defaultBatch, 1<<20)
	case o.Workers < 0:
		return setting.Wrong("newfile: QueueOptions.Workers", o.Workers, "0 (%d at level power, else GOMAXPROCS, at most %d) or more", syncWorkers, maxWorkers)
	}
	return nil
}

const defaultCapacity, defaultBatch = 1024, 64

// timedAtKill is the number of requests, or batches, of which one is timed at
// level Kill, where two readings of the clock cost a few per cent of a request.
const timedAtKill = 16

// NewQueue starts a Queue that creates files in d. Close it before d. A wrong
// setting is fs.ErrInvalid.
func NewQueue(d *Dir, o QueueOptions) (*Queue, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	if !d.opened() {
		return nil, setting.Wrong("newfile: NewQueue: d", setting.Text("a zero Dir"), "one that OpenDir returned")
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
		closing:      make(chan struct{}), popToken: make(chan struct{}, 1),
	}
	if !d.power {
		q.creates.OneOf, q.drains.OneOf = timedAtKill, timedAtKill
	}
	q.popToken <- struct{}{}
	for range o.Workers {
		q.running.Go((&worker{Queue: q}).run)
	}
	return q, nil
}

// Submit adds r to the queue, and waits while the queue is full. After nil,
// r.Done is called once; after an error it never is. The error is fs.ErrInvalid
// for a name that Dir.Create refuses or a request without Done, fs.ErrClosed
// after Close, or that of ctx.
//
// ctx also applies to the request: if it is done when the request is processed,
// Done gets its error and no file is created.
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
		return fail("create", req.at.path, fs.ErrClosed)
	}
}

func (q *Queue) request(ctx context.Context, r Request) (request, error) {
	if q.d == nil {
		return request{}, fail("create", r.Name, errNotOpen)
	}
	p, err := q.d.locate("create", r.Name)
	if err != nil {
		return request{}, err
	}
	if r.Done == nil {
		return request{}, fail("create", p.path, invalid("Request.Done is nil; want a function"))
	}
	if r.Perm == 0 {
		r.Perm = q.perm
	}
	return request{timer: q.creates.Start(), ctx: ctx, at: p, perm: r.Perm, touch: r.Touch, done: r.Done}, nil
}

func (q *Queue) push(r request) error {
	if r.ctx.Err() != nil {
		return fail("create", r.at.path, ctxErr(r.ctx))
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
		return fail("create", r.at.path, fs.ErrClosed)
	}
	return fail("create", r.at.path, ctxErr(r.ctx))
}

// A call is a Create that waits for its file.
type call struct {
	state  atomic.Int32
	answer chan result // of capacity 1
}

// States of a call.
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

// Create is Dir.Create by the queue. If ctx is done first, Create returns its
// error at once: a request not yet processed creates no file, one under way may
// create it, and then its descriptor is closed. While Create does the work
// itself, see QueueOptions.Workers, ctx ends only the wait for a descriptor.
func (q *Queue) Create(ctx context.Context, name string) (*os.File, error) {
	if q.d == nil {
		return nil, fail("create", name, errNotOpen)
	}
	p, err := q.d.locate("create", name)
	if err != nil {
		return nil, err
	}
	timer := q.creates.Start()
	if q.beginInline() {
		defer q.endInline()
		r := request{timer: timer, ctx: ctx, at: p, perm: q.perm}
		f, err := (&worker{Queue: q}).create(r)
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
	if err := q.push(request{timer: timer, ctx: ctx, at: p, perm: q.perm, call: c}); err != nil {
		calls.Put(c)
		return nil, err
	}
	var r result
	select {
	case r = <-c.answer:
	case <-ctx.Done():
		if c.state.CompareAndSwap(callWaits, callAbandoned) {
			return nil, fail("create", p.path, ctxErr(ctx)) // the queue still uses c
		}
		r = <-c.answer // the answer came first
	}
	calls.Put(c)
	return r.file, r.err
}

// beginInline reports whether a call of Create does the work itself: if no
// request waits, no linger is set, and fewer than Workers batches are under way.
// Handing a request over, with the wake-ups, costs about as much as creating a
// file, and at level Power inline calls share syncs as batches do.
func (q *Queue) beginInline() bool {
	if q.linger > 0 && !q.lingerIfBusy || q.requests.Len() > 0 || q.busy.Load() >= q.workers || !q.inline.TryRLock() {
		return false
	}
	q.busy.Add(1)
	return true
}

func (q *Queue) endInline() {
	q.busy.Add(-1)
	q.inline.RUnlock()
}

// Close closes the queue and waits until every accepted request is answered.
// Later requests fail with fs.ErrClosed. A second Close only waits.
func (q *Queue) Close() error {
	if q.d == nil {
		return fail("close", "", errNotOpen)
	}
	q.closeOnce.Do(func() {
		close(q.closing)
		q.requests.Close()
		q.inline.Lock() // never unlocked
	})
	q.running.Wait()
	return nil
}

// QueueStats are the figures of a Queue since NewQueue.
type QueueStats struct {
	Queued     int    // requests waiting now
	Batches    uint64 // batches taken out of the queue
	Answered   uint64 // requests answered, with a file or an error
	Failed     uint64 // requests answered with an error
	Abandoned  uint64 // answers after the ctx of Create was done; the file was closed
	Waits      uint64 // requests that waited as the queue was full
	LimitWaits uint64 // waits for a descriptor

	// Create times requests from the call of Submit, TrySubmit or Create to the
	// answer, the wait in the queue included. Answers with an error count,
	// requests that Submit refused do not. At level Power all are timed, at level
	// Kill one of 16, at random.
	Create latency.Snapshot
	// Drain times batches from leaving the queue to the last answer, sampled like
	// Create.
	Drain latency.Snapshot
}

// Stats returns the current figures.
func (q *Queue) Stats() QueueStats {
	if q.d == nil {
		return QueueStats{}
	}
	return QueueStats{
		Queued: q.requests.Len(), Batches: q.batches.Load(),
		Answered: q.answered.Load(), Failed: q.failed.Load(), Abandoned: q.abandoned.Load(),
		Waits: q.waits.Load(), LimitWaits: q.limitWaits.Load(),
		Create: q.creates.Snapshot(), Drain: q.drains.Snapshot(),
	}
}
