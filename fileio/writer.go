package fileio

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/internal/setting"
	"github.com/stele-go/stele/internal/sys"
	"github.com/stele-go/stele/latency"
)

// A Writer writes one file from its offset on, through a buffer, and makes it durable
// as its Policy says. Policy and Promise say what survives what.
//
// It is for a file that grows, or is overwritten from an offset on: bytes come in
// order, so that "everything before" is defined. For WriteAt use os.File. A file that
// was opened with O_APPEND is written at its end.
//
// Several goroutines may call its methods at once. The bytes of a Write stay together.
// While one goroutine waits for a sync, others can write, and their commits share the
// next sync. The methods of the zero Writer fail with fs.ErrInvalid.
//
// Nothing else may write to the file or truncate it until the Writer is closed.
type Writer struct {
	f            *os.File // the caller's
	directFile   *os.File // f opened with O_DIRECT, or nil
	dsyncFile    *os.File // f opened with O_DSYNC for SyncODsync, or nil
	policy       Policy
	sync         Mechanism
	bufSize      int // of the buffer
	blockSize    int // base and direct writes are multiples of it
	preallocStep int64
	trace        func(Op)
	start        int64

	// syncing is held during a sync, and acquired before mu. The kernel reports a
	// failed writeback once to each open file: of two syncs at once, one could
	// succeed although the other failed.
	syncing sync.Mutex

	mu       sync.Mutex
	err      error // sticky
	fastPath bool  // a Write that fits the buffer needs only a copy
	way      Way
	// buf is a window of the file, from base on; nil until bytes are copied into
	// it. [lo, hi) was written, and [lo, clean) is in the kernel: lo <= clean <= hi.
	// lo is where the first write began in its block; bytes before it are unknown.
	buf           *buffer
	base          int64
	lo, clean, hi int
	synced        int64 // the Writer's bytes before this offset are synced
	// priorUnsynced: the bytes before start may not be durable, and the mechanism
	// makes only its own writes durable. The whole file is synced once, lest the
	// new bytes survive and those before them not.
	priorUnsynced  bool
	reserved       int64 // space is preallocated up to this offset
	preallocFailed bool  // preallocation has stopped
	timer          *time.Timer
	timerSet       bool
	closed         bool // Close was called: other calls fail
	released       bool // Close has finished: the file is the caller's again
	stats          WriterStats
	times          writerTimes
}

// WriterStats are counts since NewWriter, and latencies.
type WriterStats struct {
	Writes       int64 // calls of Write; each piece of a ReadFrom is one
	Calls        int64 // writes to the kernel
	Bytes        int64 // bytes written to the kernel; with Direct, parts of blocks may count twice
	Copied       int64 // bytes of these that the kernel copied from another file
	Syncs        int64 // calls to sync, and durable writes
	Preallocated int64 // bytes preallocated
	// Fallback is why the way or the mechanism in use is not the one in the
	// options, or why preallocation stopped; nil otherwise.
	Fallback error

	// Flush has the latency of writes to the kernel, of which one in 32 is timed;
	// Sync that of each call to sync and each durable write; Commit that of each
	// Commit, Sync, Close and Write that made bytes durable, including the wait for
	// other goroutines' syncs. Failed calls are not counted.
	Flush, Sync, Commit latency.Snapshot
}

type writerTimes struct {
	flush        latency.Sampler
	rng          uint64 // the state of sample
	sync, commit latency.Histogram
}

// flushSample: one in so many writes to the kernel is timed. A small write takes 1 us,
// and reading the clock twice a tenth of that.
const flushSample = 32

// sample decides whether a write is timed, as latency.Sampler.Chosen does, but in 1 ns
// instead of 5 to 15: with mu held, a simple generator suffices.
func (t *writerTimes) sample() bool {
	t.rng = t.rng*6364136223846793005 + 1442695040888963407
	return t.rng>>32*flushSample < 1<<32
}

func (t *writerTimes) record(d time.Duration, durable bool) {
	if durable {
		t.sync.Record(d)
	} else {
		t.flush.Record(d)
	}
}

// NewWriter returns a Writer to f, from f's offset on. f must be open for writing, and
// a regular file or another that is written at offsets. The caller closes f, after
// the Writer.
func NewWriter(f *os.File, o WriterOptions) (*Writer, error) {
	if f == nil {
		return nil, setting.Wrong("fileio: NewWriter: f", nil, "a file that is open for writing")
	}
	w := &Writer{f: f, policy: o.Policy, sync: o.Sync, way: o.Way, bufSize: o.BufferSize, blockSize: bufferAlign, preallocStep: o.Preallocate, trace: o.Trace}
	w.times.flush.OneOf = flushSample
	w.times.rng = rand.Uint64()
	mayFallBack := w.way == Auto
	if err := w.applyProfile(o.Profile); err != nil {
		return nil, err
	}
	if err := w.checkSettings(); err != nil {
		return nil, err
	}
	if err := w.open(mayFallBack); err != nil {
		w.release()
		return nil, &fs.PathError{Op: "writer", Path: f.Name(), Err: err}
	}
	return w, nil
}

