package sys

import (
	"encoding/binary"
	"hash/maphash"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// handles is the seed of the hashes of this process.
var handles = maphash.MakeSeed()

// noFID is set once the kernel has refused AT_HANDLE_FID (before Linux 6.5).
var noFID atomic.Bool

const (
	maxHandle = 128   // MAX_HANDLE_SZ of <linux/exportfs.h>
	handleFID = 0x200 // AT_HANDLE_FID of <linux/fcntl.h>
)

// fileHandle is struct file_handle of <linux/fcntl.h>.
type fileHandle struct {
	bytes uint32
	kind  int32
	data  [maxHandle]byte
}

// Handle identifies the file path, without following a symlink, among all that have
// been or will be there: it hashes the file system's handle for it, which includes a
// number that the next user of the inode does not get (name_to_handle_at(2)). It is
// never 0, and meaningful in this process only.
//
// Where the file system has no handles it hashes the inode's number and birth time:
// a file created in the same tick of the clock may have the same.
func (d Dir) Handle(path string) (uint64, error) {
	var buf [pathBuf]byte
	p, err := dirPath(&buf, path)
	if err != nil {
		return 0, err
	}
	var h fileHandle
	if !noFID.Load() {
		// A handle to compare, which more file systems have than handles to open.
		err = d.nameToHandle(p, &h, handleFID)
		if err == unix.EINVAL {
			noFID.Store(true)
		}
	}
	if noFID.Load() {
		err = d.nameToHandle(p, &h, 0)
	}
	switch err {
	case nil:
		return hashed(unsafe.Slice((*byte)(unsafe.Pointer(&h)), unsafe.Offsetof(h.data)+uintptr(h.bytes))), nil
	case unix.EOPNOTSUPP, unix.EOVERFLOW, unix.ENOSYS, unix.EPERM: // EPERM: a seccomp filter
		return d.handleByStat(p)
	}
	return 0, err
}

func (d Dir) nameToHandle(path *byte, h *fileHandle, flags int) error {
	h.bytes = maxHandle
	var mount int32
	return dirCall(func() syscall.Errno {
		_, _, e := syscall.Syscall6(unix.SYS_NAME_TO_HANDLE_AT, uintptr(d.fd()), uintptr(unsafe.Pointer(path)),
			uintptr(unsafe.Pointer(h)), uintptr(unsafe.Pointer(&mount)), uintptr(flags), 0)
		return e
	})
}

func (d Dir) handleByStat(path *byte) (uint64, error) {
	var st unix.Statx_t
	err := dirCall(func() syscall.Errno {
		_, _, e := syscall.Syscall6(unix.SYS_STATX, uintptr(d.fd()), uintptr(unsafe.Pointer(path)),
			unix.AT_SYMLINK_NOFOLLOW, unix.STATX_INO|unix.STATX_BTIME, uintptr(unsafe.Pointer(&st)), 0)
		return e
	})
	if err != nil {
		return 0, err
	}
	var b []byte
	for _, n := range []uint64{st.Ino, uint64(st.Dev_major), uint64(st.Dev_minor), uint64(st.Btime.Sec), uint64(st.Btime.Nsec)} {
		b = binary.NativeEndian.AppendUint64(b, n)
	}
	return hashed(b), nil
}

func hashed(b []byte) uint64 { return max(1, maphash.Bytes(handles, b)) }
