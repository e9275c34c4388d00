package systrace

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/stele-go/stele/internal/measure/perf"
	"github.com/stele-go/stele/internal/sys"
)

// watchPages is the size of one CPU's ring after its first page, about seven
// thousand calls. Drain must empty it before it is full.
const watchPages = 256

// mostWatched is the largest number of calls that a Watcher keeps, 24 bytes each.
const mostWatched = 4 << 20

// A Watcher records each system call of one process by the tracepoints
// raw_syscalls:sys_enter and sys_exit (perf_event_open(2),
// Documentation/trace/events.rst). Every event is copied to user space, which costs
// some microseconds a call: it is for systems that refuse BPF.
type Watcher struct {
	rings       []ring
	files       []int
	enter, exit uint16 // numbers of the tracepoints
	entered     map[uint32]enteredCall
	early       []syscallEvent // for the next Drain: events of other CPUs may precede them
	calls       []Call
	lost        uint64
	epoch       int64 // wall clock when the kernel's monotonic one was 0
}

// A ring is the buffer of one CPU's events.
type ring struct {
	mem  []byte
	meta *unix.PerfEventMmapPage
	data []byte
}

type syscallEvent struct {
	time   int64
	thread uint32
	point  uint16
	number int64
}

type enteredCall struct {
	number int64
	at     int64
}

// Watch records the processes that this OS thread starts, from their exec on. The
// caller must be locked to the thread (runtime.LockOSThread) until they are
// started. It needs root, or a readable tracefs and CAP_PERFMON.
func Watch() (*Watcher, error) {
	w := &Watcher{entered: map[uint32]enteredCall{}, epoch: wallAtZero()}
	if err := w.open(); err != nil {
		w.Close()
		return nil, fmt.Errorf("time system calls by the tracepoints raw_syscalls: %w", err)
	}
	return w, nil
}

// wallAtZero returns the time on the wall when the monotonic clock was 0. A thread
// may lose its processor between two readings of clocks: the quickest of some
// readings counts.
func wallAtZero() (at int64) {
	least := int64(math.MaxInt64)
	for range 10 {
		before := monotonic()
		wall := time.Now().UnixNano()
		if took := monotonic() - before; took < least {
			least, at = took, wall-before-took/2
		}
	}
	return at
}

func monotonic() int64 {
	var t unix.Timespec
	unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) // cannot fail
	return t.Nano()
}

func (w *Watcher) open() error {
	for name, id := range map[string]*uint16{"sys_enter": &w.enter, "sys_exit": &w.exit} {
		n, err := TracepointID("raw_syscalls/" + name)
		if err != nil {
			return err
		}
		*id = n
	}
	cpus, err := onlineCPUs()
	if err != nil {
		return err
	}
	for _, cpu := range cpus {
		// A ring belongs to one CPU: an inherited event of all CPUs has none.
		first, err := w.openOn(cpu, w.enter)
		if err != nil {
			return err
		}
		if err := w.mapRing(first); err != nil {
			return err
		}
		second, err := w.openOn(cpu, w.exit)
		if err != nil {
			return err
		}
		if err := sys.Retry(func() error { return unix.IoctlSetInt(second, unix.PERF_EVENT_IOC_SET_OUTPUT, first) }); err != nil {
			return os.NewSyscallError("ioctl PERF_EVENT_IOC_SET_OUTPUT", err)
		}
	}
	return nil
}

// TracepointID returns the kernel's number of a tracepoint, "raw_syscalls/sys_enter" for
// example. It reads tracefs, where that is mounted at its usual places, or by a mount of
// its own that no one else sees, which takes CAP_SYS_ADMIN.
func TracepointID(name string) (uint16, error) {
	var first error
	for _, dir := range []string{"/sys/kernel/tracing/events/", "/sys/kernel/debug/tracing/events/"} {
		b, err := os.ReadFile(dir + name + "/id")
		if err != nil {
			first = cmp.Or(first, err)
			continue
		}
		n, err := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 16)
		return uint16(n), err
	}
	if b, err := readTracefs("events/" + name + "/id"); err == nil {
		n, err := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 16)
		return uint16(n), err
	}
	return 0, fmt.Errorf("%w; it takes root and tracefs (mount -t tracefs none /sys/kernel/tracing)", first)
}

// readTracefs reads a file of tracefs by a mount that has no place in the tree.
func readTracefs(name string) ([]byte, error) {
	fs, err := unix.Fsopen("tracefs", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("fsopen", err)
	}
	defer unix.Close(fs)
	if err := unix.FsconfigCreate(fs); err != nil {
		return nil, os.NewSyscallError("fsconfig", err)
	}
	root, err := unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("fsmount", err)
	}
	defer unix.Close(root)
	fd, err := unix.Openat(root, name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "openat", Path: name, Err: err}
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	return io.ReadAll(f)
}

func onlineCPUs() ([]int, error) {
	b, err := os.ReadFile("/sys/devices/system/cpu/online")
	if err != nil {
		return nil, err
	}
	return parseCPUs(strings.TrimSpace(string(b)))
}

// parseCPUs reads "0-3,8" (Documentation/admin-guide/cputopology.rst).
func parseCPUs(s string) (cpus []int, err error) {
	for part := range strings.SplitSeq(s, ",") {
		from, to, isRange := strings.Cut(part, "-")
		if !isRange {
			to = from
		}
		lo, err1 := strconv.Atoi(from)
		hi, err2 := strconv.Atoi(to)
		if err := errors.Join(err1, err2); err != nil || lo > hi {
			return nil, fmt.Errorf("cannot read the list of CPUs %q", s)
		}
		for cpu := lo; cpu <= hi; cpu++ {
			cpus = append(cpus, cpu)
		}
	}
	return cpus, nil
}

