package uring

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/stele-go/stele/internal/setting"
	"github.com/stele-go/stele/internal/sys"
)

// A Ring is an io_uring(7): two rings shared with the kernel, one for requests and
// one for results. It is for one goroutine at a time. It must be closed: it pins
// the memory of requests in flight, and the runtime crashes a program that drops
// pinned memory (runtime.Pinner).
//
// The ring is set up without IORING_SETUP_COOP_TASKRUN and without
// IORING_SETUP_SINGLE_ISSUER: a goroutine may submit a request on one thread and
// wait for it on another, and a result must not wait until the first thread
// happens to enter the kernel.
type Ring struct {
	fd     int
	polled bool   // made by NewPolled
	ring   []byte // submission and completion ring, one mapping (IORING_FEAT_SINGLE_MMAP)
	mem    []byte // the submission entries

	// Head and tail count up for ever and wrap. The kernel writes sqHead and
	// cqTail, this side sqTail and cqHead: each side publishes what it wrote
	// into an entry by a store to its own counter, which the other side loads.
	// Loads and stores of sync/atomic are at least acquire and release.
	sqHead, sqTail, cqHead, cqTail *uint32

	sqes []sqe  // as many as the mask of the ring + 1, a power of two
	cqes []cqe  // twice as many, so that results never overflow
	tail uint32 // entries are filled up to here; sqTail follows in enter

	slots []slot // one a request in flight
	free  []int  // numbers of slots not in use

	entering entry // of the call under way

	registered bool           // buffers are
	fixed      runtime.Pinner // they
}

// A slot holds a request from Push until Wait returns it. Its index is the
// user_data of the submission entry. It holds the references that keep the buffer
// and the file alive: the kernel has only addresses.
type slot struct {
	req   Request
	moved int // bytes transferred so far, where the kernel took the request in parts
	inUse bool
	// Go's heap objects do not move today, but only pinned ones may be kept by
	// code outside Go (package runtime, Pinner).
	pin runtime.Pinner
}

// sqe is struct io_uring_sqe of linux/io_uring.h.
type sqe struct {
	opcode   uint8
	flags    uint8
	_        uint16 // ioprio
	fd       int32
	off      uint64
	addr     uint64
	len      uint32
	opFlags  uint32 // rw_flags, fsync_flags
	userData uint64
	bufIndex uint16
	_        uint16 // personality
	_        int32  // file_index
	_        [2]uint64
}

// cqe is struct io_uring_cqe.
type cqe struct {
	userData uint64
	res      int32
	_        uint32 // flags
}

// eventsArg is struct io_uring_getevents_arg.
type eventsArg struct {
	_  uint64 // sigmask
	_  uint32 // sigmask_sz
	_  uint32
	ts uint64 // address of a timespec
}

// setupParams is struct io_uring_params.
type setupParams struct {
	sqEntries, cqEntries, flags, _, _, features, _ uint32
	_                                              [3]uint32
	sqOff, cqOff                                   ringOffsets
}

// ringOffsets is struct io_sqring_offsets, and io_cqring_offsets, in which
// array stands for flags.
type ringOffsets struct {
	head, tail, mask, entries uint32
	flagsOrOverflow           uint32
	droppedOrCQEs             uint32 // of the results: where cqes begin
	array                     uint32
	_                         uint32
	_                         uint64
}

const (
	offRing         = 0          // IORING_OFF_SQ_RING
	offSQEs         = 0x10000000 // IORING_OFF_SQES
	featSingleMmap  = 1 << 0     // IORING_FEAT_SINGLE_MMAP, Linux 5.4
	featNoDrop      = 1 << 1     // IORING_FEAT_NODROP, Linux 5.5
	setupIOPoll     = 1 << 0     // IORING_SETUP_IOPOLL
	enterGetEvents  = 1 << 0     // IORING_ENTER_GETEVENTS
	enterExtArg     = 1 << 3     // IORING_ENTER_EXT_ARG, Linux 5.11
	fsyncDatasync   = 1 << 0     // IORING_FSYNC_DATASYNC
	registerBuffers = 0          // IORING_REGISTER_BUFFERS
	registerProbe   = 8          // IORING_REGISTER_PROBE
	opSupported     = 1 << 0     // IO_URING_OP_SUPPORTED
	opCancel        = 14         // IORING_OP_ASYNC_CANCEL, Linux 5.5
	maxPiece        = 1 << 30    // read(2) moves less than 2 GiB at a time
	maxDepth        = 1 << 12

	// noSlot is the user_data of an entry without a slot.
	noSlot = ^uint64(0)
)

