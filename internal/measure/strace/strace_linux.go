package strace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/stele-go/stele/internal/measure/systrace"
)

const options = unix.PTRACE_O_TRACESYSGOOD | unix.PTRACE_O_TRACECLONE | unix.PTRACE_O_TRACEFORK | unix.PTRACE_O_TRACEVFORK |
	unix.PTRACE_O_TRACEEXEC | unix.PTRACE_O_TRACEEXIT | unix.PTRACE_O_EXITKILL

// sysGood marks a stop at a system call (PTRACE_O_TRACESYSGOOD).
const sysGood = unix.SIGTRAP | 0x80

// Run runs a command to its end. When ctx is done it kills the command and everything
// that it started. The error is errors.ErrUnsupported where the kernel or a security
// policy permits no tracing; a command that fails is no error.
func Run(ctx context.Context, c Command) (Report, error) {
	type result struct {
		r   Report
		err error
	}
	done := make(chan result, 1)
	go func() {
		// ptrace(2): only the thread that started the command may trace it. The thread
		// ends with the goroutine.
		runtime.LockOSThread()
		r, err := run(ctx, c)
		done <- result{r, err}
	}()
	got := <-done
	return got.r, got.err
}

func run(ctx context.Context, c Command) (Report, error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return Report{}, err
	}
	defer null.Close()
	files := []*os.File{null, null, null}
	if c.Stdout != nil {
		files[1] = c.Stdout
	}
	if c.Stderr != nil {
		files[2] = c.Stderr
	}
	p, err := os.StartProcess(c.Path, c.Args, &os.ProcAttr{
		Dir: c.Dir, Env: c.Env, Files: files, Sys: &syscall.SysProcAttr{Ptrace: true, Setpgid: true},
	})
	if err != nil {
		if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) && unix.Access(c.Path, unix.X_OK) == nil {
			err = fmt.Errorf("strace: %w: %w", err, errors.ErrUnsupported)
		}
		return Report{}, err
	}
	pid := p.Pid      // Release forgets it
	defer p.Release() // waited for by number
	t := &tracer{root: pid, threads: map[int]*thread{}, files: newFiles(c.Files, c.Stdout, c.Stderr), report: Report{Calls: map[string]int64{}}}
	defer t.files.close()
	killed := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		unix.Kill(-pid, unix.SIGKILL)
		close(killed)
	})
	defer func() {
		if !stop() {
			<-killed
		}
	}()
	if err := t.begin(); err != nil {
		unix.Kill(-pid, unix.SIGKILL)
		var ws unix.WaitStatus
		unix.Wait4(pid, &ws, unix.WALL, nil)
		return Report{}, err
	}
	if err := t.follow(); err != nil {
		unix.Kill(-pid, unix.SIGKILL)
		return Report{}, err
	}
	if err := ctx.Err(); err != nil {
		return Report{}, context.Cause(ctx)
	}
	t.files.into(&t.report)
	return t.report, nil
}

// A tracer follows a command and its descendants.
type tracer struct {
	root    int
	threads map[int]*thread
	files   *files
	report  Report
}

// A thread is one that is traced.
type thread struct {
	call call // under way
	in   bool // one is
}

// A call is a system call, by its number here.
type call struct {
	number int
	args   [6]uint64
}

// begin waits for the stop at the exec of the command, and sets the options.
func (t *tracer) begin() error {
	var ws unix.WaitStatus
	if _, err := wait(t.root, &ws, nil); err != nil {
		return os.NewSyscallError("wait4", err)
	}
	if !ws.Stopped() {
		return fmt.Errorf("strace: the command ended before it could be traced: %w", errors.ErrUnsupported)
	}
	if err := unix.PtraceSetOptions(t.root, options); err != nil {
		return fmt.Errorf("strace: %w: %w", os.NewSyscallError("ptrace", err), errors.ErrUnsupported)
	}
	t.threads[t.root] = &thread{}
	return os.NewSyscallError("ptrace", unix.PtraceSyscall(t.root, 0))
}

