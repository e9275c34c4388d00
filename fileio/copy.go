package fileio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"time"

	"github.com/stele-go/stele/internal/setting"
	"github.com/stele-go/stele/internal/sys"
)

const (
	// copyPiece is how many bytes are copied between two checks of the context.
	copyPiece = 64 << 20
	// copyBuffer is the size in bytes of the buffer used if the kernel does not
	// copy. sendfile(2) is no better there: it was as fast as a buffer, between two
	// files on one ext4 and to another file system.
	copyBuffer = 256 << 10
)

// CopyOptions are the settings of a copy.
type CopyOptions struct {
	// Sparse skips the holes of the source, so that the target has holes too, if the
	// target ends at its offset or before. Otherwise, and by default, holes are
	// copied as zeros; where the file system shares blocks, it shares holes as well.
	Sparse bool
	// Trace, unless nil, is called after each piece.
	Trace func(Op)
}

// A CopyResult says how many bytes were copied, and how.
type CopyResult struct {
	Bytes  int64 // all, including Holes
	Kernel int64 // by copy_file_range(2), which may have shared blocks; the others went through memory
	Holes  int64 // skipped
}

// Copy copies src from its offset to its end to dst at its offset, and moves both
// offsets. The copied bytes survive kill -9, not a power cut: sync dst for that.
//
// The kernel copies where it can, which on XFS and btrfs shares the blocks; otherwise
// the bytes go through a buffer: to another file system, to a file opened with
// O_APPEND, from or to anything but a regular file. After an error, the CopyResult says
// how much is in dst. If src is truncated during the copy, dst has the bytes that there
// were, and the error is ErrTruncated.
//
// Copy checks ctx every 64 MiB, or 256 KiB if they go through a buffer. ctx also ends
// a wait for the other end of src or dst, if that is a pipe, a socket or another file
// with deadlines: Copy then sets the read deadline of src and the write deadline of
// dst, and clears both before it returns, whatever they were before. Bytes that were
// read from a pipe and are not in dst are lost. ctx does not end a wait for a file
// without deadlines, such as a terminal, a pipe opened in blocking mode (as standard
// input often is), or a file on a server that does not answer.
//
// A file can be copied to itself, up to the end that it has at the start, unless the
// two ranges overlap.
func Copy(ctx context.Context, dst, src *os.File, o CopyOptions) (CopyResult, error) {
	return newCopier(dst, src, o).run(ctx, math.MaxInt64)
}

// CopyN is Copy for n bytes. If src has fewer, the error is io.EOF.
func CopyN(ctx context.Context, dst, src *os.File, n int64, o CopyOptions) (CopyResult, error) {
	done, err := newCopier(dst, src, o).run(ctx, n)
	if err == nil && done.Bytes < n {
		err = io.EOF
	}
	return done, err
}

type copier struct {
	dst, src *os.File
	o        CopyOptions
	regular  bool  // both are regular files, which need no deadline
	size     int64 // of src at the start, if it is a regular file
	buffered bool  // the kernel does not copy these files
	result   CopyResult
}

func newCopier(dst, src *os.File, o CopyOptions) *copier { return &copier{dst: dst, src: src, o: o} }

func (c *copier) run(ctx context.Context, n int64) (_ CopyResult, err error) {
	if c.dst == nil || c.src == nil {
		return c.result, setting.Wrong("fileio: Copy: dst or src", nil, "two open files")
	}
	if n, err = c.limitToSelf(n); err != nil {
		return c.result, err
	}
	defer c.interruptible(ctx)(&err)
	if c.o.Sparse && c.endsHere() {
		err = c.sparse(ctx, n)
	} else {
		_, err = c.pieces(ctx, n)
	}
	if err == nil && c.result.Bytes < n {
		err = c.checkWhole()
	}
	return c.result, err
}

