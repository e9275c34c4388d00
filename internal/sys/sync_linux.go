package sys

import (
	"os"

	"golang.org/x/sys/unix"
)

// SyncData makes the file's content durable, with the metadata that is needed
// to read it, and SyncAll all that is known of it (fdatasync(2), fsync(2)).
func SyncData(f *os.File) error {
	return WithFD(f, unix.Fdatasync)
}

// SyncAll is fsync(2).
func SyncAll(f *os.File) error {
	return WithFD(f, unix.Fsync)
}

// SyncFS writes out the whole file system that d is on (syncfs(2)). It tells
// of errors since d was opened (Linux 5.8).
func (d Dir) SyncFS() error {
	return Retry(func() error { return unix.Syncfs(d.fd()) })
}

// SyncRange writes the range out and waits until the device has answered. It
// makes nothing durable: neither the size of the file nor where its blocks
// are, nor is the device told to empty its cache (sync_file_range(2)).
func SyncRange(f *os.File, off, n int64) error {
	const all = unix.SYNC_FILE_RANGE_WAIT_BEFORE | unix.SYNC_FILE_RANGE_WRITE | unix.SYNC_FILE_RANGE_WAIT_AFTER
	return WithFD(f, func(fd int) error { return unix.SyncFileRange(fd, off, n, all) })
}

// StartWriteback has the kernel begin to write the range out, and does not
// wait (sync_file_range(2)). It is a hint, and tells no error.
func StartWriteback(fd int, off, n int64) {
	unix.SyncFileRange(fd, off, n, unix.SYNC_FILE_RANGE_WRITE)
}
