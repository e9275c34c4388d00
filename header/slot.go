package header

import (
	"fmt"
	"io/fs"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/internal/sys"
)

// overwrite implements the strategy Slot: the new head has the length of the old one,
// and the bytes that differ are overwritten.
//
// A write can be torn by a power cut, and by kill -9 if it spans pages. So the bytes
// first go to the file's intent, from which Recover writes them again. At level
// Power the order is:
//
//	fsetxattr intent, fsync       from here on Recover makes it new
//	pwrite, fdatasync             from here on it is new
//	fsetxattr record, fremovexattr intent
//
// The last two need not be durable: a power cut that undoes them leaves an intent
// whose change Recover finds complete.
func (t *target) overwrite(e *edit, o Options) (Result, error) {
	if n := e.delta(); n != 0 {
		return Result{}, notApplicable(fmt.Sprintf("the file's size changes by %d bytes, and its head has no slot or padding to take them", n), nil)
	}
	head, rec := e.build(0)
	at, n := diffRange(e.old, head)
	old, data := e.old[at:at+n], head[at:at+n]
	var value []byte
	if rec != nil && e.recordErr == nil {
		value = rec.encode(sys.Inode(t.info))
	}

	res := Result{
		Strategy: Slot, Header: e.header, Pad: padding(e, head, rec),
		Promise: durability.Promise{Level: o.Level},
	}
	hasIntent := true
	switch err := writeIntent(t.f, newSlotRedo(int64(at), old, data, value)); {
	case err == nil:
	case !isNotApplicable(err):
		return Result{}, err
	case o.Level == durability.Power:
		return Result{}, err
	default:
		hasIntent = false
		res.Promise.After = durability.Torn
		res.Why = fmt.Sprintf("torn by a kill: %v", err)
	}
	if err := t.overwriteBytes(int64(at), old, data, o, hasIntent); err != nil {
		return Result{}, err
	}
	if err := setRecord(t.f, value); err != nil {
		return Result{}, t.interruptedError(hasIntent, "record", bare(err))
	}
	if o.KeepTimes {
		if err := withFD(t.f, t.restoreTimes); err != nil {
			return Result{}, t.interruptedError(hasIntent, "set times", err)
		}
	}
	if hasIntent {
		if err := clearIntent(t.f); err != nil {
			return Result{}, t.interruptedError(true, "clear intent", bare(err))
		}
	}
	return res, nil
}

// overwriteBytes writes data over old, at offset at.
func (t *target) overwriteBytes(at int64, old, data []byte, o Options, hasIntent bool) error {
	power := o.Level == durability.Power
	if power {
		if err := sys.SyncAll(t.f); err != nil {
			clearIntent(t.f) // if that fails too, Recover finds the old bytes
			return &fs.PathError{Op: "sync", Path: t.userName, Err: err}
		}
	}
	n, err := t.f.WriteAt(data, at)
	if err != nil {
		// Restoring needs no space: the blocks are allocated, except on btrfs,
		// which allocates new ones.
		err = bare(err)
		if _, again := t.f.WriteAt(old[:n], at); again != nil {
			return t.interruptedError(hasIntent, "write", err)
		}
		if hasIntent {
			clearIntent(t.f)
		}
		return &fs.PathError{Op: "write", Path: t.userName, Err: err}
	}
	if power {
		if err := sys.SyncData(t.f); err != nil {
			return t.interruptedError(hasIntent, "sync", err)
		}
	}
	return nil
}

// interruptedError returns the error of a change that failed half-way. The file holds
// the new bytes, or a part of them; if it has an intent, Recover resolves that.
func (t *target) interruptedError(hasIntent bool, op string, err error) error {
	if hasIntent {
		err = fmt.Errorf("%w: %w", ErrInterrupted, err)
	}
	return &fs.PathError{Op: op, Path: t.userName, Err: err}
}

// diffRange returns the offset of the first byte in which a and b, of the same
// length, differ, and the number of bytes from there to the last one.
func diffRange(a, b []byte) (at, n int) {
	end := len(a)
	for at < end && a[at] == b[at] {
		at++
	}
	for end > at && a[end-1] == b[end-1] {
		end--
	}
	return at, end - at
}

// restoreTimes sets the times of the file with descriptor fd to those that the target
// had when it was locked.
func (t *target) restoreTimes(fd int) error {
	return sys.SetTimes(fd, sys.AccessTime(t.info), t.info.ModTime())
}
