package header

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/internal/setting"
)

var (
	// ErrNoHeader means that the file has no header of this package, or that its
	// head was changed by another program since.
	ErrNoHeader = errors.New("no header")
	// ErrChanged means that the file does not begin with the bytes that Swap was
	// given.
	ErrChanged = errors.New("the file does not begin with the given head")
	// ErrStrategy means that Options.Strategy is impossible for this file.
	ErrStrategy = errors.New("this strategy is not possible here")
	// ErrInterrupted means that a change in place failed half-way. Recover
	// completes or undoes it, and so does any later change.
	ErrInterrupted = errors.New("a change of this file was interrupted")
)

// Insert puts data before the first byte of the file name. Once it has returned
// nil, the change survives what Options.Level says. A crash during the change
// leaves the old file or the new one (durability.OldOrNew), unless Mode is InPlace
// and Level is Kill; Result.Promise says which. Headers stack: a later one stands
// before an earlier one. If data is empty, Insert does nothing.
//
// If the file has reserved bytes, or has padding and Options.Pad is set, the header
// goes there, if it fits, and nothing moves. Otherwise exactly data is inserted,
// with padding only if Options.Pad is set.
//
// Any process that may read the file may lock it. Insert waits for the lock until
// ctx is done, or for Options.LockWait; then the error is a *[LockedError], which
// names the holder if it is known, and the file is unchanged. A change that has
// begun is completed regardless of ctx. This holds for all functions of this
// package.
//
// If the header cannot be recorded, because the file system has no user attributes
// or the header is longer than 64 MiB, it is inserted nevertheless. Result.Why then
// says so, and Replace, Remove and Read do not find the header.
func Insert(ctx context.Context, name string, data []byte, o Options) (Result, error) {
	return apply(ctx, "insert", name, o, insertion(data))
}

func insertion(data []byte) change {
	return func(t *target, o Options) (*edit, error) {
		if len(data) == 0 {
			return nil, nil
		}
		return t.insertion(data, o)
	}
}

// Replace replaces the header that Insert put there last by data, with the promise
// of Insert. The error is ErrNoHeader if the file has no header. If Options.Pad is set and
// data fits the header and its padding or reserved bytes, nothing moves; otherwise
// the file grows or shrinks with the header.
func Replace(ctx context.Context, name string, data []byte, o Options) (Result, error) {
	return apply(ctx, "replace", name, o, func(t *target, o Options) (*edit, error) {
		if len(data) == 0 {
			return nil, setting.Wrong("header: Replace: data", setting.Bytes(0), "1 to %d; Remove takes the header out", maxReserve)
		}
		return t.replacement(data, o)
	})
}

// Remove removes the header that Insert put there last, and its padding, with the
// promise of Insert. The error is ErrNoHeader if the file has no header. A reserved slot
// keeps its length, filled by Options.Pad; without Pad it shrinks by the header.
func Remove(ctx context.Context, name string, o Options) (Result, error) {
	return apply(ctx, "remove", name, o, func(t *target, o Options) (*edit, error) { return t.replacement(nil, o) })
}

// Read returns the header that Insert put there last. The error is ErrNoHeader if the
// file has no header. Read waits for a running change, and recovers an interrupted one
// first. Of the options it uses only Root, OneMount and LockWait.
func Read(ctx context.Context, name string, o Options) ([]byte, error) {
	if err := o.check(); err != nil {
		return nil, wrapError("read", name, err)
	}
	t, err := lockTarget(ctx, name, false, o, o.LockWait)
	if err != nil {
		return nil, wrapError("read", name, err)
	}
	defer t.close()
	k, at, head, err := t.newest()
	if err != nil {
		return nil, wrapError("read", name, err)
	}
	s := k.record.slots[at]
	mine := head[int64(len(head))-s.length:]
	return mine[:s.headers[0].length:s.headers[0].length], nil
}

