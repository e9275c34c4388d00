package fileio

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"sync/atomic"
	"time"

	"github.com/stele-go/stele/internal/gate"
	"github.com/stele-go/stele/internal/sys"
	"github.com/stele-go/stele/latency"
)

// A Reader reads one regular file. Several goroutines may call ReadAt, View, Advise,
// Size, Stat, Stats and Close at once; Read, Seek and WriteTo share one position and
// are for one goroutine.
//
// In steady state ReadAt, Read and View do not allocate. A Reader must be closed: the
// garbage collector does not remove a mapping. The methods of the zero Reader fail with
// fs.ErrInvalid.
type Reader struct {
	name    string
	f       *os.File
	owns    bool        // Close closes f
	advised atomic.Bool // f has been given advice
	way     Way
	trace   func(Op)
	gate    gate.Gate

	// size and changed are the file's size and modification time at Open.
	size    int64
	changed time.Time

	mem      []byte // the mapping of Mapped: the file as it was at Open
	prefault bool
	reads    latency.Sampler
	align    alignment // for Direct
	flags    int       // for preadv2(2); 0 is pread(2)
	ra       *readahead

	// The position of Read.
	pos     int64
	bufSize int
	buf     *buffer // read from bufAt on, or nil
	bufAt   int64
	bufLen  int
}

var (
	_ fs.File           = (*Reader)(nil)
	_ io.ReadSeekCloser = (*Reader)(nil)
	_ io.ReaderAt       = (*Reader)(nil)
	_ io.WriterTo       = (*Reader)(nil)
)

// ErrTruncated is the error of a read from a mapping whose file was truncated since
// Open, and of a Copy whose source was truncated since the copy began. Other ways to
// read return io.EOF there.
var ErrTruncated = errors.New("the file was truncated")

var errNegative = fmt.Errorf("negative offset or length; want 0 or more: %w", fs.ErrInvalid)

// Name returns the name that the file was opened by.
func (r *Reader) Name() string { return r.name }

// Way returns the way in use, never Auto.
func (r *Reader) Way() Way { return r.way }

// Stats returns the state of the readahead, zero if the Reader does not read ahead, and
// the latency of reads.
func (r *Reader) Stats() (s Stats) {
	if r.ra != nil {
		s = r.ra.stats()
	}
	s.Read = r.reads.Snapshot()
	return s
}

// Size returns the current size of the file, in bytes.
func (r *Reader) Size() (int64, error) {
	fi, err := r.Stat()
	if err != nil {
		return 0, err
	}
	return fi.Size(), nil
}

// Stat describes the file as it is now, as os.File.Stat does.
func (r *Reader) Stat() (fs.FileInfo, error) {
	if !r.gate.Enter() {
		return nil, r.closedError("stat")
	}
	defer r.gate.Leave()
	return r.f.Stat()
}

// sizeNow is Size inside the gate.
func (r *Reader) sizeNow() (int64, error) {
	fi, err := r.f.Stat()
	if err != nil {
		return 0, err
	}
	return fi.Size(), nil
}

// ReadAt implements io.ReaderAt. The end of the file is where it is at the time of the
// call: data appended since Open is read too, by pread(2) if the file is mapped.
//
// If a mapped file was truncated, ReadAt returns the bytes before the new end and
// ErrTruncated. The bytes from the new end to the end of its page read as zeros,
// without an error (mmap(2), NOTES).
func (r *Reader) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, r.offsetError("read", off, errNegative)
	}
	if !r.gate.Enter() {
		return 0, r.closedError("read")
	}
	defer r.gate.Leave() // even if Trace panics
	return r.read(p, off)
}

// read serves a request in the Reader's way, inside the gate.
func (r *Reader) read(p []byte, off int64) (n int, err error) {
	if off > math.MaxInt64-int64(len(p))-int64(r.align.offset) {
		return 0, io.EOF // no file is that long, and sums must not overflow
	}
	if r.ra != nil {
		r.ra.observe(off, len(p))
	}
	start := r.startTime()
	switch {
	case r.way == Mapped:
		n, err = r.readMapped(p, off)
	case r.reads.Sample():
		n, err = r.readTimed(p, off)
	default:
		n, err = r.readFile(p, off)
	}
	if r.trace != nil {
		r.traceOp(OpRead, off, int64(n), start, err)
	}
	return n, err
}

func (r *Reader) readFile(p []byte, off int64) (int, error) {
	if r.way == Direct {
		return r.readDirect(p, off)
	}
	return r.pread(p, off)
}

// readTimed is readFile for a request that is timed.
func (r *Reader) readTimed(p []byte, off int64) (int, error) {
	start := time.Now()
	n, err := r.readFile(p, off)
	r.reads.Record(time.Since(start))
	return n, err
}

