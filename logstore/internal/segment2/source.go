package segment2

import "io"

// A Source is the bytes of a segment: a file, for example, or an object of an
// object store with range reads.
type Source interface {
	io.ReaderAt
	Name() string
}

// A Viewer is a Source that hands out memory without a copy, as *fileio.Reader
// does.
type Viewer interface {
	View(off int64, n int, f func([]byte) error) error
}