// Reserve reserves a slot for headers of size bytes in total at the head of the
// file, filled by Options.Pad, which must be set, with the promise of Insert. If
// the slot is that large already, Reserve does nothing; if it is smaller, it grows.
// It is an error if the file cannot have a record.
//
// The reserved bytes are part of the content for every reader. Each change of the
// headers reads the slot whole, to check that it is unchanged; so size is at most
// 64 MiB, and better a few KiB.
func Reserve(ctx context.Context, name string, size int64, o Options) (Result, error) {
	return apply(ctx, "reserve", name, o, func(t *target, o Options) (*edit, error) { return t.reservation(size, o) })
}

// Swap replaces old, with which the file must begin, by data, with the promise of
// Insert. The error is ErrChanged if the file begins otherwise. Both old and data
// may be empty; if they are equal, Swap does nothing. data is no header for
// Replace, Remove and Read, and earlier headers become content: the record is
// dropped.
func Swap(ctx context.Context, name string, old, data []byte, o Options) (Result, error) {
	return apply(ctx, "swap", name, o, swapping(old, data))
}

func swapping(old, data []byte) change {
	return func(t *target, o Options) (*edit, error) { return t.swap(old, data, o) }
}

// A State is the outcome of Recover.
type State uint8

const (
	// Clean means that no change had been interrupted.
	Clean State = iota
	// Old means that the change was undone.
	Old
	// New means that the change was completed.
	New
)

var stateNames = [...]string{"clean", "old", "new"}

// String returns "clean", "old" or "new".
func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return fmt.Sprintf("header.State(%d)", uint8(s))
}

// Recover completes or undoes a change in place that a crash interrupted, or that
// failed with ErrInterrupted: afterwards the file is as before the change or as
// after it, durably. If Recover is interrupted, it can be called again. Every
// function of this package recovers the file first. The error is a *[DamagedError]
// if another program has changed the file since, so that neither is possible. Of
// the options Recover uses only Root, OneMount and LockWait.
func Recover(ctx context.Context, name string, o Options) (State, error) {
	if err := o.check(); err != nil {
		return Clean, wrapError("recover", name, err)
	}
	t, err := lockTarget(ctx, name, false, o, o.LockWait)
	if err != nil {
		return Clean, wrapError("recover", name, err)
	}
	defer t.close()
	return t.state, nil
}

// Interrupted reports whether a change in place of the file was interrupted, so
// that Recover has something to do, and changes nothing. It waits for a running
// change. Of the options it uses only Root, OneMount and LockWait.
func Interrupted(ctx context.Context, name string, o Options) (is bool, err error) {
	if err := o.check(); err != nil {
		return false, wrapError("recover", name, err)
	}
	t, err := locked(ctx, name, false, o, func(f *os.File) error { return lockFile(ctx, f, &lockTimeout{limit: o.LockWait}) }, func(t *target) (bool, error) {
		is, err = t.interrupted()
		return false, err
	})
	if err != nil {
		return false, wrapError("recover", name, err)
	}
	t.close()
	return is, nil
}

// A change returns the edit of a locked file, or nil if there is nothing to do.
type change func(t *target, o Options) (*edit, error)

// apply makes a change of one file.
func apply(ctx context.Context, op, name string, o Options, c change) (Result, error) {
	if err := o.check(); err != nil {
		return Result{}, wrapError(op, name, err)
	}
	t, err := lockTarget(ctx, name, o.Mode == InPlace, o, o.LockWait)
	if err != nil {
		return Result{}, wrapError(op, name, err)
	}
	defer t.close()
	e, err := c(t, o)
	if err != nil {
		return Result{}, wrapError(op, name, err)
	}
	if e == nil {
		return noChange(o), nil
	}
	f, res, err := t.perform(e, o, t.create)
	if err == nil && f != nil {
		if !locking {
			t.close() // Windows renames nothing over an open file
		}
		err = t.withUserName(f.Commit())
	}
	if err != nil {
		return Result{}, wrapError(op, name, err)
	}
	return res, nil
}

// noChange is the Result if there was nothing to do.
func noChange(o Options) Result {
	return Result{Promise: durability.Promise{Level: o.Level}, Why: "nothing to do"}
}

// wrapError adds operation and path to an error that has none.
func wrapError(op, name string, err error) error {
	if _, ok := errors.AsType[*fs.PathError](err); ok {
		return err
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}
