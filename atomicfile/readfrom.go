package atomicfile

import (
	"io"
	"math"
	"sync"

	"github.com/stele-go/stele/internal/sys"
)

const (
	// copyBuffer is what ReadFrom moves at a time, in bytes.
	copyBuffer = 256 << 10
	// copyAfter is how many bytes ReadFrom moves before it asks the kernel. To
	// share extents that writes them out first, which for a short file that
	// was just made takes longer than a copy.
	copyAfter = 1 << 20
	// maxIdle is how often a reader may give nothing in a row, as in bufio.
	maxIdle = 100
)

var copyBuffers = sync.Pool{New: func() any { return new([copyBuffer]byte) }}

// ReadFrom appends all that r gives. io.Copy uses it. An error of r is
// returned as it is, and final too: content that was cut short must not be
// committed. A reader that gives nothing, and no error, a hundred times in a
// row is io.ErrNoProgress.
//
// What an *os.File holds beyond its first MiB is copied by the kernel where it
// can be. XFS and btrfs then share it between the two files, whatever its
// size.
func (f *File) ReadFrom(r io.Reader) (int64, error) { return f.readFrom(r, nil) }

// readFrom is ReadFrom, by c unless that is nil, which is not held while r is
// read: that may take for ever.
func (f *File) readFrom(r io.Reader, c *Content) (int64, error) {
	if _, err := f.take(nil, nil, c); err != nil {
		return 0, err
	}
	buf := copyBuffers.Get().(*[copyBuffer]byte)
	defer copyBuffers.Put(buf)
	var total int64
	idle := 0 // reads in a row that gave nothing
	for tried := false; ; {
		n, err := r.Read(buf[:])
		if idle++; n > 0 {
			idle = 0
		} else if idle == maxIdle && err == nil {
			err = io.ErrNoProgress
		}
		m, err := f.take(buf[:n], err, c)
		total += int64(m)
		switch {
		case err == io.EOF:
			return total, nil
		case err != nil:
			return total, err
		case total >= copyAfter && !tried:
			if err := c.begin(); err != nil {
				return total, err
			}
			total += f.copyFrom(r)
			c.finish()
			tried = true
		}
	}
}

// take writes b. rerr is the reader's, nil or io.EOF unless it ends the file;
// the error is that, or of the write.
func (f *File) take(b []byte, rerr error, c *Content) (n int, err error) {
	if err := c.begin(); err != nil {
		return 0, err
	}
	defer c.finish()
	if err := f.usable("write"); err != nil {
		return 0, err
	}
	if len(b) > 0 {
		if n, err = f.t.Write(b); err != nil {
			return n, f.fatal("write", err)
		}
	}
	if rerr != nil && rerr != io.EOF {
		f.err = rerr
		f.drop()
	}
	return n, rerr
}

// copyFrom has the kernel copy what r would give, if r is a file or a limited
// one, and reports how much that was. The rest, and every error, is found by
// reading on.
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