// interruptible makes calls that wait for the other end of src or dst fail once ctx is
// done. The function that it returns undoes that, and replaces such an error by that of
// ctx.
func (c *copier) interruptible(ctx context.Context) (end func(err *error)) {
	if c.regular || ctx.Done() == nil || ctx.Err() != nil {
		return func(*error) {}
	}
	ended := make(chan struct{})
	var read, write error
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		past := time.Unix(1, 0)
		read, write = c.src.SetReadDeadline(past), c.dst.SetWriteDeadline(past)
	})
	return func(err *error) {
		if stop() {
			return
		}
		<-ended
		if read == nil {
			c.src.SetReadDeadline(time.Time{})
		}
		if write == nil {
			c.dst.SetWriteDeadline(time.Time{})
		}
		if errors.Is(*err, os.ErrDeadlineExceeded) {
			*err = c.error(ctx.Err())
		}
	}
}

// checkWhole returns ErrTruncated if src ended early because it was truncated. Its size
// at the start alone proves nothing: that of a file of /sys is always a page.
func (c *copier) checkWhole() error {
	if c.result.Bytes >= c.size {
		return nil
	}
	at, err := c.src.Seek(0, io.SeekCurrent)
	if err != nil || at >= c.size {
		return err
	}
	info, err := c.src.Stat()
	if err == nil && info.Size() < c.size {
		err = c.error(ErrTruncated)
	}
	return err
}

func (c *copier) error(err error) error {
	return &os.LinkError{Op: "copy", Old: c.src.Name(), New: c.dst.Name(), Err: err}
}

// limitToSelf returns n, limited to the current end of the file if src and dst are the
// same file, which would otherwise grow forever. It returns an error if the ranges
// overlap: copy_file_range(2) refuses that, and a buffer would copy its own output.
func (c *copier) limitToSelf(n int64) (int64, error) {
	from, err := c.src.Stat()
	if err != nil {
		return 0, err
	}
	to, err := c.dst.Stat()
	if err != nil {
		return 0, err
	}
	if !from.Mode().IsRegular() {
		return n, nil
	}
	c.regular = to.Mode().IsRegular()
	c.size = from.Size()
	if !os.SameFile(from, to) {
		return n, nil
	}
	at, err := c.src.Seek(0, io.SeekCurrent)
	if err != nil {
		return 0, err
	}
	n = max(0, min(n, from.Size()-at))
	opened, err := sys.OpenedFor(c.dst)
	if err != nil || opened.Append {
		return n, err
	}
	target, err := c.dst.Seek(0, io.SeekCurrent)
	if err == nil && at < target+n && target < at+n {
		err = c.error(errOverlap)
	}
	return n, err
}

var errOverlap = errors.New("source and target are overlapping ranges of one file")

// pieces copies n bytes, and reports whether src ended before.
func (c *copier) pieces(ctx context.Context, n int64) (ended bool, err error) {
	for n > 0 {
		if err := ctx.Err(); err != nil {
			return false, c.error(err)
		}
		m, err := c.piece(min(n, copyPiece))
		if err != nil || m == 0 {
			return m == 0, err
		}
		n -= m
	}
	return false, nil
}

// piece copies up to n bytes; 0 means the end of src.
func (c *copier) piece(n int64) (int64, error) {
	start := time.Now()
	m, err := c.kernelPiece(n)
	if m == 0 && c.buffered {
		m, err = c.bufferedPiece(n)
	}
	c.result.Bytes += m
	if c.o.Trace != nil {
		c.o.Trace(Op{Kind: OpCopy, Name: c.dst.Name(), Offset: -1, Bytes: m, Start: start, Duration: time.Since(start), Err: err})
	}
	return m, err
}

func (c *copier) kernelPiece(n int64) (int64, error) {
	if c.buffered {
		return 0, nil
	}
	raw, err := c.src.SyscallConn()
	if err != nil {
		return 0, err
	}
	m, err := sys.CopyOn(c.dst, nil, raw, n)
	if err != nil && !sys.NoKernelCopy(err) {
		return m, c.error(err)
	}
	// 0 bytes may also mean a file of /proc, whose size is 0 (copy_file_range(2)):
	// reading shows.
	c.buffered = m == 0
	c.result.Kernel += m
	return m, nil
}