// open prepares the files and the buffer. If mayFallBack is set, it uses Buffered where
// direct I/O is unavailable.
func (w *Writer) open(mayFallBack bool) error {
	mode, err := sys.OpenedFor(w.f)
	if err != nil {
		return cause(err)
	}
	if err := w.seek(mode); err != nil {
		return err
	}
	if w.sync == SyncODsync {
		if err := w.openDsync(); err != nil {
			return err
		}
	}
	if w.way == Direct {
		err := w.openDirect(mode.Append)
		if err != nil && !mayFallBack {
			return err
		}
		if err != nil {
			w.way, w.stats.Fallback = Buffered, err
		}
	}
	if w.bufSize == 0 {
		w.bufSize = DefaultWriteBuffer
		if w.way == Direct {
			w.bufSize = DefaultDirectBuffer
		}
	}
	w.bufSize = (w.bufSize + w.blockSize - 1) / w.blockSize * w.blockSize
	w.startWindow(w.start)
	w.fastPath = w.policy.kind == onCommit || w.policy.kind == never
	w.synced, w.reserved = w.start, w.start
	w.priorUnsynced = w.start > 0 && (w.sync == SyncDsync || w.sync == SyncODsync)
	return nil
}

// seek sets start, the offset of the first byte, and returns an error if f cannot be
// written there.
func (w *Writer) seek(mode sys.Opened) (err error) {
	if !mode.Write || runtime.GOOS != "linux" { // off Linux the mode is unknown
		fi, err := w.f.Stat()
		switch {
		case err != nil:
			return cause(err)
		case fi.IsDir():
			return syscall.EISDIR
		case !mode.Write:
			return fmt.Errorf("opened for reading only: %w", syscall.EBADF)
		}
	}
	whence := io.SeekCurrent
	if mode.Append {
		whence = io.SeekEnd
	}
	if w.start, err = w.f.Seek(0, whence); err == nil {
		return nil
	}
	if fi, serr := w.f.Stat(); serr == nil && !fi.Mode().IsRegular() {
		return fmt.Errorf("%s; want a file that is written at offsets: %w", sys.KindOf(fi.Mode()), cause(err))
	}
	return cause(err)
}

// Write writes p to the buffer or the file, and returns how many of its bytes were
// written. They survive what the Policy says. Write does not retain p.
//
// If p cannot be read, because it is memory of a mapping whose file was truncated, the
// error is syscall.EFAULT, the only error that is not final: the Writer has the bytes
// that it had before and the reported number of bytes of p, and can be used further.
//
// That holds if p goes to the kernel without a copy. A copy to the buffer raises a
// fault, which ends the process unless debug.SetPanicOnFault is set, as within
// Reader.View. Then Write returns EFAULT as well, except if p fits the buffer: then it
// panics, Reader.View turns that into ErrTruncated, nothing of p is written, and the
// Writer can be used further.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	// Deferred because the copy below may fault. Recovering from that here would
	// cost each small Write 1 to 3 ns of 16.
	defer w.mu.Unlock()
	if w.fastPath && len(p) < w.bufSize-w.hi && w.buf != nil {
		w.hi += copy(w.buf.b[w.hi:], p)
		w.stats.Writes++
		return len(p), nil
	}
	if err := w.check(); err != nil {
		return 0, err
	}
	return w.write(p)
}

// WriteString is Write for a string, without a conversion.
func (w *Writer) WriteString(s string) (int, error) {
	return w.Write(unsafe.Slice(unsafe.StringData(s), len(s)))
}

// write is Write, with mu held.
func (w *Writer) write(p []byte) (n int, err error) {
	w.stats.Writes++
	from := w.base + int64(w.hi)
	defer w.recoverFault(p, from, &n, &err)
	due := w.policy.due(from + int64(len(p)) - w.synced)
	var start time.Time
	if due {
		start = time.Now()
	}
	if err := w.bufferOrWrite(p, due); err != nil { // the part of p that the kernel took
		return int(min(max(w.written()-from, 0), int64(len(p)))), err
	}
	if due {
		return len(p), w.makeDurableFrom(start)
	}
	w.startTimer()
	return len(p), nil
}

// recoverFault turns a fault in p, which began at offset from, into the kernel's error
// for it. Faults are panics only within a View (debug.SetPanicOnFault); elsewhere they
// end the process.
func (w *Writer) recoverFault(p []byte, from int64, n *int, err *error) {
	v := recover()
	if v == nil {
		return
	}
	if _, ok := faultAt(v, p); !ok {
		panic(v)
	}
	*n, *err = int(w.base+int64(w.hi)-from), w.pathError("write", syscall.EFAULT)
	w.startTimer()
}

// Flush writes the buffer to the kernel: everything written before then survives
// kill -9.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.check(); err != nil {
		return err
	}
	return w.flush(false)
}

