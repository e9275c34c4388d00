package fileio

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/internal/setting"
	"github.com/stele-go/stele/internal/sys"
	"github.com/stele-go/stele/latency"
	"github.com/stele-go/stele/profile"
)

// The buffer of a Writer unless it is told another, in bytes. Measured on an
// ext4 of Linux 6.18 with BenchmarkWriter: through the page cache 64 KiB to 256
// KiB are the same and 1 MiB takes a fifth longer; past it, 1 MiB takes half
// the time of 64 KiB.
const (
	DefaultWriteBuffer  = 128 << 10
	DefaultDirectBuffer = 1 << 20 // with the way Direct
)

// maxWriteBuffer bounds what is taken for a mistake in WriterOptions.
const maxWriteBuffer = 1 << 30

// WriterOptions are the settings of a Writer. The zero value is the safe one:
// what Commit has returned for survives a power cut.
type WriterOptions struct {
	// Way is how bytes go to the file.
	//
	// Auto, the default, is the profile's, else Buffered. Mapped is refused.
	//
	// Direct sends whole blocks past the page cache (O_DIRECT), in memory and
	// at offsets aligned as statx(2) says, and to 4,096 bytes at least. What
	// is not a whole block, at the first offset and behind the last block,
	// goes through the page cache, and is written again past it once its
	// block is whole: so a crash never shows padding, and as a sector is
	// written whole or not at all, nothing that was durable is lost. Each
	// flush waits for the device, so that a stream takes about twice the time
	// of Buffered with a sync at its end: it is for who wants to leave the
	// page cache to others. The file is opened once more through /proc.
	// Where there is no direct I/O, NewWriter fails with
	// errors.ErrUnsupported, or falls back to Buffered if the profile chose.
	//
	// Uncached goes through the page cache and drops the pages behind
	// (RWF_DONTCACHE). Where the kernel or the file system has no such
	// writes, the first one falls back to Buffered; Stats tells.
	Way Way
	// BufferSize is in bytes. It is rounded up to a multiple of 4,096. 0 is
	// the profile's, else DefaultWriteBuffer or DefaultDirectBuffer. A Write
	// as large as it goes to the kernel without a copy, in one call with what
	// is buffered; past the page cache, if its memory is an AlignedBuffer and
	// it begins a block.
	BufferSize int
	// Policy is when bytes are made durable. The default is OnCommit.
	Policy Policy
	// Sync is how. The default is SyncAuto.
	Sync Mechanism
	// Preallocate reserves room ahead of the writes in steps of so many bytes
	// (FALLOC_FL_KEEP_SIZE), so that a file that grows slowly beside others
	// stays in one piece. Close gives back what was not used; after a crash
	// it stays, invisible, with the file. 0 is none. Where it fails, the
	// Writer goes on without; Stats tells.
	Preallocate int64
	// Profile, unless nil, is used for Way, BufferSize and Sync where they
	// are not set.
	Profile *profile.Profile
	// Trace, unless nil, is told of each operation after it: of the calls to
	// the kernel, not of those of Write. It must not call the Writer. One
	// goroutine may call it that writes while another does that syncs.
	Trace func(Op)
}

// A Writer writes one file from its offset on, through a buffer, and makes it
// durable as its Policy says. What survives what is told there and by Promise.
//
// It is for one file that grows, or is overwritten from an offset on: bytes
// come in order, so that "all before this" has a meaning. So it has no
// WriteAt; os.File has. Nobody else must write or truncate the file meanwhile.
// A file that was opened with O_APPEND is written at its end.
//
// Its methods may be called by several goroutines. The bytes of a Write stay
// together. While one waits for a sync, others can write, and commits that
// wait meanwhile share the next one. Those of the zero Writer fail with
// fs.ErrInvalid.
type Writer struct {
	f            *os.File // the caller's
	directFile   *os.File // for whole blocks past the page cache, or nil
	dsyncFile    *os.File // f opened again for SyncODsync, or nil
	policy       Policy
	sync         Mechanism
	bufSize      int // of the buffer
	blockSize    int // what base and writes past the page cache are multiples of
	preallocStep int64
	trace        func(Op)
	start        int64

	// syncing is held while the file is synced, and taken before mu. As the
	// kernel reports a failed write-back once to each open file, two syncs at
	// once could leave the one with a success that the other's error denies.
	syncing sync.Mutex

	mu       sync.Mutex
	err      error // sticky
	fastPath bool  // a Write that the buffer has room for needs no more than a copy
	way      Way
	// buf is a window on the file, from base on; nil until bytes are copied
	// into it. Of it [lo, hi) is what was written, and [lo, clean) of that is
	// in the kernel: lo <= clean <= hi. Nothing is known of what lies before
	// lo, which is where the first write began in its block.
	buf           *buffer
	base          int64
	lo, clean, hi int
	synced        int64 // what the Writer wrote before it has been synced
	// priorUnsynced: what was in the file before start may not be durable, and the
	// mechanism is one that makes only what it writes durable. The file is
	// synced whole once, lest the new bytes outlive those before them.
	priorUnsynced  bool
	reserved       int64 // room has been reserved up to it
	preallocFailed bool  // and is not any more
	timer          *time.Timer
	timerSet       bool
	closed         bool // Close was called: nobody else gets in
	released       bool // and has ended: the file is no longer ours
	stats          WriterStats
	times          writerTimes
}

