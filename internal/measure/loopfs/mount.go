package loopfs

import (
	"errors"
	"syscall"
	"time"
)

// UnmountIdle is Unmount, but while target is busy it tries again, for so long
// at most. A process that is being started elsewhere in this one has copies of
// its descriptors until it execs, and a loop device has its file open until
// nobody looks at it any more.
func UnmountIdle(target string, patience time.Duration) error {
	for begun := time.Now(); ; time.Sleep(time.Millisecond) {
		err := Unmount(target)
		if !errors.Is(err, syscall.EBUSY) || time.Since(begun) >= patience {
			return err
		}
	}
}
