package header

import (
	"fmt"
	"io/fs"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/internal/sys"
)

// overwrite is the strategy Slot: the new head is as long as the old, and what
// differs is written over it.
//
// A write can be torn by a power cut, and by kill -9 where it spans pages. So
// the bytes are noted first, in the file's intent, from which Recover writes
// them again. At level Power the order is:
//
//	fsetxattr intent, fsync       from here on Recover makes it new
//	pwrite, fdatasync             from here on it is new
//	fsetxattr record, fremovexattr intent
//
// The last two need not be durable: a power cut that undoes them leaves an
// intent that Recover finds done.
func (t *target) overwrite(e *edit, o Options) (Result, error) {
	if n := e.grow(); n != 0 {
		return Result{}, unsuited(fmt.Sprintf("the file changes by %d bytes, and there is no room of that size at its head", n), nil)
	}
	head, rec := e.finish(0)
	at, n := differs(e.old, head)
	old, data := e.old[at:at+n], head[at:at+n]
	var value []byte
	if rec != nil && e.moot == nil {
		value = rec.encode(sys.Inode(t.info))
	}

	res := Result{
		Strategy: Slot, Header: e.header, Pad: padding(e, head, rec),
		Promise: durability.Promise{Level: o.Level},
	}
	noted := true
	switch err := writeIntent(t.f, newSlotRedo(int64(at), old, data, value)); {
	case err == nil:
	case !isUnsuited(err):
		return Result{}, err
	case o.Level == durability.Power:
		return Result{}, err
	default:
		noted = false
		res.Promise.After = durability.Torn
		res.Why = fmt.Sprintf("torn if killed: %v", err)
	}
	if err := t.overwriteNoted(int64(at), old, data, o, noted); err != nil {
		return Result{}, err
	}
	if err := setRecord(t.f, value); err != nil {
		return Result{}, t.left(noted, "record", bare(err))
	}
	if o.KeepTimes {
		if err := withFD(t.f, t.restoreTimes); err != nil {
			return Result{}, t.left(noted, "set times", err)
		}
	}
	if noted {
		if err := clearIntent(t.f); err != nil {
			return Result{}, t.left(true, "clear intent", bare(err))
		}
	}
	return res, nil
}

// overwriteNoted writes data over old.
func (t *target) overwriteNoted(at int64, old, data []byte, o Options, noted bool) error {
	power := o.Level == durability.Power
	if power {
		if err := sys.SyncAll(t.f); err != nil {
			clearIntent(t.f) // and if that fails: it says to write what is new, over what is old
			return &fs.PathError{Op: "sync", Path: t.shown, Err: err}
		}
	}
	n, err := t.f.WriteAt(data, at)
	if err != nil {
		// What was overwritten has its blocks, but on btrfs those are new ones
		// again.
		err = bare(err)
		if _, again := t.f.WriteAt(old[:n], at); again != nil {
			return t.left(noted, "write", err)
		}
		if noted {
			clearIntent(t.f)
		}
		return &fs.PathError{Op: "write", Path: t.shown, Err: err}
	}
	if power {
		if err := sys.SyncData(t.f); err != nil {
			return t.left(noted, "sync", err)
		}
	}
	return nil
}

// left is the error of a change that could not be ended. The file holds the
// new bytes, or a part of them, and if the change is noted Recover ends it.
func (t *target) left(noted bool, op string, err error) error {
	if noted {
		err = fmt.Errorf("%w: %w", ErrInterrupted, err)
	}
	return &fs.PathError{Op: op, Path: t.shown, Err: err}
}

// differs returns the first byte in which a and b, of the same length, differ,
// and how many there are up to the last one.
func differs(a, b []byte) (at, n int) {
	end := len(a)
	for at < end && a[at] == b[at] {
		at++
	}
	for end > at && a[end-1] == b[end-1] {
		end--
	}
	return at, end - at
}

// restoreTimes gives the file with the descriptor fd the times of the target
// as it was found.
func (t *target) restoreTimes(fd int) error {
	return sys.SetTimes(fd, sys.AccessTime(t.info), t.info.ModTime())
}