// pread fills p from off on. It stops at the end of the file with io.EOF.
func (r *Reader) pread(p []byte, off int64) (n int, err error) {
	for n < len(p) {
		var m int
		if r.flags == 0 {
			m, err = sys.Pread(r.f, p[n:], off+int64(n))
		} else {
			m, err = sys.PreadFlags(r.f, p[n:], off+int64(n), r.flags)
		}
		n += m
		if err != nil {
			return n, r.offsetError("read", off+int64(n), err)
		}
		if m == 0 {
			return n, io.EOF
		}
	}
	return n, nil
}

// View calls f with the n bytes at off, which are memory of the mapping if the file is
// mapped, and otherwise a copy, of up to 1 GiB; a larger one is
// errors.ErrUnsupported. View returns the error of f. If the file has fewer than n
// bytes at off, View does not call f and returns io.ErrUnexpectedEOF, or io.EOF if it
// has none.
//
// If the file is truncated while f reads the mapping, f is aborted, as by a panic: its
// deferred calls run. View then returns ErrTruncated, or the disk's error if that was
// the cause. Other panics of f continue, also that of a write to the memory. As with
// ReadAt, the rest of the last page reads as zeros.
//
// The bytes are valid until f returns. f must not write to them, nor pass them to
// another goroutine: View catches faults by debug.SetPanicOnFault in f's goroutine
// only.
func (r *Reader) View(off int64, n int, f func([]byte) error) (err error) {
	if off < 0 || n < 0 {
		return r.offsetError("view", off, errNegative)
	}
	if !r.gate.Enter() {
		return r.closedError("view")
	}
	defer r.gate.Leave()
	if off > math.MaxInt64-int64(n)-int64(r.align.offset) {
		return io.EOF
	}
	if end := off + int64(n); end <= int64(len(r.mem)) {
		if r.ra != nil {
			r.ra.observe(off, n)
		}
		if r.trace == nil {
			return r.viewMapped(off, n, f)
		}
		start := r.startTime()
		err := r.viewMapped(off, n, f)
		r.traceOp(OpView, off, int64(n), start, err)
		return err
	}
	return r.viewCopy(off, n, f)
}

// maxView is the largest copy that View makes, in bytes, as n may come from untrusted
// input, and a sparse file may have any size.
const maxView = 1 << 30

// viewCopy is View without a mapping.
func (r *Reader) viewCopy(off int64, n int, f func([]byte) error) error {
	if n > 1<<maxClass {
		// Do not allocate memory that the file cannot fill.
		switch size, err := r.sizeNow(); {
		case err != nil:
			return r.offsetError("view", off, err)
		case off >= size:
			return io.EOF
		case int64(n) > size-off:
			return io.ErrUnexpectedEOF
		case n > maxView:
			return r.offsetError("view", off, fmt.Errorf("%d bytes; want up to %d where the file is not mapped: %w", n, maxView, errors.ErrUnsupported))
		}
	}
	// Direct reads begin and end at blocks.
	before, size := 0, n
	if r.way == Direct {
		lo, hi := r.align.around(off, n)
		before, size = int(off-lo), int(hi-lo)
	}
	buf := getBuffer(size)
	defer buf.put()
	got, err := r.read(buf.b, off-int64(before))
	b := buf.b[min(got, before):min(got, before+n)]
	switch {
	case len(b) == n:
		return f(b[:n:n]) // any error comes after these bytes
	case err == io.EOF && len(b) > 0:
		return io.ErrUnexpectedEOF
	}
	return err
}

// Close waits for running calls, and makes later ones fail with os.ErrClosed. So no
// memory is unmapped during a View. It closes a file that Open opened. A file passed to
// NewReader stays open; if the Reader gave it advice, Close resets that to normal
// (POSIX_FADV_NORMAL).
//
// A function that View calls must not close the Reader: Close would wait for it
// forever.
func (r *Reader) Close() error {
	if r.f == nil || !r.gate.Close() {
		return r.closedError("close")
	}
	r.dropBuffer()
	start := r.startTime()
	var err error
	if len(r.mem) > 0 {
		err = sys.Munmap(r.mem)
		r.mem = nil
	}
	if !r.owns && r.advised.Load() {
		_ = r.fadvise(0, 0, sys.AdviseNormal) // the advice before cannot be queried
	}
	err = errors.Join(err, r.release())
	r.traceOp(OpClose, -1, 0, start, err)
	return err
}

func (r *Reader) closedError(op string) error {
	if r.f == nil {
		return errNoReader
	}
	return &fs.PathError{Op: op, Path: r.name, Err: fs.ErrClosed}
}

func (r *Reader) offsetError(op string, off int64, err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return &fs.PathError{Op: op, Path: r.name, Err: fmt.Errorf("at offset %d: %w", off, err)}
}
