package sys

import (
	"errors"

	"golang.org/x/sys/unix"
)

// Absent reports whether err is how a kernel or a file system says that it
// does not have a call, a flag or a mode at all.
func Absent(err error) bool {
	for _, no := range []error{
		unix.EOPNOTSUPP, unix.ENOSYS, unix.ENOTTY, unix.EINVAL,
		unix.EISDIR, // open, of O_TMPFILE on a kernel before 3.11
		unix.EXDEV,  // copy_file_range, ioctl FICLONE
	} {
		if errors.Is(err, no) {
			return true
		}
	}
	return false
}
