package loopfs

import (
	"errors"
	"syscall"
	"time"
)

// UnmountIdle is Unmount, repeated while target is busy, for patience at most. A
// child process that is being started holds copies of our descriptors until it
// execs, and a loop device holds its file until its last user closes it.
func UnmountIdle(target string, patience time.Duration) error {
	for begun := time.Now(); ; time.Sleep(time.Millisecond) {
		err := Unmount(target)
		if !errors.Is(err, syscall.EBUSY) || time.Since(begun) >= patience {
			return err
		}
	}
}
