// Package aio is Linux native asynchronous I/O as libaio offers it: for measuring. A
// Context has one write at a time, a Queue several reads.
package aio

import (
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/stele-go/stele/internal/sys"
)

// A Context is a context of asynchronous I/O (io_setup(2)) with one request at a
// time. It is for one goroutine.
type Context struct {
	ctx uintptr
	cb  iocb
	cbs [1]*iocb
}

// iocb is struct iocb of linux/aio_abi.h on a little-endian machine. The
// kernel defines it alike for all 64-bit processors.
type iocb struct {
	data   uint64 // handed back with the event
	_      uint32 // key
	_      uint32 // rw_flags
	opcode uint16
	_      int16 // reqprio
	fd     uint32
	buf    uint64
	nbytes uint64
	offset int64
	_      uint64 // reserved2
	_, _   uint32 // flags, resfd
}

const (
	iocbPread  = 0 // IOCB_CMD_PREAD
	iocbPwrite = 1 // IOCB_CMD_PWRITE
)

type ioEvent struct {
	data, obj uint64
	res, res2 int64
}

// New makes a context, which must be closed.
func New() (*Context, error) {
	a := &Context{}
	a.cbs[0] = &a.cb
	if _, _, errno := unix.Syscall(unix.SYS_IO_SETUP, 1, uintptr(unsafe.Pointer(&a.ctx)), 0); errno != 0 {
		return nil, os.NewSyscallError("io_setup", errno)
	}
	return a, nil
}

// WriteAt submits one write of p and waits for it. The kernel handles it
// asynchronously if f was opened with O_DIRECT. With O_SYNC a completed write
// survives a power cut, without it may not survive.
func (a *Context) WriteAt(f *os.File, p []byte, off int64) error {
	if len(p) == 0 {
		return nil
	}
	if f == nil {
		return &os.PathError{Op: "io_submit", Err: os.ErrInvalid}
	}
	// The kernel keeps the address until the request completes.
	var pin runtime.Pinner
	pin.Pin(&p[0])
	pin.Pin(&a.cb)
	defer pin.Unpin()
	a.cb = iocb{
		opcode: iocbPwrite,
		buf:    uint64(uintptr(unsafe.Pointer(&p[0]))),
		nbytes: uint64(len(p)),
		offset: off,
	}
	// After io_submit the kernel has a reference of its own.
	err := sys.WithFD(f, func(fd int) error {
		a.cb.fd = uint32(fd)
		if _, _, errno := unix.Syscall(unix.SYS_IO_SUBMIT, a.ctx, 1, uintptr(unsafe.Pointer(&a.cbs[0]))); errno != 0 {
			return errno
		}
		return nil
	})
	if err != nil {
		return &os.PathError{Op: "io_submit", Path: f.Name(), Err: err}
	}
	var ev ioEvent
	for {
		n, _, errno := unix.Syscall6(unix.SYS_IO_GETEVENTS, a.ctx, 1, 1, uintptr(unsafe.Pointer(&ev)), 0, 0)
		if errno == 0 && n == 1 {
			break
		}
		if errno != 0 && errno != unix.EINTR {
			return &os.PathError{Op: "io_getevents", Path: f.Name(), Err: errno}
		}
	}
	switch {
	case ev.res < 0:
		return &os.PathError{Op: "aio write", Path: f.Name(), Err: unix.Errno(-ev.res)}
	case ev.res != int64(len(p)):
		return &os.PathError{Op: "aio write", Path: f.Name(), Err: fmt.Errorf("wrote %d of %d bytes", ev.res, len(p))}
	}
	return nil
}

// Close destroys the context.
func (a *Context) Close() error {
	if _, _, errno := unix.Syscall(unix.SYS_IO_DESTROY, a.ctx, 0, 0); errno != 0 {
		return os.NewSyscallError("io_destroy", errno)
	}
	return nil
}

// OpenDirectSync opens an existing file for writes that bypass the page cache and
// are durable when they complete (O_DIRECT, O_SYNC).
func OpenDirectSync(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_SYNC|unix.O_DIRECT, 0)
}
