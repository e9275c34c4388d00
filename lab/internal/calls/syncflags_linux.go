//go:build amd64 || arm64

package calls

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"

	"github.com/stele-go/stele/internal/measure/perf"
	"github.com/stele-go/stele/internal/measure/systrace"
)

// SyncFlags counts the calls of this process that ask for a sync by a flag: opens with
// O_SYNC or O_DSYNC, and pwritev2(2) with RWF_SYNC or RWF_DSYNC. The flags of openat2(2)
// are in memory that the program may not read, and those of io_uring too.
//
// Its program is on the tracepoint raw_syscalls:sys_enter, whose record has the arguments;
// the raw tracepoint of Counter has them behind a pointer that only GPL programs may
// follow.
type SyncFlags struct {
	pieces
	event int
	mem   *ebpf.Memory // one counter
}

// NewSyncFlags starts counting. Its error says what the kernel refused.
func NewSyncFlags() (*SyncFlags, error) {
	s := &SyncFlags{event: -1}
	if err := s.open(); err != nil {
		s.Close()
		return nil, explained("count calls that ask for a sync", err)
	}
	return s, nil
}

func (s *SyncFlags) open() error {
	m, mem, err := s.shared(word)
	if err != nil {
		return err
	}
	s.mem = mem
	ours, err := onlyOurs()
	if err != nil {
		return err
	}
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Type: ebpf.TracePoint, License: "Apache-2.0",
		Instructions: slices.Concat(syncFlagged(), ours, asm.Instructions{
			asm.LoadMapValue(asm.R1, m.FD(), 0),
			asm.Mov.Imm(asm.R0, 1),
			asm.AddAtomic.Mem(asm.R1, asm.R0, asm.DWord, 0),
		}, out()),
	})
	if err != nil {
		return fmt.Errorf("load the program for sys_enter: %w", err)
	}
	s.pieces = append(s.pieces, prog)
	return s.attachTo("raw_syscalls/sys_enter", prog)
}

// attachTo runs prog at each event of a tracepoint, on all CPUs: a program that is
// attached to one event of a tracepoint is called for all of them.
func (s *SyncFlags) attachTo(tracepoint string, prog *ebpf.Program) error {
	id, err := systrace.TracepointID(tracepoint)
	if err != nil {
		return err
	}
	attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_TRACEPOINT, Config: uint64(id), Sample: 1, Wakeup: 1, Size: unix.PERF_ATTR_SIZE_VER0}
	fd, err := unix.PerfEventOpen(&attr, -1, 0, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return perf.OpenError(err)
	}
	s.event = fd
	if err := unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_SET_BPF, prog.FD()); err != nil {
		return os.NewSyscallError("ioctl PERF_EVENT_IOC_SET_BPF", err)
	}
	return os.NewSyscallError("ioctl PERF_EVENT_IOC_ENABLE", unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_ENABLE, 0))
}

// syncFlagged goes on only for a call with a flag that asks for a sync. The record is
// {8 bytes; long number; unsigned long args[6]}.
func syncFlagged() asm.Instructions {
	arg := func(i int16) asm.Instruction { return asm.LoadMem(asm.R8, asm.R7, 16+8*i, asm.DWord) }
	program := asm.Instructions{
		asm.Mov.Reg(asm.R7, asm.R1),
		asm.LoadMem(asm.R6, asm.R7, 8, asm.DWord),
		asm.JEq.Imm(asm.R6, unix.SYS_OPENAT, "openat"),
		asm.JEq.Imm(asm.R6, unix.SYS_PWRITEV2, "pwritev2"),
	}
	if runtime.GOARCH == "amd64" { // open(2), which arm64 never had
		const sysOpen = 2
		program = append(program, asm.JNE.Imm(asm.R6, sysOpen, "out"), arg(1), asm.Ja.Label("opened"))
	} else {
		program = append(program, asm.Ja.Label("out"))
	}
	return append(program,
		arg(2).WithSymbol("openat"),
		asm.And.Imm(asm.R8, unix.O_DSYNC).WithSymbol("opened"), // a bit of O_SYNC too
		asm.JEq.Imm(asm.R8, 0, "out"),
		asm.Ja.Label("flagged"),
		arg(5).WithSymbol("pwritev2"),
		asm.And.Imm(asm.R8, unix.RWF_DSYNC|unix.RWF_SYNC),
		asm.JEq.Imm(asm.R8, 0, "out"),
		asm.Mov.Reg(asm.R8, asm.R8).WithSymbol("flagged"), // a place to jump to
	)
}

// Read returns the count, without a system call and without allocating.
func (s *SyncFlags) Read() uint64 {
	var n uint64
	s.mem.ReadAt(unsafe.Slice((*byte)(unsafe.Pointer(&n)), unsafe.Sizeof(n)), 0) // as large as the map
	return n
}

// Close stops counting.
func (s *SyncFlags) Close() error {
	if s.event >= 0 {
		unix.Close(s.event) // nothing was written
		s.event = -1
	}
	return s.pieces.Close()
}
