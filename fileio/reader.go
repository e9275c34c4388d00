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

// A Reader reads one regular file. ReadAt, View, Advise, Size, Stat, Stats and
// Close may be called from many goroutines at once; Read, Seek and WriteTo
// share one position and are for one goroutine.
//
// In steady state ReadAt, Read and View do not allocate. A Reader must be
// closed: the collector does not take a mapping away. The methods of the zero
// Reader fail with fs.ErrInvalid.
type Reader struct {
	name    string
	f       *os.File
	owns    bool        // f is the Reader's to close
	advised atomic.Bool // the kernel was told how f will be read
	way     Way
	trace   func(Op)
	gate    gate.Gate

	// size and changed are what the file was like when it was opened.
	size    int64
	changed time.Time

	mem      []byte // of Mapped: the file as it was when it was opened
	prefault bool
	reads    latency.Sampler
	align    alignment // of Direct
	flags    int       // of preadv2(2); 0: pread(2)
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

// ErrTruncated is the error of a read from a mapping whose file somebody has
// made shorter since it was opened, and of a Copy whose source has become
// shorter since it began. Readers by other ways return io.EOF there.
var ErrTruncated = errors.New("the file has become shorter")

var errNegative = errors.New("negative offset or length")

// Name is the name that the file was opened by.
func (r *Reader) Name() string { return r.name }

// Way is the way in use, never Auto.
func (r *Reader) Way() Way { return r.way }

// Stats returns what is known of the readahead, which is zero where nothing
// is read ahead here, and how long reads took.
func (r *Reader) Stats() (s Stats) {
	if r.ra != nil {
		s = r.ra.stats()
	}
	s.Read = r.reads.Snapshot()
	return s
}

// Size is how long the file is now, in bytes.
func (r *Reader) Size() (int64, error) {
	fi, err := r.Stat()
	if err != nil {
		return 0, err
	}
	return fi.Size(), nil
}

// Stat describes the file as it is now, as os.File does.
func (r *Reader) Stat() (fs.FileInfo, error) {
	if !r.gate.Enter() {
		return nil, r.closedError("stat")
	}
	defer r.gate.Leave()
	return r.f.Stat()
}

// sizeNow is Size within the gate.
func (r *Reader) sizeNow() (int64, error) {
	fi, err := r.f.Stat()
	if err != nil {
		return 0, err
	}
	return fi.Size(), nil
}

// ReadAt is io.ReaderAt. The end of the file is where it is at the time of the
// call: what was appended since Open is read too, by pread(2) where the file
// is mapped.
//
// Of a mapping that lost its end ReadAt returns what there is and an error that
// is ErrTruncated. The bytes from the new end to the end of its page are zeros
// there, and are read as such without an error (mmap(2), NOTES).
func (r *Reader) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, r.offsetError("read", off, errNegative)
	}
	if !r.gate.Enter() {
		return 0, r.closedError("read")
	}
	defer r.gate.Leave() // also where Trace panics
	return r.read(p, off)
}

// read serves a request by the Reader's way, within the gate.
func (r *Reader) read(p []byte, off int64) (n int, err error) {
	if off > math.MaxInt64-int64(len(p))-int64(r.align.offset) {
		return 0, io.EOF // no file is that long, and no sum is to overflow
	}
	if r.ra != nil {
		r.ra.observe(off, len(p))
	}
	start := r.startTime()
	switch {
	case r.way == Mapped:
		n, err = r.readMapped(p, off)
	case r.reads.Chosen():
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

// readTimed is readFile of a request that is a sample.
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

// View calls f with n bytes at off, which are memory of the mapping where the
// file is mapped, and a copy elsewhere, of up to 1 GiB; a larger one is
// errors.ErrUnsupported. View returns what f returns. They
// are f's until it returns, and not to be written to. Where the file has not
// that many, f is not called, and the error is io.EOF if it has none there and
// io.ErrUnexpectedEOF if it has fewer.
//
// A file that becomes shorter while f reads its mapping ends f: View returns
// an error that is ErrTruncated, or the error of the disk where that was the
// reason. Whatever f had begun stays as it was, as after a panic; its deferred
// calls run. That works by debug.SetPanicOnFault in f's goroutine: memory must
// not be given to another one. Panics of f itself go on, also that of a write
// to the memory. As with ReadAt, the rest of the last page reads as zeros.
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

// maxView bounds the memory that a number read from a file can have View make:
// a sparse file has as many bytes as it says.
const maxView = 1 << 30

// viewCopy is View where nothing is mapped.
func (r *Reader) viewCopy(off int64, n int, f func([]byte) error) error {
	if n > 1<<maxClass {
		// Not to ask for memory that the file cannot fill.
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
	// Direct reads begin and end at blocks; the buffer has room for them.
	before, room := 0, n
	if r.way == Direct {
		lo, hi := r.align.around(off, n)
		before, room = int(off-lo), int(hi-lo)
	}
	buf := getBuffer(room)
	defer buf.put()
	got, err := r.read(buf.b, off-int64(before))
	b := buf.b[min(got, before):min(got, before+n)]
	switch {
	case len(b) == n:
		return f(b[:n:n]) // an error lies behind these
	case err == io.EOF && len(b) > 0:
		return io.ErrUnexpectedEOF
	}
	return err
}

// Close waits for the calls that are under way, and has later ones fail with
// os.ErrClosed. So no memory is taken away under a View; and a function that
// View calls must not close its own Reader, which would wait for itself.
//
// It closes the file if Open opened it. A file of NewReader's stays open, and
// goes back to normal advice (POSIX_FADV_NORMAL) if it was given any.
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
		_ = r.fadvise(0, 0, sys.AdviseNormal) // what it was before cannot be asked for
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