// WriterStats are counted since the Writer was made.
type WriterStats struct {
	Writes       int64 // of the caller; each piece of a ReadFrom is one
	Calls        int64 // writes to the kernel
	Bytes        int64 // that went to the kernel; with the way Direct, part of a block may count twice
	Copied       int64 // of them those that the kernel copied from another file
	Syncs        int64 // calls to sync, and durable writes
	Preallocated int64 // bytes reserved
	// Fallback is why the way or the mechanism in use is not the one asked
	// for, or why no more room is reserved; nil where all is as it was asked.
	Fallback error

	// How long the writes to the kernel took, of which one of 32 is timed;
	// each call to sync, and each durable write; and each Commit, Sync, Close
	// and Write that made something durable, with its wait for the syncs of
	// others. What failed is not among them.
	Flush, Sync, Commit latency.Snapshot
}

type writerTimes struct {
	flush        latency.Sampler
	rng          uint64 // the state of chosen
	sync, commit latency.Histogram
}

// flushSample is how many writes to the kernel there are to one that is timed:
// a small one takes 1 us, and to read the clock twice a tenth of that.
const flushSample = 32

// sample decides whether a write is timed, as latency.Sampler.Chosen does, but
// at 1 ns instead of 5 to 15: mu is held, so a generator of our own will do.
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

// NewWriter returns a writer to f from f's offset on. f is a regular file, or
// another that is written at offsets, and open for writing. It stays the
// caller's, to be closed after the Writer.
func NewWriter(f *os.File, o WriterOptions) (*Writer, error) {
	if f == nil {
		return nil, setting.Wrong("fileio: NewWriter: f", nil, "a file that is open for writing")
	}
	w := &Writer{f: f, policy: o.Policy, sync: o.Sync, way: o.Way, bufSize: o.BufferSize, blockSize: bufferAlign, preallocStep: o.Preallocate, trace: o.Trace}
	w.times.flush.OneOf = flushSample
	w.times.rng = rand.Uint64()
	ours := w.way == Auto // then there may be another
	if err := w.applyProfile(o.Profile); err != nil {
		return nil, err
	}
	if err := w.checkSettings(); err != nil {
		return nil, err
	}
	if err := w.open(ours); err != nil {
		w.release()
		return nil, &fs.PathError{Op: "writer", Path: f.Name(), Err: err}
	}
	return w, nil
}

