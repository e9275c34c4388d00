package aio

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/stele-go/stele/internal/sys"
)

// errFull reports that as many reads are in flight as the queue is deep.
var errFull = errors.New("aio: the queue is full; call Wait first")

// A Queue keeps reads in flight. It is for one goroutine, and must be closed.
type Queue struct {
	ctx    uintptr
	slots  []readSlot
	free   []int
	queued []*iocb // pushed and not yet submitted
	file   *os.File
	events []ioEvent
}

type readSlot struct {
	cb  iocb
	tag uint64
	buf []byte
	pin runtime.Pinner // the kernel keeps the addresses of buf and cb
}

// A Completion is the result of a read.
type Completion struct {
	Tag uint64
	N   int // bytes read
	Err error
}

// NewQueue makes a queue for depth reads in flight, 1 or more.
func NewQueue(depth int) (*Queue, error) {
	if depth < 1 {
		return nil, fmt.Errorf("aio: depth: %d; want 1 or more", depth)
	}
	q := &Queue{slots: make([]readSlot, depth), events: make([]ioEvent, depth)}
	for i := range q.slots {
		q.free = append(q.free, i)
	}
	if _, _, errno := unix.Syscall(unix.SYS_IO_SETUP, uintptr(depth), uintptr(unsafe.Pointer(&q.ctx)), 0); errno != 0 {
		return nil, os.NewSyscallError("io_setup", errno)
	}
	return q, nil
}

// Push adds a read of len(p) bytes of f at off, which the next Wait submits. All reads of
// a queue are of one file. The kernel handles it asynchronously if f was opened with
// O_DIRECT. Until Wait returns its Completion, f must not be closed and p must be neither
// read nor written.
func (q *Queue) Push(f *os.File, p []byte, off int64, tag uint64) error {
	switch {
	case len(q.free) == 0:
		return errFull
	case f == nil || len(p) == 0 || q.file != nil && q.file != f:
		return &os.PathError{Op: "io_submit", Err: os.ErrInvalid}
	}
	i := q.free[len(q.free)-1]
	q.free = q.free[:len(q.free)-1]
	s := &q.slots[i]
	s.pin.Pin(&p[0])
	s.pin.Pin(&s.cb)
	s.tag, s.buf = tag, p
	s.cb = iocb{data: uint64(i), opcode: iocbPread, buf: uint64(uintptr(unsafe.Pointer(&p[0]))), nbytes: uint64(len(p)), offset: off}
	q.file = f
	q.queued = append(q.queued, &s.cb)
	return nil
}

// Wait submits the pushed reads, waits until atLeast have completed, and fills done with
// completions. It returns their number, which is less than atLeast only if done is shorter
// or fewer are in flight.
func (q *Queue) Wait(done []Completion, atLeast int) (n int, err error) {
	if err := q.submit(); err != nil {
		return 0, err
	}
	want := min(len(done), len(q.slots)-len(q.free))
	if want == 0 {
		return 0, nil
	}
	for {
		got, _, errno := unix.Syscall6(unix.SYS_IO_GETEVENTS, q.ctx, uintptr(min(atLeast, want)), uintptr(want), uintptr(unsafe.Pointer(&q.events[0])), 0, 0)
		if errno == unix.EINTR {
			continue
		}
		if errno != 0 {
			return 0, os.NewSyscallError("io_getevents", errno)
		}
		for i, ev := range q.events[:got] {
			done[i] = q.completed(ev)
		}
		return int(got), nil
	}
}

// submit hands the pushed reads to the kernel, which may take them in several parts.
func (q *Queue) submit() error {
	for len(q.queued) > 0 {
		var took uintptr
		err := sys.WithFD(q.file, func(fd int) error {
			for _, cb := range q.queued {
				cb.fd = uint32(fd)
			}
			n, _, errno := unix.Syscall(unix.SYS_IO_SUBMIT, q.ctx, uintptr(len(q.queued)), uintptr(unsafe.Pointer(&q.queued[0])))
			if errno != 0 {
				return errno
			}
			took = n
			return nil
		})
		if err != nil {
			return &os.PathError{Op: "io_submit", Path: q.file.Name(), Err: err}
		}
		q.queued = append(q.queued[:0], q.queued[took:]...)
	}
	return nil
}

func (q *Queue) completed(ev ioEvent) Completion {
	i := int(ev.data)
	s := &q.slots[i]
	c := Completion{Tag: s.tag, N: int(ev.res)}
	if ev.res < 0 {
		c.N, c.Err = 0, &os.PathError{Op: "aio read", Path: q.file.Name(), Err: unix.Errno(-ev.res)}
	}
	s.pin.Unpin()
	s.buf = nil
	q.free = append(q.free, i)
	return c
}

// Close waits for the reads in flight (io_destroy(2)) and frees the queue.
func (q *Queue) Close() error {
	_, _, errno := unix.Syscall(unix.SYS_IO_DESTROY, q.ctx, 0, 0)
	if errno != 0 {
		return os.NewSyscallError("io_destroy", errno)
	}
	for i := range q.slots {
		q.slots[i].pin.Unpin()
	}
	return nil
}
