package loopfs

import (
	"bytes"
	"context"
	"time"
)

// Mkfs calls run, which runs a program that makes a file system and returns what
// that says, more than once where it must: mkfs.btrfs looks first whether its
// file is mounted, at each loop device that is, and fails at one that another
// program detaches while it looks, or whose file is on a disk that has just
// ended. It tries for five seconds, or until ctx is done.
func Mkfs(ctx context.Context, run func() (out []byte, err error)) (out []byte, err error) {
	for try := 1; ; try++ {
		out, err = run()
		if err == nil || try == 100 || ctx.Err() != nil || !bytes.Contains(out, []byte("cannot check mount status")) {
			return out, err
		}
		time.Sleep(50 * time.Millisecond)
	}
}
