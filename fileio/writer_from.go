package fileio

import (
	"io"
	"math"
	"syscall"

	"github.com/stele-go/stele/internal/sys"
)

// kernelCopyAfter is how many bytes of a file ReadFrom moves itself before it
// asks the kernel to copy the rest. To share extents, XFS and btrfs write them
// out first, which for a short file that was just made takes longer than a
// copy.
const kernelCopyAfter = 1 << 20

// maxEmptyReads is how often in a row a reader may give nothing, as in package bufio.
const maxEmptyReads = 100

// ReadFrom writes all that r gives; io.Copy uses it. As to the Policy, what r
// gives at once is a Write.
//
// A reader that gives neither bytes nor an error 100 times in a row ends it with
// io.ErrNoProgress.
//
// What an *os.File holds beyond its first MiB is copied by the kernel, if the
// way is Buffered: XFS and btrfs then share it between the two files. Each 64
// MiB of it are a Write.
func (w *Writer) ReadFrom(r io.Reader) (total int64, err error) {
	w.mu.Lock()
	err = w.check()
	size := w.bufSize
	w.mu.Unlock()
	if err != nil {
		return 0, err
	}
	// Not w.buf: nobody knows how long r takes, and others may write
	// meanwhile. What fills it goes to the kernel from here, without a copy.
	buf := getBuffer(size)
	defer buf.put()
	for tried, idle := false, 0; ; {
		n, rerr := r.Read(buf.b)
		idle++
		if n > 0 {
			idle = 0
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
		case idle == maxEmptyReads:
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

// copyFrom has the kernel copy what r would give, if r is a file or a limited
// one, and tells how much that was. The rest is found by reading on, and so is
// an error of r.
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

// kernelCopy writes up to n bytes of src, and none where the kernel does not
// copy them.
func (w *Writer) kernelCopy(src syscall.RawConn, n int64) (int64, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.check(); err != nil {
		return 0, err
	}
	// What is to go past the page cache, or to be dropped from it, is not for
	// the kernel; it refuses a file that is appended to itself. And O_DSYNC is
	// about writes: not every file system heeds it when it copies (FUSE).
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
		return 0, nil // why, reading on tells
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
