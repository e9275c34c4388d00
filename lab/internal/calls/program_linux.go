//go:build amd64 || arm64

package calls

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"github.com/stele-go/stele/internal/measure/systrace"
)

// pieces are the open parts of a Counter or a Timer: maps, then programs, then their
// links to tracepoints. They are closed backwards, so that no program runs when its
// map is closed.
type pieces []io.Closer

func (p *pieces) Close() error {
	var errs []error
	for i := len(*p) - 1; i >= 0; i-- {
		errs = append(errs, (*p)[i].Close())
	}
	*p = nil
	return errors.Join(errs...)
}

// shared makes an array of one element of that size, which this process has
// mapped.
func (p *pieces) shared(size uint32) (*ebpf.Map, *ebpf.Memory, error) {
	m, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: size, MaxEntries: 1, Flags: unix.BPF_F_MMAPABLE})
	if err != nil {
		return nil, nil, fmt.Errorf("create a map: %w", err)
	}
	*p = append(*p, m)
	mem, err := m.Memory() // the map closes it
	if err != nil {
		return nil, nil, fmt.Errorf("map the counts: %w", err)
	}
	return m, mem, nil
}

// attach loads a program and puts it on a raw tracepoint.
func (p *pieces) attach(tracepoint string, program asm.Instructions) error {
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Type: ebpf.RawTracepoint, Instructions: program,
		License: "Apache-2.0", // calls no helper that is for GPL programs only
	})
	if err != nil {
		return fmt.Errorf("load the program for %s: %w", tracepoint, err)
	}
	*p = append(*p, prog)
	l, err := link.AttachRawTracepoint(link.RawTracepointOptions{Name: tracepoint, Program: prog})
	if err != nil {
		return fmt.Errorf("attach to %s: %w", tracepoint, err)
	}
	*p = append(*p, l)
	return nil
}

// Where onlyOurs has the kernel put its answer: struct bpf_pidns_info, the number of
// the thread and that of its process.
const (
	onStackThread  = -8
	onStackProcess = -4
)

// onlyOurs jumps to "out" unless the thread is one of this process. Inside a
// container the process has another number than outside, so the program asks
// for the number in this process's own namespace.
func onlyOurs() (asm.Instructions, error) {
	var ns unix.Stat_t
	if err := unix.Stat("/proc/self/ns/pid", &ns); err != nil {
		return nil, fmt.Errorf("stat /proc/self/ns/pid: %w", err)
	}
	// The kernel compares with its own dev_t, not with the one stat gives.
	dev := uint64(unix.Major(ns.Dev))<<20 | uint64(unix.Minor(ns.Dev))
	return asm.Instructions{
		asm.LoadImm(asm.R1, int64(dev), asm.DWord),
		asm.LoadImm(asm.R2, int64(ns.Ino), asm.DWord),
		asm.Mov.Reg(asm.R3, asm.RFP),
		asm.Add.Imm(asm.R3, onStackThread),
		asm.Mov.Imm(asm.R4, 8),
		asm.FnGetNsCurrentPidTgid.Call(),
		asm.JNE.Imm(asm.R0, 0, "out"), // another namespace
		asm.LoadMem(asm.R1, asm.RFP, onStackProcess, asm.Word),
		asm.JNE.Imm(asm.R1, int32(os.Getpid()), "out"),
	}, nil
}

// number loads the call's number into R6 from the context of a raw sys_enter
// tracepoint, {struct pt_regs *; long number}. The last slot is for calls
// without one of their own.
func number() asm.Instructions {
	return asm.Instructions{
		asm.LoadMem(asm.R6, asm.R1, 8, asm.DWord),
		asm.JLE.Imm(asm.R6, systrace.Slots-1, "numbered"),
		asm.Mov.Imm(asm.R6, systrace.Slots-1),
		asm.Mov.Reg(asm.R6, asm.R6).WithSymbol("numbered"), // a place to jump to
	}
}

func out() asm.Instructions {
	return asm.Instructions{asm.Mov.Imm(asm.R0, 0).WithSymbol("out"), asm.Return()}
}

// explained adds the operation, and a remedy, to an error of the kernel's.
func explained(operation string, err error) error {
	hint := ""
	var refused *ebpf.VerifierError
	var errno syscall.Errno
	switch {
	case errors.As(err, &refused): // EACCES too, and no question of rights
	case errors.Is(err, syscall.EPERM), errors.Is(err, syscall.EACCES):
		hint = "; run as root, or give the program the capabilities it needs: setcap cap_bpf,cap_perfmon+ep FILE"
	case errors.Is(err, syscall.ENOSYS):
		hint = "; the kernel was built without CONFIG_BPF_SYSCALL"
	case errors.Is(err, syscall.EINVAL), errors.Is(err, ebpf.ErrNotSupported):
		hint = "; Linux 5.11 or later is needed"
	}
	// The library's text tells of limits on locked memory, which is no help.
	if errors.As(err, &errno) && refused == nil {
		err = errno
	}
	return fmt.Errorf("%s with BPF: %w%s", operation, err, hint)
}
