package fileio

import (
	"io"
	"math"
	"syscall"

	"github.com/stele-go/stele/internal/sys"
)

// kernelCopyAfter is how many bytes of a file ReadFrom copies before it asks the kernel
// to copy the rest. To share extents, XFS and btrfs write them out first, which takes
// longer than a copy for a short file that was just written.
const kernelCopyAfter = 1 << 20

// maxEmptyReads is how many reads in a row may return nothing, as in package bufio.
const maxEmptyReads = 100

// ReadFrom writes everything read from r until io.EOF; io.Copy uses it. For the Policy,
// each read of r is one Write.
//
// If r returns neither bytes nor an error 100 times in a row, the error is
// io.ErrNoProgress.
//
// The kernel copies the part of an *os.File beyond the first MiB if the way is
// Buffered: on XFS and btrfs the two files then share it. Each 64 MiB are one Write.
func (w *Writer) ReadFrom(r io.Reader) (total int64, err error) {
	w.mu.Lock()
	err = w.check()
	size := w.bufSize
	w.mu.Unlock()
	if err != nil {
		return 0, err
	}
	// Not w.buf: r may take long, and other goroutines may write meanwhile. A full
	// buffer goes to the kernel from here, without a copy.
	buf := getBuffer(size)
	defer buf.put()
	for tried, empty := false, 0; ; {
		n, rerr := r.Read(buf.b)
		empty++
		if n > 0 {
			empty = 0
			m, err := w.Write(buf.b[:n])
			total += int64(m)
			if err != nil {
				return total, err
			}
		}
		switch {
		case rerr == io.EOF:
			return total, nil
		case rerr != nil:
			return total, rerr
		case empty == maxEmptyReads:
			return total, io.ErrNoProgress
		case total >= kernelCopyAfter && !tried:
			tried = true
			n, err := w.copyFrom(r)
			total += n
			if err != nil {
				return total, err
			}
		}
	}
}

// copyFrom lets the kernel copy the rest of r, if r is a file or a limited one, and
// returns the number of bytes. ReadFrom reads the rest, and meets any error of r
// there.
func (w *Writer) copyFrom(r io.Reader) (total int64, err error) {
	most := int64(math.MaxInt64)
	limited, ok := r.(*io.LimitedReader)
	if ok {
		r, most = limited.R, limited.N
		defer func() { limited.N -= total }()
	}
	src := sys.RawFile(r)
	if src == nil {
		return 0, nil
	}
	for total < most {
		n, err := w.kernelCopy(src, min(most-total, copyPiece))
		total += n
		if n == 0 || err != nil {
			return total, err
		}
	}
	return total, nil
}

// kernelCopy lets the kernel copy up to n bytes of src, and returns 0 if it cannot.
func (w *Writer) kernelCopy(src syscall.RawConn, n int64) (int64, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.check(); err != nil {
		return 0, err
	}
	// The kernel cannot copy past the page cache or drop the pages. With O_DSYNC it
	// may not make the copy durable: the flag covers writes, and FUSE ignores it
	// when it copies. A copy of a file appended to itself it refuses.
	if w.way != Buffered || w.sync == SyncODsync {
		return 0, nil
	}
	if err := w.flush(false); err != nil {
		return 0, err
	}
	from := w.written()
	to := from
	start := w.startTime(false)
	n, err := sys.CopyOn(w.cachedFile(), &to, src, n)
	w.traceOp(OpCopy, from, n, start, err)
	if n == 0 {
		return 0, nil // reading on meets the error
	}
	w.stats.Writes++
	w.stats.Bytes += n
	w.stats.Copied += n
	w.startWindow(from + n)
	if w.policy.due(w.written() - w.synced) {
		return n, w.makeDurable()
	}
	w.startTimer()
	return n, nil
}
