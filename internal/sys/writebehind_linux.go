package sys

import "golang.org/x/sys/unix"

// StartWriteback has the kernel begin to write the range out, and does not
// wait (sync_file_range(2)). It is a hint, and tells no error.
func StartWriteback(fd int, off, n int64) {
	unix.SyncFileRange(fd, off, n, unix.SYNC_FILE_RANGE_WRITE)
}
