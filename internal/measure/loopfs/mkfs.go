// Package loopfs has the steps of making a file system in a file: Mkfs makes it,
// Attach puts a loop device over the file, Mount mounts that. Package scratch takes
// them together.
package loopfs

import (
	"bytes"
	"context"
	"time"
)

// Mkfs calls run, which runs a mkfs program and returns its output, and repeats it
// where mkfs.btrfs could not check whether its file is mounted: it looks at every
// loop device, and fails at one that another program detaches meanwhile, or whose
// file is on a disk that has just disappeared. Mkfs tries for five seconds, or until
// ctx is done.
func Mkfs(ctx context.Context, run func() (out []byte, err error)) (out []byte, err error) {
	for try := 1; ; try++ {
		out, err = run()
		if err == nil || try == 100 || ctx.Err() != nil || !bytes.Contains(out, []byte("cannot check mount status")) {
			return out, err
		}
		time.Sleep(50 * time.Millisecond)
	}
}
