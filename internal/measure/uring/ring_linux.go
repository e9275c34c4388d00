package uring

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/stele-go/stele/internal/sys"
)

// A Ring is an io_uring(7): two rings shared with the kernel, requests into
// one and results out of the other. It is for one goroutine at a time, and has
// to be closed: it pins what is in flight, and the runtime ends a program that
// drops pinned memory (runtime.Pinner).
//
// The ring is set up without IORING_SETUP_COOP_TASKRUN and without
// IORING_SETUP_SINGLE_ISSUER: a goroutine may hand a request in on one thread
// and wait for it on another, and a result must not wait until the first
// thread happens to enter the kernel.
type Ring struct {
	fd   int
	ring []byte // submission and completion ring, one mapping (IORING_FEAT_SINGLE_MMAP)
	mem  []byte // the submission entries

	// Head and tail count up for ever and wrap. The kernel writes sqHead and
	// cqTail, this side sqTail and cqHead: each side publishes what it wrote
	// into an entry by a store to its own counter, which the other side loads.
	// Loads and stores of sync/atomic are at least acquire and release.
	sqHead, sqTail, cqHead, cqTail *uint32

	sqes []uringSQE // as many as the mask of the ring + 1, a power of two
	cqes []uringCQE // twice as many, so that results never overflow
	tail uint32     // entries are filled up to here; sqTail follows in enter

	slots []uringSlot // one a request in flight
	free  []int       // numbers of slots not in use

	entering uringEntering

	registered bool           // buffers are
	fixed      runtime.Pinner // they
}

// A uringSlot is a request from Push until Wait hands it back. Its number is
// the user_data of its entry. It holds the references that keep the buffer and
// the file alive: the kernel has bare addresses.
type uringSlot struct {
	req   Request
	moved int // bytes, by those parts of the request that have ended
	inUse bool
	// Heap objects do not move in today's Go, but only a pinned one may be left
	// to somebody outside (package runtime, Pinner).
	pin runtime.Pinner
}

// uringSQE is struct io_uring_sqe of linux/io_uring.h.
type uringSQE struct {
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

// uringCQE is struct io_uring_cqe.
type uringCQE struct {
	userData uint64
	res      int32
	_        uint32 // flags
}

// uringParams is struct io_uring_params.
type uringParams struct {
	sqEntries, cqEntries, flags, _, _, features, _ uint32
	_                                              [3]uint32
	sqOff, cqOff                                   uringOffsets
}

// uringOffsets is struct io_sqring_offsets, and io_cqring_offsets, in which
// array stands for flags.
type uringOffsets struct {
	head, tail, mask, entries uint32
	flagsOrOverflow           uint32
	droppedOrCQEs             uint32 // of the results: where cqes begin
	array                     uint32
	_                         uint32
	_                         uint64
}

const (
	uringOffRing     = 0          // IORING_OFF_SQ_RING
	uringOffSQEs     = 0x10000000 // IORING_OFF_SQES
	uringSingleMmap  = 1 << 0     // IORING_FEAT_SINGLE_MMAP, Linux 5.4
	uringNoDrop      = 1 << 1     // IORING_FEAT_NODROP, Linux 5.5
	uringGetEvents   = 1 << 0     // IORING_ENTER_GETEVENTS
	uringDatasync    = 1 << 0     // IORING_FSYNC_DATASYNC
	uringRegBuffers  = 0          // IORING_REGISTER_BUFFERS
	uringRegProbe    = 8          // IORING_REGISTER_PROBE
	uringOpSupported = 1 << 0     // IO_URING_OP_SUPPORTED
	uringCancel      = 14         // IORING_OP_ASYNC_CANCEL, Linux 5.5
	uringMaxPiece    = 1 << 30    // read(2) moves less than 2 GiB at a time
	uringMaxDepth    = 1 << 12

	// uringNobody is the user_data of what no slot stands for.
	uringNobody = ^uint64(0)
)

// uringOpcodes are the kernel's numbers, enum io_uring_op.
var uringOpcodes = [...]uint8{Nop: 0, Read: 22, Write: 23, Fdatasync: 3, ReadFixed: 4, WriteFixed: 5}

// New makes a ring for depth requests in flight, 1 to 4,096. Where there
// is no io_uring the error says why and is an errors.ErrUnsupported.
func New(depth int) (*Ring, error) {
	if depth < 1 || depth > uringMaxDepth {
		return nil, fmt.Errorf("io_uring_setup: a depth of %d: want 1 to %d", depth, uringMaxDepth)
	}
	var p uringParams
	fd, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, uintptr(depth), uintptr(unsafe.Pointer(&p)), 0)
	if errno != 0 {
		return nil, noURing(errno, uringDisabled())
	}
	r := &Ring{fd: int(fd), slots: make([]uringSlot, depth), free: make([]int, depth)}
	for i := range r.free {
		r.free[i] = depth - 1 - i
	}
	r.entering.hold = func(fd uintptr) {
		r.entering.fd = int32(fd)
		r.fill()
	}
	if p.features&(uringSingleMmap|uringNoDrop) != uringSingleMmap|uringNoDrop {
		return nil, errors.Join(fmt.Errorf("io_uring: this kernel's is too old, 5.6 is needed: %w", errors.ErrUnsupported), r.unmap())
	}
	if err := r.mapRings(&p); err != nil {
		return nil, errors.Join(err, r.unmap())
	}
	return r, nil
}

