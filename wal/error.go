package wal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/stele-go/stele/internal/sys"
)

var (
	// ErrLocked: another process, or this one, has the log open. The error
	// says which.
	ErrLocked = errors.New("the log is in use")
	// ErrClosed: the log, or the reader, has been closed.
	ErrClosed = errors.New("the log is closed")
	// ErrTruncated: the record has been given up by TruncateBefore.
	ErrTruncated = errors.New("the record has been truncated away")
)

// A CorruptError is the error of a log that is damaged: not as a crash leaves
// it. Nothing is cut, and nothing behind the damage is handed out.
type CorruptError struct {
	File   string // the damaged file
	Offset int64  // of the record, or the field, that is not as it was written
	Reason string
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("wal: %s is damaged at offset %d: %s", e.File, e.Offset, e.Reason)
}

// A VersionError is the error of a log of a layout that this package does not
// know. Nothing of it has been touched.
type VersionError struct {
	File    string
	Version uint32
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("wal: %s has layout version %d, this program knows up to %d: open the log with the program that wrote it, or a newer one",
		e.File, e.Version, version)
}

// errUnknownState is in the chain of an error of store.advance after which
// nobody knows what of the segment is on the disk: the log is poisoned.
var errUnknownState = errors.New("what is on the disk is not known")

// errUnopened is the error of a Log, a Reader or a Pending that this package
// has not made.
var errUnopened = fmt.Errorf("wal: it was made without Open: %w", fs.ErrInvalid)

// irregular is the error of a name of the log's at which there is something
// else than a regular file, which no crash leaves.
func irregular(path string, mode fs.FileMode) error {
	again := ", and put back the file that was there"
	if name := filepath.Base(path); name == lockName || strings.HasSuffix(name, tempExt) {
		again = ""
	}
	return &CorruptError{File: path, Reason: fmt.Sprintf("it is %s, not a file of the log: move it away%s", sys.KindOf(mode), again)}
}

// openFile opens a file of the log that is there.
func openFile(path string, write bool) (*os.File, error) {
	f, err := sys.OpenExact(path, write)
	if e, ok := errors.AsType[*sys.NotRegularError](err); ok {
		return nil, irregular(path, e.Mode)
	}
	if err != nil {
		return nil, pathError("open", path, err)
	}
	return f, nil
}

// pathError is the error of a call that gives a bare one.
func pathError(op, path string, err error) error {
	return fmt.Errorf("wal: %w", &fs.PathError{Op: op, Path: path, Err: err})
}