// opcodes are the kernel's numbers, enum io_uring_op.
var opcodes = [...]uint8{Nop: 0, Read: 22, Write: 23, Fdatasync: 3, ReadFixed: 4, WriteFixed: 5, Fsync: 3}

// New makes a ring for depth requests in flight, 1 to 4,096. Where io_uring is
// unavailable the error says why and is errors.ErrUnsupported.
func New(depth int) (*Ring, error) { return newRing(depth, 0) }

// NewPolled is New for a ring that asks the device for results again and again in
// place of waiting for its interrupt (IORING_SETUP_IOPOLL). It takes Read and Write
// requests of files opened with O_DIRECT, on a device with queues for polling: see
// Pollable. A Wait occupies a processor until it returns.
func NewPolled(depth int) (*Ring, error) { return newRing(depth, setupIOPoll) }

func newRing(depth int, flags uint32) (*Ring, error) {
	if err := setting.InRange("uring: depth", depth, 1, maxDepth); err != nil {
		return nil, err
	}
	p := setupParams{flags: flags}
	fd, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, uintptr(depth), uintptr(unsafe.Pointer(&p)), 0)
	if errno != 0 {
		return nil, unavailable(errno, disabledSysctl())
	}
	r := &Ring{fd: int(fd), polled: flags&setupIOPoll != 0, slots: make([]slot, depth), free: make([]int, depth)}
	for i := range r.free {
		r.free[i] = depth - 1 - i
	}
	r.entering.hold = func(fd uintptr) {
		r.entering.fd = int32(fd)
		r.fill()
	}
	if p.features&(featSingleMmap|featNoDrop) != featSingleMmap|featNoDrop {
		return nil, errors.Join(fmt.Errorf("io_uring: this kernel is too old; want Linux 5.6 or newer: %w", errors.ErrUnsupported), r.unmap())
	}
	if err := r.mapRings(&p); err != nil {
		return nil, errors.Join(err, r.unmap())
	}
	return r, nil
}

func (r *Ring) mapRings(p *setupParams) (err error) {
	const prot, flags = unix.PROT_READ | unix.PROT_WRITE, unix.MAP_SHARED | unix.MAP_POPULATE
	size := max(int(p.sqOff.array)+4*int(p.sqEntries),
		int(p.cqOff.droppedOrCQEs)+int(unsafe.Sizeof(cqe{}))*int(p.cqEntries))
	if r.ring, err = unix.Mmap(r.fd, offRing, size, prot, flags); err != nil {
		return os.NewSyscallError("mmap io_uring", err)
	}
	if r.mem, err = unix.Mmap(r.fd, offSQEs, int(unsafe.Sizeof(sqe{}))*int(p.sqEntries), prot, flags); err != nil {
		return os.NewSyscallError("mmap io_uring", err)
	}
	at := func(off uint32) *uint32 { return (*uint32)(unsafe.Pointer(&r.ring[off])) }
	r.sqHead, r.sqTail = at(p.sqOff.head), at(p.sqOff.tail)
	r.cqHead, r.cqTail = at(p.cqOff.head), at(p.cqOff.tail)
	r.sqes = unsafe.Slice((*sqe)(unsafe.Pointer(&r.mem[0])), p.sqEntries)
	r.cqes = unsafe.Slice((*cqe)(unsafe.Pointer(&r.ring[p.cqOff.droppedOrCQEs])), p.cqEntries)
	// Entry i of the ring is always entry i of sqes.
	array := unsafe.Slice(at(p.sqOff.array), p.sqEntries)
	for i := range array {
		array[i] = uint32(i)
	}
	r.tail = atomic.LoadUint32(r.sqTail)
	return nil
}

// Depth returns how many requests can be in flight.
func (r *Ring) Depth() int { return len(r.slots) }