func (r *Ring) mapRings(p *uringParams) (err error) {
	const prot, flags = unix.PROT_READ | unix.PROT_WRITE, unix.MAP_SHARED | unix.MAP_POPULATE
	size := max(int(p.sqOff.array)+4*int(p.sqEntries),
		int(p.cqOff.droppedOrCQEs)+int(unsafe.Sizeof(uringCQE{}))*int(p.cqEntries))
	if r.ring, err = unix.Mmap(r.fd, uringOffRing, size, prot, flags); err != nil {
		return os.NewSyscallError("mmap io_uring", err)
	}
	if r.mem, err = unix.Mmap(r.fd, uringOffSQEs, int(unsafe.Sizeof(uringSQE{}))*int(p.sqEntries), prot, flags); err != nil {
		return os.NewSyscallError("mmap io_uring", err)
	}
	at := func(off uint32) *uint32 { return (*uint32)(unsafe.Pointer(&r.ring[off])) }
	r.sqHead, r.sqTail = at(p.sqOff.head), at(p.sqOff.tail)
	r.cqHead, r.cqTail = at(p.cqOff.head), at(p.cqOff.tail)
	r.sqes = unsafe.Slice((*uringSQE)(unsafe.Pointer(&r.mem[0])), p.sqEntries)
	r.cqes = unsafe.Slice((*uringCQE)(unsafe.Pointer(&r.ring[p.cqOff.droppedOrCQEs])), p.cqEntries)
	// Entry i of the ring is always entry i of sqes.
	array := unsafe.Slice(at(p.sqOff.array), p.sqEntries)
	for i := range array {
		array[i] = uint32(i)
	}
	r.tail = atomic.LoadUint32(r.sqTail)
	return nil
}

// Depth is how many requests may be in flight.
func (r *Ring) Depth() int { return len(r.slots) }

// InFlight is how many requests were pushed and not yet handed back.
func (r *Ring) InFlight() int { return len(r.slots) - len(r.free) }

