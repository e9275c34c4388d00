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
	// copyPiece is what is copied between two looks at the context, in bytes.
	copyPiece = 64 << 20
	// copyBuffer is what is moved at a time where the kernel does not copy.
	// sendfile(2) is no better there: between two files on one ext4 it was as
	// fast as a buffer, and to another file system as well.
	copyBuffer = 256 << 10
)

// CopyOptions are the settings of a copy.
type CopyOptions struct {
	// Sparse leaves out the holes of the source, if the target ends at its
	// offset or before, so that they are holes there too. Elsewhere, and by
	// default, they are copied as the zeros that they read as; where the file
	// system shares blocks, it shares holes as well.
	Sparse bool
	// Trace, unless nil, is told of each piece after it.
	Trace func(Op)
}

// CopyResult tells how many bytes were copied, and how.
type CopyResult struct {
	Bytes  int64 // all of them
	Kernel int64 // by copy_file_range(2), which may have shared blocks; else through memory
	Holes  int64 // left out
}

// Copy copies src from its offset on, up to its end, to dst at its offset. Both
// offsets move. What is copied survives the process, not a power cut: sync dst.
//
// It is copied by the kernel where it can be, which on XFS and btrfs shares
// the blocks, and through a buffer elsewhere: to another file system, to a
// file that was opened with O_APPEND, from or to what is no file. After an
// error, Copied tells how much of it is in dst. Where src becomes shorter
// meanwhile, dst has what there was, and the error is ErrTruncated.
//
// ctx is looked at every 64 MiB, or 256 KiB where they go through a buffer. It
// also ends a wait for the other end of src or dst, if that is a pipe, a socket
// or another file with deadlines: then it sets the read deadline of src, and the
// write deadline of dst, and clears both before Copy returns, whatever they were
// before. What was read from a pipe by then and is not in dst is lost. A wait
// for a file without deadlines, as for a terminal, a pipe that was opened to
// block (which standard input often is), or a file on a server that does not
// answer, does not end with ctx.
//
// A file can be copied to itself, up to the end that it has at first; that
// fails where the two parts overlap.
func Copy(ctx context.Context, dst, src *os.File, o CopyOptions) (CopyResult, error) {
	return newCopier(dst, src, o).run(ctx, math.MaxInt64)
}

// CopyN is Copy of n bytes. Where src has fewer, it fails with io.EOF.
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
	regular  bool  // both are regular files, which have no other end
	size     int64 // of src at first, if it is a regular file
	buffered bool  // the kernel does not copy here
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

// interruptible has calls that wait for the other end of src or dst fail once
// ctx is done. What it returns takes that back, and makes such a failure the
// error of ctx.
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

// checkWhole returns ErrTruncated if src has ended before it did at first, because
// it became shorter. The size alone tells nothing: that of a file of /sys is a
// page.
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

// limitToSelf is how much of n is copied where src and dst are one file, which would
// have no end otherwise: what is there now. copy_file_range(2) refuses parts
// that overlap, and a buffer would copy what it has just written.
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

var errOverlap = errors.New("the parts of the file overlap")

// pieces copies n bytes, and tells whether src has ended before.
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

// piece copies up to n bytes; 0 is the end of src.
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
	// 0 bytes may also be a file of /proc, whose size is 0 (copy_file_range(2)):
	// reading tells.
	c.buffered = m == 0
	c.result.Kernel += m
	return m, nil
}

// bufferedPiece copies through a buffer, a piece of its size.
func (c *copier) bufferedPiece(n int64) (int64, error) {
	buf := getBuffer(copyBuffer)
	defer buf.put()
	got, err := c.src.Read(buf.b[:min(n, copyBuffer)])
	if err != nil && err != io.EOF {
		return 0, err
	}
	m, err := c.dst.Write(buf.b[:got])
	if m < got {
		// What dst has not got, src is to give again; a pipe cannot.
		_, _ = c.src.Seek(int64(m-got), io.SeekCurrent)
	}
	return int64(m), err
}

// endsHere reports whether dst ends at its offset or before, so that what is
// not written there reads as zeros.
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

// sparse copies the data of src, and moves over its holes.
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
		data, hole, err := sys.NextData(c.src, at, end)
		if err != nil {
			// Cut between the two seeks, src has nothing where there was data.
			if info, statErr := c.src.Stat(); statErr == nil && info.Size() < end {
				err = c.error(ErrTruncated)
			} else {
				err = &os.PathError{Op: "seek", Path: c.src.Name(), Err: err}
			}
			return errors.Join(err, c.endAt(to+at-from), c.seek(at, to+at-from))
		}
		if data == end {
			// No data up to the end, which may be nearer now.
			if info, err = c.src.Stat(); err != nil {
				return err
			}
			data = max(at, min(end, info.Size()))
			end, hole = data, data
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
		if at = hole; ended { // src has become shorter
			at = from + c.result.Bytes
			break
		}
	}
	if err := c.endAt(to + at - from); err != nil {
		return err
	}
	if err := c.seek(at, to+at-from); err != nil {
		return err
	}
	// A file that grows, or one of /proc, which has no size.
	_, err = c.pieces(ctx, n-c.result.Bytes)
	return err
}

// endAt sets the size of dst, if holes were left out: what ends in one has no
// last byte that would give it its size.
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