// InFlight returns how many requests were pushed and not yet returned by Wait.
func (r *Ring) InFlight() int { return len(r.slots) - len(r.free) }

// RegisterBuffers registers memory with the kernel for ReadFixed and WriteFixed,
// so that it is not mapped for each request. It can be called once. The memory
// stays pinned until Close, and counts against RLIMIT_MEMLOCK except for root.
func (r *Ring) RegisterBuffers(bufs [][]byte) error {
	if r.closed() {
		return os.ErrClosed
	}
	if r.registered || len(bufs) == 0 {
		return errors.New("io_uring_register: buffers can be registered once, at least one")
	}
	vecs := make([]unix.Iovec, len(bufs))
	for i, b := range bufs {
		if len(b) == 0 {
			r.fixed.Unpin()
			return fmt.Errorf("io_uring_register: buffer %d is empty", i)
		}
		r.fixed.Pin(&b[0])
		vecs[i].Base = &b[0]
		vecs[i].SetLen(len(b))
	}
	err := sys.Retry(func() error {
		_, _, errno := unix.Syscall6(unix.SYS_IO_URING_REGISTER, uintptr(r.fd), registerBuffers,
			uintptr(unsafe.Pointer(&vecs[0])), uintptr(len(vecs)), 0, 0)
		if errno != 0 {
			return errno
		}
		return nil
	})
	if err != nil {
		r.fixed.Unpin()
		return os.NewSyscallError("io_uring_register", err)
	}
	r.registered = true
	return nil
}

// Push adds a request, which the next Wait submits to the kernel. With Depth
// requests in flight it returns ErrFull: call Wait first.
func (r *Ring) Push(q Request) error {
	switch {
	case r.closed():
		return os.ErrClosed
	case int(q.Op) >= len(opcodes):
		return fmt.Errorf("io_uring: there is no operation %d", q.Op)
	case q.File == nil && q.Op != Nop:
		return fmt.Errorf("io_uring %v: %w", q.Op, os.ErrInvalid)
	case len(r.free) == 0:
		return ErrFull
	}
	i := r.free[len(r.free)-1]
	r.free = r.free[:len(r.free)-1]
	s := &r.slots[i]
	s.req, s.moved, s.inUse = q, 0, true
	if len(q.Buf) > 0 {
		s.pin.Pin(&q.Buf[0])
	}
	r.queue(i)
	return nil
}

// transfers reports whether the request moves bytes of Buf.
func (s *slot) transfers() bool {
	return s.req.Op != Nop && s.req.Op != Fdatasync && s.req.Op != Fsync
}

// queue writes the submission entry for the rest of a slot's request. An entry is
// always free: there are as many as slots, and a slot has one at most.
func (r *Ring) queue(i int) {
	s := &r.slots[i]
	e := sqe{opcode: opcodes[s.req.Op], fd: -1, userData: uint64(i)} // fill knows the descriptor
	switch {
	case s.req.Op == Fdatasync:
		e.opFlags = fsyncDatasync
	case s.transfers():
		rest := s.req.Buf[s.moved:]
		e.off = uint64(s.req.Offset + int64(s.moved))
		e.len = uint32(min(len(rest), maxPiece))
		e.bufIndex = uint16(s.req.Fixed)
		if len(rest) > 0 {
			e.addr = uint64(uintptr(unsafe.Pointer(&rest[0])))
		}
		if s.req.Durable && (s.req.Op == Write || s.req.Op == WriteFixed) {
			e.opFlags = unix.RWF_DSYNC
		}
	}
	r.put(e)
}

func (r *Ring) put(e sqe) {
	r.sqes[r.tail&uint32(len(r.sqes)-1)] = e
	r.tail++
}

// pending returns the number of entries that the kernel has not taken yet.
func (r *Ring) pending() int { return int(r.tail - atomic.LoadUint32(r.sqHead)) }

// Wait submits the pushed requests, waits until atLeast requests have completed,
// and fills done with completions. It returns their number, which is less than
// atLeast only if done is shorter or fewer are in flight.
func (r *Ring) Wait(done []Completion, atLeast int) (n int, err error) {
	return r.WaitUntil(done, atLeast, time.Time{})
}

