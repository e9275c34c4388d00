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
)

var copyBuffers = sync.Pool{New: func() any { return new([copyBuffer]byte) }}

// ReadFrom appends all that r gives. io.Copy uses it. An error of r is
// returned as it is, and final too: content that was cut short must not be
// committed.
//
// What an *os.File holds beyond its first MiB is copied by the kernel where it
// can be. XFS and btrfs then share it between the two files, whatever its
// size.
func (f *File) ReadFrom(r io.Reader) (int64, error) {
	if err := f.usable("write"); err != nil {
		return 0, err
	}
	buf := copyBuffers.Get().(*[copyBuffer]byte)
	defer copyBuffers.Put(buf)
	var total int64
	for tried := false; ; {
		n, err := r.Read(buf[:])
		if n > 0 {
			m, werr := f.t.Write(buf[:n])
			total += int64(m)
			if werr != nil {
				return total, f.fatal("write", werr)
			}
		}
		switch {
		case err == io.EOF:
			return total, nil
		case err != nil:
			f.err = err
			f.drop()
			return total, err
		case total >= copyAfter && !tried:
			total += f.copyFrom(r)
			tried = true
		}
	}
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
