//go:build amd64 || arm64

package sys

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// syscallSlots is the number of calls that are counted apart: a power of two
// above the highest number in use, and one page of counters. The last slot
// takes whatever has a higher number.
const syscallSlots = 512

// SyscallCounts holds how often each call was made, by its number.
type SyscallCounts [syscallSlots]uint64

// A SyscallCounter counts the system calls of this process, of all its
// threads, by number, from NewSyscallCounter to Close.
//
// A BPF program of some twenty instructions on the kernel's sys_enter
// tracepoint adds to an array that this process has mapped, so reading the
// counts takes no system call and cannot disturb them. It costs each of the
// machine's system calls about a fifth of a microsecond, so it is not
// left on.
//
// A perf event on each sys_enter_* tracepoint counts the same, but is not
// usable: taking the last event off a tracepoint waits for an RCU grace
// period with the kernel's lock on all tracing held, and for the 360 of them
// that took 13 seconds.
type SyscallCounter struct {
	mem            []byte // one array element, mapped: a SyscallCounts
	maps, prog, on int    // descriptors
}

// NewSyscallCounter starts counting. It needs Linux 5.7 and root, or
// CAP_BPF and CAP_PERFMON; the error says which of them is missing.
func NewSyscallCounter() (*SyscallCounter, error) {
	c := &SyscallCounter{maps: -1, prog: -1, on: -1}
	if err := c.open(); err != nil {
		c.Close()
		return nil, bpfError(err)
	}
	return c, nil
}

// Read copies the counts, without a system call and without allocating.
func (c *SyscallCounter) Read(into *SyscallCounts) {
	counts := (*SyscallCounts)(unsafe.Pointer(&c.mem[0]))
	for i := range counts {
		into[i] = atomic.LoadUint64(&counts[i])
	}
}

// Close stops counting. The first call counts.
func (c *SyscallCounter) Close() error {
	var errs []error
	for _, fd := range []*int{&c.on, &c.prog, &c.maps} { // detach first
		if *fd >= 0 {
			errs = append(errs, unix.Close(*fd))
			*fd = -1
		}
	}
	if c.mem != nil {
		errs = append(errs, unix.Munmap(c.mem))
		c.mem = nil
	}
	return errors.Join(errs...)
}

// SyscallName is the name of the call with that number on this
// architecture, "mkdirat" for example; "syscall_N" where it has none yet,
// and "other" for the last slot.
func SyscallName(number int) string {
	if number == syscallSlots-1 {
		return "other"
	}
	if name, ok := commonSyscalls[number]; ok {
		return name
	}
	if name, ok := ownSyscalls[number]; ok {
		return name
	}
	return fmt.Sprintf("syscall_%d", number)
}

func (c *SyscallCounter) open() error {
	var err error
	if c.maps, err = bpf("create a map", unix.BPF_MAP_CREATE, &struct {
		kind, keySize, valueSize, entries, flags uint32
	}{unix.BPF_MAP_TYPE_ARRAY, 4, uint32(unsafe.Sizeof(SyscallCounts{})), 1, unix.BPF_F_MMAPABLE}); err != nil {
		return err
	}
	c.mem, err = unix.Mmap(c.maps, 0, int(unsafe.Sizeof(SyscallCounts{})), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return fmt.Errorf("map the counts: %w", err)
	}
	// Inside a container this process has another number than outside, so the
	// program asks for the number in this process's own namespace.
	var ns unix.Stat_t
	if err := unix.Stat("/proc/self/ns/pid", &ns); err != nil {
		return fmt.Errorf("stat /proc/self/ns/pid: %w", err)
	}
	program := countSyscalls(c.maps, ns.Dev, ns.Ino, os.Getpid())
	license := []byte("Apache-2.0\x00") // calls no helper that is for GPL programs only
	if c.prog, err = bpf("load the program", unix.BPF_PROG_LOAD, &struct {
		kind, insns uint32
		program     *bpfInsn
		license     *byte
	}{unix.BPF_PROG_TYPE_RAW_TRACEPOINT, uint32(len(program)), &program[0], &license[0]}); err != nil {
		return err
	}
	name := []byte("sys_enter\x00")
	c.on, err = bpf("attach to sys_enter", unix.BPF_RAW_TRACEPOINT_OPEN, &struct {
		name *byte
		prog uint32
		_    uint32
	}{&name[0], uint32(c.prog), 0})
	return err
}

// bpfInsn is one instruction, as linux/bpf.h lays it out on a little-endian
// machine.
type bpfInsn struct {
	op   uint8
	regs uint8 // destination, and source << 4
	off  int16
	imm  int32
}

