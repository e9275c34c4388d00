package perf

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Open opens a counter of e for the processes that this OS thread starts. It counts
// from their exec, all their threads, also in the kernel on their behalf. The
// caller must be locked to the thread (runtime.LockOSThread) until they are started.
//
// The counter must exist before the process: only later threads inherit it, and a
// Go program has several before main.
func Open(e Event) (*os.File, error) {
	attr := unix.PerfEventAttr{
		Size:        uint32(unsafe.Sizeof(unix.PerfEventAttr{})),
		Bits:        unix.PerfBitDisabled | unix.PerfBitInherit | unix.PerfBitEnableOnExec,
		Read_format: unix.PERF_FORMAT_TOTAL_TIME_ENABLED | unix.PERF_FORMAT_TOTAL_TIME_RUNNING,
	}
	switch e {
	case CacheMisses:
		attr.Type, attr.Config = unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_CACHE_MISSES
	case Instructions:
		attr.Type, attr.Config = unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_INSTRUCTIONS
	case PageFaults:
		attr.Type, attr.Config = unix.PERF_TYPE_SOFTWARE, unix.PERF_COUNT_SW_PAGE_FAULTS
	}
	for {
		fd, err := unix.PerfEventOpen(&attr, 0, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return nil, OpenError(err)
		}
		return os.NewFile(uintptr(fd), "perf_event"), nil
	}
}

// OpenError wraps err, an error of perf_event_open(2), with its reason and a
// remedy.
func OpenError(err error) error {
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENODEV), errors.Is(err, unix.ENXIO):
		return fmt.Errorf("this processor, or the virtual machine around it, has no such counter (perf_event_open: %w)", err)
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		level := "unknown"
		if b, err := os.ReadFile("/proc/sys/kernel/perf_event_paranoid"); err == nil {
			level = strings.TrimSpace(string(b))
		}
		return fmt.Errorf("not allowed (perf_event_open: %w); kernel.perf_event_paranoid is %s: run as root, with CAP_PERFMON, or set it to 1", err, level)
	case errors.Is(err, unix.ENOSYS):
		return fmt.Errorf("the kernel was built without CONFIG_PERF_EVENTS (perf_event_open: %w)", err)
	}
	return os.NewSyscallError("perf_event_open", err)
}

// A Counter reads a counter that the parent of this process opened.
type Counter struct {
	fd  int
	buf [24]byte // value, time enabled, time running
}

// NewCounter takes over the inherited descriptor of a counter.
func NewCounter(fd int) *Counter {
	unix.CloseOnExec(fd) // not inherited further
	return &Counter{fd: fd}
}

// Read returns the count so far, in one system call and without allocating. It
// returns an error if the kernel gave the hardware counter to others for a while,
// as the count would be an estimate.
func (c *Counter) Read() (uint64, error) {
	n, err := unix.Read(c.fd, c.buf[:])
	for err == unix.EINTR {
		n, err = unix.Read(c.fd, c.buf[:])
	}
	if err != nil {
		return 0, os.NewSyscallError("read", err)
	}
	if n != len(c.buf) {
		return 0, errors.New("a hardware counter stopped: the kernel could not keep it on the processor")
	}
	enabled, running := binary.NativeEndian.Uint64(c.buf[8:]), binary.NativeEndian.Uint64(c.buf[16:])
	if running < enabled {
		return 0, fmt.Errorf("the counter ran for only %.0f %% of the time: others use the processor's few counters too", 100*float64(running)/float64(enabled))
	}
	return binary.NativeEndian.Uint64(c.buf[:]), nil
}
