package logstore

import (
	"errors"
	"fmt"
	"io/fs"
)

var (
	// ErrClosed: the store has been closed.
	ErrClosed = errors.New("the store is closed")
	// ErrLocked: another process, or this one, has the folder open. The error
	// says which.
	ErrLocked = errors.New("the store is in use")
	// ErrLowSpace: the file system has less room than Options.MinFree. Nothing
	// is appended until there is more; queries go on.
	ErrLowSpace = errors.New("too little space is free")
	// ErrFailed: a write or a sync of the log below has failed for good.
	// Nothing is appended any more until the store is opened anew; what was
	// acknowledged stays, and queries go on.
	ErrFailed = errors.New("the store takes no more: open it anew")
	// ErrUnsure: the batch was not acknowledged, and may be there all the same.
	ErrUnsure = errors.New("it may have been kept all the same")

	// ErrReplaying is the last error of a query that began before the log was
	// replayed: entries that were acknowledged before may be missing.
	ErrReplaying = errors.New("the log is still being replayed")

	// Reasons why an entry was refused, see RejectedError.
	ErrTooOld  = errors.New("older than late entries of its stream may be")
	ErrExpired = errors.New("older than what is kept")
	ErrFuture  = errors.New("too far in the future")
	ErrTooLong = errors.New("the line is too long")
)

// errUnopened is the error of a Store or a SegmentInspection that this package
// has not made.
var errUnopened = fmt.Errorf("it was made without Open: %w", fs.ErrInvalid)

// A Rejection is an entry that was refused, and why.
type Rejection struct {
	Stream, Entry int // the place in the Batch
	Time          int64
	Err           error // wraps ErrTooOld, ErrExpired, ErrFuture, ErrTooLong or ErrLabels, and says what would do
}

// A RejectedError is the error of a batch of which some entries were refused.
// All others were appended, and are as durable as if there had been no error.
type RejectedError struct {
	Accepted int
	Rejected []Rejection // in the order of the batch
}

func (e *RejectedError) Error() string {
	if len(e.Rejected) == 0 {
		return "no entry was refused"
	}
	first := e.Rejected[0]
	return fmt.Sprintf("%d of %d entries refused, the others kept; the first: stream %d, entry %d: %v",
		len(e.Rejected), len(e.Rejected)+e.Accepted, first.Stream, first.Entry, first.Err)
}

// Unwrap returns the reasons of all rejections, for errors.Is.
func (e *RejectedError) Unwrap() []error {
	list := make([]error, len(e.Rejected))
	for i, r := range e.Rejected {
		list[i] = r.Err
	}
	return list
}

// A CorruptError tells of a segment that is not as it was written. What is
// intact is served.
type CorruptError struct {
	File   string
	Offset int64 // bytes
	Reason string
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("%s is damaged at %d: %s", e.File, e.Offset, e.Reason)
}
