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
	"github.com/stele-go/stele/internal/semaphore"
	"github.com/stele-go/stele/internal/sys"
)

var (
	// ErrUnsure means that the outcome of a failed append is not known: the
	// record may be durable, or become so.
	ErrUnsure = errors.New("the record may be durable, or become so: read the log before you append it again")
	// ErrPoisoned means that a sync has failed. Since then the log only reads
	// acknowledged records. Close it and open it again to learn what is durable.
	ErrPoisoned = errors.New("the log takes no more appends: close it and open it again")
	// ErrTooLarge means that the record is longer than MaxRecord, or than a
	// quarter of Options.SegmentSize.
	ErrTooLarge = errors.New("the record is too large")
)

// A Log is an open write-ahead log. Its methods are safe for concurrent use.
type Log struct {
	dir       string
	o         Options
	store     *store
	report    Report
	maxRecord int

	queue *queue.Queue[*request]
	// contended is above 0 while appends come together: then none of them
	// leads, all go through the queue.
	contended atomic.Int32
	// queued counts the requests in the queue and those that the flusher has.
	// A request is counted before it is pushed.
	queued atomic.Int64
	copied *semaphore.Weighted // the bytes that AppendAsync has copied and the flusher has not yet written
	acked  atomic.Uint64       // the position after the last acknowledged record
	tail   tail
	stats  counters

	closing  atomic.Bool
	poisoned atomic.Pointer[error]
	flushed  chan struct{} // closed when the flusher has returned
	stop     chan struct{} // closed to end syncEvery
	stopped  chan struct{} // closed when syncEvery has returned; nil if it does not run
	closed   sync.Once
	closeErr error

	syncing sync.Mutex // one sync at a time, below level Power

	// writeMu is held while flushing and guards the fields below.
	writeMu sync.Mutex
	out     output
	seg     *segment // the last one with records
	off     int64    // offset in seg of the next write
	// durable is an offset in seg: all before it is durable, earlier segments
	// included.
	durable int64
	// dirty is an offset in seg: a failed write may have left bytes up to it.
	dirty     int64
	attempted bool     // the last commit got to writing
	next      Position // of the next record
	written   Position // of the first record that is in buf only
	// buf is the next write, at off-kept: kept bytes that the file already has,
	// of a block that direct I/O writes again, then records.
	buf   []byte
	kept  int
	batch int        // the most bytes that buf takes after kept
	acks  []*request // encoded in full, not yet acknowledged
	// The last error of getting a segment, and its time.
	fullErr error
	fullAt  time.Time
}

// noneBatch is the size of the buffer at level None, in bytes. It is written
// when half full; an append fails only if it is full because that write failed.
const noneBatch = 128 << 10

// Open opens the log in dir, or creates one. It takes the lock of the log,
// verifies the records, and cuts a torn tail; see Recovered. When it returns,
// every record that it found is durable.
//
// Its errors are *CorruptError, ErrLocked, *VersionError, those of Options
// (fs.ErrInvalid), errors.ErrUnsupported where a level or a mechanism cannot be
// had, those of Options.SaveTorn and SetAside, and those of the file system.
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
		copied:    semaphore.New(2 * int64(o.MaxBatch)),
	}
	l.stats.init(o.Level)
	l.out.method = method{mech: SyncFdatasync, align: 1}
	switch o.Level {
	case durability.None:
		l.batch = min(noneBatch, o.MaxBatch)
	case durability.Power:
		var err error
		l.out.method, err = chooseMethod(dir, o.Sync)
		if err != nil && o.advised {
			l.out.method, err = chooseMethod(dir, SyncAuto)
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
		return nil, fmt.Errorf("wal: %w", err)
	}
	return l, nil
}

// ID returns the identity of the log: random, unless CreateOptions.ID set it when
// the log was created. It is in META and in each segment, and never changes. In
// Inspection.ID it is in hexadecimal.
func (l *Log) ID() [16]byte {
	if l.store == nil {
		return [16]byte{}
	}
	return l.store.id
}

// Recovered returns what Open found.
func (l *Log) Recovered() Report { return l.report }

// Bounds returns the positions of the first record and of the next one to be
// appended. They are equal if the log has no records.
func (l *Log) Bounds() (first, next Position) {
	if l.store == nil {
		return 0, 0
	}
	first = l.store.first() // read before next, which only grows
	return first, Position(l.acked.Load())
}

// TruncateBefore discards all records before pos, which is at most the next
// position. The truncation is durable at every level when it returns: the
// records do not come back. Segments with no other records are recycled or
// removed. Below level Power it first syncs what was appended.
//
// A Reader within such a segment reads to its end. Then it fails with
// ErrTruncated, unless the next segment is still there.
func (l *Log) TruncateBefore(pos Position) error {
	if err := l.checkOpen("truncate"); err != nil {
		return err
	}
	if next := Position(l.acked.Load()); pos > next {
		return fmt.Errorf("wal: truncate %s before position %d; want at most %d, the next position", l.dir, pos, next)
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

// Sync waits for every append queued before it, and makes them durable, as at
// level Power. An AppendAsync is queued once it has returned. The errors of Sync
// are ErrClosed, ErrPoisoned, and those of the write.
func (l *Log) Sync() error {
	if err := l.checkOpen("sync"); err != nil {
		return err
	}
	// The queue is first in, first out, so an empty batch comes after the
	// appends queued before it.
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
		return l.checkOpen("sync")
	}
	return l.syncWritten()
}

// syncWritten makes durable all that was acknowledged below level Power. It
// syncs without writeMu: appends go on.
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
		// The kernel reports an error once, so a sync of advance at the same
		// time may have succeeded: poison first.
		return l.poison(err)
	}
	t.Stop()
	l.writeMu.Lock()
	defer l.writeMu.Unlock()
	if l.seg == g { // else advance has synced it
		l.durable = max(l.durable, off)
	}
	return nil
}

// beginSync writes the buffer, and returns the last segment, held, with the
// offset up to which it needs a sync; nil if it needs none.
func (l *Log) beginSync() (*segment, int64, error) {
	l.writeMu.Lock()
	defer l.writeMu.Unlock()
	if err := l.checkPoisoned(); err != nil {
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
			// A failed sync poisons the log, a failed write is tried again; the
			// next append reports either.
			_ = l.syncWritten()
		case <-l.stop:
			return
		}
	}
}

// Close waits for the appends under way, makes all records durable, as at level
// Power, marks the log as closed and releases its lock. Later appends, syncs,
// truncations and reads fail with ErrClosed. A second Close returns the error of
// the first.
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
	l.writeMu.Lock()
	defer l.writeMu.Unlock()
	err := l.checkPoisoned()
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

// checkOpen returns the ErrClosed or ErrPoisoned of op if nothing can be appended.
func (l *Log) checkOpen(op string) error {
	if l.store == nil {
		return errUnopened
	}
	if l.closing.Load() {
		return l.errClosed(op)
	}
	return l.checkPoisoned()
}

func (l *Log) checkPoisoned() error {
	if err := l.poisoned.Load(); err != nil {
		return *err
	}
	return nil
}

func (l *Log) errClosed(op string) error { return fmt.Errorf("wal: %s %s: %w", op, l.dir, ErrClosed) }