// countSyscalls is the program. The context of a raw sys_enter tracepoint is
// {struct pt_regs *; long number}.
func countSyscalls(mapFD int, nsDev, nsIno uint64, pid int) []bpfInsn {
	const (
		r0, r1, r2, r3, r4, r6, r10 = 0, 1, 2, 3, 4, 6, 10

		load64  = unix.BPF_LDX | unix.BPF_MEM | unix.BPF_DW
		load32  = unix.BPF_LDX | unix.BPF_MEM | unix.BPF_W
		const64 = unix.BPF_LD | unix.BPF_IMM | unix.BPF_DW // takes two instructions
		mov     = unix.BPF_ALU64 | unix.BPF_MOV | unix.BPF_K
		movReg  = unix.BPF_ALU64 | unix.BPF_MOV | unix.BPF_X
		add     = unix.BPF_ALU64 | unix.BPF_ADD | unix.BPF_K
		addReg  = unix.BPF_ALU64 | unix.BPF_ADD | unix.BPF_X
		shift   = unix.BPF_ALU64 | unix.BPF_LSH | unix.BPF_K
		jumpLE  = unix.BPF_JMP | unix.BPF_JLE | unix.BPF_K
		jumpNE  = unix.BPF_JMP | unix.BPF_JNE | unix.BPF_K
		call    = unix.BPF_JMP | unix.BPF_CALL
		exit    = unix.BPF_JMP | unix.BPF_EXIT
		addMem  = unix.BPF_STX | unix.BPF_XADD | unix.BPF_DW // atomic

		mapValue = unix.BPF_PSEUDO_MAP_VALUE
		nsPid    = 120 // bpf_get_ns_current_pid_tgid
	)
	// The kernel compares with its own dev_t, not with the one stat gives.
	dev := uint64(unix.Major(nsDev))<<20 | uint64(unix.Minor(nsDev))
	wide := func(dst uint8, v uint64) []bpfInsn {
		return []bpfInsn{{const64, dst, 0, int32(uint32(v))}, {0, 0, 0, int32(uint32(v >> 32))}}
	}
	p := []bpfInsn{
		{load64, r6 | r1<<4, 8, 0},        // r6 = number
		{jumpLE, r6, 1, syscallSlots - 1}, // if it has no slot of its own:
		{mov, r6, 0, syscallSlots - 1},    //   r6 = the last slot
	}
	p = append(p, wide(r1, dev)...)   // bpf_get_ns_current_pid_tgid(dev,
	p = append(p, wide(r2, nsIno)...) //   inode,
	p = append(p, []bpfInsn{
		{movReg, r3 | r10<<4, 0, 0}, //
		{add, r3, 0, -8},            //   &struct{ pid, tgid u32 } on the stack,
		{mov, r4, 0, 8},             //   its size)
		{call, 0, 0, nsPid},
		{jumpNE, r0, 8, 0}, // not in our namespace: return
		{load32, r1 | r10<<4, -4, 0},
		{jumpNE, r1, 6, int32(pid)}, // not our process: return
		{const64, r1 | mapValue<<4, 0, int32(mapFD)}, {},
		{shift, r6, 0, 3},
		{addReg, r1 | r6<<4, 0, 0},
		{mov, r0, 0, 1},
		{addMem, r1 | r0<<4, 0, 0}, // counts[number]++
		{mov, r0, 0, 0},            // return 0
		{exit, 0, 0, 0},
	}...)
	return p
}

// bpf calls bpf(2) and returns the descriptor it made.
func bpf[T any](what string, cmd uintptr, attr *T) (int, error) {
	for try := 1; ; try++ {
		fd, _, errno := unix.Syscall(unix.SYS_BPF, cmd, uintptr(unsafe.Pointer(attr)), unsafe.Sizeof(*attr))
		runtime.KeepAlive(attr)
		if errno == 0 {
			return int(fd), nil
		}
		// A signal stops the verifier, with EAGAIN.
		if errno != unix.EINTR && (errno != unix.EAGAIN || try == 10) {
			return -1, fmt.Errorf("%s: %w", what, errno)
		}
	}
}

func bpfError(err error) error {
	hint := ""
	switch {
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES):
		hint = "; run as root, or give the program the capabilities it needs: setcap cap_bpf,cap_perfmon+ep FILE"
	case errors.Is(err, unix.ENOSYS):
		hint = "; the kernel was built without CONFIG_BPF_SYSCALL"
	case errors.Is(err, unix.EINVAL):
		hint = "; Linux 5.7 or later is needed"
	}
	return fmt.Errorf("count system calls on the tracepoint sys_enter with BPF: %w%s", err, hint)
}
