package logstore

import (
	"context"
	"errors"

	"github.com/stele-go/stele/logstore/internal/catalog"
)

// For the tests of package logstore_test.

// DecodeLabels decodes labels as segments encode them.
func DecodeLabels(enc string) (Labels, error) { return parseLabels(enc) }

// LateRejection returns the rejection of an entry that is too old.
func LateRejection(stream, entry int, time int64) Rejection {
	return Rejection{Stream: stream, Entry: entry, Time: time, code: refusedLate}
}

// Tailed reports whether a Tail has begun.
func (s *Store) Tailed() bool { return s.reads.tails.any.Load() }

// MostLog returns the most that the log may take of the disk while memory is
// empty: the current file, preallocated files, files for reuse, and a few
// pages.
func MostLog(memory int64) int64 {
	o := Options{Memory: memory}
	return (1+2*logSpares)*o.logSegment() + 64<<10
}

// ReadFar has the store read its segments as those of an object store: by ranges, with
// the context of the reader.
func ReadFar(o *Options) {
	o.wrapPlace = func(at catalog.Place) catalog.Place { return farDir{at} }
}

// A farDir is a directory of which no file is mapped, and none is read without a context.
type farDir struct{ catalog.Place }

func (d farDir) Open(ctx context.Context, name string) (catalog.Object, int64, error) {
	o, size, err := d.Place.Open(ctx, name)
	if err != nil {
		return nil, 0, err
	}
	return farFile{o, o.Name()}, size, nil
}

// A farFile hides all methods but these of a file.
type farFile struct {
	file catalog.Object
	name string
}

func (f farFile) Name() string { return f.name }
func (f farFile) Close() error { return f.file.Close() }

// ReadAt is not called: it has no context.
func (f farFile) ReadAt([]byte, int64) (int, error) {
	return 0, errors.New("a range was read without a context")
}

func (f farFile) ReadRange(ctx context.Context, p []byte, off int64) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	return f.file.ReadAt(p, off)
}
