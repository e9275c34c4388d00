package atomicfile

import (
	"io"
	"math"
	"sync"

	"github.com/stele-go/stele/internal/sys"
)

const (
	// copyBuffer is the size of ReadFrom's buffer in bytes.
	copyBuffer = 256 << 10
	// kernelCopyAfter is how many bytes ReadFrom copies before it asks the kernel
	// to. To share extents the kernel writes them out first, which takes longer
	// than a copy for a short file that was just written.
	kernelCopyAfter = 1 << 20
	// maxEmptyReads is how many reads in a row may return nothing, as in bufio.
	maxEmptyReads = 100
)

var copyBuffers = sync.Pool{New: func() any { return new([copyBuffer]byte) }}

// ReadFrom appends everything read from r until io.EOF. io.Copy uses it. ReadFrom
// returns an error of r unchanged, and that error is final: content that was cut
// short must not be committed. If r returns no bytes and no error a hundred times
// in a row, the error is io.ErrNoProgress.
//
// The kernel copies the part of an *os.File beyond the first MiB where it can. On
// XFS and btrfs the two files then share that part, whatever its size.
func (f *File) ReadFrom(r io.Reader) (int64, error) { return f.readFrom(r, nil) }

// readFrom is ReadFrom. It locks c, unless that is nil, for each write, and not
// while it reads r, which may take forever.
func (f *File) readFrom(r io.Reader, c *Content) (int64, error) {
	if _, err := f.writePiece(nil, nil, c); err != nil {
		return 0, err
	}
	buf := copyBuffers.Get().(*[copyBuffer]byte)
	defer copyBuffers.Put(buf)
	var total int64
	empty := 0 // reads in a row that returned nothing
	for tried := false; ; {
		n, err := r.Read(buf[:])
		if empty++; n > 0 {
			empty = 0
		} else if empty == maxEmptyReads && err == nil {
			err = io.ErrNoProgress
		}
		m, err := f.writePiece(buf[:n], err, c)
		total += int64(m)
		switch {
		case err == io.EOF:
			return total, nil
		case err != nil:
			return total, err
		case total >= kernelCopyAfter && !tried:
			if err := c.lock(); err != nil {
				return total, err
			}
			total += f.copyFrom(r)
			c.unlock()
			tried = true
		}
	}
}

// writePiece writes b, and returns the error of the write, else rerr, the reader's
// error, which is final unless it is nil or io.EOF.
func (f *File) writePiece(b []byte, rerr error, c *Content) (n int, err error) {
	if err := c.lock(); err != nil {
		return 0, err
	}
	defer c.unlock()
	if err := f.check("write"); err != nil {
		return 0, err
	}
	if len(b) > 0 {
		if n, err = f.t.Write(b); err != nil {
			return n, f.fatal("write", err)
		}
	}
	if rerr != nil && rerr != io.EOF {
		f.err = rerr
		f.discard()
	}
	return n, rerr
}

// copyFrom lets the kernel copy the rest of r, if r is a file or a limited one, and
// returns the number of bytes. The caller reads the rest, and meets any error
// there.
func (f *File) copyFrom(r io.Reader) int64 {
	limited, ok := r.(*io.LimitedReader)
	if !ok {
		if src := sys.RawFile(r); src != nil {
			return f.t.CopyFrom(src, math.MaxInt64)
		}
		return 0
	}
	src := sys.RawFile(limited.R)
	if src == nil {
		return 0
	}
	n := f.t.CopyFrom(src, limited.N)
	limited.N -= n
	return n
}
