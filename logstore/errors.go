package logstore

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"

	"github.com/stele-go/stele/internal/setting"
)

var (
	// ErrClosed reports a call on a store that has been closed.
	ErrClosed = errors.New("the store is closed")
	// ErrLocked reports that a process, perhaps this one, has the store open.
	// The error names it.
	ErrLocked = errors.New("the store is in use")
	// ErrLowSpace reports that the file system has less free space than
	// Options.MinFree, or than Compact needs beside that. Appends are refused until
	// there is more; queries go on.
	ErrLowSpace = errors.New("too little free space")
	// ErrFailed reports that a write or sync of the log has failed for good.
	// Appends are refused until the store is opened again; everything
	// acknowledged stays, and queries go on.
	ErrFailed = errors.New("the log has failed for good: open the store again")
	// ErrTooManyTenants reports a batch of a tenant that has no entry in memory, while
	// as many as Options.MaxTenants got entries within an hour.
	ErrTooManyTenants = errors.New("too many tenants")
	// ErrUnsure reports a batch that was not acknowledged, but may be there all
	// the same.
	ErrUnsure = errors.New("the batch may have been kept all the same")

	// ErrTooManySources refuses a batch of a source that is not known, while the store
	// knows 65,536 sources, or as many as three quarters of a thirty-second of
	// Options.Memory can hold, or its tenant has TenantOptions.MaxSources. Only
	// ForgetSource forgets one.
	ErrTooManySources = errors.New("too many sources")

	// ErrReadOnly reports a call that would change a store that is open for reading
	// only: see OpenReadOnly.
	ErrReadOnly = errors.New("the store is open for reading only")
	// ErrIncomplete is the last error of a query if a part of the store cannot be read:
	// of one that is open for reading only, or, in any store, while a segment whose
	// index is damaged waits for its salvage, which begins when the store is opened. The
	// result has all entries that can be read. Store.Report says more.
	ErrIncomplete = errors.New("entries may be missing")
	// ErrMemory reports that Options.Memory is too little for what OpenReadOnly must
	// keep in memory.
	ErrMemory = errors.New("the log does not fit: set Options.Memory to more")

	// ErrBusy reports a query with Query.NoWait that would have waited, or an
	// Aggregate, Count or Fold that needed more memory than it began with: other
	// queries have all the memory that queries share. The error is a *BusyError.
	ErrBusy = errors.New("other queries have all memory for queries")

	// ErrMore comes with names, values or series that are not all, because of
	// Query.Limit.
	ErrMore = errors.New("there are more than the limit")

	// ErrReplaying is the last error of a query that began before the log was
	// replayed: entries acknowledged before the crash may be missing.
	ErrReplaying = errors.New("the log is still being replayed")
)

// The reasons of a Rejection.
var (
	ErrTooOld  = errors.New("entry is too old")               // before 1970, or by more than Options.LateWindow
	ErrExpired = errors.New("entry has expired")              // older than Options.Retention, or that of the tenant
	ErrFuture  = errors.New("entry is too far in the future") // later than Options.FutureWindow allows
	ErrTooLong = errors.New("line is too long")               // longer than Options.MaxLine

	// ErrTooManyStreams refuses the entries of a stream that is not known, while
	// as many as Options.MaxStreams, or TenantOptions.MaxStreams of the tenant, got
	// entries within an hour.
	ErrTooManyStreams = errors.New("too many streams")
)

// errUnopened is the error of a Store or SegmentInspection that Open did not
// make.
var errUnopened = fmt.Errorf("not opened: use Open: %w", fs.ErrInvalid)

// A CorruptError reports a segment whose bytes are not as they were written.
// Its intact blocks are still served.
type CorruptError struct {
	File   string
	Offset int64 // bytes
	Reason string
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("logstore: %s is damaged at offset %d: %s", e.File, e.Offset, e.Reason)
}

// A PanicError reports that a function of the caller panicked: a filter given to
// Func, for example, or a Folder. It ends the query or the Tail that called it,
// and nothing else. That of Options.Events is in Stats.BackgroundError until a later
// call returns.
type PanicError struct {
	Value any    // of the panic
	Stack []byte // of the goroutine that panicked, as debug.Stack returns it

	in string // what panicked; "" is a filter
}

func (e *PanicError) Error() string {
	return fmt.Sprintf("%s panicked: %v", cmp.Or(e.in, "the filter"), e.Value)
}

// Unwrap returns the value of the panic if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// A LimitError reports a query that exceeded a limit.
type LimitError struct {
	Limit string // the limit by its name, such as "Options.Memory"
	Value int64  // of the limit
	What  string // what exceeded it, with its unit
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("more than %d %s: the limit is %s", e.Value, e.What, e.Limit)
}

// opError adds the operation and the directory to an error. A wrong setting
// names its field, and stays as it is.
func (s *Store) opError(op string, err error) error {
	if _, ok := errors.AsType[*setting.Error](err); ok {
		return err
	}
	if _, ok := errors.AsType[*CorruptError](err); ok && !errors.Is(err, ErrIncomplete) {
		return err
	}
	return fmt.Errorf("logstore: %s %s: %w", op, s.dir, err)
}
