package catalog

import (
	"context"
	"io"

	"github.com/stele-go/stele/logstore/internal/segment2"
)

// A Place keeps the segments of a store, by the names of names.go: a directory, or
// where else immutable objects lie that are read by ranges. Its methods may be called
// by many goroutines at once, but for those on one name.
//
// A method, and a read, ends with the error of its context once that is done: that of
// the call of the catalog that it is for. Compactions and salvages end with Close.
type Place interface {
	// List returns the names of the segments. It removes what was not completed.
	List(ctx context.Context) ([]string, error)
	// Quarantined returns how many segments are in quarantine.
	Quarantined(ctx context.Context) (int, error)
	// Path returns the name of a segment for errors, and for people.
	Path(name string) string
	// File returns the path of the file that a segment is. If the segment is
	// not a file, ok is false and path "".
	File(name string) (path string, ok bool)
	// Open opens a segment, of which size bytes are there.
	Open(ctx context.Context, name string) (o Object, size int64, err error)
	// Create begins a segment. Its content is written with ctx.
	Create(ctx context.Context, name string) (Writer, error)
	// Remove removes a segment. One that does not exist is no error.
	Remove(ctx context.Context, name string) error
	// SetAside moves a segment into quarantine, behind its report, which is there
	// and durable first: report returns its text for the name there. It replaces
	// nothing there, and returns where the segment is then.
	SetAside(ctx context.Context, name string, report func(name string) string) (path string, err error)
	// Unsynced reports whether names were removed or set aside since the last sync
	// that succeeded. It is known without asking.
	Unsynced() bool
	// Sync makes all removals before it durable, and the names set aside.
	Sync(ctx context.Context) error
	// SyncNames makes the names of all segments durable. Those that an earlier
	// process created are among them.
	SyncNames(ctx context.Context) error
	Close() error
}

// An Object is a segment that is open for reading. One that is far away is a
// segment2.RangeReader: queries read it with their contexts, several ranges at once,
// and neighbouring parts in one range of up to 8 MiB. One that is near may be a
// segment2.Viewer.
type Object interface {
	segment2.Source
	io.Closer
}

// A Writer writes a segment, which is not there before Commit.
type Writer interface {
	io.Writer
	// Writeback asks for n bytes from off on to be written to the disk, as a hint.
	Writeback(off, n int64)
	// Commit makes the content and the name durable. After an error there may be
	// the name, but only if named.
	Commit() (named bool, err error)
	// Abort gives up what was not committed.
	Abort()
}
