package wal

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/internal/queue"
	"github.com/stele-go/stele/internal/sys"
)

var (
	// ErrUnsure: the append may become durable all the same, or be there
	// already.
	ErrUnsure = errors.New("it may become durable all the same")
	// ErrPoisoned: a sync has failed, and the log refuses everything since,
	// but reading what was acknowledged. Opening it anew reads what is there.
	ErrPoisoned = errors.New("the log takes no more: open it anew")
	// ErrTooLarge: the record is longer than MaxRecord, or than a quarter of
	// Options.SegmentSize.
	ErrTooLarge = errors.New("the record is too large")
)

// A Log is an open log. Its methods may be called by many goroutines at once.
type Log struct {
	dir       string
	o         Options
	store     *store
	report    Report
	maxRecord int

	queue  *queue.Queue[*request]
	crowd  atomic.Int32 // not 0: appends have come together, and nobody leads
	queued atomic.Int64 // requests that are in the queue, or that the flusher has; counted before they are pushed
	budget budget
	acked  atomic.Uint64 // the position behind the last that was acknowledged
	tail   tail
	stats  counters

	closing  atomic.Bool
	poisoned atomic.Pointer[error]
	flushed  chan struct{} // closed when the flusher has ended
	stop     chan struct{} // ends the goroutine of SyncEvery
	stopped  chan struct{} // closed when it has; nil: there is none
	closed   sync.Once
	closeErr error

	syncing sync.Mutex // one sync at a time, below level Power

	// right is the right to flush: to write, and to change what follows here.
	right sync.Mutex
	out   output
	seg   *segment
	off   int64 // in seg: all before is written
	// durable, in seg: all before is durable, and all of the segments before.
	durable int64
	// dirty, in seg: up to here a write that failed may have left something.
	dirty   int64
	tried   bool     // the last commit came to writing
	next    Position // of the next record
	written Position // of the first that is not written, but only in buf
	// buf is what is to be written next, from off-kept on: kept bytes that are
	// in the file, and belong to a block that direct I/O has to write again,
	// and records.
	buf   []byte
	kept  int
	batch int        // bytes that buf may have beside kept
	acks  []*request // whose records are all in buf, or written
	// The last failure to get another segment, and when.
	fullErr error
	fullAt  time.Time
}

// noneBatch is how large the buffer is at level None, in bytes. Half full, it is
// written; appends fail only if it is full because that failed.
const noneBatch = 128 << 10

// Open opens the log in dir, or makes one there. It verifies what it finds,
// cuts a torn tail (see Recovered), and takes the lock that keeps others from
// opening it. Errors: *CorruptError, ErrLocked, *VersionError; those of Options;
// those of the file system.
func Open(dir string, o Options) (*Log, error) {
	o, err := o.fill()
	if err != nil {
		return nil, err
	}
	st, report, err := openStore(dir, o)
	if err != nil {
		return nil, err
	}
	l, err := newLog(dir, o, st, report)
	if err != nil {
		_, off, next := st.tail()
		return nil, errors.Join(err, st.close(off, next, true))
	}
	st.prepare()
	go l.flusher()
	if o.SyncEvery > 0 {
		l.stopped = make(chan struct{})
		go l.syncEvery()
	}
	return l, nil
}

func newLog(dir string, o Options, st *store, report Report) (*Log, error) {
	l := &Log{
		dir: dir, o: o, store: st, report: report,
		maxRecord: int(min(MaxRecord, o.SegmentSize/4)),
		queue:     queue.New[*request](o.Queue),
		flushed:   make(chan struct{}),
		stop:      make(chan struct{}),
		batch:     o.MaxBatch,
	}
	l.budget.init(2 * o.MaxBatch)
	l.stats.init(o.Level)
	l.out.way = way{mech: SyncFdatasync, align: 1}
	switch o.Level {
	case durability.None:
		l.batch = min(noneBatch, o.MaxBatch)
	case durability.Power:
		var err error
		l.out.way, err = findWay(dir, o.Sync)
		if err != nil && o.advised {
			l.out.way, err = findWay(dir, SyncAuto)
		}
		if err != nil {
			return nil, err
		}
	}
	l.seg, l.off, l.next = st.tail()
	l.durable, l.written = l.off, l.next
	l.acked.Store(uint64(l.next))
	l.tail.publish(l.seg.number, l.off)
	if err := l.out.use(l.seg.file); err != nil {
		return nil, err
	}
	l.kept = int(l.off & (l.out.align - 1))
	l.buf = sys.AlignedBuffer(64<<10, maxAlign)[:l.kept]
	if _, err := l.seg.file.ReadAt(l.buf, l.off-int64(l.kept)); err != nil {
		l.out.close()
		return nil, err
	}
	return l, nil
}

// Recovered is what Open found.
func (l *Log) Recovered() Report { return l.report }