// WaitUntil is Wait that returns at the time until, unless that is zero, with fewer
// completions. It needs Linux 5.11. A polled ring then asks the device without pause.
func (r *Ring) WaitUntil(done []Completion, atLeast int, until time.Time) (n int, err error) {
	if r.closed() {
		return 0, os.ErrClosed
	}
	atLeast = min(atLeast, len(done), r.InFlight())
	for {
		n += r.reap(done[n:])
		pending := r.pending()
		if pending == 0 && n >= atLeast {
			return n, nil
		}
		wait := max(atLeast-n, 0)
		if wait > 0 && !until.IsZero() {
			left := time.Until(until)
			if left <= 0 && pending == 0 {
				return n, nil
			}
			if left <= 0 || r.polled { // the kernel polls until as many are there, however long
				wait = 0
			}
			r.entering.timeout = max(left, 0)
		}
		errno := r.submit(pending, wait)
		r.entering.timeout = 0
		switch errno {
		case 0, unix.EINTR, unix.ETIME:
		case unix.EAGAIN, unix.EBUSY:
			// The kernel takes no more for the moment, until others complete. Pushed
			// requests stay pushed.
			if n > 0 {
				return n, nil
			}
			if r.InFlight() == pending {
				return 0, os.NewSyscallError("io_uring_enter", errno)
			}
			if errno := r.submit(0, 1); errno != 0 && errno != unix.EINTR {
				return 0, os.NewSyscallError("io_uring_enter", errno)
			}
		default:
			return n, os.NewSyscallError("io_uring_enter", errno)
		}
	}
}

// submit submits entries to the kernel, with the descriptors of their files, and
// waits for as many results as wait says. A signal ends the wait early: the caller
// reaps and calls again.
//
// Each file is kept open until the kernel has a reference of its own, so an entry
// never reaches another file with the same number. The entry of a file that is
// already closed completes with EBADF.
func (r *Ring) submit(entries, wait int) unix.Errno {
	r.entering.at, r.entering.submit, r.entering.wait = atomic.LoadUint32(r.sqHead), entries, wait
	r.entering.file = nil
	r.fill()
	return r.entering.errno
}

// An entry is the state of submit. It is part of the Ring, and hold is made once,
// so that submit allocates nothing.
type entry struct {
	at           uint32 // entries from here on lack a descriptor
	submit, wait int
	timeout      time.Duration // of the wait; 0 is no timeout
	ts           unix.Timespec // it
	arg          eventsArg     // has the address of ts
	file         *os.File      // of the entry before at, and its descriptor
	fd           int32
	hold         func(fd uintptr)
	errno        unix.Errno
}

// fill writes descriptors into the entries and then enters the kernel. hold calls
// it again, recursively, for each file that it keeps open.
func (r *Ring) fill() {
	in := &r.entering
	for ; in.at != r.tail; in.at++ {
		e := &r.sqes[in.at&uint32(len(r.sqes)-1)]
		if e.userData >= uint64(len(r.slots)) {
			continue // noSlot
		}
		f := r.slots[e.userData].req.File
		if f == nil {
			continue
		}
		if f != in.file {
			in.file, in.fd = f, -1
			if raw, err := f.SyscallConn(); err == nil && raw.Control(in.hold) == nil {
				return
			} // else the file is closed
		}
		e.fd = in.fd
	}
	in.errno = r.enter(in.submit, in.wait)
}

// enter publishes the entries and enters the kernel.
func (r *Ring) enter(submit, wait int) unix.Errno {
	atomic.StoreUint32(r.sqTail, r.tail)
	if wait > 0 && r.entering.timeout > 0 {
		in := &r.entering // in the heap, so that its address stays
		in.ts = unix.NsecToTimespec(int64(in.timeout))
		in.arg.ts = uint64(uintptr(unsafe.Pointer(&in.ts)))
		_, _, errno := unix.Syscall6(unix.SYS_IO_URING_ENTER, uintptr(r.fd), uintptr(submit), uintptr(wait), enterGetEvents|enterExtArg,
			uintptr(unsafe.Pointer(&in.arg)), unsafe.Sizeof(in.arg))
		return errno
	}
	_, _, errno := unix.Syscall6(unix.SYS_IO_URING_ENTER, uintptr(r.fd), uintptr(submit), uintptr(wait), enterGetEvents, 0, 0)
	return errno
}

