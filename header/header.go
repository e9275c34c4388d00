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
	// ErrNoHeader: the file has no header of this package, or somebody has
	// changed the head of the file since.
	ErrNoHeader = errors.New("no header")
	// ErrChanged: the head of the file is not what Swap was told.
	ErrChanged = errors.New("the head of the file is not the one given")
	// ErrStrategy: the strategy that was asked for cannot do this here.
	ErrStrategy = errors.New("this strategy cannot be taken here")
	// ErrInterrupted: a change in place could not be ended, and has left the
	// file changed in part. Recover ends it, and so does any later change.
	ErrInterrupted = errors.New("a change of this file was interrupted")
)

// Insert puts data before the first byte of the file name: what Options.Level
// says survives once it has returned, and Result.Promise tells what a crash
// meanwhile leaves, which is the old file or the new one
// (durability.OldOrNew) unless Mode is InPlace and Level is Kill. Inserts
// stack: a later one stands before an earlier one.
//
// Where room was reserved, or padding is allowed and there is padding, the
// header goes there, and nothing moves. Else exactly data is inserted, and
// padding only where Options.Pad allows it. Of data without bytes it does
// nothing.
//
// Whoever may read the file may lock it. The lock is waited for until ctx is
// done, or for Options.LockWait: then the error is a *[LockedError], which says
// who holds it where that is known, and the file is as it was. A change that has
// begun is ended whatever ctx says. So it is with all functions of this package.
//
// Where nothing can be recorded of the file (a file system without user
// attributes, a header of more than 64 MiB), the header is inserted all the same. Result.Why says so, and
// Replace, Remove and Read do not know it.
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

// Replace puts data in the place of the header that Insert put there last. It
// promises what Insert promises. ErrNoHeader: there is none. Where
// Options.Pad is set and the header has padding or room that data fits in,
// nothing moves; else the file becomes longer or shorter by as much as the
// header.
func Replace(ctx context.Context, name string, data []byte, o Options) (Result, error) {
	return apply(ctx, "replace", name, o, func(t *target, o Options) (*edit, error) {
		if len(data) == 0 {
			return nil, setting.Wrong("header: Replace: data", setting.Bytes(0), "1 to %d; Remove takes the header out", maxRoom)
		}
		return t.change(data, o)
	})
}

// Remove removes the header that Insert put there last, and its padding. It
// promises what Insert promises. ErrNoHeader: there is none. Room that was
// reserved stays, filled by Options.Pad; without Pad it becomes shorter by
// the header.
func Remove(ctx context.Context, name string, o Options) (Result, error) {
	return apply(ctx, "remove", name, o, func(t *target, o Options) (*edit, error) { return t.change(nil, o) })
}

// Read returns the header that Insert put there last. ErrNoHeader: there is
// none. It waits for changes that are under way, and ends an interrupted one.
// Of the options only Root, OneMount and LockWait count.
func Read(ctx context.Context, name string, o Options) ([]byte, error) {
	if err := o.check(); err != nil {
		return nil, wrap("read", name, err)
	}
	t, err := lockTarget(ctx, name, false, o, o.LockWait)
	if err != nil {
		return nil, wrap("read", name, err)
	}
	defer t.close()
	k, at, head, err := t.last()
	if err != nil {
		return nil, wrap("read", name, err)
	}
	s := k.record.slots[at]
	mine := head[int64(len(head))-s.length:]
	return mine[:s.headers[0].length:s.headers[0].length], nil
}

// Reserve makes room for headers of size bytes in all at the head of the file,
// filled by Options.Pad, which it needs. It promises what Insert promises. If
// there is as much, it does nothing; if there is less, the room grows. Of a
// file of which nothing can be recorded it is an error.
//
// What is reserved is part of the file for whoever reads it. Each change of
// the headers reads it whole, to find out whether it still is as it was left;
// so size is at most 64 MiB, and better some KiB.
func Reserve(ctx context.Context, name string, size int64, o Options) (Result, error) {
	return apply(ctx, "reserve", name, o, func(t *target, o Options) (*edit, error) { return t.reservation(size, o) })
}

// Swap puts data in the place of old, with which the file must begin, else
// ErrChanged. old may be empty, and data. It promises what Insert promises. It is not a
// header for Replace, Remove and Read, and there is none after it: what was
// recorded is dropped. If old and data are the same it does nothing.
func Swap(ctx context.Context, name string, old, data []byte, o Options) (Result, error) {
	return apply(ctx, "swap", name, o, swapping(old, data))
}

func swapping(old, data []byte) change {
	return func(t *target, o Options) (*edit, error) { return t.swap(old, data, o) }
}

// A State is what Recover made of a file.
type State uint8

const (
	// Clean: no change had been interrupted.
	Clean State = iota
	// Old: the change was taken back.
	Old
	// New: the change was finished.
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

// Recover ends a change in place that a crash interrupted, or that failed with
// ErrInterrupted: afterwards the file is as before the change or as after it,
// durably. Interrupted itself, it can be called again. Every function of this
// package does the same first. A *[DamagedError] is the error of a file that
// somebody else has changed since, so that neither can be had. Of the options
// only Root, OneMount and LockWait count.
func Recover(ctx context.Context, name string, o Options) (State, error) {
	if err := o.check(); err != nil {
		return Clean, wrap("recover", name, err)
	}
	t, err := lockTarget(ctx, name, false, o, o.LockWait)
	if err != nil {
		return Clean, wrap("recover", name, err)
	}
	defer t.close()
	return t.state, nil
}

// Interrupted reports whether a change in place of the file was interrupted,
// which Recover would end, and changes nothing. It waits for one that is under
// way. Of the options only Root, OneMount and LockWait count.
func Interrupted(ctx context.Context, name string, o Options) (is bool, err error) {
	if err := o.check(); err != nil {
		return false, wrap("recover", name, err)
	}
	t, err := locked(ctx, name, false, o, func(f *os.File) error { return lockFile(ctx, f, &patience{most: o.LockWait}) }, func(t *target) (bool, error) {
		is, err = t.interrupted()
		return false, err
	})
	if err != nil {
		return false, wrap("recover", name, err)
	}
	t.close()
	return is, nil
}

// A change makes the edit of a locked file, or none if nothing is to be done.
type change func(t *target, o Options) (*edit, error)

// apply makes one change of one file.
func apply(ctx context.Context, op, name string, o Options, c change) (Result, error) {
	if err := o.check(); err != nil {
		return Result{}, wrap(op, name, err)
	}
	t, err := lockTarget(ctx, name, o.Mode == InPlace, o, o.LockWait)
	if err != nil {
		return Result{}, wrap(op, name, err)
	}
	defer t.close()
	e, err := c(t, o)
	if err != nil {
		return Result{}, wrap(op, name, err)
	}
	if e == nil {
		return nothing(o), nil
	}
	f, res, err := t.make(e, o, t.create)
	if err == nil && f != nil {
		if !locking {
			t.close() // Windows renames nothing over an open file
		}
		err = t.told(f.Commit())
	}
	if err != nil {
		return Result{}, wrap(op, name, err)
	}
	return res, nil
}

// nothing is the result where nothing was to be done.
func nothing(o Options) Result {
	return Result{Promise: durability.Promise{Level: o.Level}, Why: "nothing to do"}
}

// wrap has an error carry operation and path.
func wrap(op, name string, err error) error {
	if _, ok := errors.AsType[*fs.PathError](err); ok {
		return err
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}