// Commit is Sync, or Flush with the policy Never.
func (w *Writer) Commit() error {
	if w.policy.kind == never {
		return w.Flush()
	}
	return w.Sync()
}

// Sync makes everything written before durable, whatever the policy: once Sync has
// returned nil, it survives a power cut, unless the mechanism is SyncRange. So do the
// bytes of the file before the Writer's first offset. If nothing was written since the
// last sync, Sync does nothing.
func (w *Writer) Sync() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.check(); err != nil {
		return err
	}
	return w.makeDurable()
}

// Close commits, frees unused preallocated space, and sets the file's offset to the end
// of the written bytes. It does not close the file. If the Writer has failed, Close
// writes nothing and returns the Writer's error. Every later call fails with
// os.ErrClosed.
func (w *Writer) Close() error {
	w.mu.Lock()
	if err := w.checkOpen("close"); err != nil {
		w.mu.Unlock()
		return err
	}
	start := w.startTime(false)
	w.closed, w.fastPath = true, false
	if w.timer != nil {
		w.timer.Stop()
	}
	err := w.err
	switch {
	case err != nil:
	case w.policy.kind == never:
		err = w.flush(false)
	default:
		err = w.makeDurable()
	}
	w.mu.Unlock()
	w.syncing.Lock() // another goroutine's sync may still use the file
	defer w.syncing.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.released = true
	if terr := w.releasePrealloc(); terr != nil && err == nil {
		err = terr
	}
	if _, serr := w.f.Seek(w.base+int64(w.hi), io.SeekStart); serr != nil && err == nil {
		err = serr
	}
	if cerr := w.release(); cerr != nil && err == nil {
		err = w.pathError("close", cause(cerr))
	}
	w.traceOp(OpClose, -1, 0, start, err)
	return err
}

// release frees the Writer's buffer and closes its files.
func (w *Writer) release() error {
	if w.buf != nil {
		w.buf.put()
		w.buf = nil
	}
	var errs []error
	for _, f := range []*os.File{w.directFile, w.dsyncFile} {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	w.directFile, w.dsyncFile = nil, nil
	return errors.Join(errs...)
}

// Offset returns the offset of the next byte: buffered bytes lie before it. After an
// error it is the end of the bytes that the kernel took.
func (w *Writer) Offset() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.base + int64(w.hi)
}

// Durable returns an offset before which everything that the Writer wrote survives a
// power cut. It advances with each sync.
func (w *Writer) Durable() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.sync == SyncRange {
		return w.start
	}
	return w.synced
}

// Err returns the error that every call fails with, or nil. It is the first error of a
// write or a sync. After it, bytes that were not durable before may be lost.
func (w *Writer) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.f == nil {
		return errNoWriter
	}
	return w.err
}

// Stats returns the Writer's counts and latencies.
func (w *Writer) Stats() WriterStats {
	w.mu.Lock()
	s := w.stats
	w.mu.Unlock()
	s.Flush, s.Sync, s.Commit = w.times.flush.Snapshot(), w.times.sync.Snapshot(), w.times.commit.Snapshot()
	return s
}

// Way returns how bytes go to the file: Buffered, Direct or Uncached.
func (w *Writer) Way() Way {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.way
}

// Mechanism returns how bytes are made durable.
func (w *Writer) Mechanism() Mechanism {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sync
}

// Promise returns what survives once Write has returned, and once Commit has.
func (w *Writer) Promise() (write, commit durability.Promise) {
	return w.policy.promises(w.Mechanism())
}

// check returns the error that a call fails with, if any.
func (w *Writer) check() error {
	if err := w.checkOpen("write"); err != nil {
		return err
	}
	return w.err
}

// checkOpen returns an error if the Writer is closed, or not made by NewWriter.
func (w *Writer) checkOpen(op string) error {
	switch {
	case w.f == nil:
		return errNoWriter
	case w.closed:
		return w.pathError(op, os.ErrClosed)
	}
	return nil
}

var errNoWriter = fmt.Errorf("fileio: a Writer that NewWriter did not return: %w", fs.ErrInvalid)

// fail makes err final and returns it with operation and path.
func (w *Writer) fail(op string, err error) error {
	w.err, w.fastPath = w.pathError(op, err), false
	w.hi = w.clean // buffered bytes are lost
	return w.err
}

func (w *Writer) pathError(op string, err error) error {
	return &fs.PathError{Op: op, Path: w.f.Name(), Err: err}
}

// startTime returns the time if the operation is traced or timed.
func (w *Writer) startTime(timed bool) time.Time {
	if w.trace == nil && !timed {
		return time.Time{}
	}
	return time.Now()
}

func (w *Writer) traceOp(kind OpKind, off, n int64, start time.Time, err error) {
	if w.trace != nil {
		w.trace(Op{Kind: kind, Name: w.f.Name(), Offset: off, Bytes: n, Start: start, Duration: time.Since(start), Err: err})
	}
}
