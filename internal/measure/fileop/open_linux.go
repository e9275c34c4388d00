package fileop

import (
	"os"

	"golang.org/x/sys/unix"

	"github.com/stele-go/stele/internal/sys"
)

// DataSync is O_DSYNC: a write returns when the data, and the metadata needed
// to read it, are durable.
const DataSync = unix.O_DSYNC

// DirectFlag is O_DIRECT: reads and writes go past the page cache.
const DirectFlag = unix.O_DIRECT

// Redirect makes the descriptor of to refer to the open file of from (dup3(2)), and
// closes its own. The two share offset and flags. It
// takes no new descriptor, so it does not run into the limit on them.
func Redirect(to, from *os.File) error {
	return os.NewSyscallError("dup3", sys.WithFDs(from, to, func(fd, number int) error { return unix.Dup3(fd, number, unix.O_CLOEXEC) }))
}

// CreateNewBeneath is CreateBeneath of a file that must not be there, else
// EEXIST (O_EXCL).
func CreateNewBeneath(dir *os.File, rel string) (*os.File, error) {
	how := unix.OpenHow{
		Flags:   unix.O_CREAT | unix.O_EXCL | unix.O_RDWR | unix.O_CLOEXEC,
		Mode:    0o600,
		Resolve: unix.RESOLVE_BENEATH,
	}
	return openAt(dir, rel, &how)
}
