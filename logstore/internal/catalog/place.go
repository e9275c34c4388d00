package catalog

import (
	"io"

	"github.com/stele-go/stele/logstore/internal/segment2"
)

// A place keeps the segments of a store, by the names of names.go: a directory.
// Its methods may be called by many goroutines at once, but for those on one name.
type place interface {
	// list returns the names of the segments. It removes what was not completed.
	list() ([]string, error)
	// quarantined returns how many segments are in quarantine.
	quarantined() (int, error)
	// path returns the name of a segment for errors, and for people.
	path(name string) string
	// file returns the path of the file that a segment is. If the segment is
	// not a file, ok is false and path "".
	file(name string) (path string, ok bool)
	// open opens a segment, of which size bytes are there.
	open(name string) (o object, size int64, err error)
	// create begins a segment.
	create(name string) (objectWriter, error)
	// remove removes a segment. One that does not exist is no error.
	remove(name string) error
	// setAside moves a segment into quarantine, behind its report, which is there
	// and durable first. It replaces nothing there, and returns its name there.
	setAside(name string, r *report) (path string, err error)
	// unsynced reports whether names were removed or set aside since the last sync
	// that succeeded.
	unsynced() bool
	// sync makes all removals before it durable, and the names set aside.
	sync() error
	// syncNames makes the names of all segments durable. Those that an earlier
	// process created are among them.
	syncNames() error
	close() error
}

// An object is a segment that is open for reading.
type object interface {
	segment2.Source
	segment2.Viewer
	io.Closer
}

// An objectWriter writes a segment, which is not there before commit.
type objectWriter interface {
	io.Writer
	// writeback asks for n bytes from off on to be written to the disk, as a hint.
	writeback(off, n int64)
	// commit makes the content and the name durable. After an error there may be
	// the name, but only if named.
	commit() (named bool, err error)
	// abort gives up what was not committed.
	abort()
}
