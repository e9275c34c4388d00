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
	// ErrLocked means that the log is already open. The error names the process.
	ErrLocked = errors.New("the log is in use")
	// ErrClosed means that the Log or the Reader has been closed.
	ErrClosed = errors.New("the log is closed")
	// ErrTruncated means that TruncateBefore has discarded the record.
	ErrTruncated = errors.New("the record has been truncated away")
)

// A CorruptError is returned when the log is damaged in a way that no crash
// leaves. Nothing is cut, and no record after the damage is returned, except by
// Inspection.Salvage.
type CorruptError struct {
	File   string // the damaged file
	Offset int64  // of the damaged record or field, in bytes
	Reason string // "the checksum of the payload is wrong"
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("wal: %s is damaged at offset %d: %s", e.File, e.Offset, e.Reason)
}

// A VersionError is returned when this package does not know the layout of the
// log. No file has been changed.
type VersionError struct {
	File    string
	Version uint32
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("wal: %s has layout version %d, this program knows versions up to %d: open the log with the program that wrote it, or a newer one",
		e.File, e.Version, version)
}

// errSyncFailed is in the chain of an error of store.advance whose sync has
// failed, which poisons the log.
var errSyncFailed = errors.New("the sync failed")

// errUnopened is the error of a zero Log, Reader, Pending or DirLock.
var errUnopened = fmt.Errorf("wal: use of a zero value; want one made by Open: %w", fs.ErrInvalid)

// irregular returns the error for a file of the log that is not a regular file,
// which no crash leaves.
func irregular(path string, mode fs.FileMode) error {
	advice := "move it away, and put back the file that was there"
	if name := filepath.Base(path); name == lockName || strings.HasSuffix(name, tempExt) {
		advice = "move it away"
	}
	return &CorruptError{File: path, Reason: fmt.Sprintf("it is %s, not a file of the log: %s", sys.KindOf(mode), advice)}
}

// openFile opens an existing file of the log.
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

// pathError adds op and path to err, the bare error of a system call.
func pathError(op, path string, err error) error {
	return fmt.Errorf("wal: %w", &fs.PathError{Op: op, Path: path, Err: err})
}