// reap takes results off the ring. It queues the rest of a partial transfer, and a
// request that a signal interrupted, again.
func (r *Ring) reap(done []Completion) (n int) {
	head := *r.cqHead // only written here
	for tail := atomic.LoadUint32(r.cqTail); head != tail && n < len(done); head++ {
		e := r.cqes[head&uint32(len(r.cqes)-1)]
		if e.userData >= uint64(len(r.slots)) {
			continue // noSlot
		}
		i := int(e.userData)
		s := &r.slots[i]
		switch {
		case e.res == -int32(unix.EINTR):
			r.queue(i)
			continue
		case e.res > 0 && s.transfers():
			if s.moved += int(e.res); s.moved < len(s.req.Buf) {
				r.queue(i)
				continue
			}
		}
		d := Completion{Tag: s.req.Tag, N: s.moved}
		// After a partial transfer the error is left to the next request, as with
		// pread(2) and pwrite(2).
		if e.res < 0 && s.moved == 0 {
			d.Err = &os.PathError{Op: "io_uring " + s.req.Op.String(), Path: nameOf(s.req.File), Err: unix.Errno(-e.res)}
		}
		r.release(i)
		done[n] = d
		n++
	}
	atomic.StoreUint32(r.cqHead, head)
	return n
}

func nameOf(f *os.File) string {
	if f == nil {
		return ""
	}
	return f.Name()
}

func (r *Ring) release(i int) {
	s := &r.slots[i]
	s.pin.Unpin()
	s.req, s.inUse = Request{}, false
	r.free = append(r.free, i)
}

func (r *Ring) closed() bool { return r.fd < 0 }

// Close drops the requests that the kernel has not begun, cancels and waits for the
// others, and frees the ring. It must wait: closing the descriptor alone would
// leave a transfer under way into memory that has other users by then. The
// cancellation is for requests that could wait for ever, on a pipe for example.
func (r *Ring) Close() error {
	if r.closed() {
		return os.ErrClosed
	}
	// Entries that the kernel did not take are still ours.
	for r.pending() > 0 {
		r.tail--
		if i := r.sqes[r.tail&uint32(len(r.sqes)-1)].userData; i < uint64(len(r.slots)) {
			r.release(int(i))
		}
	}
	for i := range r.slots {
		if r.slots[i].inUse {
			r.put(sqe{opcode: opCancel, fd: -1, addr: uint64(i), userData: noSlot})
		}
	}
	for {
		r.drain()
		if r.InFlight() == 0 && r.pending() == 0 {
			break
		}
		errno := r.submit(r.pending(), min(1, r.InFlight()))
		if errno == unix.EAGAIN || errno == unix.EBUSY {
			errno = r.submit(0, 1)
		}
		if errno != 0 && errno != unix.EINTR {
			// The kernel may still write to the memory: it stays pinned and mapped.
			return os.NewSyscallError("io_uring_enter", errno)
		}
	}
	r.fixed.Unpin()
	return r.unmap()
}

// drain drops the results on the ring.
func (r *Ring) drain() {
	head := *r.cqHead
	for tail := atomic.LoadUint32(r.cqTail); head != tail; head++ {
		if i := r.cqes[head&uint32(len(r.cqes)-1)].userData; i < uint64(len(r.slots)) {
			r.release(int(i))
		}
	}
	atomic.StoreUint32(r.cqHead, head)
}

// unmap undoes New.
func (r *Ring) unmap() error {
	var errs []error
	for _, m := range [][]byte{r.ring, r.mem} {
		if m != nil {
			errs = append(errs, os.NewSyscallError("munmap", unix.Munmap(m)))
		}
	}
	errs = append(errs, os.NewSyscallError("close", unix.Close(r.fd)))
	r.fd, r.ring, r.mem = -1, nil, nil
	r.sqHead, r.sqTail, r.cqHead, r.cqTail, r.sqes, r.cqes = nil, nil, nil, nil, nil, nil
	return errors.Join(errs...)
}