// wait is wait4(2) for children of this thread only: the process may have others.
func wait(pid int, ws *unix.WaitStatus, usage *unix.Rusage) (int, error) {
	for {
		got, err := unix.Wait4(pid, ws, unix.WALL|unix.WNOTHREAD, usage)
		if err != unix.EINTR {
			return got, err
		}
	}
}

// follow handles stops until the command and its traced descendants have ended.
func (t *tracer) follow() error {
	for len(t.threads) > 0 {
		var ws unix.WaitStatus
		var usage unix.Rusage
		pid, err := wait(-1, &ws, &usage)
		if err == unix.ECHILD {
			return nil
		}
		if err != nil {
			return os.NewSyscallError("wait4", err)
		}
		if ws.Exited() || ws.Signaled() {
			delete(t.threads, pid)
			if pid == t.root {
				t.ended(ws, &usage)
			}
			continue
		}
		if t.threads[pid] == nil { // its first stop may come before its parent's event
			t.threads[pid] = &thread{}
		}
		// ESRCH: it was killed meanwhile, and its end comes.
		if err := unix.PtraceSyscall(pid, t.stopped(pid, ws)); err != nil && err != unix.ESRCH {
			return os.NewSyscallError("ptrace", err)
		}
	}
	return nil
}

func (t *tracer) ended(ws unix.WaitStatus, usage *unix.Rusage) {
	switch {
	case ws.Signaled():
		t.report.State = "signal: " + ws.Signal().String()
	case ws.ExitStatus() != 0:
		t.report.State = fmt.Sprintf("exit status %d", ws.ExitStatus())
	}
	t.report.Usage.User, t.report.Usage.System = usage.Utime.Nano(), usage.Stime.Nano()
}

// peakRSS returns the largest resident memory of a process that is about to end: not
// ru_maxrss, which begins with that of the process that started it.
func peakRSS(pid int) int64 {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(data)) {
		if text, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(text), " kB"), 10, 64)
			return kib << 10
		}
	}
	return 0
}

// stopped handles the stop of a thread and returns the signal to deliver.
func (t *tracer) stopped(pid int, ws unix.WaitStatus) (signal int) {
	switch s := ws.StopSignal(); {
	case s == sysGood:
		t.atCall(pid)
		return 0
	case s == unix.SIGTRAP && ws.TrapCause() == unix.PTRACE_EVENT_EXIT:
		t.report.Usage.MaxRSS = max(t.report.Usage.MaxRSS, peakRSS(pid))
		return 0
	case s == unix.SIGTRAP && ws.TrapCause() > 0: // another event of the options
		return 0
	case s == unix.SIGSTOP && !t.known(pid): // the first stop of a new thread
		return 0
	default:
		return int(s)
	}
}

// known reports whether a thread has made a call; before that its stop is the one
// that tracing makes.
func (t *tracer) known(pid int) bool { return t.threads[pid].call != (call{}) || pid == t.root }

func (t *tracer) atCall(pid int) {
	th := t.threads[pid]
	var info callInfo
	_, _, errno := unix.Syscall6(unix.SYS_PTRACE, getCallInfo, uintptr(pid), unsafe.Sizeof(info), uintptr(unsafe.Pointer(&info)), 0, 0)
	if errno != 0 {
		return // killed meanwhile
	}
	switch info.op {
	case opEntry:
		th.call = call{number: int(info.a), args: info.args}
		th.in = true
		name := systrace.Name(th.call.number)
		t.report.Calls[name]++
		t.files.entered(name)
	case opExit:
		if th.in && int64(info.a) >= 0 {
			t.files.returned(pid, th.call, int64(info.a))
		}
		th.in = false
	}
}

const (
	getCallInfo = 0x420e // PTRACE_GET_SYSCALL_INFO, Linux 5.3
	opEntry     = 1
	opExit      = 2
)

// callInfo is struct ptrace_syscall_info.
type callInfo struct {
	op   uint8
	_    [3]uint8
	_    uint32 // arch
	_    uint64 // instruction pointer
	_    uint64 // stack pointer
	a    uint64 // number at entry, result at exit
	args [6]uint64
	_    uint64
}
