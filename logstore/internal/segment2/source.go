package segment2

import (
	"context"
	"io"
)

// A Source is the bytes of a segment: a file, for example, or an object of an
// object store with range reads. Many goroutines call its methods at once.
type Source interface {
	io.ReaderAt
	Name() string
}

// A RangeReader is a Source that is far away. What takes a context reads it by
// ReadRange, a request each, with that context.
type RangeReader interface {
	Source
	// ReadRange is ReadAt, and returns the error of ctx once that is done.
	ReadRange(ctx context.Context, p []byte, off int64) (n int, err error)
}

// A Viewer is a Source that hands out memory without a copy, as *fileio.Reader
// does. What an Index needs of it is not read ahead.
type Viewer interface {
	View(off int64, n int, f func([]byte) error) error
}

// Within returns a source whose reads end with ctx, if src can do that.
func Within(ctx context.Context, src Source) Source {
	if r, ok := src.(RangeReader); ok {
		return boundSource{r, ctx}
	}
	return src
}

// A boundSource reads with a context.
type boundSource struct {
	RangeReader
	ctx context.Context
}

func (s boundSource) ReadAt(p []byte, off int64) (int, error) { return s.ReadRange(s.ctx, p, off) }