func (w *Writer) open(ours bool) error {
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
		if err != nil && !ours {
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

// applyProfile fills what was not set, from the profile where it knows.
func (w *Writer) applyProfile(p *profile.Profile) (err error) {
	if p == nil {
		p = &profile.Profile{}
	}
	if w.way == Auto {
		w.bufSize = cmp.Or(w.bufSize, p.Write.BufferSize) // measured with the way it names
		w.way = Buffered
		if p.Write.Way != "" {
			if w.way, err = ParseWay(p.Write.Way); err != nil {
				return setting.Wrong("fileio: WriterOptions.Profile.Write.Way", p.Write.Way, "one of %q", wayNames)
			}
		}
	}
	if w.sync == SyncAuto {
		w.sync = cmp.Or(Mechanism(p.Write.Sync), SyncFdatasync)
		// What was measured to be fast may not weaken a promise, nor be at
		// odds with the policy.
		if w.sync == SyncRange || w.policy.kind == never {
			w.sync = SyncFdatasync
		}
	}
	return nil
}

func (w *Writer) checkSettings() error {
	switch {
	case w.bufSize < 0 || w.bufSize > maxWriteBuffer:
		return setting.Wrong("fileio: WriterOptions.BufferSize", setting.Bytes(w.bufSize), "0 (the default) to %d bytes", maxWriteBuffer)
	case w.preallocStep < 0:
		return setting.Wrong("fileio: WriterOptions.Preallocate", setting.Bytes(w.preallocStep), "0 (none) or more")
	case w.way != Buffered && w.way != Direct && w.way != Uncached:
		return setting.Wrong("fileio: WriterOptions.Way", w.way, "Auto, Buffered, Direct or Uncached")
	case w.policy.kind == never && w.sync == SyncODsync:
		return setting.Wrong("fileio: WriterOptions.Sync", w.sync, "another mechanism with the policy Never: this one makes every write durable")
	case w.sync == SyncRange && runtime.GOOS != "linux":
		return setting.Refused(errors.ErrUnsupported, "fileio: WriterOptions.Sync", w.sync, "another mechanism on %s", runtime.GOOS)
	case !slices.Contains(mechanisms(), w.sync):
		return setting.Wrong("fileio: WriterOptions.Sync", string(w.sync), "one of %q", mechanisms())
	}
	return w.policy.check()
}

// seek finds where the first byte goes, and refuses what cannot be written
// there.
func (w *Writer) seek(mode sys.Opened) (err error) {
	if !mode.Write || runtime.GOOS != "linux" { // elsewhere the mode is not known
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

// Write takes p, and returns how many of its bytes the file or the buffer has.
// They survive what the Policy says. p is the caller's again when it returns.
//
// Memory that cannot be read, of a mapping whose file became shorter, is
// syscall.EFAULT, the one error that does not stay: the Writer has what it had
// before and the bytes of p that it tells of, which may be fewer than there
// were, and goes on.
//
// That is so where p goes to the kernel from where it is. What is copied into
// the buffer faults: that ends the process, unless debug.SetPanicOnFault is set,
// as within Reader.View. Then it is EFAULT as well, but for a p that the buffer
// has room for: there the panic is left to the caller, View makes it ErrTruncated,
// nothing of p is written, and the Writer goes on.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	// Also where the copy below faults: to recover from that here would cost each
	// small Write 1 to 3 ns of 16.
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

// WriteString is Write of the bytes of s, without a copy of them.
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
	if err := w.bufferOrWrite(p, due); err != nil { // of p, what the kernel has got
		return int(min(max(w.written()-from, 0), int64(len(p)))), err
	}
	if due {
		return len(p), w.makeDurableFrom(start)
	}
	w.startTimer()
	return len(p), nil
}

// recoverFault turns a fault in p, which began at from, into the error that the
// kernel has for it. Faults are panics below a View only
// (debug.SetPanicOnFault); else they end the process.
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

// Flush gives the buffer to the kernel: what was written survives the process.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.check(); err != nil {
		return err
	}
	return w.flush(false)
}

// Commit makes what was written as safe as the policy has it: durable, or, if
// that is Never, no more than given to the kernel.
func (w *Writer) Commit() error {
	if w.policy.kind == never {
		return w.Flush()
	}
	return w.Sync()
}

// Sync makes all that was written durable, whatever the policy: it survives a
// power cut once Sync has returned, unless the mechanism is SyncRange. So does
// what was in the file before the offset that the Writer began at. Where
// nothing was written since the last time, nothing is done.
func (w *Writer) Sync() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.check(); err != nil {
		return err
	}
	return w.makeDurable()
}

// Close commits, gives back the room that was reserved and not used, and sets
// the offset of the file behind what was written. It does not close the file.
// It returns the error that the Writer failed with, if it has; then nothing is
// written any more. Every later call fails with os.ErrClosed.
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
	w.syncing.Lock() // a sync of another goroutine still uses the file
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

// release gives back what the Writer owns.
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

// Offset is where the next byte goes: buffered bytes lie before it. After an
// error it is where the kernel stopped taking bytes.
func (w *Writer) Offset() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.base + int64(w.hi)
}

// Durable is an offset before which all that the Writer wrote survives a power
// cut. It moves with the syncs.
func (w *Writer) Durable() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.sync == SyncRange {
		return w.start
	}
	return w.synced
}

// Err is the error that every call fails with, or nil. It is the first of a
// write or a sync: after it nothing is known of what was written and not
// durable.
func (w *Writer) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.f == nil {
		return errNoWriter
	}
	return w.err
}

// Stats returns what was counted.
func (w *Writer) Stats() WriterStats {
	w.mu.Lock()
	s := w.stats
	w.mu.Unlock()
	s.Flush, s.Sync, s.Commit = w.times.flush.Snapshot(), w.times.sync.Snapshot(), w.times.commit.Snapshot()
	return s
}

// Way is how bytes go to the file: Buffered, Direct or Uncached.
func (w *Writer) Way() Way {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.way
}

// Mechanism is how bytes are made durable.
func (w *Writer) Mechanism() Mechanism {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sync
}

// Promise tells what holds once Write has returned, and once Commit has.
func (w *Writer) Promise() (write, commit durability.Promise) {
	return w.policy.promises(w.Mechanism())
}

// check returns why the Writer cannot be used, if it cannot.
func (w *Writer) check() error {
	if err := w.checkOpen("write"); err != nil {
		return err
	}
	return w.err
}

// checkOpen returns an error if the Writer is closed, or none that NewWriter made.
func (w *Writer) checkOpen(op string) error {
	switch {
	case w.f == nil:
		return errNoWriter
	case w.closed:
		return w.pathError(op, os.ErrClosed)
	}
	return nil
}

var errNoWriter = fmt.Errorf("fileio: a Writer that NewWriter did not make: %w", fs.ErrInvalid)

// fail makes err final.
func (w *Writer) fail(op string, err error) error {
	w.err, w.fastPath = w.pathError(op, err), false
	w.hi = w.clean // what is buffered will never be written
	return w.err
}

func (w *Writer) pathError(op string, err error) error {
	return &fs.PathError{Op: op, Path: w.f.Name(), Err: err}
}

// startTime is when an operation begins, if that is to be told or recorded.
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
