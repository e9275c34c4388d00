package header

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/stele-go/stele/internal/sys"
)

// A LockedError is the error if another process or goroutine held a file's lock for
// the whole wait. errors.Is finds the error of the context in it.
type LockedError struct {
	// PID is the process that took the lock, and Command its name; 0 and "" if
	// unknown, as for a process in another container, or of another user on a
	// file system whose locks are not listed.
	PID     int
	Command string
	Err     error // of the context, or context.DeadlineExceeded after Options.LockWait
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

// Unwrap returns e.Err.
func (e *LockedError) Unwrap() error { return e.Err }

func isLocked(err error) bool {
	_, ok := errors.AsType[*LockedError](err)
	return ok
}

// errLocked is the error of tryLock if the lock is held elsewhere.
var errLocked = errors.New("the file is locked")

// The pauses between two tries of a lock: a blocking flock(2) cannot be cancelled,
// and any process that may read a file may hold its lock.
const (
	minPause = time.Millisecond
	maxPause = 50 * time.Millisecond
)

// A lockTimeout limits the wait for the lock of one name, counted from the first
// refusal. A limit of 0 means no limit.
type lockTimeout struct {
	limit   time.Duration
	expired <-chan time.Time
}

// start starts the timeout, once.
func (p *lockTimeout) start() {
	if p.limit > 0 && p.expired == nil {
		p.expired = time.After(p.limit)
	}
}

// lockFile locks f. It waits for the lock until ctx is done or p has expired, and
// tries at least once.
func lockFile(ctx context.Context, f *os.File, p *lockTimeout) error {
	err := tryLock(f)
	if err != errLocked {
		return err
	}
	p.start()
	givenUp := func(err error) error {
		pid, command := sys.FlockHolder(f)
		return &LockedError{PID: pid, Command: command, Err: err}
	}
	timer := time.NewTimer(minPause)
	defer timer.Stop()
	for pause := minPause; ; {
		select {
		case <-ctx.Done():
			return givenUp(ctx.Err())
		case <-p.expired:
			if err := tryLock(f); err != errLocked { // the system may have been suspended
				return err
			}
			return givenUp(context.DeadlineExceeded)
		case <-timer.C:
		}
		if err := tryLock(f); err != errLocked {
			return err
		}
		pause = min(2*pause, maxPause)
		timer.Reset(pause)
	}
}

// tryLock locks f, or returns errLocked.
func tryLock(f *os.File) error {
	ok, err := sys.TryLock(f)
	if err == nil && !ok {
		return errLocked
	}
	return bare(err)
}