// bufferedPiece copies up to n bytes through a buffer.
func (c *copier) bufferedPiece(n int64) (int64, error) {
	buf := getBuffer(copyBuffer)
	defer buf.put()
	got, err := c.src.Read(buf.b[:min(n, copyBuffer)])
	if err != nil && err != io.EOF {
		return 0, err
	}
	m, err := c.dst.Write(buf.b[:got])
	if m < got {
		// Step back to the bytes that dst did not take; a pipe cannot.
		_, _ = c.src.Seek(int64(m-got), io.SeekCurrent)
	}
	return int64(m), err
}

// endsHere reports whether dst ends at its offset or before, so that bytes that are
// skipped there read as zeros.
func (c *copier) endsHere() bool {
	at, err := c.dst.Seek(0, io.SeekCurrent)
	if err != nil {
		return false
	}
	info, err := c.dst.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() > at {
		return false
	}
	opened, err := sys.OpenedFor(c.dst)
	return err == nil && !opened.Append
}

// sparse copies the data of src and skips its holes.
func (c *copier) sparse(ctx context.Context, n int64) error {
	from, err := c.src.Seek(0, io.SeekCurrent)
	if err != nil {
		_, err := c.pieces(ctx, n) // a pipe has no holes
		return err
	}
	to, err := c.dst.Seek(0, io.SeekCurrent)
	if err != nil {
		return err
	}
	info, err := c.src.Stat()
	if err != nil {
		return err
	}
	end := from + max(0, min(n, info.Size()-from))
	at := from
	for at < end {
		data, hole, err := c.nextData(at, end)
		if err != nil {
			return errors.Join(err, c.endAt(to+at-from), c.seek(at, to+at-from))
		}
		c.result.Bytes += data - at
		c.result.Holes += data - at
		if err := c.seek(data, to+data-from); err != nil {
			return err
		}
		ended, err := c.pieces(ctx, hole-data)
		if err != nil {
			return errors.Join(err, c.endAt(to+c.result.Bytes))
		}
		at = from + c.result.Bytes
		if ended || data == hole { // src was truncated, or ends with a hole
			break
		}
	}
	if err := c.endAt(to + at - from); err != nil {
		return err
	}
	if err := c.seek(at, to+at-from); err != nil {
		return err
	}
	// A file that has grown, or one of /proc, which has no size.
	_, err = c.pieces(ctx, n-c.result.Bytes)
	return err
}

// nextData returns where the next data of src begins and ends, from at on and up to
// end. Both are the end of src if a hole is all that is left.
func (c *copier) nextData(at, end int64) (data, hole int64, err error) {
	data, hole, err = sys.NextData(c.src, at, end)
	if err == nil && data < end {
		return data, hole, nil
	}
	info, statErr := c.src.Stat()
	switch {
	case err == nil && statErr == nil: // src may have been truncated
		data = max(at, min(end, info.Size()))
		return data, data, nil
	case err == nil:
		return 0, 0, statErr
	case statErr == nil && info.Size() < end: // truncated between the two seeks of NextData
		return 0, 0, c.error(ErrTruncated)
	}
	return 0, 0, &os.PathError{Op: "seek", Path: c.src.Name(), Err: err}
}

// endAt sets the size of dst if holes were skipped: after a hole at the end no write
// sets it.
func (c *copier) endAt(size int64) error {
	if c.result.Holes == 0 {
		return nil
	}
	return c.dst.Truncate(size)
}

func (c *copier) seek(from, to int64) error {
	_, err := c.src.Seek(from, io.SeekStart)
	_, err2 := c.dst.Seek(to, io.SeekStart)
	if err := errors.Join(err, err2); err != nil {
		return fmt.Errorf("copy: %w", err)
	}
	return nil
}