// Bounds returns the positions of the first record that is there and of the
// one that comes next; they are equal if there is none.
func (l *Log) Bounds() (first, next Position) {
	if l.store == nil {
		return 0, 0
	}
	first = l.store.first() // before next, which is not below it
	return first, Position(l.acked.Load())
}

// TruncateBefore gives up all records before pos, which is at most the
// position that comes next. It is durable, at every level, when it returns:
// they do not come back. Files that hold no others are recycled or removed.
// Below level Power it first syncs what was appended.
//
// A reader that is in such a file reads it to its end, then its error is
// ErrTruncated, unless the next file is still there.
func (l *Log) TruncateBefore(pos Position) error {
	if err := l.refuses(); err != nil {
		return err
	}
	if next := Position(l.acked.Load()); pos > next {
		return fmt.Errorf("wal: truncate %s before %d: the next record will be %d", l.dir, pos, next)
	}
	if l.o.Level != durability.Power {
		if err := l.syncWritten(); err != nil {
			return err
		}
	}
	if err := l.store.truncate(pos); err != nil {
		if l.closing.Load() {
			return l.errClosed("truncate")
		}
		return fmt.Errorf("wal: truncate %s: %w", l.dir, err)
	}
	return nil
}

// Sync makes all that was appended before durable, as at level Power. Appends
// by AppendAsync count from when it returned.
func (l *Log) Sync() error {
	if err := l.refuses(); err != nil {
		return err
	}
	// Who comes to the end of the queue comes behind all that is before.
	if l.queued.Load() > 0 {
		r := requests.Get().(*request)
		r.many = true
		if err := l.enqueue(context.Background(), r); err != nil {
			r.recycle()
			return err
		}
		if _, err := r.await(context.Background()); err != nil {
			return err
		}
	}
	if l.o.Level == durability.Power {
		return l.refuses()
	}
	return l.syncWritten()
}

// syncWritten makes durable what was acknowledged below level Power. It does
// not keep the right to flush meanwhile: appends go on.
func (l *Log) syncWritten() error {
	l.syncing.Lock()
	defer l.syncing.Unlock()
	g, off, err := l.beginSync()
	if g == nil || err != nil {
		return err
	}
	defer l.store.release(g)
	t := l.stats.syncs.Start()
	if err = sys.SyncData(g.file); err != nil {
		// Before anything else: the kernel tells an error once, so that a sync
		// of advance at the same time may have succeeded.
		return l.poison(err)
	}
	t.Stop()
	l.right.Lock()
	defer l.right.Unlock()
	if l.seg == g { // else it is durable already, by advance
		l.durable = max(l.durable, off)
	}
	return nil
}

// beginSync writes what is in memory only, and returns the last segment, held,
// and up to where it is to be synced; nil, if there is nothing to sync.
func (l *Log) beginSync() (*segment, int64, error) {
	l.right.Lock()
	defer l.right.Unlock()
	if err := l.refusesButClosed(); err != nil {
		return nil, 0, err
	}
	if err := l.commit(); err != nil {
		return nil, 0, err
	}
	if l.durable == l.off {
		return nil, 0, nil
	}
	g, err := l.store.find(l.next)
	return g, l.off, err
}

// syncEvery is the goroutine of Options.SyncEvery.
func (l *Log) syncEvery() {
	defer close(l.stopped)
	tick := time.NewTicker(l.o.SyncEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			// A sync that fails poisons the log, a write that fails is tried
			// again; both tell the next append.
			_ = l.syncWritten()
		case <-l.stop:
			return
		}
	}
}

// Close lets the appends that wait finish, makes all durable, as at level
// Power, marks the log as closed and gives it free for others. From then on
// everything gives ErrClosed. Closing again returns what the first did.
func (l *Log) Close() error {
	if l.store == nil {
		return errUnopened
	}
	l.closed.Do(func() { l.closeErr = l.close() })
	return l.closeErr
}

func (l *Log) close() error {
	l.closing.Store(true)
	l.queue.Close()
	<-l.flushed
	close(l.stop)
	if l.stopped != nil {
		<-l.stopped
	}
	l.syncing.Lock()
	defer l.syncing.Unlock()
	l.right.Lock()
	defer l.right.Unlock()
	err := l.refusesButClosed()
	if err == nil {
		err = l.commit()
	}
	if err == nil {
		err = l.wipe()
	}
	l.out.close()
	err = errors.Join(err, l.store.close(l.off, l.next, err == nil))
	l.tail.wakeAll()
	return err
}

// refuses says why nothing can be appended: ErrClosed or ErrPoisoned.
func (l *Log) refuses() error {
	if l.store == nil {
		return errUnopened
	}
	if l.closing.Load() {
		return l.errClosed("append")
	}
	return l.refusesButClosed()
}

func (l *Log) refusesButClosed() error {
	if err := l.poisoned.Load(); err != nil {
		return *err
	}
	return nil
}

func (l *Log) errClosed(op string) error { return fmt.Errorf("wal: %s %s: %w", op, l.dir, ErrClosed) }
