// Package serve starts this program again, to serve a FUSE file system from a
// process of its own. A thread of the code under test waits in the kernel for
// the file system to answer. If it served itself, killing the process could not
// end that wait, nor close /dev/fuse, which would; and the Go scheduler could
// wait for it in turn.
package serve

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// A Process is this program, started again.
type Process struct {
	In     io.WriteCloser // its standard input; closing it ends the process
	Out    io.Reader      // its standard output
	cmd    *exec.Cmd
	stderr bytes.Buffer
}

// Start starts this program again, with the environment variable env set and
// with files as the descriptors from 3 on.
func Start(env, value string, files ...*os.File) (*Process, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program, to start it again: %w", err)
	}
	// A test binary that ignores env runs no tests.
	p := &Process{cmd: exec.Command(exe, "-test.run=^$")}
	// With the race detector a process sleeps for a second before it exits.
	p.cmd.Env = append(os.Environ(), env+"="+value, "GORACE="+os.Getenv("GORACE")+" atexit_sleep_ms=0")
	p.cmd.ExtraFiles = files
	p.cmd.Stderr = &p.stderr
	// Ctrl-C must end the test first: the process then cleans up after it.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if p.In, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if p.Out, err = p.cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	return p, p.cmd.Start()
}

// Close ends the process and waits until it has ended. If it failed, the error
// holds its standard error.
func (p *Process) Close() error {
	p.In.Close()
	if err := p.cmd.Wait(); err != nil {
		return fmt.Errorf("ended with %w: %s", err, bytes.TrimSpace(p.stderr.Bytes()))
	}
	return nil
}

// CanMount reports whether this process has CAP_SYS_ADMIN, which mount(2) needs.
func CanMount() bool {
	const capSysAdmin = 1 << 21
	status, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(status)) {
		if hex, found := strings.CutPrefix(line, "CapEff:"); found {
			caps, err := strconv.ParseUint(strings.TrimSpace(hex), 16, 64)
			return err == nil && caps&capSysAdmin != 0
		}
	}
	return false
}
