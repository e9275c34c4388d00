package sys

import (
	"os"

	"golang.org/x/sys/unix"
)

// SyncData makes the file's content durable, with the metadata needed to read it
// (fdatasync(2)).
func SyncData(f *os.File) error {
	return WithFD(f, unix.Fdatasync)
}

// SyncAll makes the file's content and all its metadata durable (fsync(2)).
func SyncAll(f *os.File) error {
	return WithFD(f, unix.Fsync)
}

// SyncFS writes out the whole file system of d (syncfs(2)). It returns errors since
// d was opened (Linux 5.8).
func (d Dir) SyncFS() error {
	return Retry(func() error { return unix.Syncfs(d.fd()) })
}

// SyncRange writes the range out and waits for the device. It makes nothing durable:
// neither the size of the file nor the location of its blocks is written, and the
// device's cache is not flushed (sync_file_range(2)).
func SyncRange(f *os.File, off, n int64) error {
	const all = unix.SYNC_FILE_RANGE_WAIT_BEFORE | unix.SYNC_FILE_RANGE_WRITE | unix.SYNC_FILE_RANGE_WAIT_AFTER
	return WithFD(f, func(fd int) error { return unix.SyncFileRange(fd, off, n, all) })
}

// StartWriteback makes the kernel start to write the range out, without waiting
// (sync_file_range(2)). It is a hint and returns no error.
func StartWriteback(fd int, off, n int64) {
	unix.SyncFileRange(fd, off, n, unix.SYNC_FILE_RANGE_WRITE)
}
