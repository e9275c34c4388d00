package access

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// workerEnv in its environment makes this program, started again, run cells.
const workerEnv = "STELE_ACCESS_WORKER"

// While init runs, the goroutine is on the main thread: locked to it, the
// thread that is traced is the process, and dies with it.
func init() {
	if os.Getenv(workerEnv) != "" {
		runtime.LockOSThread()
	}
}

func TestMain(m *testing.M) {
	if os.Getenv(workerEnv) != "" {
		if err := work(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// work runs the cells that standard input names, on the main thread, and raises
// SIGUSR1 after each.
func work() error {
	fmt.Println(unix.Gettid())
	cells := matrix()
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return nil
		}
		var i int
		var path string
		if _, err := fmt.Sscanf(line, "%d %q", &i, &path); err != nil {
			return err
		}
		fmt.Printf("%q\n", fmt.Sprint(cells[i].run(path)))
		if err := unix.Tgkill(unix.Getpid(), unix.Gettid(), unix.SIGUSR1); err != nil {
			return err
		}
	}
}

// A worker is a process that runs cells, stopped at every system call.
type worker struct {
	tid int
	in  *os.File
	out *bufio.Reader
}

// newWorker starts a worker. The calling goroutine is its tracer and must keep its thread.
func newWorker(t *testing.T) *worker {
	t.Helper()
	r, in, err := os.Pipe()
	must(t, err)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), workerEnv+"=1")
	cmd.Stdin, cmd.Stderr = r, os.Stderr
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	r.Close()
	w := &worker{in: in, out: bufio.NewReader(out)}
	t.Cleanup(func() {
		in.Close()
		cmd.Process.Kill()
		cmd.Wait()
	})
	_, err = fmt.Fscanln(w.out, &w.tid)
	must(t, err)
	if err := unix.PtraceSeize(w.tid); err != nil {
		t.Skip("ptrace: ", err)
	}
	must(t, unix.PtraceInterrupt(w.tid))
	_, err = w.wait()
	must(t, err)
	must(t, unix.PtraceSetOptions(w.tid, unix.PTRACE_O_TRACESYSGOOD|unix.PTRACE_O_EXITKILL))
	return w
}

func (w *worker) wait() (status unix.WaitStatus, err error) {
	for {
		if _, err := unix.Wait4(w.tid, &status, unix.WALL, nil); err != unix.EINTR {
			return status, err
		}
	}
}

// run makes the worker run a cell, and calls look before and after each of its system
// calls. It returns the error of the cell's function, as a string.
func (w *worker) run(cell int, path string, look func() error) (said string, err error) {
	if _, err := fmt.Fprintf(w.in, "%d %q\n", cell, path); err != nil {
		return "", err
	}
	signal := 0
	for {
		if err := unix.PtraceSyscall(w.tid, signal); err != nil {
			return "", fmt.Errorf("ptrace: %w", err)
		}
		status, err := w.wait()
		if err != nil {
			return "", err
		}
		signal = 0
		switch {
		case !status.Stopped():
			return "", errors.New("the worker has ended")
		case status.StopSignal() == unix.SIGTRAP|0x80:
			if err := look(); err != nil {
				return "", err
			}
		case status.StopSignal() == unix.SIGUSR1:
			_, err := fmt.Fscanf(w.out, "%q\n", &said)
			return said, err
		case status.TrapCause() == -1: // not an event of ptrace
			signal = int(status.StopSignal())
		}
	}
}

// At every system call of a replacement, nobody may do to any file in the
// directory, temporary ones included, what the old file denied.
func TestMeanwhile(t *testing.T) {
	onFilesystems(t, func(t *testing.T, top string) {
		runtime.LockOSThread() // and never unlocked: the tracer is a thread
		j := newJudge(t)
		w := newWorker(t)
		cells := matrix()
		step, faults, looks := 97, 0, 0
		if os.Getenv("STELE_LONG") != "" {
			step = 7
		}
		for i := 0; i < len(cells) && faults < maxTold; i += step {
			dir := filepath.Join(top, fmt.Sprint("cell", i))
			n, err := cells[i].meanwhile(w, j, i, dir)
			if err != nil && !errors.As(err, new(skip)) {
				faults++
				t.Errorf("%v: %v", cells[i], err)
			}
			looks += n
			must(t, os.RemoveAll(dir))
		}
		if looks == 0 {
			t.Error("nothing was looked at")
		}
		t.Logf("looked %d times", looks)
	})
}

// meanwhile runs one cell and returns how often it looked at a temporary file.
func (c cell) meanwhile(w *worker, j *judge, i int, dir string) (looks int, err error) {
	path, err := c.lay(dir)
	if err != nil {
		return 0, err
	}
	in, err := os.Open(dir)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	before, err := j.rights(int(in.Fd()), "file")
	if err != nil {
		return 0, err
	}
	bound := c.bound(before)
	var fault error
	_, err = w.run(i, path, func() error {
		entries, err := os.ReadDir(dir)
		if err != nil || fault != nil {
			return err
		}
		temporary := false
		for _, e := range entries {
			temporary = temporary || e.Name() != "file"
			now, err := j.rights(int(in.Fd()), e.Name())
			if errors.Is(err, os.ErrNotExist) {
				continue // an overlay's name for a moment
			}
			if err != nil {
				return err
			}
			if e.Name() == "file" { // the old one, until the rename
				for i := range now {
					now[i] &^= before[i]
				}
			}
			if more := beyond(now, bound); more != "" {
				fault = fmt.Errorf("meanwhile %s granted to %s", e.Name(), more)
			}
		}
		if temporary {
			looks++
		}
		return nil
	})
	return looks, errors.Join(fault, err)
}