// RegisterBuffers makes memory known to the kernel for ReadFixed and
// WriteFixed, which then need not map it for each request. It can be
// called once; the memory stays pinned until Close, and counts against
// RLIMIT_MEMLOCK for who is not root.
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
		_, _, errno := unix.Syscall6(unix.SYS_IO_URING_REGISTER, uintptr(r.fd), uringRegBuffers,
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

// Push adds a request, which the next Wait hands to the kernel. With Depth
// requests in flight it fails with ErrFull: Wait for one first.
func (r *Ring) Push(q Request) error {
	switch {
	case r.closed():
		return os.ErrClosed
	case int(q.Op) >= len(uringOpcodes):
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
func (s *uringSlot) transfers() bool {
	return s.req.Op != Nop && s.req.Op != Fdatasync
}

// queue writes the entry of what is left of a slot's request. There is always
// room: a slot has one entry at most, and there is an entry for each slot.
func (r *Ring) queue(i int) {
	s := &r.slots[i]
	e := uringSQE{opcode: uringOpcodes[s.req.Op], fd: -1, userData: uint64(i)} // fill knows the descriptor
	switch {
	case s.req.Op == Fdatasync:
		e.opFlags = uringDatasync
	case s.transfers():
		rest := s.req.Buf[s.moved:]
		e.off = uint64(s.req.Offset + int64(s.moved))
		e.len = uint32(min(len(rest), uringMaxPiece))
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

func (r *Ring) put(e uringSQE) {
	r.sqes[r.tail&uint32(len(r.sqes)-1)] = e
	r.tail++
}

// pending is the number of entries that the kernel has not taken yet.
func (r *Ring) pending() int { return int(r.tail - atomic.LoadUint32(r.sqHead)) }

// Wait hands to the kernel what was pushed, waits until atLeast requests have
// ended, and fills done with those that have. It returns how many; fewer than
// atLeast only where done is shorter or fewer are in flight.
func (r *Ring) Wait(done []Completion, atLeast int) (n int, err error) {
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
		switch errno := r.hand(pending, max(atLeast-n, 0)); errno {
		case 0, unix.EINTR:
		case unix.EAGAIN, unix.EBUSY:
			// The kernel has no room for more just now. What is under way will
			// make some; what is pushed stays pushed.
			if n > 0 {
				return n, nil
			}
			if r.InFlight() == pending {
				return 0, os.NewSyscallError("io_uring_enter", errno)
			}
			if errno := r.hand(0, 1); errno != 0 && errno != unix.EINTR {
				return 0, os.NewSyscallError("io_uring_enter", errno)
			}
		default:
			return n, os.NewSyscallError("io_uring_enter", errno)
		}
	}
}

// hand hands so many entries to the kernel, with the descriptors of their files,
// and waits until so many results are there. A signal ends the wait: the caller
// looks what there is and comes again.
//
// No file is closed before the kernel has a reference of its own to it: so an
// entry never reaches another file that has got the number. One of a file that
// is closed already ends with EBADF.
func (r *Ring) hand(submit, wait int) unix.Errno {
	r.entering.at, r.entering.submit, r.entering.wait = atomic.LoadUint32(r.sqHead), submit, wait
	r.entering.file = nil
	r.fill()
	return r.entering.errno
}

// A uringEntering is a hand under way. It is a part of the ring, and hold is made
// once, so that nothing is allocated.
type uringEntering struct {
	at           uint32 // entries from at on lack a descriptor
	submit, wait int
	file         *os.File // of the entry before at, and its descriptor
	fd           int32
	hold         func(fd uintptr)
	errno        unix.Errno
}

// fill writes descriptors into the entries, and then enters. It is called again
// by hold, below itself, for each file that it holds.
func (r *Ring) fill() {
	in := &r.entering
	for ; in.at != r.tail; in.at++ {
		e := &r.sqes[in.at&uint32(len(r.sqes)-1)]
		if e.userData >= uint64(len(r.slots)) {
			continue // uringNobody
		}
		f := r.slots[e.userData].req.File
		if f == nil {
			continue
		}
		if f != in.file {
			in.file, in.fd = f, -1
			if raw, err := f.SyscallConn(); err == nil && raw.Control(in.hold) == nil {
				return
			} // else it is closed
		}
		e.fd = in.fd
	}
	in.errno = r.enter(in.submit, in.wait)
}

// enter publishes the entries, and enters the kernel.
func (r *Ring) enter(submit, wait int) unix.Errno {
	atomic.StoreUint32(r.sqTail, r.tail)
	_, _, errno := unix.Syscall6(unix.SYS_IO_URING_ENTER, uintptr(r.fd), uintptr(submit), uintptr(wait), uringGetEvents, 0, 0)
	return errno
}

// reap takes results. Part of a transfer is handed in again for the rest, and
// so is a request that a signal interrupted.
func (r *Ring) reap(done []Completion) (n int) {
	head := *r.cqHead // nobody else writes it
	for tail := atomic.LoadUint32(r.cqTail); head != tail && n < len(done); head++ {
		e := r.cqes[head&uint32(len(r.cqes)-1)]
		if e.userData >= uint64(len(r.slots)) {
			continue // uringNobody
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
		// An error behind bytes that were moved is for the next request, as
		// pread(2) and pwrite(2) have it.
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

// Close takes back what the kernel has not begun, waits for the rest, and
// frees the ring. It has to wait: closing the descriptor alone would leave a
// transfer under way, into memory that is somebody else's by then. Requests
// that could wait for ever, of a pipe for example, are cancelled.
func (r *Ring) Close() error {
	if r.closed() {
		return os.ErrClosed
	}
	// Entries that the kernel did not take belong to this side still.
	for r.pending() > 0 {
		r.tail--
		if i := r.sqes[r.tail&uint32(len(r.sqes)-1)].userData; i < uint64(len(r.slots)) {
			r.release(int(i))
		}
	}
	for i := range r.slots {
		if r.slots[i].inUse {
			r.put(uringSQE{opcode: uringCancel, fd: -1, addr: uint64(i), userData: uringNobody})
		}
	}
	for {
		r.drain()
		if r.InFlight() == 0 && r.pending() == 0 {
			break
		}
		errno := r.hand(r.pending(), min(1, r.InFlight()))
		if errno == unix.EAGAIN || errno == unix.EBUSY {
			errno = r.hand(0, 1)
		}
		if errno != 0 && errno != unix.EINTR {
			// The memory may be written to: it stays pinned and the ring mapped.
			return os.NewSyscallError("io_uring_enter", errno)
		}
	}
	r.fixed.Unpin()
	return r.unmap()
}

// drain drops the results that are there.
func (r *Ring) drain() {
	head := *r.cqHead
	for tail := atomic.LoadUint32(r.cqTail); head != tail; head++ {
		if i := r.cqes[head&uint32(len(r.cqes)-1)].userData; i < uint64(len(r.slots)) {
			r.release(int(i))
		}
	}
	atomic.StoreUint32(r.cqHead, head)
}

// unmap frees what New took.
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