func (w *Watcher) openOn(cpu int, tracepoint uint16) (int, error) {
	attr := unix.PerfEventAttr{
		Type: unix.PERF_TYPE_TRACEPOINT, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})), Config: uint64(tracepoint),
		Sample: 1, Sample_type: unix.PERF_SAMPLE_TID | unix.PERF_SAMPLE_TIME | unix.PERF_SAMPLE_RAW,
		Bits:    unix.PerfBitDisabled | unix.PerfBitInherit | unix.PerfBitEnableOnExec | unix.PerfBitUseClockID,
		Clockid: unix.CLOCK_MONOTONIC, // the kernel refuses that of the wall, which is not safe in an NMI
	}
	for {
		fd, err := unix.PerfEventOpen(&attr, 0, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return -1, perf.OpenError(err)
		}
		w.files = append(w.files, fd)
		return fd, nil
	}
}

func (w *Watcher) mapRing(fd int) error {
	page := os.Getpagesize()
	mem, err := unix.Mmap(fd, 0, (1+watchPages)*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return os.NewSyscallError("mmap", err)
	}
	w.rings = append(w.rings, ring{mem: mem, meta: (*unix.PerfEventMmapPage)(unsafe.Pointer(&mem[0])), data: mem[page:]})
	return nil
}

// Drain reads the events since the last time. It must be called
// more often than a ring is filled. Only the calls of process pid count.
func (w *Watcher) Drain(pid int) {
	now := monotonic()
	events := w.early
	for i := range w.rings {
		w.rings[i].drain(func(kind uint32, body []byte) {
			switch kind {
			case unix.PERF_RECORD_LOST: // u64 id, u64 how many
				w.lost += binary.NativeEndian.Uint64(body[8:])
			case unix.PERF_RECORD_SAMPLE:
				if e, process := parseSyscall(body); process == uint32(pid) {
					events = append(events, e)
				}
			}
		})
	}
	// A thread may enter a call on one CPU and leave it on another, whose ring
	// was read later: what is newer than the first reading has to wait.
	slices.SortStableFunc(events, func(a, b syscallEvent) int { return cmp.Compare(a.time, b.time) })
	ready, _ := slices.BinarySearchFunc(events, now, func(e syscallEvent, t int64) int { return cmp.Compare(e.time, t) })
	for _, e := range events[:ready] {
		w.book(e)
	}
	w.early = slices.Clone(events[ready:])
}

func (w *Watcher) book(e syscallEvent) {
	if e.point == w.enter {
		w.entered[e.thread] = enteredCall{e.number, e.time}
		return
	}
	in, found := w.entered[e.thread]
	if !found {
		return
	}
	delete(w.entered, e.thread)
	if len(w.calls) == mostWatched {
		w.lost++
		return
	}
	number := int(in.number)
	if number < 0 || number >= Slots {
		number = Slots - 1
	}
	w.calls = append(w.calls, Call{number, w.epoch + in.at, max(e.time-in.at, 0)})
}

// Calls are the calls that have ended, and how many events had no room.
func (w *Watcher) Calls() (calls []Call, lost uint64) { return w.calls, w.lost }

// Close stops watching.
func (w *Watcher) Close() error {
	var errs []error
	for _, r := range w.rings {
		errs = append(errs, unix.Munmap(r.mem))
	}
	for _, fd := range w.files {
		errs = append(errs, unix.Close(fd))
	}
	w.rings, w.files = nil, nil
	return errors.Join(errs...)
}

// drain hands out every record that is whole and gives its room back.
func (r *ring) drain(f func(kind uint32, body []byte)) {
	head := atomic.LoadUint64(&r.meta.Data_head)
	tail := r.meta.Data_tail
	const header = 8 // u32 type, u16 misc, u16 size
	for tail < head {
		h := r.bytes(tail, header)
		size := uint64(binary.NativeEndian.Uint16(h[6:]))
		if size < header {
			break
		}
		f(binary.NativeEndian.Uint32(h), r.bytes(tail, size)[header:])
		tail += size
	}
	atomic.StoreUint64(&r.meta.Data_tail, head)
}

// bytes is n bytes from a position on, which may run over the end.
func (r *ring) bytes(at, n uint64) []byte {
	at %= uint64(len(r.data))
	if at+n <= uint64(len(r.data)) {
		return r.data[at : at+n]
	}
	return append(slices.Clone(r.data[at:]), r.data[:at+n-uint64(len(r.data))]...)
}

// parseSyscall reads a sample: u32 process, u32 thread, u64 time, u32 size and
// the tracepoint's own: u16 its number, and from byte 8 on the call's.
func parseSyscall(body []byte) (e syscallEvent, process uint32) {
	const raw = 20
	if len(body) < raw+16 {
		return e, 0
	}
	u32 := binary.NativeEndian.Uint32
	return syscallEvent{
		time: int64(binary.NativeEndian.Uint64(body[8:])), thread: u32(body[4:]),
		point: binary.NativeEndian.Uint16(body[raw:]), number: int64(binary.NativeEndian.Uint64(body[raw+8:])),
	}, u32(body)
}
