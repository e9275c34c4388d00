package header

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/stele-go/stele/internal/sys"
)

// A LockedError is the error of a file that somebody else kept locked for as
// long as its lock was waited for. errors.Is finds the context's error in it.
type LockedError struct {
	// PID is the process that took the lock, and Command its name; 0 and "" if
	// they are unknown. It may be in another container, or run as another user
	// on a file system whose locks are not listed.
	PID     int
	Command string
	Err     error // the context's, or context.DeadlineExceeded after Options.LockWait
}

func (e *LockedError) Error() string {
	who := "another process"
	switch {
	case e.PID == os.Getpid():
		who = "this process"
	case e.PID != 0 && e.Command != "":
		who = fmt.Sprintf("process %d (%s)", e.PID, e.Command)
	case e.PID != 0:
		who = fmt.Sprintf("process %d", e.PID)
	}
	return fmt.Sprintf("locked by %s: %v", who, e.Err)
}

// Unwrap returns the context's error.
func (e *LockedError) Unwrap() error { return e.Err }

func isLocked(err error) bool {
	_, ok := errors.AsType[*LockedError](err)
	return ok
}

// errBusy: somebody else has the lock.
var errBusy = errors.New("the file is locked")

// How long a lock is left alone before it is tried again: flock(2) itself
// cannot be called off, and whoever may read a file may lock it.
const (
	firstPause = time.Millisecond
	mostPause  = 50 * time.Millisecond
)

// A patience is how long the lock of one name is waited for, from the first
// time on that somebody else has it; 0 is as long as the context says.
type patience struct {
	most time.Duration
	over <-chan time.Time
}

// begin starts the time, once.
func (p *patience) begin() {
	if p.most > 0 && p.over == nil {
		p.over = time.After(p.most)
	}
}

// lockFile locks f, and waits for that until ctx is done or p at its end. It
// tries once in any case.
func lockFile(ctx context.Context, f *os.File, p *patience) error {
	err := tryLock(f)
	if err != errBusy {
		return err
	}
	p.begin()
	givenUp := func(err error) error {
		pid, command := sys.FlockHolder(f)
		return &LockedError{PID: pid, Command: command, Err: err}
	}
	timer := time.NewTimer(firstPause)
	defer timer.Stop()
	for pause := firstPause; ; {
		select {
		case <-ctx.Done():
			return givenUp(ctx.Err())
		case <-p.over:
			if err := tryLock(f); err != errBusy { // this process may have slept meanwhile
				return err
			}
			return givenUp(context.DeadlineExceeded)
		case <-timer.C:
		}
		if err := tryLock(f); err != errBusy {
			return err
		}
		pause = min(2*pause, mostPause)
		timer.Reset(pause)
	}
}

// tryLock locks f, or returns errBusy.
func tryLock(f *os.File) error {
	ok, err := sys.TryLock(f)
	if err == nil && !ok {
		return errBusy
	}
	return bare(err)
}
