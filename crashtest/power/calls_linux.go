package power

import (
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/stele-go/stele/crashtest"
)

// The structs of seccomp_unotify(2).
type (
	seccompNotif struct {
		id    uint64
		tid   uint32
		flags uint32
		nr    int32
		arch  uint32
		ip    uint64
		args  [6]uint64
	}
	seccompResp struct {
		id    uint64
		val   int64
		error int32
		flags uint32
	}
)

// seccompListen installs, in all threads of the process, a filter that makes
// the system calls with these numbers wait for an answer. It returns the
// descriptor to receive them from.
func seccompListen(numbers []uint32) (fd int, err error) {
	program := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}, // seccomp_data.nr
	}
	for _, number := range numbers {
		program = append(program,
			unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: number, Jf: 1},
			unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_USER_NOTIF})
	}
	program = append(program, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW})
	prog := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	// WAIT_KILLABLE_RECV (Linux 5.19): else the signals by which Go preempts
	// would break off a call that is being decided on and have it begin again.
	const flags = unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_TSYNC |
		unix.SECCOMP_FILTER_FLAG_TSYNC_ESRCH | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
	r, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&prog)))
	if errno != 0 {
		return -1, os.NewSyscallError("seccomp", errno)
	}
	unix.CloseOnExec(int(r))
	return int(r), nil
}

// seccompReceive waits for a call.
func seccompReceive(listen int) seccompNotif {
	for {
		var call seccompNotif
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(listen), unix.SECCOMP_IOCTL_NOTIF_RECV, uintptr(unsafe.Pointer(&call)))
		if errno == 0 {
			return call
		}
		// EINTR is a signal, ENOENT a caller that has died meanwhile.
	}
}

// seccompAnswer lets the call pass, or makes it return 0 without an effect.
func seccompAnswer(listen int, call seccompNotif, pass bool) {
	answer := seccompResp{id: call.id}
	if pass {
		answer.flags = unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE
	}
	for {
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(listen), unix.SECCOMP_IOCTL_NOTIF_SEND, uintptr(unsafe.Pointer(&answer)))
		if errno != unix.EINTR {
			return // ENOENT: the caller has died
		}
	}
}

// syncFileRange writes the pages of the file behind fd, a path in /proc, and
// waits until the disk has them.
func syncFileRange(fd string) error {
	f, err := os.Open(fd)
	if err != nil {
		return err
	}
	defer f.Close()
	for {
		err := unix.SyncFileRange(int(f.Fd()), 0, 0,
			unix.SYNC_FILE_RANGE_WAIT_BEFORE|unix.SYNC_FILE_RANGE_WRITE|unix.SYNC_FILE_RANGE_WAIT_AFTER)
		if err != unix.EINTR {
			return err
		}
	}
}

// shutDown stops the file system of dir, without a write of its pending journal
// (FS_IOC_SHUTDOWN with NOLOGFLUSH).
func shutDown(dir string) error {
	const fsIocShutdown, noLogFlush = 0x8004587d, 2 // _IOR('X', 125, __u32)
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	for {
		err := unix.IoctlSetPointerInt(int(d.Fd()), fsIocShutdown, noLogFlush)
		switch err {
		case nil:
			return nil
		case unix.EINTR:
			continue
		case unix.ENOTTY, unix.EOPNOTSUPP:
			return fmt.Errorf("%w: shutting this file system down: %w", crashtest.ErrUnavailable, err)
		}
		return &os.PathError{Op: "FS_IOC_SHUTDOWN", Path: dir, Err: err}
	}
}
